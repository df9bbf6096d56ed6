//! Chunk requests: chunks that were removed from a packet and do not stand in the station's cache (REfactor,
//! section 3.1.1).
//!
//! ```text
//! +--------------------+------------------------------------------------------------------------------
//! | packet number (24) | bitmap over the packet's slots: bit 0 of byte 0 is the first; to the end ...
//! +--------------------+------------------------------------------------------------------------------
//! ```
//!
//! A station that lacks nothing, and yet could not restore the packet, holds another chunk somewhere than was
//! meant. It asks for all, and sets one bit more.
//!
//! The paper repeats the shim in the request. A bit is equal to a slot for a sender that still knows the
//! packet. It requests nothing that was not sent.

use crate::number::{from_u24, to_u24};
use crate::{Malformed, take_array};

/// The most bytes of the bitmap: the slots of packets that are sent on radios, and more.
pub const MAX_BITMAP_BYTES: usize = 64;
/// The most slots of a packet of which one may be asked for.
pub const MAX_SLOTS: usize = MAX_BITMAP_BYTES * 8;

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkRequest<'a> {
    /// The low 24 bits of the packet's number.
    pub number: u32,
    bitmap: &'a [u8],
}

impl<'a> ChunkRequest<'a> {
    /// Reads a request.
    pub fn parse(mut input: &'a [u8]) -> Result<Self, Malformed> {
        let number = from_u24(take_array(&mut input, "chunk request: number")?);
        let last = input.last().copied().unwrap_or(0);
        if input.len() > MAX_BITMAP_BYTES || last == 0 {
            return Err(Malformed("chunk request: bitmap"));
        }
        Ok(ChunkRequest { number, bitmap: input })
    }

    /// Indices of the requested slots in the packet, ascending; at least one.
    pub fn missing(&self) -> impl Iterator<Item = usize> + 'a {
        let bitmap = self.bitmap;
        (0..bitmap.len() * 8).filter(move |&index| bitmap[index / 8] >> (index % 8) & 1 == 1)
    }
}

/// Appends a request for slots of packet `number`, given by their place in the packet, each below
/// [`MAX_SLOTS`].
pub fn emit(number: u64, missing: impl IntoIterator<Item = usize>, out: &mut Vec<u8>) {
    out.extend_from_slice(&to_u24(number));
    let start = out.len();
    for index in missing {
        let at = start + index / 8;
        if out.len() <= at {
            out.resize(at + 1, 0);
        }
        out[at] |= 1 << (index % 8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn round_trips(number in 0u64..1 << 24, missing in proptest::collection::btree_set(0..MAX_SLOTS, 1..40)) {
            let mut out = Vec::new();
            emit(number, missing.iter().copied(), &mut out);
            let read = ChunkRequest::parse(&out).unwrap();
            prop_assert_eq!(u64::from(read.number), number);
            prop_assert_eq!(read.missing().collect::<BTreeSet<_>>(), missing);
        }

        #[test]
        fn any_bytes_parse_or_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            if let Ok(request) = ChunkRequest::parse(&bytes) {
                let mut out = Vec::new();
                emit(u64::from(request.number), request.missing(), &mut out);
                prop_assert_eq!(out, bytes);
            }
        }
    }
}
