//! Full wire packets: what a boosted sender hands over waits a moment for what follows, so that it fills a datagram.
//!
//! Such a sender has more segments under way than the unmodified one, and each wire packet that is lost must cost it
//! what it would have cost that one (REboost, section III-B.3, where segments are enlarged until they compress to one MSS).
//! Acknowledgments arrive in bunches, since what shared a datagram arrives together; a few milliseconds bring the next
//! segments to those that were left over, and keep the bunches. Nothing waits where enough does already, and nothing
//! that is no bulk makes anything wait, or waits itself.

use crate::link::Link;
use crate::peer::Peer;
use std::time::Duration;
use wire::frame::MAX_LENGTH_BYTES;

/// The share of the whole path's round trip for which packets wait at most.
const SHARE: u32 = 16;
/// The longest that they wait: less than what CoDel takes for a standing queue.
const MOST: Duration = Duration::from_millis(4);
/// Packets over which the mean of what frames have of their packets decays to 1/e.
const PACKETS: f32 = 16.0;

/// Whether packets wait for others, and what is expected of them.
#[derive(Debug)]
pub struct Filling {
    state: State,
    /// The share of their bytes that packets left as, lately.
    share: f32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing waits for others.
    Idle,
    /// What waits leaves then, if not before.
    Until(Duration),
    /// What waits leaves now.
    Due,
}

impl Default for Filling {
    fn default() -> Self {
        Filling { state: State::Idle, share: 1.0 }
    }
}

impl Filling {
    /// A packet has become a frame.
    pub fn left(&mut self, packet_bytes: usize, frame_bytes: usize) {
        let share = (frame_bytes + MAX_LENGTH_BYTES) as f32 / packet_bytes.max(1) as f32;
        self.share += (share.min(1.0) - self.share) / PACKETS;
    }

    /// A datagram has left.
    pub fn has_left(&mut self) {
        self.state = State::Idle;
    }

    /// Something came that is not to wait.
    pub fn hurry(&mut self) {
        self.state = State::Due;
    }

    /// Notes that it is `now`.
    pub fn handle_timeout(&mut self, now: Duration) {
        if self.timeout().is_some_and(|at| at <= now) {
            self.state = State::Due;
        }
    }

    /// When what waits leaves.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        match self.state {
            State::Until(at) => Some(at),
            State::Idle | State::Due => None,
        }
    }

    /// Whether `waiting` bytes of packets and `left_over` bytes of frames wait at `now` for more, in `room`, and no longer
    /// than `patience`.
    fn waits(
        &mut self,
        now: Duration,
        (waiting, left_over): (usize, usize),
        room: usize,
        patience: Duration,
    ) -> bool {
        // a quarter more than a datagram: what is expected is a guess, and what is too much fills the next
        let expected = left_over + (waiting as f32 * self.share) as usize;
        if expected >= room + room / 4 {
            self.state = State::Due;
        }
        match self.state {
            State::Due => false,
            State::Until(at) => now < at,
            State::Idle if patience.is_zero() => false,
            State::Idle => {
                self.state = State::Until(now + patience);
                true
            }
        }
    }
}

impl Link {
    /// For how long packets wait for others.
    fn patience_to_fill(&self) -> Duration {
        let path = self.path_delay.shortest().or(self.outstanding.srtt());
        path.map_or(Duration::ZERO, |path| (path / SHARE).min(MOST))
    }
}

impl Peer {
    /// Whether a packet of so many bytes is one of many: at least half of the largest.
    pub(crate) fn is_bulk(&self, packet_bytes: usize) -> bool {
        packet_bytes >= self.path.limit() / 2
    }

    /// Whether what waits does so for more.
    pub(super) fn waits_to_fill(&mut self, now: Duration) -> bool {
        let room = self.path.limit();
        let waiting = self.queue.bytes();
        let next_bytes = self.queue.next_bytes(now);
        if next_bytes.is_some_and(|bytes| !self.is_bulk(bytes)) {
            return false;
        }
        let Some(link) = &mut self.link else { return false };
        let patience = link.patience_to_fill();
        let left_over = link.overflow.as_ref().map_or(0, super::Overflow::left_bytes);
        let Some(filling) = &mut link.filling else { return false };
        filling.waits(now, (waiting, left_over), room, patience)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn packets_wait_until_a_datagram_can_be_full_and_no_longer_than_their_patience() {
        let mut filling = Filling::default();
        (0..200).for_each(|_| filling.left(1400, 697));
        assert!(filling.waits(10 * MS, (1400, 0), 1400, 4 * MS), "half a datagram");
        assert!(filling.waits(12 * MS, (2800, 0), 1400, 4 * MS), "a whole one, perhaps");
        assert!(!filling.waits(13 * MS, (4200, 0), 1400, 4 * MS), "enough");
        filling.has_left();
        assert!(filling.waits(13 * MS, (0, 700), 1400, 4 * MS), "the rest of a packet");
        assert_eq!(filling.timeout(), Some(17 * MS));
        filling.handle_timeout(17 * MS);
        assert_eq!(filling.timeout(), None);
        assert!(!filling.waits(17 * MS, (0, 700), 1400, 4 * MS));
    }

    #[test]
    fn what_is_in_a_hurry_takes_along_what_waits() {
        let mut filling = Filling::default();
        assert!(filling.waits(MS, (100, 0), 1400, 4 * MS));
        filling.hurry();
        assert!(!filling.waits(MS, (150, 0), 1400, 4 * MS));
        filling.has_left();
        assert!(filling.waits(MS, (100, 0), 1400, 4 * MS));
        assert!(!Filling::default().waits(MS, (100, 0), 1400, Duration::ZERO), "no path, no wait");
    }

    #[test]
    fn what_does_not_shrink_is_full_with_one_packet_and_its_neighbour() {
        let mut filling = Filling::default();
        (0..200).for_each(|_| filling.left(1400, 1401));
        assert!(!filling.waits(MS, (2800, 0), 1420, 4 * MS));
    }
}
