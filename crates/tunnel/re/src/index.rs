//! The latest stored packet of each fingerprint: a table of a fixed size.
//!
//! It is direct-mapped: a fingerprint has one slot, and the newest entry overwrites it. A lost or stale entry
//! costs only savings, because the search compares bytes before it uses an entry.
//!
//! ```text
//! +----------+-------------+----------------------------+
//! | tag (16) | offset (16) | link sequence, low 32 bits |
//! +----------+-------------+----------------------------+
//! ```

use crate::pages::Pages;
use wire::number::widen;

const ENTRY_BYTES: usize = size_of::<u64>();

/// The place of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The packet's link sequence.
    pub sequence: u64,
    /// Where the window starts in the packet.
    pub offset: usize,
}

/// The entry of a window without its packet's sequence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Key {
    slot: u32,
    tag: u16,
    offset: u16,
}

/// The contents of a fingerprint's slot.
#[derive(Debug, Clone, Copy, Default)]
pub struct Entry {
    bits: u64,
    tag: u16,
}

impl Entry {
    /// The latest place of a window with this fingerprint, or of another with an equal tag. `newest` is the
    /// newest sequence in the store; it completes the truncated sequence.
    #[must_use]
    pub fn place(self, newest: u64) -> Option<Place> {
        (self.bits >> 48 == u64::from(self.tag)).then(|| Place {
            sequence: widen(self.bits & 0xffff_ffff, 32, newest),
            offset: usize::from((self.bits >> 32) as u16),
        })
    }
}

/// The table.
#[derive(Debug, Clone)]
pub struct Index {
    /// Entries of eight bytes. Zero is an empty entry; tags are never zero.
    entries: Pages,
    shift: u32,
}

/// Spreads a fingerprint over 64 bits, because sampling made its low bits zero.
fn spread(fingerprint: u64) -> u64 {
    let product = fingerprint.wrapping_mul(0xd6e8_feb8_6659_fd93);
    (product ^ product >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

impl Index {
    /// A table for a store of `store_bytes` that keeps one window in 2^`sample_bits`. Its size is at most
    /// that of the store.
    #[must_use]
    pub fn new(store_bytes: usize, sample_bits: u32) -> Self {
        let wanted = (store_bytes >> sample_bits.min(12)).next_power_of_two();
        let most = (store_bytes / ENTRY_BYTES).max(1);
        let count = wanted.min(1 << most.ilog2()).max(2);
        Index { entries: Pages::zeroed(count * ENTRY_BYTES), shift: 64 - count.ilog2() }
    }

    /// The entry of a window with this fingerprint, without its sequence.
    #[must_use]
    pub fn key(&self, fingerprint: u64, offset: u16) -> Key {
        let spread = spread(fingerprint);
        Key { slot: (spread >> self.shift) as u32, tag: spread as u16 | 1, offset }
    }

    /// Enters a window of a packet; it overwrites the slot.
    pub fn insert(&mut self, key: Key, sequence: u64) {
        let bits = u64::from(key.tag) << 48 | u64::from(key.offset) << 32 | sequence & 0xffff_ffff;
        self.entries.as_chunks_mut().0[key.slot as usize] = bits.to_ne_bytes();
    }

    /// Looks a fingerprint up. Several look-ups take little longer than one, because their memory accesses
    /// overlap.
    #[must_use]
    pub fn entry(&self, fingerprint: u64) -> Entry {
        let Key { slot, tag, .. } = self.key(fingerprint, 0);
        Entry { bits: u64::from_ne_bytes(self.entries.as_chunks().0[slot as usize]), tag }
    }

    /// Empties the table.
    pub fn clear(&mut self) {
        self.entries.fill(0);
    }

    /// Bytes of the table.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_entered_last_is_found(fingerprint: u64, sequence in 0u64..1 << 40, offset: u16, lead in 0u64..1000) {
            let mut index = Index::new(1 << 16, 4);
            index.insert(index.key(fingerprint, 3), sequence + 1);
            index.insert(index.key(fingerprint, offset), sequence);
            let place = Place { sequence, offset: usize::from(offset) };
            prop_assert_eq!(index.entry(fingerprint).place(sequence + lead), Some(place));
            index.clear();
            prop_assert_eq!(index.entry(fingerprint).place(sequence), None);
        }

        #[test]
        fn the_table_is_no_larger_than_the_store(store_bytes in 4096usize..1 << 24, sample_bits in 0u32..13) {
            prop_assert!(Index::new(store_bytes, sample_bits).size_bytes() <= store_bytes);
        }
    }
}
