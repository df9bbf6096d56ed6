//! Exact knowledge: stations say what they heard.
//!
//! ```text
//! once a slot:  | mask of stations that have the chunk (64) | last packet that carried it, low 32 bits |
//! ```
//!
//! Twelve bytes a slot, for 64 stations. What a packet's receipt has not come for yet, a station has with the probability that its
//! receipts have shown so far.

use re::pages::Pages;

/// What stations said.
#[derive(Debug)]
pub struct Receipts {
    masks: Pages,
    carriers: Pages,
}

impl Receipts {
    /// Nobody has anything.
    pub fn new(slot_bits: u8) -> Self {
        let masks = Pages::zeroed(size_of::<u64>() << slot_bits);
        Receipts { masks, carriers: Pages::zeroed(size_of::<u32>() << slot_bits) }
    }

    #[inline]
    fn mask(&self, slot: u32) -> u64 {
        u64::from_ne_bytes(self.masks.as_chunks().0[slot as usize])
    }

    #[inline]
    fn set_mask(&mut self, slot: u32, mask: u64) {
        self.masks.as_chunks_mut().0[slot as usize] = mask.to_ne_bytes();
    }

    /// The slot has another chunk now.
    #[inline]
    pub fn forget_slot(&mut self, slot: u32) {
        self.set_mask(slot, 0);
    }

    /// The slot's chunk went over the air, all of it.
    #[inline]
    pub fn transmitted(&mut self, slot: u32, number: u64) {
        self.carriers.as_chunks_mut().0[slot as usize] = (number as u32).to_ne_bytes();
    }

    /// Whether a station has the slot's chunk, as far as it said.
    #[inline]
    pub fn has(&self, slot: u32, column: u8) -> bool {
        self.mask(slot) >> column & 1 == 1
    }

    /// A station has the slot's chunk, or has it not.
    #[inline]
    pub fn set(&mut self, slot: u32, column: u8, has: bool) {
        let mask = self.mask(slot) & !(1 << column) | u64::from(has) << column;
        self.set_mask(slot, mask);
    }

    /// The low 32 bits of the number of the last packet that carried the slot's chunk.
    #[inline]
    pub fn carrier(&self, slot: u32) -> u32 {
        u32::from_ne_bytes(self.carriers.as_chunks().0[slot as usize])
    }

    /// Forgets what the stations of these columns have.
    pub fn forget_columns(&mut self, columns: u64) {
        for mask in self.masks.as_chunks_mut::<8>().0 {
            *mask = (u64::from_ne_bytes(*mask) & !columns).to_ne_bytes();
        }
    }

    /// Bytes of the tables.
    pub fn size_bytes(&self) -> usize {
        self.masks.len() + self.carriers.len()
    }
}
