//! The bytes of packets, in segments of slabs.
//!
//! ```text
//! +---------------+-------------+--------+---------------+---
//! | sequence (64) | length (16) | packet | sequence (64) | ...
//! +---------------+-------------+--------+---------------+---
//! ```
//!
//! A slab is what the system gives, and takes back. Where the bound is some MiB, each slab is as large as all
//! before it, up to a large page: the store has large pages, and takes little while it has few packets. A
//! segment is what is written from its beginning to its end, and free when its last packet has left. Packets
//! leave in about the order in which they came. Those that last have segments of their own, because they stay
//! longer. A slab in which few packets stay is emptied by moving them ([`Log::retire_sparse_slab`]).

use crate::pages::Pages;
use prefetch_index::prefetch_index;

/// Bytes before a packet.
const FRONT_BYTES: usize = 10;
/// The first slab is this part of a small store's bound.
const SLABS: usize = 32;
/// The smallest slab, in bytes.
const LEAST_SLAB_BYTES: usize = 16 << 10;
/// The largest slab, in bytes: a large page.
const MOST_SLAB_BYTES: usize = 2 << 20;
/// The most segments of the first slab.
const SEGMENTS: usize = 8;
/// The smallest segment of a slab that has several, in bytes.
const LEAST_SEGMENT_BYTES: usize = 16 << 10;
/// Bytes that are fetched before they are written: a packet of the usual size.
const AHEAD_BYTES: usize = 1536;
/// Bytes that a processor fetches together.
const LINE_BYTES: usize = 64;

/// The place of a packet: its slab, and where it begins there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Location {
    slab: u32,
    offset: u32,
}

/// The segment that is written: its slab and number there, and where the next packet goes.
#[derive(Debug, Clone, Copy)]
struct Head {
    slab: u32,
    segment: u32,
    at: usize,
    end: usize,
}

#[derive(Debug, Clone)]
struct Slab {
    bytes: Pages,
    segment_bytes: usize,
    /// An offset shifted to the right by it is a segment's number.
    segment_shift: u32,
    segments: Vec<Segment>,
    /// Bytes of packets that have not left, with what stands before them.
    live: usize,
    /// Nothing is written to it again.
    is_retired: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Segment {
    live: usize,
    written: usize,
    is_head: bool,
}

/// The slabs.
#[derive(Debug, Clone, Default)]
pub(super) struct Log {
    /// By number; `None` is a number without a slab.
    slabs: Vec<Option<Slab>>,
    /// Of packets that do not last, and of those that do.
    heads: [Option<Head>; 2],
    /// Free segments: slabs and numbers.
    free: Vec<(u32, u32)>,
    /// The slab that was added last, and its first segment that was never written.
    fresh: Option<(u32, u32)>,
    bound_bytes: usize,
    /// Of the first slab.
    slab_bytes: usize,
    size_bytes: usize,
    live_bytes: usize,
}

impl Slab {
    fn of(slab_bytes: usize, segment_bytes: usize) -> Self {
        let segments = vec![Segment::default(); slab_bytes / segment_bytes];
        let segment_shift = segment_bytes.next_power_of_two().ilog2();
        let bytes = Pages::zeroed(slab_bytes);
        Slab { bytes, segment_bytes, segment_shift, segments, live: 0, is_retired: false }
    }

    fn is_empty(&self) -> bool {
        self.live == 0 && self.segments.iter().all(|segment| !segment.is_head)
    }
}

impl Log {
    /// Sets the size of the slabs that come, for a store of `bound_bytes`.
    pub(super) fn fit(&mut self, bound_bytes: usize) {
        let wanted = (bound_bytes / SLABS).clamp(LEAST_SLAB_BYTES, MOST_SLAB_BYTES);
        self.slab_bytes = 1 << wanted.ilog2();
        if bound_bytes < self.bound_bytes {
            self.fresh = None;
        }
        self.bound_bytes = bound_bytes;
    }

