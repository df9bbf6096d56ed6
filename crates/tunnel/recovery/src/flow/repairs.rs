//! Retransmissions and their order.

use super::Flow;
use std::time::Duration;

/// The loss rate beside a loss above which another row is sent in place of waiting. The expected row is then
/// likely lost: with bursts of 40% in the bad state, waiting cost 1.7% of reno's throughput.
const MOST_LOSS_TO_WAIT: f32 = 0.2;

impl Flow {
    /// The next segment to retransmit, by its block and start. It counts as in flight from now on.
    pub fn poll_again(&mut self, now: Duration) -> Option<(usize, u64)> {
        while let Some(start) = self.again.pop_front() {
            let at = self.watched.partition_point(|watched| watched.start < start);
            let Some(watched) = self.watched.get_mut(at).filter(|watched| watched.start == start) else {
                continue;
            };
            let was_queued = std::mem::take(&mut watched.queued);
            let is_wanted = was_queued && !watched.delivered && !watched.left_to_sender;
            let Some(slot) = watched.slot.filter(|_| is_wanted) else { continue };
            let is_first = self.watched[at].tries == 0;
            let waits = self.rows_wait(slot, start);
            if waits && !is_first && self.sends_another_row(slot) {
                continue;
            }
            let order = self.next_order();
            let watched = &mut self.watched[at];
            watched.tries += 1;
            (watched.left_at, watched.order) = (now, order);
            if waits && is_first {
                self.waits_for_row(now, slot);
            }
            if self.buffer.get(slot, start).is_some() {
                return Some((slot, start));
            }
        }
        None
    }

    /// Whether a row sent for this segment has likely arrived and waits for others.
    fn rows_wait(&self, slot: usize, start: u64) -> bool {
        let has_rows = self.buffer.get(slot, start).is_some_and(|kept| kept.spared() > 0);
        has_rows && self.counts.loss_beside_lost(1) < MOST_LOSS_TO_WAIT
    }

    /// Whether another row of this block is about to be sent for a packet without one.
    fn sends_another_row(&self, slot: usize) -> bool {
        self.watched.iter().any(|it| it.slot == Some(slot) && it.queued && it.tries == 0)
    }

    /// Notes that a row of the block leaves for another packet. The earlier rows of the block may have
    /// arrived and wait for it.
    fn waits_for_row(&mut self, now: Duration, slot: usize) {
        let order = self.next_order();
        for watched in self.watched.iter_mut().filter(|it| it.slot == Some(slot) && it.tries > 0) {
            (watched.queued, watched.left_at, watched.order) = (false, now, order);
        }
    }

    /// Whether a segment waits for its retransmission.
    pub fn has_again(&self) -> bool {
        !self.again.is_empty()
    }
}
