//! One flow at the access point: segments in flight over the hop, losses that its acknowledgments show, and
//! repairs.
//!
//! A segment is *lost* when two segments that left after it have arrived. Two duplicate acknowledgments show
//! that (Snoop), and selective acknowledgment shows it more precisely. A retransmitted segment is lost again
//! when one later segment has arrived, because the hop keeps the order. The order of departure counts, not
//! the time.
//!
//! While every missing segment can be repaired here, the far sender does not see the losses. Duplicate
//! acknowledgments are dropped, and selective acknowledgment is removed from the others. The flow is
//! *exposed* if a segment cannot be repaired: it was not kept, its combined packets are missing as well, or
//! it was tried three times. All acknowledgments then pass unchanged until the segments in flight at that
//! time are acknowledged. The sender slows down once for them.

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

/// The most segments in flight that are watched. The sender repairs those beyond.
const MAX_WATCHED: usize = 512;
/// The most retransmissions of one segment.
const MAX_TRIES: u8 = 3;
/// Origin of the widened TCP sequence numbers, so that none is below zero.
const ORIGIN: u64 = 1 << 33;

/// A segment in flight.
#[derive(Debug)]
struct Watched {
    start: u64,
    end: u64,
    /// Time and order of its last departure.
    left_at: Duration,
    order: u64,
    /// Its block in the buffer.
    slot: Option<usize>,
    /// Number of retransmissions from here.
    tries: u8,
    /// It arrived out of order.
    delivered: bool,
    /// It was lost at least once.
    was_lost: bool,
    /// It waits for its retransmission.
    queued: bool,
    /// The sender retransmitted it.
    by_sender: bool,
    /// The sender has seen that it is missing.
    shown: bool,
    /// It is not retransmitted from here, although a kept sum contains it.
    left_to_sender: bool,
}

/// A flow of data to the station.
#[derive(Debug)]
pub(crate) struct Flow {
    pub buffer: Buffer,
    /// Segments by rising start.
    watched: VecDeque<Watched>,
    /// Everything before this is acknowledged.
    acknowledged: u64,
    /// Everything before this has left at least once.
    next: u64,
    /// Acknowledgments pass unchanged up to this number.
    exposed_until: u64,
    /// Window of the last acknowledgment, and its consecutive repetitions without selective acknowledgment.
    window: u16,
    duplicates: u32,
    next_order: u64,
    /// The two latest departure orders among arrived segments.
    arrived: [u64; 2],
    round_trip: RoundTrip,
    /// Time of the last acknowledgment.
    heard_at: Duration,
    counts: Counts,
    /// The number of the next segment.
    number: u64,
    /// Segments to retransmit, by their starts.
    again: VecDeque<u64>,
    /// Whether notices report the hop's losses.
    heeds_notices: bool,
    pub last_use: Duration,
    /// Time of its timer in the table of timers.
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

    /// Handles a data segment that leaves for the station.
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

    /// Handles a retransmission by the sender, which knows of the loss.
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

    /// Keeps a segment by the configured coding and returns its block. A segment that the sender retransmits
    /// is kept plain at any price, because a second loss costs the sender's timeout.
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
            // The pattern covers first transmissions only.
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
        // Segments with a retransmission, due or past, stay plain.
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

    /// The hop's loss rate for segments.
    pub fn loss(&self) -> f32 {
        self.counts.loss()
    }
}
