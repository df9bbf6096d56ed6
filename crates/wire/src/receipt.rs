//! Receipts: what a node received and holds, by link sequence.
//!
//! ```text
//! +-------------------------+------------+------------------+-------------------+
//! | newest sequence (24)    | generation | units received   | delay, µs/64      |
//! |                         | (8)        | so far (32)      | (varint)          |
//! +-------------------------+------------+------------------+-------------------+
//! | length (varint), then the bitmap of what is held: bit 0 of byte 0 is the newest, the next the one before it ...
//! +-------------------------------------------------------------------------------
//! | bitmap of what is parked, likewise, to the end
//! +-------------------------------------------------------------------------------
//! ```
//!
//! *Held* means received, restored and delivered: what may be referred to. Units that arrived but could not
//! be restored count as received and are not held; *parked* are those of them that wait for what they refer to. The delay is the time between the newest sequence's
//! arrival and this receipt, so that its sender can measure the round trip.

use crate::number::{from_u24, to_u24};
use crate::{Malformed, take, take_array, varint};

/// The most bitmap bytes in one receipt (2048 packets).
pub const MAX_BITMAP_BYTES: usize = 256;

/// One receipt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt<'a> {
    /// Low 24 bits of the newest link sequence received.
    pub newest: u32,
    /// The generation of the receiver's store.
    pub generation: u8,
    /// Link sequences received since the boot, lost ones not counted; wraps.
    pub received: u32,
    /// Microseconds / 64 from the newest sequence's arrival until now.
    pub delay_64us: u32,
    /// One bit a sequence, from the newest backwards.
    pub held: &'a [u8],
    /// The same for what arrived and waits for what it refers to; may be shorter.
    pub parked: &'a [u8],
}

impl<'a> Receipt<'a> {
    /// Reads a receipt frame's body.
    pub fn parse(mut body: &'a [u8]) -> Result<Self, Malformed> {
        let newest = from_u24(take_array(&mut body, "receipt: newest")?);
        let [generation] = take_array(&mut body, "receipt: generation")?;
        let received = u32::from_be_bytes(take_array(&mut body, "receipt: received")?);
        let delay_64us = varint::parse(&mut body)?;
        let held_bytes = varint::parse(&mut body)? as usize;
        let held = take(&mut body, held_bytes, "receipt: bitmap")?;
        if held.len() > MAX_BITMAP_BYTES || body.len() > held.len() {
            return Err(Malformed("receipt: bitmap"));
        }
        Ok(Receipt { newest, generation, received, delay_64us, held, parked: body })
    }

    /// Appends a receipt frame's body.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&to_u24(u64::from(self.newest)));
        out.push(self.generation);
        out.extend_from_slice(&self.received.to_be_bytes());
        varint::emit(self.delay_64us, out);
        let held = &self.held[..self.held.len().min(MAX_BITMAP_BYTES)];
        varint::emit(held.len() as u32, out);
        out.extend_from_slice(held);
        out.extend_from_slice(&self.parked[..self.parked.len().min(held.len())]);
    }

    /// How many sequences back from the newest the bitmap speaks of.
    #[must_use]
    pub fn span(&self) -> u64 {
        self.held.len() as u64 * 8
    }

    /// Whether the sequence `back` before the newest is held; `None` beyond the bitmap.
    #[must_use]
    pub fn holds(&self, back: u64) -> Option<bool> {
        let byte = self.held.get(usize::try_from(back / 8).ok()?)?;
        Some(byte >> (back % 8) & 1 == 1)
    }

    /// Whether the sequence `back` before the newest is parked.
    #[must_use]
    pub fn parks(&self, back: u64) -> bool {
        usize::try_from(back / 8)
            .ok()
            .and_then(|index| self.parked.get(index))
            .is_some_and(|byte| byte >> (back % 8) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trips(newest in 0u32..1 << 24, generation: u8, received: u32, delay_64us: u32,
                       held in proptest::collection::vec(any::<u8>(), 0..MAX_BITMAP_BYTES),
                       parked in proptest::collection::vec(any::<u8>(), 0..MAX_BITMAP_BYTES)) {
            let parked = &parked[..parked.len().min(held.len())];
            let receipt = Receipt { newest, generation, received, delay_64us, held: &held, parked };
            let mut out = Vec::new();
            receipt.emit(&mut out);
            prop_assert_eq!(Receipt::parse(&out), Ok(receipt));
        }

        #[test]
        fn any_bytes_parse_or_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            if let Ok(receipt) = Receipt::parse(&bytes) {
                prop_assert!(receipt.span() <= 8 * MAX_BITMAP_BYTES as u64);
                prop_assert_eq!(receipt.holds(receipt.span()), None);
            }
        }
    }
}
