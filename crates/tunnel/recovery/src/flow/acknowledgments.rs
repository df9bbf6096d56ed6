//! Arrivals that the station's acknowledgments show, and the acknowledgments that pass to the sender.

use super::{Flow, Watched};
use crate::segment::Segment;
use crate::snoop::{Statistics, Verdict};
use std::time::Duration;
use wire::number::widen;

impl Flow {
    /// Handles a segment from the station that acknowledges this flow's data.
    pub fn handle_acknowledgment(
        &mut self,
        now: Duration,
        segment: &Segment,
        hold_off: Duration,
        statistics: &mut Statistics,
    ) -> Verdict {
        let Some(acknowledgment) = segment.acknowledgment else { return Verdict::Pass };
        self.last_use = now;
        let acknowledgment = widen(acknowledgment.into(), 32, self.acknowledged);
        if acknowledgment > self.next {
            // The acknowledged data did not pass here.
            return Verdict::Pass;
        }
        if acknowledgment < self.acknowledged {
            return Verdict::Pass; // an old one
        }
        self.heard_at = now;
        let advances = acknowledgment > self.acknowledged;
        let is_pure = segment.payload_bytes() == 0 && !segment.fin;
        let same_window = segment.window == self.window;
        self.window = segment.window;
        let highest = self.take_acknowledgment(now, acknowledgment, segment);
        let repeats = !advances && is_pure && same_window && !self.watched.is_empty();
        if advances {
            self.duplicates = 0;
        } else if repeats && segment.blocks().is_empty() {
            self.duplicates += 1;
        }
        let missing = self.look_for_losses(now, highest, hold_off, statistics);
        if self.acknowledged < self.exposed_until {
            return Verdict::Pass;
        }
        match (missing, repeats) {
            (false, _) => Verdict::Pass,
            (true, true) => Verdict::Suppress,
            (true, false) => Verdict::Strip,
        }
    }

    /// Notes the acknowledged and selectively acknowledged segments. Returns the end of the highest one.
    fn take_acknowledgment(&mut self, now: Duration, acknowledgment: u64, segment: &Segment) -> u64 {
        let mut sample = None;
        let mut highest = acknowledgment;
        let mut blocks = [(acknowledgment, acknowledgment); 4];
        for (block, &(start, end)) in blocks.iter_mut().zip(segment.blocks()) {
            let (start, end) = [start, end].map(|edge| widen(edge.into(), 32, self.acknowledged)).into();
            // A block before the acknowledgment is a duplicate (RFC 2883). A block that was never sent is
            // false.
            if start < end && start > acknowledgment && end <= self.next {
                *block = (start, end);
                highest = highest.max(end);
            }
        }
        for at in 0..self.watched.len() {
            let Watched { start, end, delivered, .. } = self.watched[at];
            if start >= highest {
                break;
            }
            let arrived =
                end <= acknowledgment || blocks.iter().any(|block| block.0 <= start && end <= block.1);
            if arrived && !delivered {
                self.arrived_at(now, at, &mut sample);
            }
        }
        while self.watched.front().is_some_and(|watched| watched.end <= acknowledgment) {
            if let Some(watched) = self.watched.pop_front() {
                self.counts.fate(watched.was_lost);
            }
        }
        self.acknowledged = acknowledgment;
        if let Some(sample) = sample {
            self.round_trip.sample(now, sample);
        }
        highest
    }

    fn arrived_at(&mut self, now: Duration, at: usize, sample: &mut Option<Duration>) {
        let shortest = self.round_trip.shortest();
        let watched = &mut self.watched[at];
        watched.delivered = true;
        let took = now.saturating_sub(watched.left_at);
        let once = watched.tries == 0 && !watched.by_sender;
        if once && watched.order > self.arrived[0] {
            // Among several, the one that left last was answered at once. One behind a later departure was
            // lost and repaired.
            *sample = Some(took);
        }
        // After two departures the arrived one is unknown, unless the second cannot have arrived yet.
        if once || took >= shortest {
            let order = watched.order;
            let [latest, before] = &mut self.arrived;
            if order > *latest {
                (*before, *latest) = (*latest, order);
            } else if order > *before {
                *before = order;
            }
        }
        let (slot, start) = (watched.slot.take(), watched.start);
        if let Some(slot) = slot {
            self.buffer.record_delivery(slot, start);
        }
    }
}
