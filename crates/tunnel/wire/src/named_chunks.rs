//! Chunks that a station overheard at a gateway that is not its own, as gateways tell each other (REfactor,
//! section 3.4).
//!
//! ```text
//! +--------------------+----------------+  +----------------------------------------+----------+
//! | slot bits less     | chunks         |  | slot: how far behind the one before,   | tag (32) |
//! | 14 (8)             | (varint)       |  | less 1 (varint)                        |          |
//! +--------------------+----------------+  +----------------------------------------+----------+
//!                                           '------------------ once a chunk ------------------'
//! ```
//!
//! The paper's bit vector of slots, as the slots that were added since the last one, in rising order: a slot
//! of a few thousand among a million takes one or two bytes so, and a slot that is not new takes none. The
//! tag says which chunk it is.

use crate::shim::slots::{MAX_SLOT_BITS, MIN_SLOT_BITS};
use crate::{Malformed, take_array, varint};

/// The most chunks in one message.
pub const MAX_CHUNKS: usize = 1 << 14;

/// A chunk, by where it is kept and what tells it from others of that slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamedChunk {
    /// Its slot.
    pub slot: u32,
    /// The rest of its hash.
    pub tag: u32,
}

/// One message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedChunks<'a> {
    /// How wide a slot is.
    pub slot_bits: u8,
    /// How many chunks are named.
    pub count: usize,
    chunks: &'a [u8],
}

impl<'a> NamedChunks<'a> {
    /// Reads a message.
    pub fn parse(mut input: &'a [u8]) -> Result<Self, Malformed> {
        let [bits] = take_array(&mut input, "named chunks: slot bits")?;
        let slot_bits = bits.saturating_add(MIN_SLOT_BITS);
        if slot_bits > MAX_SLOT_BITS {
            return Err(Malformed("named chunks: slot bits"));
        }
        let count = varint::parse(&mut input)? as usize;
        if count > MAX_CHUNKS {
            return Err(Malformed("named chunks: too many"));
        }
        let chunks = input;
        let mut next = 0u64;
        for _ in 0..count {
            next += u64::from(varint::parse(&mut input)?) + 1;
            take_array::<4>(&mut input, "named chunks: tag")?;
            if next > 1 << slot_bits {
                return Err(Malformed("named chunks: slot"));
            }
        }
        if !input.is_empty() {
            return Err(Malformed("named chunks: end"));
        }
        Ok(NamedChunks { slot_bits, count, chunks })
    }

    /// The chunks, by rising slots.
    pub fn chunks(&self) -> impl Iterator<Item = NamedChunk> + use<'a> {
        let (mut rest, mut next) = (self.chunks, 0u32);
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let slot = next + varint::parse(&mut rest).ok()?;
            next = slot + 1;
            let tag = u32::from_be_bytes(take_array(&mut rest, "named chunks: tag").ok()?);
            Some(NamedChunk { slot, tag })
        })
    }
}

/// Appends a message that names `chunks`, at most [`MAX_CHUNKS`], and sorts them for it. Of two with one slot
/// only the later is named.
pub fn emit(slot_bits: u8, chunks: &mut Vec<NamedChunk>, out: &mut Vec<u8>) {
    debug_assert!(chunks.len() <= MAX_CHUNKS);
    // the sort is stable, so that the last of a slot is the one that came last
    chunks.sort_by_key(|chunk| chunk.slot);
    chunks.dedup_by(|later, kept| {
        let same = later.slot == kept.slot;
        if same {
            *kept = *later;
        }
        same
    });
    out.push(slot_bits - MIN_SLOT_BITS);
    varint::emit(chunks.len() as u32, out);
    let mut next = 0;
    for chunk in chunks {
        varint::emit(chunk.slot - next, out);
        out.extend_from_slice(&chunk.tag.to_be_bytes());
        next = chunk.slot + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trips_in_the_order_of_slots(
            slot_bits in MIN_SLOT_BITS..=MAX_SLOT_BITS,
            chunks in proptest::collection::vec((any::<u32>(), any::<u32>()), 0..200),
        ) {
            let mask = (1u32 << slot_bits) - 1;
            let mut named: Vec<NamedChunk> =
                chunks.iter().map(|(slot, tag)| NamedChunk { slot: slot & mask, tag: *tag }).collect();
            let last: std::collections::BTreeMap<u32, u32> =
                named.iter().map(|chunk| (chunk.slot, chunk.tag)).collect();
            let mut out = Vec::new();
            emit(slot_bits, &mut named, &mut out);
            let read = NamedChunks::parse(&out).unwrap();
            prop_assert_eq!((read.slot_bits, read.count), (slot_bits, last.len()));
            let read: Vec<(u32, u32)> = read.chunks().map(|chunk| (chunk.slot, chunk.tag)).collect();
            prop_assert_eq!(read, last.into_iter().collect::<Vec<_>>());
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(read) = NamedChunks::parse(&bytes) {
                prop_assert_eq!(read.chunks().count(), read.count);
                prop_assert!(read.chunks().all(|chunk| chunk.slot >> read.slot_bits == 0));
            }
        }
    }
}