    /// Bytes of all slabs.
    pub(super) fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    /// Appends a packet, which lasts or not.
    pub(super) fn append(&mut self, lasts: bool, sequence: u64, packet: &[u8]) -> Location {
        let needed = FRONT_BYTES + packet.len();
        let head = &mut self.heads[usize::from(lasts)];
        if head.is_none_or(|head| head.end - head.at < needed) {
            self.begin(lasts, needed);
        }
        let (Some(head), slabs) = (&mut self.heads[usize::from(lasts)], &mut self.slabs) else {
            return Location::default();
        };
        let Some(Some(slab)) = slabs.get_mut(head.slab as usize) else { return Location::default() };
        let (front, rest) = slab.bytes[head.at..head.at + needed].split_at_mut(FRONT_BYTES);
        front[..8].copy_from_slice(&sequence.to_ne_bytes());
        front[8..].copy_from_slice(&(packet.len() as u16).to_ne_bytes());
        rest.copy_from_slice(packet);
        let location = Location { slab: head.slab, offset: (head.at + FRONT_BYTES) as u32 };
        head.at += needed;
        let segment = &mut slab.segments[head.segment as usize];
        segment.written += needed;
        segment.live += needed;
        slab.live += needed;
        self.live_bytes += needed;
        for ahead in (0..AHEAD_BYTES).step_by(LINE_BYTES) {
            prefetch_index(&slab.bytes[..], head.at + ahead);
        }
        location
    }

    /// The packet of `length` bytes at this place.
    pub(super) fn packet(&self, at: Location, length: usize) -> &[u8] {
        match self.slabs.get(at.slab as usize) {
            Some(Some(slab)) => &slab.bytes[at.offset as usize..at.offset as usize + length],
            _ => &[],
        }
    }

    /// The packet of `length` bytes at this place leaves.
    pub(super) fn remove(&mut self, at: Location, length: usize) {
        let Some(Some(slab)) = self.slabs.get_mut(at.slab as usize) else { return };
        let number = at.offset as usize >> slab.segment_shift;
        let segment = &mut slab.segments[number];
        segment.live -= FRONT_BYTES + length;
        slab.live -= FRONT_BYTES + length;
        self.live_bytes -= FRONT_BYTES + length;
        if segment.live == 0 && !segment.is_head {
            segment.written = 0;
            if !slab.is_retired {
                self.free.push((at.slab, number as u32));
                self.release();
            } else if slab.is_empty() {
                self.give_back(at.slab);
            }
        }
    }

    /// Retires the slab with the fewest bytes of packets, if the packets take too much memory and at most
    /// half of that slab stays. The caller moves its packets.
    pub(super) fn retire_sparse_slab(&mut self) -> Option<u32> {
        // ends of segments stay empty, and the oldest and newest ones are in part
        let usual = self.live_bytes + self.live_bytes / 8 + 2 * self.slab_bytes + 3 * self.segment_bytes();
        if self.size_bytes <= usual || self.size_bytes <= usual + self.fresh_bytes() {
            return None;
        }
        let numbered = (0u32..).zip(&self.slabs).filter_map(|(number, slab)| Some((number, slab.as_ref()?)));
        let others = numbered.filter(|(_, slab)| slab.segments.iter().all(|segment| !segment.is_head));
        let (number, slab) = others.min_by_key(|(_, slab)| slab.live)?;
        if slab.live > slab.bytes.len() / 2 {
            return None;
        }
        self.free.retain(|(slab, _)| *slab != number);
        match &mut self.slabs[number as usize] {
            Some(slab) if slab.live > 0 => slab.is_retired = true,
            _ => self.give_back(number),
        }
        Some(number)
    }

    /// The packets that were written to a slab: their sequences, places and lengths. Some have left.
    pub(super) fn written_in(&self, number: u32) -> Vec<(u64, Location, usize)> {
        let mut written = Vec::new();
        let Some(Some(slab)) = self.slabs.get(number as usize) else { return written };
        for (from, segment) in (0..).step_by(slab.segment_bytes).zip(&slab.segments) {
            let (mut at, end) = (from, from + segment.written);
            while let Some(front) = slab.bytes[at..end].first_chunk::<FRONT_BYTES>() {
                let [sequence @ .., high, low] = *front;
                let length = usize::from(u16::from_ne_bytes([high, low]));
                at += FRONT_BYTES;
                let location = Location { slab: number, offset: at as u32 };
                written.push((u64::from_ne_bytes(sequence), location, length));
                at += length;
            }
        }
        written
    }

    /// Moves a packet, which lasts or not, to the head.
    pub(super) fn again(&mut self, lasts: bool, sequence: u64, at: Location, length: usize) -> Location {
        let packet = self.packet(at, length).to_vec();
        let to = self.append(lasts, sequence, &packet);
        self.remove(at, length);
        to
    }

