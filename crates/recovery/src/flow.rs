//! One flow at the access point: what is on its way over the hop, what its acknowledgments show to be missing, and what is
//! done about it.
//!
//! A segment is *lost* when two segments that left after it have arrived: that is what two duplicate acknowledgments say
//! (Snoop), and what selective acknowledgment says more precisely. One that was sent again is lost again when one does: the
//! hop keeps the order. What left when is counted, not timed.
//!
//! While all that is missing can be sent again from here, the far sender is shown nothing of it: duplicate acknowledgments
//! stay here, and selective acknowledgment is taken out of those that go on. As soon as something cannot (it was not kept,
//! what it is coded with is lost too, it was tried three times), the flow is *exposed*: everything goes on as it came, until
//! what was on its way then has been acknowledged. The sender slows down once for that and not again.

use crate::buffer::{Buffer, Kept, Means};
use crate::choice::Counts;
use crate::round_trip::RoundTrip;
use crate::segment::Segment;
use crate::settings::{Coding, Settings, Undoes};
use crate::snoop::{Statistics, Verdict};
use std::collections::VecDeque;
use std::time::Duration;
use wire::number::widen;

/// Segments on their way that are watched; what comes beyond them is left to the sender.
const MAX_WATCHED: usize = 512;
/// How often one segment is sent again.
const MAX_TRIES: u8 = 3;
/// TCP's sequence numbers are widened to count from here, so that none is below zero.
const ORIGIN: u64 = 1 << 33;

/// A segment on its way.
#[derive(Debug)]
struct Watched {
    start: u64,
    end: u64,
    /// When it left last, and as which of all that left.
    left_at: Duration,
    order: u64,
    /// Where it is kept.
    slot: Option<usize>,
    /// How often it was sent again from here.
    tries: u8,
    /// It has arrived, out of order.
    delivered: bool,
    /// It was lost at least once.
    was_lost: bool,
    /// It waits to be sent again.
    queued: bool,
    /// The sender itself sent it again.
    by_sender: bool,
    /// The sender has been shown that it is missing.
    shown: bool,
    /// It is not sent again from here, though it is part of what is kept for others.
    left_to_sender: bool,
}

/// A flow of data towards the station.
#[derive(Debug)]
pub(crate) struct Flow {
    pub buffer: Buffer,
    /// By rising start.
    watched: VecDeque<Watched>,
    /// Everything before has been acknowledged.
    acknowledged: u64,
    /// Everything before has left at least once.
    next: u64,
    /// Until what is acknowledged the sender is shown everything.
    exposed_until: u64,
    /// The window in the last acknowledgment, and how often that came in a row without selective acknowledgment.
    window: u16,
    duplicates: u32,
    next_order: u64,
    /// The two latest orders of what has arrived.
    arrived: [u64; 2],
    round_trip: RoundTrip,
    /// When an acknowledgment came last.
    heard_at: Duration,
    counts: Counts,
    /// The number of the next segment.
    number: u64,
    /// Segments to be sent again, by their starts.
    again: VecDeque<u64>,
    /// Losses of the hop are told by notices.
    heeds_notices: bool,
    pub last_use: Duration,
    /// When its timer rings, as the table of timers knows it.
    pub timer: Option<Duration>,
}

impl Flow {
    pub fn new(settings: &Settings, sequence: u32, heeds_notices: bool) -> Self {
        let start = ORIGIN + u64::from(sequence);
        Flow {
            buffer: Buffer::new(settings.buffer_packets, settings.replacement),
            watched: VecDeque::new(),
            acknowledged: start,
            next: start,
            exposed_until: start,
            window: 0,
            duplicates: 0,
            next_order: 1,
            arrived: [0; 2],
            round_trip: RoundTrip::default(),
            heard_at: Duration::ZERO,
            counts: Counts::default(),
            number: 0,
            again: VecDeque::new(),
            heeds_notices,
            last_use: Duration::ZERO,
            timer: None,
        }
    }

    /// A segment of data leaves for the station.
    pub fn leaves(
        &mut self,
        now: Duration,
        packet: &[u8],
        segment: &Segment,
        settings: &Settings,
        undoes: Undoes,
    ) {
        self.last_use = now;
        let start = widen(segment.sequence.into(), 32, self.next);
        let end = start + segment.length();
        if start < self.next {
            return self.repeated(now, (start, end), packet, segment);
        }
        self.next = end;
        if self.watched.len() == MAX_WATCHED {
            return;
        }
        let slot = self.keep(start, packet, segment, settings, undoes);
        let order = self.next_order();
        self.watched.push_back(Watched {
            start,
            end,
            left_at: now,
            order,
            slot,
            tries: 0,
            delivered: false,
            was_lost: false,
            queued: false,
            by_sender: false,
            shown: false,
            left_to_sender: false,
        });
    }

    fn next_order(&mut self) -> u64 {
        self.next_order += 1;
        self.next_order - 1
    }

