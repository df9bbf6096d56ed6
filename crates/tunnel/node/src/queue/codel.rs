//! CoDel, controlled delay (RFC 8289): one flow's decision whether the packet that is about to leave tells
//! its sender to slow down.
//!
//! A queue that empties now and then absorbs bursts and does no harm. One that never gets short only adds
//! delay: the sender keeps more packets under way than the path needs. CoDel tells them apart by how long
//! packets waited. Once no wait has been under the [target](Bounds) for an interval, which is time enough
//! for a sender to hear of it, it signals congestion with one packet, and, while that does not help, with
//! more: the
//! *n*th signal follows its predecessor after `interval / √n`, since TCP's rate goes with the inverse square
//! root of its loss. The first packet that waited less than the target ends it at once.
//!
//! Between this and the pseudocode of RFC 8289 section 5.5 is one difference of form: there a loop takes
//! packets until one may leave, here the queue asks about each in turn, because what a signal does (a mark or
//! a drop) is the queue's business.

use std::time::Duration;

/// What a wait is held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The wait that a standing queue may cause: 5 to 10% of the interval keeps a link of constant rate busy
    /// (RFC 8289, 4.3).
    target: Duration,
    /// A round trip that most connections stay under, and so the time that a signal needs to have an effect
    /// (RFC 8289, 4.2).
    interval: Duration,
}

impl Bounds {
    /// The usual ones.
    pub const USUAL: Self = Self { target: Duration::from_millis(5), interval: Duration::from_millis(100) };

    /// Bounds while the node itself lets packets wait, to try something.
    pub const PATIENT: Self = Self { target: Duration::from_millis(150), interval: Duration::from_secs(1) };

    /// Bounds before a link whose rate changes: the queue has to last until its senders hear that it is
    /// faster again. `round_trip`: of the path behind it.
    #[must_use]
    pub fn for_changing_rate(round_trip: Duration) -> Self {
        let interval = (round_trip * 3 / 2).clamp(Duration::from_millis(200), Duration::from_secs(1));
        Self { target: interval * 3 / 20, interval }
    }
}

/// The largest packet of the usual kind. With no more than this behind it, a packet is never a signal: a flow
/// must be able to have one packet waiting (RFC 8289, 4.1).
pub const MTU_BYTES: usize = 1514;

/// Signals that came a short while ago set the rate at which they begin again.
const RECENT: u32 = 16;

/// One flow's state (RFC 8289, 5.2).
#[derive(Debug, Default)]
pub struct Codel {
    /// When the waits will have been over the target for an interval; none while they are not.
    above_until: Option<Duration>,
    /// Whether signals are being given.
    signalling: bool,
    /// When the next signal is due.
    next_at: Duration,
    /// Signals since they began, or a later point of the same sequence.
    count: u32,
    /// Value of `count` at the first of these signals.
    first_count: u32,
}

impl Codel {
    /// Whether a packet that leaves at `now` is to be a signal, after it waited for `wait` and with
    /// `behind_bytes` of its flow behind it. If the signal is to drop the packet, ask about the next one.
    pub fn signals(&mut self, now: Duration, wait: Duration, behind_bytes: usize, bounds: Bounds) -> bool {
        if !self.stands(now, wait, behind_bytes, bounds) {
            self.signalling = false;
            return false;
        }
        if self.signalling {
            if now < self.next_at {
                return false;
            }
            self.count = self.count.saturating_add(1);
            self.next_at += self.gap(bounds);
            return true;
        }
        self.signalling = true;
        let before = self.count.saturating_sub(self.first_count);
        let recently = now.saturating_sub(self.next_at) < bounds.interval * RECENT;
        self.count = if before > 1 && recently { before } else { 1 };
        self.first_count = self.count;
        self.next_at = now + self.gap(bounds);
        true
    }

    /// The flow's queue was empty.
    pub fn rest(&mut self) {
        self.above_until = None;
        self.signalling = false;
    }

    /// Whether the flow's queue has been standing for an interval.
    fn stands(&mut self, now: Duration, wait: Duration, behind_bytes: usize, bounds: Bounds) -> bool {
        if wait < bounds.target || behind_bytes <= MTU_BYTES {
            self.above_until = None;
            return false;
        }
        now >= *self.above_until.get_or_insert(now + bounds.interval)
    }

    /// The control law.
    fn gap(&self, bounds: Bounds) -> Duration {
        bounds.interval.div_f64(f64::from(self.count).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BAD: Duration = Duration::from_millis(20);
    const MILLISECOND: Duration = Duration::from_millis(1);

    /// The milliseconds of the signals when a packet that waited for `wait` leaves in each millisecond of
    /// `time`.
    fn signals(codel: &mut Codel, time: std::ops::Range<u32>, wait: Duration) -> Vec<u32> {
        time.filter(|&ms| codel.signals(ms * MILLISECOND, wait, 100_000, Bounds::USUAL)).collect()
    }

    #[test]
    fn signals_begin_after_an_interval_and_grow_more_frequent_by_the_inverse_square_root() {
        let mut codel = Codel::default();
        let at = signals(&mut codel, 0..1000, BAD);
        // 100, then gaps of 100/√1 (the first), 100/√2, 100/√3, …: rounded up to the next packet
        let due = (1..).scan(100.0, |at, n| {
            let now = *at;
            *at += 100.0 / f64::from(n).sqrt();
            Some(now)
        });
        let expected: Vec<u32> =
            due.map(|at: f64| (at - 1e-6).ceil() as u32).take_while(|&at| at < 1000).collect();
        assert_eq!(at, expected);
        let halves = [0..500, 500..1000].map(|half| at.iter().filter(|at| half.contains(*at)).count());
        assert!(halves[1] > halves[0], "{halves:?}");
    }

    #[test]
    fn one_short_wait_ends_the_signals_and_the_interval_begins_anew() {
        let mut codel = Codel::default();
        assert!(!signals(&mut codel, 0..1000, BAD).is_empty());
        assert!(signals(&mut codel, 1000..1001, 4 * MILLISECOND).is_empty());
        assert_eq!(signals(&mut codel, 1001..1102, BAD), [1101]);
    }

    #[test]
    fn trouble_that_comes_back_soon_is_met_at_the_rate_reached_and_later_at_the_first_rate() {
        for (pause, gaps) in [(10, 15..=30), (5000, 100..=100)] {
            let mut codel = Codel::default();
            let before = signals(&mut codel, 0..1000, BAD).len();
            assert!(before > 5);
            signals(&mut codel, 1000..1000 + pause, MILLISECOND);
            let after = signals(&mut codel, 1000 + pause..2000 + pause, BAD);
            assert_eq!(after[0], 1100 + pause);
            let gap = after[1] - after[0];
            assert!(gaps.contains(&gap), "{pause}: {gap}");
        }
    }

    #[test]
    fn the_last_packets_of_a_flow_are_never_signals() {
        let mut codel = Codel::default();
        for ms in 0..10_000 {
            assert!(!codel.signals(ms * MILLISECOND, BAD, MTU_BYTES, Bounds::USUAL));
        }
    }
}
