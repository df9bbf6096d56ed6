//! Frames whose sender has decided the rate of every try, as the kernel's 802.11 (mac80211) does.
//!
//! Power 1 is the least for reception at the rate of the medium's radios. Another rate needs more or less of
//! it, by the receiver minimum input sensitivities of IEEE Std 802.11-2012, table 18-14 (20 MHz):
//!
//! | Mbit/s | 6 | 9 | 12 | 18 | 24 | 36 | 48 | 54 |
//! |---|---|---|---|---|---|---|---|---|
//! | dBm | −82 | −81 | −79 | −77 | −74 | −70 | −66 | −65 |
//!
//! The rates of 802.11b count as 6 Mbit/s.

use std::time::Duration;

use crate::Bitrate;
use crate::timing::{Standard, Timing};

/// A frame has no more tries.
const MOST_TRIES: usize = u8::MAX as usize;
/// Octets of a frame check sequence, which a frame does not have here.
const FCS_BYTES: usize = 4;

/// Tries at one rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tries {
    /// The rate.
    pub rate: Bitrate,
    /// How many.
    pub count: u8,
}

/// The end of a frame, for its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// The number that the sender gave it.
    pub id: u64,
    /// The sender.
    pub from: usize,
    /// Whether an acknowledgement came. A broadcast has none, and counts as acknowledged.
    pub acknowledged: bool,
    /// Tries on the air; none for a frame that the full queue refused.
    pub tries: usize,
}

/// The tries of one frame, first to last.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) id: u64,
    attempts: Vec<Attempt>,
}

/// One try.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Attempt {
    pub(super) rate: Option<Bitrate>,
    pub(super) timing: Timing,
    /// The least power for reception.
    pub(super) least_power: f64,
}

impl Plan {
    /// The plan of these tries. Rates that `standard` does not have are left out. `reference` is the rate
    /// whose least power is 1.
    pub(super) fn new(id: u64, tries: &[Tries], standard: Standard, reference: Bitrate) -> Self {
        let attempt = |tries: &Tries| {
            let timing = Timing::new(standard, tries.rate).ok()?;
            let decibels = sensitivity(tries.rate) - sensitivity(reference);
            let least_power = 10f64.powf(decibels / 10.0);
            Some(std::iter::repeat_n(
                Attempt { rate: Some(tries.rate), timing, least_power },
                usize::from(tries.count),
            ))
        };
        let attempts = tries.iter().filter_map(attempt).flatten();
        Self { id, attempts: attempts.take(MOST_TRIES).collect() }
    }

    /// The try after this many failed ones; the last one also after all.
    pub(super) fn attempt(&self, failed: u8) -> Option<Attempt> {
        self.attempts.get(usize::from(failed)).or(self.attempts.last()).copied()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.attempts.is_empty()
    }

    /// Whether nothing is left after this many failed tries and one more.
    pub(super) fn ends_after(&self, failed: u8) -> bool {
        usize::from(failed) + 1 >= self.attempts.len()
    }
}

impl Attempt {
    /// Air time of a frame of this many octets, with its header and without its FCS.
    pub(super) fn length(&self, bytes: usize) -> Duration {
        self.timing.frame(bytes.saturating_add(FCS_BYTES))
    }
}

/// The least input of a receiver, in dBm.
fn sensitivity(rate: Bitrate) -> f64 {
    match rate.bits_per_second() / 1_000 {
        9_000 => -81.0,
        12_000 => -79.0,
        18_000 => -77.0,
        24_000 => -74.0,
        36_000 => -70.0,
        48_000 => -66.0,
        54_000 => -65.0,
        _ => -82.0,
    }
}