    /// The sender sends again what it takes for lost: it knows.
    fn repeated(&mut self, now: Duration, (start, end): (u64, u64), packet: &[u8], segment: &Segment) {
        if start >= self.exposed_until {
            self.exposed_until = self.next;
        }
        for at in 0..self.watched.len() {
            let watched = &self.watched[at];
            if watched.start >= start && watched.end <= end && !watched.delivered {
                let order = self.next_order();
                let watched = &mut self.watched[at];
                (watched.by_sender, watched.shown, watched.tries) = (true, true, 0);
                watched.left_to_sender = false;
                let is_whole = (watched.start, watched.end) == (start, end);
                if is_whole && watched.slot.is_none_or(|slot| self.buffer.get(slot, start).is_none()) {
                    // a second loss costs the sender its timeout
                    let (header, payload) =
                        (&packet[..segment.payload_at], &packet[segment.payload_at..segment.end]);
                    watched.slot = self.buffer.keep(None, (self.number, start), header, payload, false);
                }
                (watched.left_at, watched.order) = (now, order);
            }
        }
    }

    /// Keeps a segment by the settings' way: in which block.
    fn keep(
        &mut self,
        start: u64,
        packet: &[u8],
        segment: &Segment,
        settings: &Settings,
        undoes: Undoes,
    ) -> Option<usize> {
        let (header, payload) = (&packet[..segment.payload_at], &packet[segment.payload_at..segment.end]);
        let name = (self.number, start);
        self.number += 1;
        let means = match settings.coding {
            Coding::Off => return self.buffer.keep(None, name, header, payload, false),
            Coding::Fixed(pattern) => {
                return self.buffer.keep(Some(pattern.group(name.0)), name, header, payload, true);
            }
            Coding::Adaptive => Means { sums: true, rows: undoes == Undoes::Rows },
            Coding::ReedSolomon => Means { sums: false, rows: true },
        };
        let watched = &self.watched;
        // what is about to be sent again, or was, is best had as it is
        let is_wanted = |start: u64| {
            let at = watched.partition_point(|watched| watched.start < start);
            watched.get(at).is_some_and(|it| it.start == start && (it.was_lost || it.tries > 0))
        };
        let slot = self.buffer.keep_combining(name, header, payload, (&self.counts, means), is_wanted)?;
        let (moved, into) = self.buffer.moved();
        if !moved.is_empty() {
            let is_moved = |slot: usize| moved.contains(&slot);
            let moved = self.watched.iter_mut().filter(|watched| watched.slot.is_some_and(is_moved));
            moved.for_each(|watched| watched.slot = Some(into));
        }
        Some(slot)
    }

    /// A segment came from the station with an acknowledgment of this flow's data.
    pub fn came(
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
            // what it acknowledges did not pass here
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

    /// Notes what has arrived. Up to where selective acknowledgment shows something to have.
    fn take_acknowledgment(&mut self, now: Duration, acknowledgment: u64, segment: &Segment) -> u64 {
        let mut sample = None;
        let mut highest = acknowledgment;
        let mut blocks = [(acknowledgment, acknowledgment); 4];
        for (block, &(start, end)) in blocks.iter_mut().zip(segment.blocks()) {
            let (start, end) = [start, end].map(|edge| widen(edge.into(), 32, self.acknowledged)).into();
            // what lies before the acknowledgment came twice (RFC 2883); what was never sent is a lie
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
            // of several the one that left last was answered at once; what comes behind what left later was lost, and restored
            *sample = Some(took);
        }
        // of what left twice nobody knows which arrived, unless the second cannot have
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
            self.buffer.delivered(slot, start);
        }
    }

    /// Whether something is missing. What is lost and kept is queued to be sent again; if something missing is not to be
    /// had here, the flow is exposed.
    fn look_for_losses(
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
            // of what no notice tells, the path beyond the hop is to blame; there is time for one until it counts as lost
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

    /// Whether what is missing is kept, and may be had of what is kept: no more of what it is coded with is missing too than
    /// there are rows.
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

    /// A notice tells that the hop lost so many bytes from this TCP sequence number on: what of them is kept is queued to be
    /// sent again.
    pub fn noticed(&mut self, now: Duration, start: u32, length: u32) {
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
            // the notice took as long as those wait that arrived in its place; acknowledgments tell of that a round trip later,
            // when a window that doubles has lost many more
            let can_go = can_go && !self.round_trip.is_full_queue(now.saturating_sub(watched.left_at));
            if !watched.delivered && !watched.queued && can_go {
                (watched.queued, watched.was_lost) = (true, true);
                self.again.push_back(watched.start);
            }
        }
    }

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
            let has_rows = self.buffer.get(slot, start).is_some_and(|kept| kept.spared() > 0);
            let is_first = self.watched[at].tries == 0;
            if has_rows && !is_first && self.sends_another_row(slot) {
                continue;
            }
            let order = self.next_order();
            let watched = &mut self.watched[at];
            watched.tries += 1;
            (watched.left_at, watched.order) = (now, order);
            if has_rows && is_first {
                self.waits_for_row(now, slot);
            }
            if self.buffer.get(slot, start).is_some() {
                return Some((slot, start));
            }
        }
        None
    }

    /// Whether a row of that block is about to be sent that none was sent for before.
    fn sends_another_row(&self, slot: usize) -> bool {
        self.watched.iter().any(|it| it.slot == Some(slot) && it.queued && it.tries == 0)
    }

    /// A row of that block leaves for another packet. Those that one was sent for before may lack no more than this: theirs may
    /// have arrived and wait.
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

    /// The share of segments that the hop lost.
    pub fn loss(&self) -> f32 {
        self.counts.loss()
    }
}
