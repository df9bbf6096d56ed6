//! Chunk replies: the contents that a chunk request asked for (REfactor, section 3.1.1).
//!
//! ```text
//! +--------------------+  +------------------+-----------+
//! | packet number (24) |  | chunk's length   | chunk ... |
//! |                    |  | less 1 (8)       |           |
//! +--------------------+  +------------------+-----------+
//!                          '--- once a slot asked for --'
//! ```
//!
//! The chunks stand in the order of the request. They need no slots beside them: a chunk is its own address,
//! for the requester and for overhearers.

use crate::number::{from_u24, to_u24};
use crate::shim::slots::MAX_CHUNK_BYTES;
use crate::{Malformed, take, take_array};

/// One reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkReply<'a> {
    /// The low 24 bits of the number of the packet that lacks the chunks.
    pub number: u32,
    chunks: &'a [u8],
}

impl<'a> ChunkReply<'a> {
    /// Reads a reply.
    pub fn parse(mut input: &'a [u8]) -> Result<Self, Malformed> {
        let number = from_u24(take_array(&mut input, "chunk reply: number")?);
        let chunks = input;
        while !input.is_empty() {
            take_chunk(&mut input)?;
        }
        Ok(ChunkReply { number, chunks })
    }

    /// The chunks.
    pub fn chunks(&self) -> impl Iterator<Item = &'a [u8]> + 'a {
        let mut rest = self.chunks;
        std::iter::from_fn(move || if rest.is_empty() { None } else { take_chunk(&mut rest).ok() })
    }
}

fn take_chunk<'a>(input: &mut &'a [u8]) -> Result<&'a [u8], Malformed> {
    let [less_one] = take_array(input, "chunk reply: length")?;
    take(input, usize::from(less_one) + 1, "chunk reply: chunk")
}

/// Appends a reply with `chunks` for packet `number`. A chunk has from 1 to [`MAX_CHUNK_BYTES`] bytes.
pub fn emit<'a>(number: u64, chunks: impl IntoIterator<Item = &'a [u8]>, out: &mut Vec<u8>) {
    out.extend_from_slice(&to_u24(number));
    for chunk in chunks {
        debug_assert!((1..=MAX_CHUNK_BYTES).contains(&chunk.len()));
        out.push((chunk.len() - 1) as u8);
        out.extend_from_slice(chunk);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trips(
            number in 0u64..1 << 24,
            chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..=MAX_CHUNK_BYTES), 0..20),
        ) {
            let mut out = Vec::new();
            emit(number, chunks.iter().map(Vec::as_slice), &mut out);
            let read = ChunkReply::parse(&out).unwrap();
            prop_assert_eq!(u64::from(read.number), number);
            prop_assert!(read.chunks().eq(chunks.iter().map(Vec::as_slice)));
        }

        #[test]
        fn any_bytes_parse_or_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            if let Ok(reply) = ChunkReply::parse(&bytes) {
                let mut out = Vec::new();
                emit(u64::from(reply.number), reply.chunks(), &mut out);
                prop_assert_eq!(out, bytes);
            }
        }
    }
}
