//! Exact knowledge: stations say what they heard.
//!
//! ```text
//! once a slot:  | mask of stations that have the chunk (64) | last packet that carried it, low 32 bits |
//! ```
//!
//! Twelve bytes a slot, for 64 stations. What a packet's receipt has not come for yet, a station has with the probability
//! that its receipts have shown so far.

use re::pages::Pages;

const MASK_BYTES: usize = size_of::<u64>();
const ENTRY_BYTES: usize = MASK_BYTES + size_of::<u32>();

/// What stations said.
#[derive(Debug)]
pub struct Receipts {
    entries: Pages,
}

impl Receipts {
    /// Nobody has anything.
    pub fn new(slot_bits: u8) -> Self {
        Receipts { entries: Pages::zeroed(ENTRY_BYTES << slot_bits) }
    }

    #[inline]
    fn entry(&self, slot: u32) -> (u64, u32) {
        let [m0, m1, m2, m3, m4, m5, m6, m7, c0, c1, c2, c3] =
            self.entries.as_chunks::<ENTRY_BYTES>().0[slot as usize];
        (u64::from_ne_bytes([m0, m1, m2, m3, m4, m5, m6, m7]), u32::from_ne_bytes([c0, c1, c2, c3]))
    }

    #[inline]
    fn set_mask(&mut self, slot: u32, mask: u64) {
        let entry = &mut self.entries.as_chunks_mut::<ENTRY_BYTES>().0[slot as usize];
        entry[..MASK_BYTES].copy_from_slice(&mask.to_ne_bytes());
    }

    /// Waits for a slot's memory, as [`SlotCache::fetch`](crate::cache::SlotCache::fetch) does.
    #[inline]
    pub fn fetch(&self, slot: u32) -> u8 {
        self.entry(slot).0 as u8
    }

    /// The slot has another chunk now.
    #[inline]
    pub fn forget_slot(&mut self, slot: u32) {
        self.set_mask(slot, 0);
    }

    /// The slot's chunk went over the air, all of it.
    #[inline]
    pub fn transmitted(&mut self, slot: u32, number: u64) {
        let entry = &mut self.entries.as_chunks_mut::<ENTRY_BYTES>().0[slot as usize];
        entry[MASK_BYTES..].copy_from_slice(&(number as u32).to_ne_bytes());
    }

    /// Whether a station has the slot's chunk, as far as it said, and the low 32 bits of the number of the last packet
    /// that carried the chunk.
    #[inline]
    pub fn has(&self, slot: u32, column: u8) -> (bool, u32) {
        let (mask, carrier) = self.entry(slot);
        (mask >> column & 1 == 1, carrier)
    }

    /// A station has the slot's chunk, or has it not.
    #[inline]
    pub fn set(&mut self, slot: u32, column: u8, has: bool) {
        let mask = self.entry(slot).0 & !(1 << column) | u64::from(has) << column;
        self.set_mask(slot, mask);
    }

    /// Forgets what the stations of these columns have.
    pub fn forget_columns(&mut self, columns: u64) {
        for slot in 0..(self.entries.len() / ENTRY_BYTES) as u32 {
            self.set_mask(slot, self.entry(slot).0 & !columns);
        }
    }

    /// Bytes of the table.
    pub fn size_bytes(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_slots_for_64_stations_take_12_mib() {
        assert_eq!(Receipts::new(20).size_bytes(), 12 << 20);
    }

    #[test]
    fn a_station_has_what_was_said_until_the_slot_or_the_station_is_forgotten() {
        let mut receipts = Receipts::new(14);
        receipts.transmitted(5, 1 << 40 | 77);
        for column in [0, 40, 63] {
            receipts.set(5, column, true);
        }
        receipts.set(5, 40, false);
        assert_eq!([0, 1, 40, 63].map(|column| receipts.has(5, column).0), [true, false, false, true]);
        receipts.forget_columns(1 << 63);
        assert_eq!([receipts.has(5, 0), receipts.has(5, 63)], [(true, 77), (false, 77)]);
        receipts.forget_slot(5);
        assert_eq!((receipts.has(5, 0), receipts.has(4, 0)), ((false, 77), (false, 0)));
    }
}
