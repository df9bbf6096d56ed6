//! CoDel (RFC 8289): drops at the head, at dequeue, while frames wait too long.
//!
//! The names of fields are those of the RFC's section 5. ECN is left out: frames are never marked.

use std::time::Duration;

use super::{Frames, Waiting};

/// A new dropping state within this many intervals after the last one continues its rate (section 5.4).
const RECENT_INTERVALS: u32 = 16;

/// The state of the control law.
#[derive(Debug)]
pub(super) struct Codel {
    target: Duration,
    interval: Duration,
    /// Length of the longest frame that waited, in place of the interface's MTU.
    max_packet_bytes: usize,
    /// When the wait will have been above the target for an interval.
    first_above_time: Option<Duration>,
    drop_next: Duration,
    count: u32,
    last_count: u32,
    dropping: bool,
}

/// The state of the head of the queue.
struct Head {
    waiting: Option<Waiting>,
    ok_to_drop: bool,
}

impl Codel {
    pub(super) fn new(target: Duration, interval: Duration) -> Self {
        Self {
            target,
            interval,
            max_packet_bytes: 0,
            first_above_time: None,
            drop_next: Duration::ZERO,
            count: 0,
            last_count: 0,
            dropping: false,
        }
    }

    /// Notes the length of a frame that begins to wait.
    pub(super) fn sees(&mut self, bytes: usize) {
        self.max_packet_bytes = self.max_packet_bytes.max(bytes);
    }

    /// The first frame that stays; `dropped` gets the length of each one before it (section 5.5).
    pub(super) fn next(
        &mut self,
        now: Duration,
        frames: &mut Frames,
        mut dropped: impl FnMut(usize),
    ) -> Option<Waiting> {
        let mut drop = |head: Head| head.waiting.iter().for_each(|waiting| dropped(waiting.frame.len()));
        let mut head = self.head(now, frames);
        if self.dropping {
            self.dropping = head.ok_to_drop;
            while self.dropping && now >= self.drop_next {
                drop(head);
                self.count = self.count.saturating_add(1);
                head = self.head(now, frames);
                self.dropping = head.ok_to_drop;
                if self.dropping {
                    self.drop_next = self.control_law(self.drop_next);
                }
            }
        } else if head.ok_to_drop {
            drop(head);
            head = self.head(now, frames);
            self.dropping = true;
            let drops = self.count - self.last_count;
            let is_recent = now.saturating_sub(self.drop_next) < self.interval * RECENT_INTERVALS;
            self.count = if drops > 1 && is_recent { drops } else { 1 };
            self.drop_next = self.control_law(now);
            self.last_count = self.count;
        }
        head.waiting
    }

    /// Takes the head, and tells whether its wait allows a drop (section 5.6).
    fn head(&mut self, now: Duration, frames: &mut Frames) -> Head {
        let waiting = frames.take();
        let is_short = waiting.as_ref().is_none_or(|waiting| {
            now.saturating_sub(waiting.arrival) < self.target || frames.bytes <= self.max_packet_bytes
        });
        if is_short {
            self.first_above_time = None;
            return Head { waiting, ok_to_drop: false };
        }
        let from = *self.first_above_time.get_or_insert_with(|| now.saturating_add(self.interval));
        Head { waiting, ok_to_drop: now >= from }
    }

    /// The time of the drop after one at `time`: the interval shrinks with the root of the count.
    fn control_law(&self, time: Duration) -> Duration {
        time.saturating_add(self.interval.div_f64(f64::from(self.count.max(1)).sqrt()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Dequeues a frame a millisecond from a queue whose frames have all waited for `wait`; returns the
    /// milliseconds of drops.
    fn drops(codel: &mut Codel, milliseconds: std::ops::Range<u32>, wait: Duration) -> Vec<u32> {
        let mut times = Vec::new();
        for millisecond in milliseconds {
            let now = MS * millisecond;
            let mut frames = Frames::default();
            for _ in 0..20 {
                codel.sees(1000);
                frames.bytes += 1000;
                let waiting = Waiting { arrival: now.saturating_sub(wait), frame: vec![0; 1000] };
                frames.waiting.push_back(waiting);
            }
            assert!(codel.next(now, &mut frames, |_| times.push(millisecond)).is_some());
        }
        times
    }

    fn usual() -> Codel {
        Codel::new(MS * 5, MS * 100)
    }

    #[test]
    fn drops_begin_an_interval_after_the_target_and_come_faster_by_the_root_of_their_count() {
        let mut codel = usual();
        assert_eq!(drops(&mut codel, 1000..1100, MS * 20), []);
        // The first at 1100; then 100, 100/√2, 100/√3 and 100/√4 ms later.
        assert_eq!(drops(&mut codel, 1100..1400, MS * 20), [1100, 1200, 1271, 1329, 1379]);
    }

    #[test]
    fn one_short_wait_ends_the_drops_and_a_state_soon_after_continues_their_rate() {
        let mut codel = usual();
        let first = drops(&mut codel, 1000..1500, MS * 20);
        assert_eq!(first.len(), 7);
        assert_eq!(drops(&mut codel, 1500..1501, MS * 4), []);
        // An interval later, with the count of the drops after the first: 100/√6 ms to the next.
        assert_eq!(drops(&mut codel, 1501..1645, MS * 20), [1601, 1642]);
        let mut late = usual();
        drops(&mut late, 1000..1500, MS * 20);
        drops(&mut late, 1500..1501, MS * 4);
        assert_eq!(drops(&mut late, 5000..5250, MS * 20), [5100, 5200]);
    }

    #[test]
    fn a_wait_below_the_target_or_a_last_frame_is_never_dropped() {
        let mut codel = usual();
        assert_eq!(drops(&mut codel, 0..3000, MS * 4), []);
        for millisecond in 3000..6000 {
            let waiting = |_| Waiting { arrival: Duration::ZERO, frame: vec![0; 1000] };
            let mut frames = Frames { waiting: (0..2).map(waiting).collect(), bytes: 2000 };
            let next = codel.next(MS * millisecond, &mut frames, |_| panic!("a drop"));
            assert!(next.is_some());
        }
        assert!(codel.next(MS * 6000, &mut Frames::default(), |_| ()).is_none());
    }
}
