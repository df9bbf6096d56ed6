//! A gateway's slots, with each chunk's neighbours in its latest transmission.
//!
//! ```text
//! noted of a slot:  | what is known of stations (96) | before (32) | behind (32) | - (32) |
//! ```
//!
//! A neighbour is a slot plus 1; 0 means unknown. Neighbours are hints: the slot may have another chunk, so
//! the caller compares bytes. With the head a slot takes 32 bytes, and 2^20 slots take 32 MiB.

use crate::cache::{HEAD_BYTES, SlotCache, USUAL_CHUNK_BYTES};
use crate::knowledge::NOTE_BYTES;
use crate::references::Surroundings;
use std::ops::Range;

const BEFORE: Range<usize> = NOTE_BYTES..NOTE_BYTES + 4;
const BEHIND: Range<usize> = BEFORE.end..BEFORE.end + 4;
const RECORD_BYTES: usize = (HEAD_BYTES + BEHIND.end).next_power_of_two();

/// A gateway's cache.
pub type GatewayCache = SlotCache<RECORD_BYTES>;

fn neighbour(notes: &[u8], which: Range<usize>) -> Option<u32> {
    notes[which].first_chunk().and_then(|slot| u32::from_ne_bytes(*slot).checked_sub(1))
}

impl Surroundings for GatewayCache {
    #[inline]
    fn before(&self, slot: u32) -> Option<u32> {
        neighbour(self.notes(slot), BEFORE)
    }

    #[inline]
    fn behind(&self, slot: u32) -> Option<u32> {
        neighbour(self.notes(slot), BEHIND)
    }

    #[inline]
    fn prefetch(&self, slot: u32) {
        SlotCache::prefetch(self, slot, USUAL_CHUNK_BYTES);
    }

    #[inline]
    fn bytes(&self, slot: u32) -> &[u8] {
        self.chunk(slot).unwrap_or_default()
    }
}

impl GatewayCache {
    /// Notes that the second slot's chunk followed the first one's.
    #[inline]
    pub fn note_neighbours(&mut self, first: u32, second: u32) {
        self.notes_mut(first)[BEHIND].copy_from_slice(&(second + 1).to_ne_bytes());
        self.notes_mut(second)[BEFORE].copy_from_slice(&(first + 1).to_ne_bytes());
    }

    /// As above, for consecutive packets, possibly of two flows: a known neighbour stays.
    pub fn note_neighbours_if_new(&mut self, first: u32, second: u32) {
        if self.behind(first).is_none() {
            self.notes_mut(first)[BEHIND].copy_from_slice(&(second + 1).to_ne_bytes());
        }
        if self.before(second).is_none() {
            self.notes_mut(second)[BEFORE].copy_from_slice(&(first + 1).to_ne_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Addresses;

    #[test]
    fn neighbours_are_known_until_another_chunk_takes_the_slot() {
        let (addresses, mut cache) = (Addresses::new(&[1; 32]), GatewayCache::new(14));
        let (first, second) = (addresses.of(&[1; 64]), addresses.of(&[2; 64]));
        cache.put(first, &[1; 64]);
        cache.put(second, &[2; 64]);
        let (one, other) = (first.slot(14), second.slot(14));
        cache.note_neighbours(one, other);
        assert_eq!([cache.behind(one), cache.before(other)], [Some(other), Some(one)]);
        assert_eq!([cache.before(one), cache.behind(other)], [None, None]);
        cache.note_neighbours_if_new(other, one);
        cache.note_neighbours_if_new(7, other);
        assert_eq!([cache.behind(other), cache.before(other)], [Some(one), Some(one)]);
        cache.put(second, &[3; 64]);
        assert_eq!([cache.behind(other), cache.before(other)], [None, None]);
    }

    #[test]
    fn all_that_is_noted_of_a_million_slots_for_64_stations_takes_32_mib() {
        assert_eq!(RECORD_BYTES << 20, 32 << 20);
    }
}
