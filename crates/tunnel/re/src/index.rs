//! The latest stored packet of each fingerprint: a table.
//!
//! It is direct-mapped: a fingerprint has one slot, and the newest entry overwrites it. A lost or stale entry
//! costs only savings, because the search compares bytes before it uses an entry.
//!
//! The table of the compact form is small and grows with the store's contents. One fingerprint in four is
//! *strong*: others do not overwrite it while its packet may be in the store. So a packet of usual size keeps
//! some entries until it leaves the store, and the others find short repetitions of newer packets.
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
    /// Chooses the slot, in a table of any size.
    place: u32,
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

/// Bits of a tag that are zero in a strong entry.
const WEAK_BITS: u64 = 0b110;

fn is_strong(bits: u64) -> bool {
    (bits >> 48) & WEAK_BITS == 0
}

/// The table.
#[derive(Debug, Clone)]
pub struct Index {
    /// Entries of eight bytes. Zero is an empty entry; tags are never zero.
    entries: Pages,
    /// Number of entries at most. A table that grows has more than half of it when it is full.
    most: usize,
    /// Whether strong entries are kept. If not, the newest entry overwrites any.
    keeps_strong: bool,
    /// The largest distance of a sequence from the newest at which its packet may be in the store.
    span: u32,
}

/// Spreads a fingerprint over 64 bits, because sampling made its low bits zero.
fn spread(fingerprint: u64) -> u64 {
    let product = fingerprint.wrapping_mul(0xd6e8_feb8_6659_fd93);
    (product ^ product >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// Bytes of a store for each entry of a table that grows. An entry has eight bytes: 15% of the store.
const BYTES_AN_ENTRY: usize = 52;
/// The same while the table can grow. Doubling copies entries, and the wrong copies take room.
const BYTES_AN_ENTRY_WHILE_GROWING: usize = 6;
/// Entries of a small table: enough for the first packets.
const LEAST_ENTRIES: usize = 1024;
/// Number of times that a table for a large store can double.
const DOUBLINGS: u32 = 10;

impl Index {
    /// A table for a store of `store_bytes` that keeps one window in 2^`sample_bits`. The newest entry
    /// overwrites any. Its size is at most that of the store.
    #[must_use]
    pub fn new(store_bytes: usize, sample_bits: u32) -> Self {
        let wanted = (store_bytes >> sample_bits.min(12)).next_power_of_two();
        let most = (store_bytes / ENTRY_BYTES).max(1);
        let count = wanted.min(1 << most.ilog2()).max(2);
        Index::of(count, count, false)
    }

    /// A small table for a store of at most `store_bytes`. It grows by [`fit`](Index::fit), and keeps strong
    /// entries.
    #[must_use]
    pub fn growing(store_bytes: usize, sample_bits: u32) -> Self {
        let most = Self::most_entries(store_bytes, sample_bits);
        Index::of(Self::least_entries(most), most, true)
    }

    fn least_entries(most: usize) -> usize {
        let doublings = (most / LEAST_ENTRIES).checked_ilog2().unwrap_or(0);
        most >> doublings.min(DOUBLINGS)
    }

    fn most_entries(store_bytes: usize, sample_bits: u32) -> usize {
        (store_bytes / BYTES_AN_ENTRY.max(1 << sample_bits.min(12))).max(1)
    }

    /// The store has `store_bytes` from now on. A table that grows shrinks to that.
    pub fn set_store_bytes(&mut self, store_bytes: usize, sample_bits: u32) {
        if !self.keeps_strong {
            return;
        }
        self.most = Self::most_entries(store_bytes, sample_bits);
        while self.count() > self.most {
            self.halve();
        }
    }

    fn of(count: usize, most: usize, keeps_strong: bool) -> Self {
        Index { entries: Pages::zeroed(count * ENTRY_BYTES), most, keeps_strong, span: 0 }
    }

    fn count(&self) -> usize {
        self.entries.len() / ENTRY_BYTES
    }

    /// Doubles a table that grows, while it is small for `used_bytes` of packets in the store.
    /// `span`: the largest distance of a sequence in the store from the newest.
    #[inline]
    pub fn fit(&mut self, used_bytes: usize, span: u64) {
        self.span = u32::try_from(span).unwrap_or(u32::MAX);
        if 2 * self.count() <= self.most && used_bytes > self.count() * BYTES_AN_ENTRY_WHILE_GROWING {
            self.double();
        }
    }

    /// Each entry goes to both slots that its own may have become. In the wrong one it is an entry that leads
    /// to other bytes, until another overwrites it.
    fn double(&mut self) {
        let count = self.count();
        let mut doubled = Pages::zeroed(2 * count * ENTRY_BYTES);
        let (pairs, _) = doubled.as_chunks_mut::<{ 2 * ENTRY_BYTES }>();
        for (pair, entry) in pairs.iter_mut().zip(self.entries.as_chunks::<ENTRY_BYTES>().0) {
            pair[..ENTRY_BYTES].copy_from_slice(entry);
            pair[ENTRY_BYTES..].copy_from_slice(entry);
        }
        self.entries = doubled;
    }

    /// Of two entries whose slots become one, the first stays, unless it is empty.
    fn halve(&mut self) {
        let count = self.count() / 2;
        let mut halved = Pages::zeroed(count.max(1) * ENTRY_BYTES);
        let (pairs, rest) = self.entries.as_chunks::<{ 2 * ENTRY_BYTES }>();
        for (entry, pair) in halved.as_chunks_mut::<ENTRY_BYTES>().0.iter_mut().zip(pairs) {
            let (first, second) = pair.split_at(ENTRY_BYTES);
            entry.copy_from_slice(if first == [0; ENTRY_BYTES] { second } else { first });
        }
        debug_assert!(rest.is_empty() || count > 0);
        self.entries = halved;
    }

    /// The entry of a window with this fingerprint, without its sequence.
    #[must_use]
    pub fn key(&self, fingerprint: u64, offset: u16) -> Key {
        let spread = spread(fingerprint);
        Key { place: (spread >> 32) as u32, tag: spread as u16 | 1, offset }
    }

    fn slot(&self, place: u32) -> usize {
        ((u64::from(place) * self.count() as u64) >> 32) as usize
    }

    /// Enters a window of a packet; it overwrites the slot, unless a stronger entry is in it.
    #[inline]
    pub fn insert(&mut self, key: Key, sequence: u64) {
        let bits = u64::from(key.tag) << 48 | u64::from(key.offset) << 32 | sequence & 0xffff_ffff;
        let slot = self.slot(key.place);
        let entry = &mut self.entries.as_chunks_mut().0[slot];
        if self.keeps_strong && !is_strong(bits) {
            let there = u64::from_ne_bytes(*entry);
            let distance = (bits as u32).wrapping_sub(there as u32);
            if is_strong(there) && there != 0 && distance <= self.span {
                return;
            }
        }
        *entry = bits.to_ne_bytes();
    }

    /// Looks a fingerprint up. Several look-ups take little longer than one, because their memory accesses
    /// overlap.
    #[must_use]
    pub fn entry(&self, fingerprint: u64) -> Entry {
        let Key { place, tag, .. } = self.key(fingerprint, 0);
        let slot = self.slot(place);
        Entry { bits: u64::from_ne_bytes(self.entries.as_chunks().0[slot]), tag }
    }

    /// Empties the table.
    pub fn clear(&mut self) {
        if self.keeps_strong {
            *self = Index::of(Self::least_entries(self.most), self.most, true);
        } else {
            self.entries.fill(0);
        }
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
    use std::collections::BTreeMap;

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
        fn entries_survive_the_growth_of_the_table(fingerprints in prop::collection::vec(any::<u64>(), 1..20)) {
            let mut index = Index::growing(1 << 20, 4);
            let least_bytes = index.size_bytes();
            let mut last = BTreeMap::new();
            for (sequence, fingerprint) in fingerprints.into_iter().enumerate() {
                let key = index.key(fingerprint, 5);
                index.insert(key, sequence as u64);
                last.retain(|_, (other, _)| index.slot(*other) != index.slot(key.place));
                last.insert(fingerprint, (key.place, sequence as u64));
            }
            (0..DOUBLINGS + 2).for_each(|_| index.fit(1 << 20, 0));
            prop_assert!(index.size_bytes() == least_bytes << 4, "a small store begins with 1024 or more");
            prop_assert!(index.size_bytes() * 6 < 1 << 20);
            for (fingerprint, (_, sequence)) in last {
                prop_assert_eq!(index.entry(fingerprint).place(20), Some(Place { sequence, offset: 5 }));
            }
        }

        #[test]
        fn the_table_is_no_larger_than_the_store(store_bytes in 4096usize..1 << 24, sample_bits in 0u32..13) {
            prop_assert!(Index::new(store_bytes, sample_bits).size_bytes() <= store_bytes);
        }
    }

    #[test]
    fn a_strong_entry_yields_to_strong_ones_and_to_all_once_its_packet_left_the_store() {
        let mut index = Index::growing(0, 4);
        let of_kind = |strong: bool, other_than: u64| {
            (1..u64::MAX)
                .find(|number| {
                    let key = index.key(*number, 0);
                    *number != other_than && is_strong(u64::from(key.tag) << 48) == strong
                })
                .unwrap()
        };
        let (strong, weak) = (of_kind(true, 0), of_kind(false, 0));
        let stronger = of_kind(true, strong);
        assert_eq!(index.count(), 1, "all share one slot");
        let enter = |index: &mut Index, fingerprint, sequence| {
            index.insert(index.key(fingerprint, 0), sequence);
            index.entry(fingerprint).place(sequence).map(|place| place.sequence) == Some(sequence)
        };
        index.fit(0, 10);
        assert!(enter(&mut index, weak, 1));
        assert!(enter(&mut index, strong, 2));
        assert!(!enter(&mut index, weak, 3) && !enter(&mut index, weak, 12));
        assert!(enter(&mut index, stronger, 12) && enter(&mut index, weak, 23));
    }
}