    /// Gives everything back.
    pub(super) fn clear(&mut self) {
        let (bound_bytes, slab_bytes) = (self.bound_bytes, self.slab_bytes);
        *self = Log { bound_bytes, slab_bytes, ..Log::default() };
    }

    /// Bytes of the slab that was added last that were never written, as long as the bound is the same.
    fn fresh_bytes(&self) -> usize {
        let Some((number, from)) = self.fresh else { return 0 };
        let slab = self.slabs.get(number as usize).and_then(Option::as_ref);
        slab.map_or(0, |slab| slab.bytes.len() - from as usize * slab.segment_bytes)
    }

    fn segment_bytes(&self) -> usize {
        (self.slab_bytes / SEGMENTS).max(LEAST_SEGMENT_BYTES).min(self.slab_bytes)
    }

    /// Begins a segment with room for `needed` bytes, and ends the one that was written.
    fn begin(&mut self, lasts: bool, needed: usize) {
        if let Some(former) = self.heads[usize::from(lasts)].take()
            && let Some(Some(slab)) = self.slabs.get_mut(former.slab as usize)
        {
            let segment = &mut slab.segments[former.segment as usize];
            segment.is_head = false;
            if segment.live == 0 {
                segment.written = 0;
                self.free.push((former.slab, former.segment));
            }
        }
        let has_room = |(slab, _): &(u32, u32)| {
            let slab = self.slabs.get(*slab as usize).and_then(Option::as_ref);
            slab.is_some_and(|slab| slab.segment_bytes >= needed)
        };
        let (slab, segment) = match self.free.iter().rposition(has_room) {
            Some(at) => self.free.swap_remove(at),
            None => (self.add_slab(needed), 0),
        };
        if let Some(Some(it)) = self.slabs.get_mut(slab as usize) {
            it.segments[segment as usize].is_head = true;
            if let Some((_, from)) = self.fresh.as_mut().filter(|(newest, _)| *newest == slab) {
                *from = (segment + 1).max(*from);
            }
            let at = segment as usize * it.segment_bytes;
            self.heads[usize::from(lasts)] = Some(Head { slab, segment, at, end: at + it.segment_bytes });
        }
    }

    /// Adds a slab with room for packets of `needed` bytes. Its first segment is not among the free ones.
    fn add_slab(&mut self, needed: usize) -> u32 {
        let segment_bytes = self.segment_bytes();
        let slab = if needed <= segment_bytes {
            Slab::of(self.next_slab_bytes(), segment_bytes)
        } else {
            Slab::of(needed, needed)
        };
        self.size_bytes += slab.bytes.len();
        let number = self.slabs.iter().position(Option::is_none).unwrap_or(self.slabs.len()) as u32;
        self.free.extend((1..slab.segments.len() as u32).rev().map(|segment| (number, segment)));
        self.fresh = Some((number, 1));
        match self.slabs.get_mut(number as usize) {
            Some(place) => *place = Some(slab),
            None => self.slabs.push(Some(slab)),
        }
        number
    }

    /// As many bytes as there are, up to a large page, within the bound. A store without a large page has
    /// slabs of one size, which the allocator uses again.
    fn next_slab_bytes(&self) -> usize {
        if self.bound_bytes < MOST_SLAB_BYTES {
            return self.slab_bytes;
        }
        let room = self.bound_bytes.saturating_sub(self.size_bytes);
        let most = self.size_bytes.min(room).min(MOST_SLAB_BYTES);
        1 << most.max(self.slab_bytes).ilog2()
    }

    /// Gives empty slabs back while others have free segments.
    fn release(&mut self) {
        let free_bytes = self.free.len() * self.segment_bytes();
        if free_bytes <= self.slab_bytes {
            return;
        }
        let is_empty = |slab: &Option<Slab>| {
            slab.as_ref().is_some_and(|slab| slab.bytes.len() < free_bytes && slab.is_empty())
        };
        if let Some(number) = self.slabs.iter().position(is_empty) {
            self.free.retain(|(slab, _)| *slab as usize != number);
            self.give_back(number as u32);
        }
    }

    fn give_back(&mut self, number: u32) {
        if let Some(slab) = self.slabs[number as usize].take() {
            self.size_bytes -= slab.bytes.len();
            self.fresh = self.fresh.filter(|(newest, _)| *newest != number);
        }
    }
}
