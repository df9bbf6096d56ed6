//! What is sent again, in which order.

use super::Flow;
use std::time::Duration;

/// Where so much is lost beside what was lost, the row that should be waiting is too likely lost, and another
/// one is worth its air: with bursts of 40% in the bad state waiting cost 1.7% of reno's throughput.
const MOST_LOSS_TO_WAIT: f32 = 0.2;

impl Flow {
    /// The next segment to be sent again, which then is on its way: where it is kept, and where it begins.
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

    /// Whether a row that was sent for this segment is likely there, and waits for others.
    fn rows_wait(&self, slot: usize, start: u64) -> bool {
        let has_rows = self.buffer.get(slot, start).is_some_and(|kept| kept.spared() > 0);
        has_rows && self.counts.loss_beside_lost(1) < MOST_LOSS_TO_WAIT
    }

    /// Whether a row of that block is about to be sent that none was sent for before.
    fn sends_another_row(&self, slot: usize) -> bool {
        self.watched.iter().any(|it| it.slot == Some(slot) && it.queued && it.tries == 0)
    }

    /// A row of that block leaves for another packet. Those that one was sent for before may lack no more
    /// than this: theirs may have arrived and wait.
    fn waits_for_row(&mut self, now: Duration, slot: usize) {
        let order = self.next_order();
        for watched in self.watched.iter_mut().filter(|it| it.slot == Some(slot) && it.tries > 0) {
            (watched.queued, watched.left_at, watched.order) = (false, now, order);
        }
    }

    /// Whether something is to be sent again.
    pub fn has_again(&self) -> bool {
        !self.again.is_empty()
    }
}
