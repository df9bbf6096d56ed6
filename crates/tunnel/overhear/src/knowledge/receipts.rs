//! Exact knowledge: stations report the packets that they heard.
//!
//! ```text
//! noted of a slot:  | mask of stations that have the chunk (64) | last packet that carried it, low 32 bits | ...
//! ```
//!
//! Twelve bytes a slot, for 64 stations. Before a packet's receipt, a station has it with the probability
//! that its receipts have shown so far.

/// Bytes of the notes.
pub const NOTE_BYTES: usize = MASK_BYTES + size_of::<u32>();
const MASK_BYTES: usize = size_of::<u64>();

#[inline]
fn mask(notes: &[u8]) -> u64 {
    notes.first_chunk().map_or(0, |mask| u64::from_ne_bytes(*mask))
}

#[inline]
fn set_mask(notes: &mut [u8], mask: u64) {
    notes[..MASK_BYTES].copy_from_slice(&mask.to_ne_bytes());
}

/// Notes that packet `number` carried the whole chunk.
#[inline]
pub fn record_transmission(notes: &mut [u8], number: u64) {
    notes[MASK_BYTES..NOTE_BYTES].copy_from_slice(&(number as u32).to_ne_bytes());
}

/// Whether a station reported the chunk, and the low 32 bits of the number of the last packet that carried
/// it.
#[inline]
pub fn has(notes: &[u8], column: u8) -> (bool, u32) {
    let carrier = notes[MASK_BYTES..].first_chunk().map_or(0, |carrier| u32::from_ne_bytes(*carrier));
    (mask(notes) >> column & 1 == 1, carrier)
}

/// Whether any station reported the chunk.
pub fn is_had_by_any(notes: &[u8]) -> bool {
    mask(notes) != 0
}

/// Notes that a station has the chunk, or lacks it.
#[inline]
pub fn set(notes: &mut [u8], column: u8, has: bool) {
    set_mask(notes, mask(notes) & !(1 << column) | u64::from(has) << column);
}

/// Forgets that these columns' stations have the chunk.
pub fn forget_columns(notes: &mut [u8], columns: u64) {
    set_mask(notes, mask(notes) & !columns);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_station_has_what_was_said_until_it_is_forgotten() {
        let mut notes = [0; NOTE_BYTES + 5];
        record_transmission(&mut notes, 1 << 40 | 77);
        for column in [0, 40, 63] {
            set(&mut notes, column, true);
        }
        set(&mut notes, 40, false);
        assert_eq!([0, 1, 40, 63].map(|column| has(&notes, column).0), [true, false, false, true]);
        forget_columns(&mut notes, 1 << 63);
        assert_eq!([has(&notes, 0), has(&notes, 63)], [(true, 77), (false, 77)]);
        assert_eq!(notes[NOTE_BYTES..], [0; 5]);
    }
}
