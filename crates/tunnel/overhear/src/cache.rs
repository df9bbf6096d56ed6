//! The slot cache of a gateway or a station (REfactor, sections 3.1.1 and 3.3).
//!
//! ```text
//! record, once a slot:   | tag (32) | addressee (8) | - (13) | named (1) | marked (1) | length (9) | notes ...
//!                        '------------------------------- head (64) ----------------------------'
//! content:               | 256 bytes a slot |
//! ```
//!
//! The notes that the owner keeps about a slot's chunk are in the same record, so that one memory access
//! fetches both. A newly inserted chunk has zero notes.
//!
//! Memory is taken at the first write to a slot. 2^16 slots take 17 MB and 2^20 take 276 MB, plus the notes.

use crate::address::Address;
use prefetch_index::prefetch_index;
use re::pages::Pages;
use wire::shim::slots::MAX_CHUNK_BYTES;

/// Bytes of a record without notes.
pub const HEAD_BYTES: usize = size_of::<u64>();
/// Bytes of a slot that are fetched before the chunk's length is known.
pub const USUAL_CHUNK_BYTES: usize = 128;
/// Bytes that a processor fetches together.
const LINE_BYTES: usize = 64;
const LENGTH_BITS: u32 = 9;
const MARKED: u64 = 1 << LENGTH_BITS;
const NAMED: u64 = MARKED << 1;
const ADDRESSEE_SHIFT: u32 = 24;
const TAG_SHIFT: u32 = 32;

/// A slot's metadata, without its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Head(u64);

impl Head {
    /// Bytes of the chunk; 0 means an empty slot.
    #[inline]
    #[must_use]
    pub fn chunk_bytes(self) -> usize {
        (self.0 & ((1 << LENGTH_BITS) - 1)) as usize
    }

    /// The chunk's tag.
    #[inline]
    #[must_use]
    pub fn tag(self) -> u32 {
        (self.0 >> TAG_SHIFT) as u32
    }

    /// Whether different chunks collided here. The slot stays empty until the cache is flushed.
    #[inline]
    #[must_use]
    pub fn is_marked(self) -> bool {
        self.0 & MARKED != 0
    }

    /// Whether only the chunk's name is known.
    #[inline]
    #[must_use]
    pub fn is_named(self) -> bool {
        self.0 & NAMED != 0
    }

    /// The addressee of the chunk's last transmission.
    #[inline]
    #[must_use]
    pub fn addressee(self) -> u8 {
        (self.0 >> ADDRESSEE_SHIFT) as u8
    }
}

/// A slot's contents, compared with a chunk of this slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// Nothing.
    Nothing,
    /// The same chunk.
    Chunk,
    /// Another chunk.
    Another,
    /// A collision mark: nothing is inserted here.
    Mark,
}

/// The cache. A record has `RECORD_BYTES`, at least [`HEAD_BYTES`].
#[derive(Debug)]
pub struct SlotCache<const RECORD_BYTES: usize> {
    slot_bits: u8,
    records: Pages,
    contents: Pages,
    marked: usize,
}

impl<const RECORD_BYTES: usize> SlotCache<RECORD_BYTES> {
    /// An empty cache of 2^`slot_bits` slots.
    #[must_use]
    pub fn new(slot_bits: u8) -> Self {
        const { assert!(RECORD_BYTES >= HEAD_BYTES) };
        let records = Pages::zeroed(RECORD_BYTES << slot_bits);
        let contents = Pages::zeroed(MAX_CHUNK_BYTES << slot_bits);
        SlotCache { slot_bits, records, contents, marked: 0 }
    }

    /// The number of slots is two to this.
    #[inline]
    #[must_use]
    pub fn slot_bits(&self) -> u8 {
        self.slot_bits
    }

    /// Bytes of memory of a full cache of 2^`slot_bits` slots, which are at most 2^24.
    #[must_use]
    pub fn bytes_of(slot_bits: u8) -> usize {
        (RECORD_BYTES + MAX_CHUNK_BYTES) << slot_bits.min(wire::shim::slots::MAX_SLOT_BITS)
    }

