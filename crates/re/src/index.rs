//! Which stored packet had a fingerprint last: a table of a fixed size.
//!
//! Direct-mapped: a fingerprint has one place, and the newest entry takes it. An entry that was displaced or
//! whose packet is gone costs savings and nothing else; whoever looks up compares bytes before trusting it.
//!
//! ```text
//! +----------+-------------+----------------------------+
//! | tag (16) | offset (16) | link sequence, low 32 bits |
//! +----------+-------------+----------------------------+
//! ```

use wire::number::widen;

/// Where a window with some fingerprint stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The packet's link sequence.
    pub sequence: u64,
    /// Where the window starts in the packet.
    pub offset: usize,
}

/// The table.
#[derive(Debug, Clone)]
pub struct Index {
    /// Zero is an empty entry; tags are never zero.
    entries: Vec<u64>,
    shift: u32,
}

/// Spreads a fingerprint, whose low bits sampling has made zero, over 64 bits.
fn spread(fingerprint: u64) -> u64 {
    let product = fingerprint.wrapping_mul(0xd6e8_feb8_6659_fd93);
    (product ^ product >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

impl Index {
    /// A table for a store of `store_bytes` of which one window in 2^`sample_bits` is kept. It takes at most
    /// as many bytes as the store.
    #[must_use]
    pub fn new(store_bytes: usize, sample_bits: u32) -> Self {
        let wanted = (store_bytes >> sample_bits.min(12)).next_power_of_two();
        let most = (store_bytes / size_of::<u64>()).max(1);
        let count = wanted.min(1 << most.ilog2()).max(2);
        Index { entries: vec![0; count], shift: 64 - count.ilog2() }
    }

    fn slot_and_tag(&self, fingerprint: u64) -> (usize, u64) {
        let spread = spread(fingerprint);
        ((spread >> self.shift) as usize, (spread & 0xffff) | 1)
    }

    /// Enters a window, in place of whatever stood there.
    pub fn insert(&mut self, fingerprint: u64, sequence: u64, offset: u16) {
        let (slot, tag) = self.slot_and_tag(fingerprint);
        self.entries[slot] = tag << 48 | u64::from(offset) << 32 | sequence & 0xffff_ffff;
    }

    /// Where a window with this fingerprint was last entered, or with another that looks the same. `newest`
    /// is the newest sequence in the store, by which the full sequence is known.
    #[must_use]
    pub fn find(&self, fingerprint: u64, newest: u64) -> Option<Place> {
        let (slot, tag) = self.slot_and_tag(fingerprint);
        let entry = self.entries[slot];
        (entry >> 48 == tag).then(|| Place {
            sequence: widen(entry & 0xffff_ffff, 32, newest),
            offset: usize::from((entry >> 32) as u16),
        })
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.entries.fill(0);
    }

    /// How many bytes the table takes.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.entries.len() * size_of::<u64>()
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
            index.insert(fingerprint, sequence + 1, 3);
            index.insert(fingerprint, sequence, offset);
            let place = Place { sequence, offset: usize::from(offset) };
            prop_assert_eq!(index.find(fingerprint, sequence + lead), Some(place));
            index.clear();
            prop_assert_eq!(index.find(fingerprint, sequence), None);
        }

        #[test]
        fn the_table_is_no_larger_than_the_store(store_bytes in 4096usize..1 << 24, sample_bits in 0u32..13) {
            prop_assert!(Index::new(store_bytes, sample_bits).size_bytes() <= store_bytes);
        }
    }
}
