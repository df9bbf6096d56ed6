//! One flow at the access point: what is on its way over the hop, what its acknowledgments show to be
//! missing, and what is done about it.
//!
//! A segment is *lost* when two segments that left after it have arrived: that is what two duplicate
//! acknowledgments say (Snoop), and what selective acknowledgment says more precisely. One that was sent
//! again is lost again when one does: the hop keeps the order. What left when is counted, not timed.
//!
//! While all that is missing can be sent again from here, the far sender is shown nothing of it: duplicate
//! acknowledgments stay here, and selective acknowledgment is taken out of those that go on. As soon as
//! something cannot (it was not kept, what it is coded with is lost too, it was tried three times), the flow
//! is *exposed*: everything goes on as it came, until what was on its way then has been acknowledged. The
//! sender slows down once for that and not again.

mod acknowledgments;
mod losses;
mod repairs;

use crate::buffer::{Buffer, Means};
use crate::choice::Counts;
use crate::round_trip::RoundTrip;
use crate::segment::Segment;
use crate::settings::{Coding, Settings, Undoes};
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
    /// The window in the last acknowledgment, and how often that came in a row without selective
    /// acknowledgment.
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
    pub fn handle_departure(
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
            return self.repeated(now, (start, end), packet, segment, (settings, undoes));
        }
        self.next = end;
        if self.watched.len() == MAX_WATCHED {
            return;
        }
        let slot = self.keep(start, packet, segment, (settings, undoes), false);
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
    fn repeated(
        &mut self,
        now: Duration,
        (start, end): (u64, u64),
        packet: &[u8],
        segment: &Segment,
        by: (&Settings, Undoes),
    ) {
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
                (watched.left_at, watched.order) = (now, order);
                let is_whole = (watched.start, watched.end) == (start, end);
                if is_whole && watched.slot.is_none_or(|slot| self.buffer.get(slot, start).is_none()) {
                    self.watched[at].slot = self.keep(start, packet, segment, by, true);
                }
            }
        }
    }

    /// Keeps a segment by the settings' way: in which block. One that the sender repeats is best had as it
    /// is, and at any price: a second loss costs its timeout.
    fn keep(
        &mut self,
        start: u64,
        packet: &[u8],
        segment: &Segment,
        (settings, undoes): (&Settings, Undoes),
        is_repeated: bool,
    ) -> Option<usize> {
        let (header, payload) = (&packet[..segment.payload_at], &packet[segment.payload_at..segment.end]);
        let name = (self.number, start);
        let means = match settings.coding {
            // the pattern is over what leaves for the first time
            Coding::Fixed(pattern) if !is_repeated => {
                self.number += 1;
                return self.buffer.keep(Some(pattern.group(name.0)), name, header, payload, true);
            }
            Coding::Off | Coding::Fixed(_) => {
                return self.buffer.keep(None, name, header, payload, false);
            }
            Coding::Adaptive => Means { sums: true, rows: undoes == Undoes::Rows },
            Coding::ReedSolomon => Means { sums: false, rows: true },
        };
        self.number += 1;
        let watched = &self.watched;
        // what is about to be sent again, or was, is best had as it is
        let is_wanted = |start: u64| {
            let at = watched.partition_point(|watched| watched.start < start);
            let is_again = |it: &Watched| it.was_lost || it.tries > 0 || it.by_sender;
            watched.get(at).is_some_and(|it| it.start == start && is_again(it))
        };
        let worth = if is_repeated { f32::INFINITY } else { self.counts.worth() };
        let why = (&self.counts, means, worth);
        let slot = self.buffer.keep_combining(name, header, payload, why, is_wanted)?;
        let (moved, into) = self.buffer.moved();
        if !moved.is_empty() {
            let is_moved = |slot: usize| moved.contains(&slot);
            let moved = self.watched.iter_mut().filter(|watched| watched.slot.is_some_and(is_moved));
            moved.for_each(|watched| watched.slot = Some(into));
        }
        Some(slot)
    }

    /// The share of segments that the hop lost.
    pub fn loss(&self) -> f32 {
        self.counts.loss()
    }
}