    /// Bytes of memory of a full cache.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.records.len() + self.contents.len()
    }

    #[inline]
    fn record(&self, slot: u32) -> &[u8; RECORD_BYTES] {
        &self.records.as_chunks().0[slot as usize]
    }

    #[inline]
    fn record_mut(&mut self, slot: u32) -> &mut [u8; RECORD_BYTES] {
        &mut self.records.as_chunks_mut().0[slot as usize]
    }

    /// A slot's head.
    #[inline]
    #[must_use]
    pub fn head(&self, slot: u32) -> Head {
        let [a, b, c, d, e, f, g, h, ..] = self.record(slot)[..] else { return Head::default() };
        Head(u64::from_ne_bytes([a, b, c, d, e, f, g, h]))
    }

    #[inline]
    fn set_head(&mut self, slot: u32, head: Head) {
        self.record_mut(slot)[..HEAD_BYTES].copy_from_slice(&head.0.to_ne_bytes());
    }

    /// The notes about a slot's chunk.
    #[inline]
    #[must_use]
    pub fn notes(&self, slot: u32) -> &[u8] {
        &self.record(slot)[HEAD_BYTES..]
    }

    /// The notes about a slot's chunk, mutable.
    #[inline]
    pub fn notes_mut(&mut self, slot: u32) -> &mut [u8] {
        &mut self.record_mut(slot)[HEAD_BYTES..]
    }

    #[inline]
    fn room(&self, slot: u32) -> &[u8; MAX_CHUNK_BYTES] {
        &self.contents.as_chunks::<MAX_CHUNK_BYTES>().0[slot as usize]
    }

    /// The chunk in a slot; `None` if the slot is empty.
    #[inline]
    #[must_use]
    pub fn chunk(&self, slot: u32) -> Option<&[u8]> {
        let count = self.head(slot).chunk_bytes();
        (count > 0).then(|| &self.room(slot)[..count])
    }

    /// Begins to fetch a slot's record, and the memory that a chunk of `chunk_bytes` is compared with or
    /// written to. Nothing waits for it.
    #[inline]
    pub fn prefetch(&self, slot: u32, chunk_bytes: usize) {
        prefetch_index(&self.records[..], slot as usize * RECORD_BYTES);
        let start = slot as usize * MAX_CHUNK_BYTES;
        for line in (0..chunk_bytes).step_by(LINE_BYTES) {
            prefetch_index(&self.contents[..], start + line);
        }
    }

    /// The contents of a chunk's slot, compared with the chunk.
    #[inline]
    #[must_use]
    pub fn holds(&self, address: Address, chunk: &[u8]) -> Holds {
        let slot = address.slot(self.slot_bits);
        let head = self.head(slot);
        if head.is_marked() {
            Holds::Mark
        } else if head.chunk_bytes() == 0 {
            Holds::Nothing
        } else if head.tag() == address.tag() && self.chunk(slot) == Some(chunk) {
            Holds::Chunk
        } else {
            Holds::Another
        }
    }

    /// Inserts a chunk of at most [`MAX_CHUNK_BYTES`] into its slot; it overwrites the slot.
    #[inline]
    pub fn put(&mut self, address: Address, chunk: &[u8]) {
        let slot = address.slot(self.slot_bits);
        self.record_mut(slot).fill(0);
        self.set_head(slot, Head(u64::from(address.tag()) << TAG_SHIFT | chunk.len() as u64));
        self.contents.as_chunks_mut::<MAX_CHUNK_BYTES>().0[slot as usize][..chunk.len()]
            .copy_from_slice(chunk);
    }

    /// Notes that another node has a chunk with this tag in the slot; it overwrites the slot. The bytes are
    /// unknown until [`supply`](Self::supply) adds them.
    pub fn name(&mut self, slot: u32, tag: u32) {
        self.marked -= usize::from(self.head(slot).is_marked());
        self.record_mut(slot).fill(0);
        self.set_head(slot, Head(u64::from(tag) << TAG_SHIFT | NAMED));
    }

    /// Adds the bytes of a chunk that was only [named](Self::name), if the tag matches. Its notes stay.
    #[inline]
    pub fn supply(&mut self, address: Address, chunk: &[u8]) {
        let slot = address.slot(self.slot_bits);
        let head = self.head(slot);
        if head.is_named() && head.tag() == address.tag() {
            self.set_head(slot, Head(head.0 & !NAMED | chunk.len() as u64));
            self.contents.as_chunks_mut::<MAX_CHUNK_BYTES>().0[slot as usize][..chunk.len()]
                .copy_from_slice(chunk);
        }
    }

    /// Notes the addressee of a slot's chunk.
    #[inline]
    pub fn note_addressee(&mut self, slot: u32, addressee: u8) {
        let head = self.head(slot).0 & !(0xff << ADDRESSEE_SHIFT) | u64::from(addressee) << ADDRESSEE_SHIFT;
        self.set_head(slot, Head(head));
    }

    /// Marks a slot in which two chunks collided.
    pub fn mark(&mut self, slot: u32) {
        self.marked += usize::from(!self.head(slot).is_marked());
        self.record_mut(slot).fill(0);
        self.set_head(slot, Head(MARKED));
    }

    /// The share of marked slots among all slots.
    #[must_use]
    pub fn marked_share(&self) -> f64 {
        self.marked as f64 / (1u64 << self.slot_bits) as f64
    }

    /// Empties every slot.
    pub fn clear(&mut self) {
        self.records.fill(0);
        self.marked = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Addresses;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_put_last_is_held_until_it_is_marked_or_cleared(
            chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..=256), 1..40),
            addressee: u8,
        ) {
            let addresses = Addresses::new(&[9; 32]);
            let mut cache = SlotCache::<16>::new(14);
            for chunk in &chunks {
                let address = addresses.of(chunk);
                cache.put(address, chunk);
                cache.note_addressee(address.slot(14), addressee);
                prop_assert_eq!(cache.notes(address.slot(14)), &[0; 8]);
                cache.notes_mut(address.slot(14)).fill(addressee);
                prop_assert_eq!(cache.holds(address, chunk), Holds::Chunk);
                prop_assert_eq!(cache.chunk(address.slot(14)), Some(&chunk[..]));
                prop_assert_eq!(cache.head(address.slot(14)).addressee(), addressee);
                prop_assert_eq!(cache.head(address.slot(14)).tag(), address.tag());
            }
            let address = addresses.of(&chunks[0]);
            let other = if chunks[0] == [0] { [1] } else { [0] };
            cache.put(address, &other);
            prop_assert_eq!(cache.holds(address, &chunks[0]), Holds::Another);
            cache.mark(address.slot(14));
            cache.mark(address.slot(14));
            prop_assert_eq!(cache.holds(address, &chunks[0]), Holds::Mark);
            prop_assert_eq!(cache.chunk(address.slot(14)), None);
            prop_assert_eq!(cache.marked_share(), 1.0 / f64::from(1 << 14));
            cache.name(address.slot(14), address.tag());
            prop_assert_eq!(cache.marked_share(), 0.0);
            prop_assert_eq!(cache.holds(address, &chunks[0]), Holds::Nothing);
            cache.notes_mut(address.slot(14)).fill(7);
            cache.supply(address, &chunks[0]);
            prop_assert_eq!(cache.holds(address, &chunks[0]), Holds::Chunk);
            prop_assert_eq!(cache.notes(address.slot(14)), &[7; 8]);
            cache.mark(address.slot(14));
            cache.clear();
            prop_assert_eq!(cache.holds(address, &chunks[0]), Holds::Nothing);
            prop_assert_eq!(cache.marked_share(), 0.0);
        }
    }
}
