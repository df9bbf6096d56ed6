//! Headers that later ones may be written as differences from.

use std::collections::VecDeque;

/// How far back, in link sequences, a header may be referred to.
pub const REACH: u64 = 1024;
/// The longest header kept: IPv6, and TCP with all its options.
const MAX_HEADER_BYTES: usize = 40 + 60;

/// The headers of the last packets, by link sequence: at least those of the last `REACH` sequences.
///
/// The bytes are in one ring, in order of arrival. It grows to what the longest headers of late need, so that
/// most links take half of what the longest possible ones would.
#[derive(Debug)]
pub struct Headers {
    slots: Box<[Slot]>,
    /// Bytes of headers. Position p is at p modulo the length.
    ring: Vec<u8>,
    /// The position behind the newest header.
    end: u64,
    /// The position at some of the last sequences.
    marks: VecDeque<(u64, u64)>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    sequence: u64,
    /// Where its bytes begin, among all that were ever put.
    start: u64,
    length: u8,
}

/// Bytes of the ring at first, and at most: all slots with the longest header.
const LEAST_RING_BYTES: usize = 16 << 10;
/// The position is noted so often, in sequences.
const MARK_EVERY: u64 = 64;
const MOST_RING_BYTES: usize = (2 * REACH as usize * MAX_HEADER_BYTES).next_power_of_two();

impl Headers {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        let slots = vec![Slot::default(); 2 * REACH as usize].into();
        Headers { slots, ring: Vec::new(), end: 0, marks: VecDeque::new() }
    }

    /// How many sequences have a place. Those with the same remainder by it share one.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Keeps the header of a packet, in the place of an older one.
    pub fn put(&mut self, sequence: u64, packet: &[u8]) {
        let length = packet.len().min(MAX_HEADER_BYTES);
        self.make_room(sequence, length);
        let start = self.skip_to_fit(length);
        let at = (start % self.ring.len() as u64) as usize;
        self.ring[at..at + length].copy_from_slice(&packet[..length]);
        let slot = sequence as usize % self.slots.len();
        self.slots[slot] = Slot { sequence, start, length: length as u8 };
    }

    /// The position of the next `count` bytes in a row. They are taken.
    fn skip_to_fit(&mut self, count: usize) -> u64 {
        let bytes = self.ring.len() as u64;
        let left = bytes - self.end % bytes;
        let start = if left < count as u64 { self.end + left } else { self.end };
        self.end = start + count as u64;
        start
    }

    /// Doubles the ring if those of the last sequences do not fit.
    fn make_room(&mut self, sequence: u64, count: usize) {
        if self.ring.is_empty() {
            self.ring.resize(LEAST_RING_BYTES, 0);
        }
        if self.marks.back().is_none_or(|(marked, _)| sequence >= marked + MARK_EVERY) {
            self.marks.push_back((sequence, self.end));
        }
        while self.marks.front().is_some_and(|(marked, _)| marked + 2 * REACH < sequence) {
            self.marks.pop_front();
        }
        let since = self.marks.front().map_or(self.end, |(_, end)| *end);
        let wanted = (self.end - since) as usize + count + 2 * MAX_HEADER_BYTES;
        if wanted > self.ring.len() && self.ring.len() < MOST_RING_BYTES {
            self.grow();
        }
    }

    fn grow(&mut self) {
        let mut next = Headers { ring: vec![0; 2 * self.ring.len()], ..Headers::new() };
        let mut kept: Vec<Slot> = self.slots.iter().copied().filter(|slot| self.holds(slot)).collect();
        kept.sort_unstable_by_key(|slot| slot.start);
        for slot in kept {
            let length = usize::from(slot.length);
            let (start, from) = (next.skip_to_fit(length), (slot.start % self.ring.len() as u64) as usize);
            let to = (start % next.ring.len() as u64) as usize;
            next.ring[to..to + length].copy_from_slice(&self.ring[from..from + length]);
            let at = slot.sequence as usize % next.slots.len();
            next.slots[at] = Slot { start, ..slot };
        }
        // what was put before is counted from the new beginning
        let moved = self.end - next.end;
        next.marks = self.marks.iter().map(|(at, end)| (*at, end.saturating_sub(moved))).collect();
        *self = next;
    }

    /// Whether the bytes of a slot are there.
    fn holds(&self, slot: &Slot) -> bool {
        slot.length > 0 && slot.start + self.ring.len() as u64 >= self.end
    }

    fn find(&self, sequence: u64) -> Option<&Slot> {
        let slot = &self.slots[sequence as usize % self.slots.len()];
        (slot.sequence == sequence && self.holds(slot)).then_some(slot)
    }

    /// The header of the packet with this sequence, while it is kept.
    #[must_use]
    pub fn get(&self, sequence: u64) -> Option<&[u8]> {
        let slot = self.find(sequence)?;
        let at = (slot.start % self.ring.len() as u64) as usize;
        self.ring.get(at..at + usize::from(slot.length))
    }

    /// Bytes of memory now.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.slots.len() * size_of::<Slot>() + self.ring.capacity()
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.length = 0);
        self.marks.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Headers of any lengths and about in order are there for `REACH` sequences.
        #[test]
        fn headers_stay_as_long_as_they_may_be_referred_to(lengths in proptest::collection::vec(1usize..101, 1..40)) {
            let mut headers = Headers::new();
            let header = |sequence: u64| {
                let length = lengths[sequence as usize % lengths.len()];
                vec![(sequence % 251) as u8; length]
            };
            for sequence in 0..6000u64 {
                // each pair comes in the other order
                let sequence = sequence ^ 1;
                headers.put(sequence, &header(sequence));
                for back in [0, 1, 63, 64, 500, REACH - 1] {
                    let Some(earlier) = sequence.checked_sub(back) else { continue };
                    if back != 1 {
                        prop_assert_eq!(headers.get(earlier), Some(&header(earlier)[..]), "{} of {}", back, sequence);
                    }
                }
            }
            prop_assert!(headers.ring.len() <= MOST_RING_BYTES);
        }
    }
}
