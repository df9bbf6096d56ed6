//! Full wire packets: a datagram of a boosted sender's that is not full waits a moment for what follows.
//!
//! Such a sender has more segments in flight than the unmodified one. A lost wire packet must cost it as much
//! as a lost segment costs that one (REboost, section III-B.3, where segments are enlarged until they
//! compress to one MSS). Segments of one datagram arrive together, and so acknowledgments arrive in groups.
//! Each group brings one datagram's worth of segments and leaves a rest, which the next group completes. A
//! rest that left alone would be one more packet to lose.
//!
//! A packet that is not bulk never waits, and takes waiting packets along.

use crate::link::Link;
use crate::peer::Peer;
use crate::seal::Seal;
use std::time::Duration;

use super::packets::Row;

/// The share of the whole path's round trip for which a datagram waits at most: with eight or more of them
/// under way, the next bunch comes within it.
const SHARE: u32 = 8;
/// The longest that one waits.
const MOST: Duration = Duration::from_millis(25);

/// A datagram that is being filled.
pub struct Begun {
    pub(super) seal: Seal,
    /// Its header and frames.
    pub(super) plaintext: Vec<u8>,
    /// The sequence that it begins with.
    pub(super) first: u64,
    /// The same, while no packet has it: there is only the rest of one that was cut.
    pub(super) free: Option<u64>,
    pub(super) lane: usize,
    pub(super) session: u32,
    pub(super) class: crate::encapsulation::OuterClass,
    /// How many packets are in it.
    pub(super) packets: usize,
    /// Where its last frame begins, which says no length yet.
    pub(super) last: Option<usize>,
}

/// Whether a datagram waits to be filled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Filling {
    /// None does.
    #[default]
    Idle,
    /// One does, and leaves then if not before.
    Until(Duration),
    /// The waiting packets leave now.
    Due,
}

impl Filling {
    /// Something is in the datagram that is not to wait.
    pub fn hurry(&mut self) {
        *self = Filling::Due;
    }

    /// A datagram has left.
    pub fn has_left(&mut self) {
        *self = Filling::Idle;
    }

    /// Notes that it is `now`.
    pub fn handle_timeout(&mut self, now: Duration) {
        if self.timeout().is_some_and(|at| at <= now) {
            *self = Filling::Due;
        }
    }

    /// When what waits leaves.
    #[must_use]
    pub fn timeout(self) -> Option<Duration> {
        match self {
            Filling::Until(at) => Some(at),
            Filling::Idle | Filling::Due => None,
        }
    }

    /// Whether a datagram that is not full waits at `now`, no longer than `patience` since it was begun.
    fn waits(&mut self, now: Duration, patience: Duration) -> bool {
        if *self == Filling::Idle && !patience.is_zero() {
            *self = Filling::Until(now + patience);
        }
        self.timeout().is_some_and(|at| now < at)
    }
}

impl Link {
    /// For how long a datagram waits to be filled.
    fn patience_to_fill(&self) -> Duration {
        let path = self.path_delay.shortest().or(self.outstanding.srtt());
        path.map_or(Duration::ZERO, |path| (path / SHARE).min(MOST))
    }
}

impl Peer {
    /// Whether a packet of so many bytes is one of many: at least half of the largest.
    pub(super) fn is_bulk(&self, packet_bytes: usize) -> bool {
        packet_bytes >= self.path.limit() / 2
    }

    /// Whether a datagram with the packets of `row` in it waits for more.
    pub(super) fn waits_to_be_filled(&mut self, now: Duration, row: &Row<'_>, bytes: usize) -> bool {
        // the remaining packets found no room or may not share it
        let has_room = self.queue.is_empty() && bytes + row.around_packet() < row.limit;
        let Some(link) = &mut self.link else { return false };
        let patience = link.patience_to_fill();
        let has_room = has_room && link.overflow.is_none() && row.packets > 0 && !row.is_shared;
        has_room && link.filling.as_mut().is_some_and(|filling| filling.waits(now, patience))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_datagram_waits_no_longer_than_its_patience_and_not_where_no_path_is_known() {
        let mut filling = Filling::default();
        assert!(!filling.waits(MS, Duration::ZERO));
        assert!(filling.waits(10 * MS, 4 * MS));
        assert!(filling.waits(12 * MS, 4 * MS), "more has come, but not enough");
        assert_eq!(filling.timeout(), Some(14 * MS), "it was begun at 10");
        filling.handle_timeout(14 * MS);
        assert_eq!(filling.timeout(), None, "once is enough");
        assert!(!filling.waits(14 * MS, 4 * MS));
        filling.has_left();
        assert!(filling.waits(20 * MS, 4 * MS));
    }

    #[test]
    fn what_is_in_a_hurry_takes_along_what_waits() {
        let mut filling = Filling::default();
        assert!(filling.waits(MS, 4 * MS));
        filling.hurry();
        assert!(!filling.waits(MS, 4 * MS));
    }
}
