//! Section 5.5.2's setting (Figure 1d): C1 sends to C4 and C2 to C3, all of it through a relay; C3 overhears
//! C1 and C4 overhears C2. The relay sends natives together ([`published::cope`]), as they are or without
//! what their receivers have.

mod net;

use air::Bitrate;
use anyhow::Result;

use self::net::Net;
use crate::trace::TracePacket;

/// How the relay knows what receivers have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Known {
    /// Perfectly and for nothing, and nothing is lost on the way to or from the relay: the paper's
    /// simplification.
    Perfectly,
    /// By reception reports and guesses, with acknowledgments and retransmissions, on links that lose as
    /// section 5.3's do: all of it paid for.
    ByReports,
}

/// How the relay removes what receivers have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reduces {
    /// As printed: MAXP, whole chunks, marked slots and flushes, no MAC.
    AsPrinted,
    /// By our codec.
    Ours,
}

/// One run.
#[derive(Debug, Clone, Copy)]
pub struct Relayed {
    /// Of full packets, how many C3 overhears of C1 and C4 of C2.
    pub overheard: f64,
    /// The relay's codec, which removes bytes that receivers have.
    pub reduces: Option<Reduces>,
    /// Whether a receiver hears what the relay sends to the other alone.
    pub hears_relay: bool,
    /// How the relay knows.
    pub known: Known,
    /// Of everybody.
    pub rate: Bitrate,
    /// The caches have two to this many slots.
    pub slot_bits: u8,
    /// Seed of the losses.
    pub seed: u64,
}

/// Air time by kind of frame.
#[derive(Debug, Clone, Copy, Default)]
pub struct AirSeconds {
    /// By C1 and C2.
    pub to_relay: f64,
    /// By the relay, with what receivers say to it.
    pub from_relay: f64,
    /// Natives that arrived.
    pub arrived: u64,
    /// The share of the relay's frames that carried two natives.
    pub coded_share: f64,
}

impl AirSeconds {
    /// Of everybody.
    #[must_use]
    pub fn all(&self) -> f64 {
        self.to_relay + self.from_relay
    }
}

impl Relayed {
    /// Carries a trace with clients C4 and C3 to its end.
    ///
    /// # Errors
    ///
    /// When a native comes out other than it was, or not at all where nothing is lost.
    pub fn of(&self, trace: impl Iterator<Item = TracePacket>) -> Result<AirSeconds> {
        let mut net = Net::new(self, trace)?;
        while net.step()? {}
        net.finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::trace::{Composer, Fresh, Kind, Mix};

    const OURS: Option<Reduces> = Some(Reduces::Ours);

    fn run(reduces: Option<Reduces>, overheard: f64, known: Known) -> AirSeconds {
        let trace = Composer::new(Arc::new(Fresh::random(1)), Mix::High, Kind::Whole, 2 << 20, 3);
        let rate = Bitrate::from_megabits_per_second(11);
        let run = Relayed { overheard, reduces, hears_relay: true, known, rate, slot_bits: 17, seed: 5 };
        run.of(trace).unwrap()
    }

    #[test]
    fn what_is_reduced_and_coded_takes_less_air_than_what_is_coded_alone() {
        for (overheard, known) in [(0.9, Known::Perfectly), (0.1, Known::Perfectly), (0.9, Known::ByReports)]
        {
            let (plain, reduced) = (run(None, overheard, known), run(OURS, overheard, known));
            assert!(reduced.from_relay < 0.9 * plain.from_relay, "{reduced:?} {plain:?}");
            assert!(reduced.all() < plain.all());
        }
    }

    #[test]
    fn the_papers_codec_saves_at_the_relay_and_ours_saves_more() {
        let of = |reduces| run(reduces, 0.9, Known::Perfectly).from_relay;
        let (plain, printed, ours) = (of(None), of(Some(Reduces::AsPrinted)), of(OURS));
        assert!(ours < printed && printed < plain, "{ours} {printed} {plain}");
    }

    #[test]
    fn where_everything_is_overheard_three_transmissions_do_for_four() {
        let air = run(None, 1.0, Known::Perfectly);
        assert!((air.from_relay / air.to_relay - 0.5).abs() < 0.03, "{air:?}");
    }
}
