//! What is missing: what of it is to be sent again, and what is left to the sender.

use super::{Flow, MAX_TRIES};
use crate::buffer::Kept;
use crate::snoop::Statistics;
use std::time::Duration;
use wire::number::widen;

impl Flow {
    /// Whether something is missing. What is lost and kept is queued to be sent again; if something missing
    /// is not to be had here, the flow is exposed.
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
            // of what no notice tells, the path beyond the hop is to blame; there is time for one until it
            // counts as lost
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

    /// Whether what is missing is kept, and may be had of what is kept: no more of what it is coded with is
    /// missing too than there are rows.
    fn can_be_repaired(&self, at: usize, highest: u64) -> bool {
        let watched = &self.watched[at];
        let tries_left = watched.tries < MAX_TRIES || watched.queued;
        let Some(kept) = watched.slot.and_then(|slot| self.buffer.get(slot, watched.start)) else {
            return false;
        };
        tries_left && !watched.left_to_sender && self.is_enough(&kept, highest)
    }

    /// Whether there are as many rows as packets missing of those that they are made of.
    fn is_enough(&self, kept: &Kept<'_>, highest: u64) -> bool {
        kept.others().filter(|other| self.is_missing(other.0, highest)).count() <= kept.spared()
    }

    fn is_missing(&self, start: u64, highest: u64) -> bool {
        let at = self.watched.partition_point(|watched| watched.start < start);
        start < highest
            && self.watched.get(at).is_some_and(|watched| watched.start == start && !watched.delivered)
    }

    /// What is missing is the sender's to repair.
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

    /// When to send the first missing segment again without having heard more of it.
    pub fn timeout(&self) -> Option<Duration> {
        let first = self.watched.front()?;
        first.slot?;
        if self.heeds_notices || first.left_to_sender {
            return None;
        }
        // while others are acknowledged it is told of by them
        let since = first.left_at.max(self.heard_at);
        // what the air loses is no sign that it is full: the wait need not double
        (!first.queued).then(|| since + self.round_trip.timeout() * (u32::from(first.tries) + 1))
    }

    /// Nothing was heard of the first segment for too long.
    pub fn handle_timeout(&mut self, now: Duration, statistics: &mut Statistics) {
        if self.timeout().is_none_or(|at| at > now) {
            return;
        }
        // what is known to be missing counts as such, of the rest nothing is known (section IV-B)
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

    /// A notice tells that the hop lost so many bytes from this TCP sequence number on: what of them is kept
    /// is queued to be sent again.
    pub fn handle_notice(&mut self, now: Duration, start: u32, length: u32) {
        // what a full queue before the hop lost shows as a gap too, and is for the sender to hear of
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
            // the notice took as long as those wait that arrived in its place; acknowledgments tell of that a
            // round trip later, when a window that doubles has lost many more
            let can_go = can_go && !self.round_trip.is_full_queue(now.saturating_sub(watched.left_at));
            if !watched.delivered && !watched.queued && can_go {
                (watched.queued, watched.was_lost) = (true, true);
                self.again.push_back(watched.start);
            }
        }
    }
}
