//! Missing segments: those to retransmit, and those left to the sender.

use super::{Flow, MAX_TRIES};
use crate::buffer::Kept;
use crate::snoop::Statistics;
use std::time::Duration;
use wire::number::widen;

impl Flow {
    /// Queues lost segments that are kept for retransmission. Exposes the flow if a missing segment cannot be
    /// repaired. Returns whether a segment is missing.
    pub(super) fn look_for_losses(
        &mut self,
        now: Duration,
        highest: u64,
        hold_off: Duration,
        statistics: &mut Statistics,
    ) -> bool {
        let [latest, before] = self.arrived;
        let mut missing = false;
        for at in 0..self.watched.len() {
            let watched = &self.watched[at];
            let by_duplicates = at == 0 && self.duplicates > 0;
            if watched.start >= highest && !by_duplicates {
                break;
            }
            if watched.delivered {
                continue;
            }
            missing = true;
            let overtaken = if watched.tries == 0 { before } else { latest };
            let is_lost =
                watched.order < overtaken || by_duplicates && self.duplicates >= 2 && watched.tries == 0;
            let by_congestion = is_lost && !watched.was_lost && self.round_trip.is_congested();
            // Without a notice, the loss was beyond the hop. A notice arrives before the segment counts as
            // lost.
            let beyond = self.heeds_notices && is_lost && watched.tries == 0 && !watched.queued;
            let can_be_repaired = !by_congestion && !beyond && self.can_be_repaired(at, highest);
            let is_lost = is_lost && !self.heeds_notices;
            let watched = &mut self.watched[at];
            watched.was_lost |= is_lost && !by_congestion;
            if !can_be_repaired {
                self.expose(at, highest, statistics);
            } else if is_lost && !watched.queued && now >= watched.left_at + hold_off {
                watched.queued = true;
                self.again.push_back(watched.start);
            }
        }
        missing
    }

    /// Whether a missing segment can be restored from the buffer: the missing packets of its block are at
    /// most as many as its rows.
    fn can_be_repaired(&self, at: usize, highest: u64) -> bool {
        let watched = &self.watched[at];
        let tries_left = watched.tries < MAX_TRIES || watched.queued;
        let Some(kept) = watched.slot.and_then(|slot| self.buffer.get(slot, watched.start)) else {
            return false;
        };
        tries_left && !watched.left_to_sender && self.is_enough(&kept, highest)
    }

    /// Whether there are as many rows as missing packets in them.
    fn is_enough(&self, kept: &Kept<'_>, highest: u64) -> bool {
        kept.others().filter(|other| self.is_missing(other.0, highest)).count() <= kept.spared()
    }

    fn is_missing(&self, start: u64, highest: u64) -> bool {
        let at = self.watched.partition_point(|watched| watched.start < start);
        start < highest
            && self.watched.get(at).is_some_and(|watched| watched.start == start && !watched.delivered)
    }

    /// Leaves the missing segment to the sender.
    fn expose(&mut self, at: usize, highest: u64, statistics: &mut Statistics) {
        let watched = &self.watched[at];
        let kept = watched.slot.and_then(|slot| self.buffer.get(slot, watched.start));
        let serves_others = kept.is_some_and(|kept| kept.spared() > 0 && self.is_enough(&kept, highest));
        let watched = &mut self.watched[at];
        watched.left_to_sender = true;
        if let Some(slot) = watched.slot.take_if(|_| !serves_others) {
            self.buffer.give_up(slot, watched.start);
        }
        if !std::mem::replace(&mut watched.shown, true) {
            statistics.failures += 1;
            self.exposed_until = self.next;
        }
    }

    /// Time of a retransmission of the first missing segment without further reports.
    pub fn timeout(&self) -> Option<Duration> {
        let first = self.watched.front()?;
        first.slot?;
        if self.heeds_notices || first.left_to_sender {
            return None;
        }
        // While others are acknowledged, their acknowledgments report it.
        let since = first.left_at.max(self.heard_at);
        // A loss on the air is no sign of congestion, so the wait need not double.
        (!first.queued).then(|| since + self.round_trip.timeout() * (u32::from(first.tries) + 1))
    }

    /// Handles a first segment without acknowledgment for too long.
    pub fn handle_timeout(&mut self, now: Duration, statistics: &mut Statistics) {
        if self.timeout().is_none_or(|at| at > now) {
            return;
        }
        // Segments known to be missing count as missing; the state of the others is unknown (section IV-B).
        let known_until =
            self.watched.iter().rev().find(|watched| watched.delivered).map_or(0, |last| last.end);
        if !self.can_be_repaired(0, known_until) {
            return self.expose(0, known_until, statistics);
        }
        let watched = &mut self.watched[0];
        (watched.queued, watched.was_lost) = (true, true);
        self.again.push_back(watched.start);
        statistics.timeouts += 1;
    }

    /// Handles a notice: the hop lost `length` bytes from this TCP sequence number on. The kept segments
    /// among them are queued for retransmission.
    pub fn handle_notice(&mut self, now: Duration, start: u32, length: u32) {
        // A loss by a full queue before the hop also appears as a gap, and the sender must see it.
        if !self.heeds_notices || self.round_trip.is_congested() {
            return;
        }
        let start = widen(start.into(), 32, self.acknowledged);
        let end = start + u64::from(length);
        for watched in self.watched.iter_mut().skip_while(|watched| watched.start < start) {
            if watched.end > end {
                break;
            }
            let can_go = watched.slot.is_some() && !watched.left_to_sender;
            let can_go = can_go && watched.tries < MAX_TRIES && watched.left_at < now;
            // The notice took as long as packets wait in the queue. Acknowledgments report a full queue one
            // round trip later, when a doubling window has lost many more.
            let can_go = can_go && !self.round_trip.is_full_queue(now.saturating_sub(watched.left_at));
            if !watched.delivered && !watched.queued && can_go {
                (watched.queued, watched.was_lost) = (true, true);
                self.again.push_back(watched.start);
            }
        }
    }
}
