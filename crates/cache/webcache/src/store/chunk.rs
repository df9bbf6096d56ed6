//! Content is stored in chunks by hash. Equal bytes of different URLs are stored once. The disk returns the
//! original bytes or nothing.

use blake2::digest::consts::U32;
use blake2::{Blake2b, Digest};
use std::fmt;

/// Octets of a full chunk; the last one of a content is shorter. It is large enough for a file of its own,
/// and small enough that a range costs little extra.
pub const CHUNK_BYTES: usize = 256 << 10;

/// BLAKE2b of a chunk's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChunkId(pub [u8; 32]);

impl ChunkId {
    /// The hash of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        ChunkId(Blake2b::<U32>::digest(bytes).into())
    }

    /// Parses hexadecimal, as written by [`fmt::Display`].
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut id = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return None;
        }
        for (byte, at) in id.iter_mut().zip((0..).step_by(2)) {
            *byte = u8::from_str_radix(text.get(at..at + 2)?, 16).ok()?;
        }
        Some(ChunkId(id))
    }
}

impl fmt::Display for ChunkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ChunkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The chunk of a content's byte.
#[must_use]
pub fn number_of(byte: u64) -> usize {
    usize::try_from(byte / CHUNK_BYTES as u64).unwrap_or(usize::MAX)
}

/// The first byte of a chunk.
#[must_use]
pub fn start_of(number: usize) -> u64 {
    number as u64 * CHUNK_BYTES as u64
}

/// Number of chunks of a content of this length.
#[must_use]
pub fn count_of(length: u64) -> usize {
    number_of(length.div_ceil(CHUNK_BYTES as u64).saturating_mul(CHUNK_BYTES as u64))
}

/// Octets of chunk `number` of a content of this length.
#[must_use]
pub fn length_of(number: usize, length: u64) -> usize {
    let left = length.saturating_sub(start_of(number));
    usize::try_from(left).map_or(CHUNK_BYTES, |left| left.min(CHUNK_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_was_written() {
        let id = ChunkId::of(b"what was sent");
        assert_eq!(ChunkId::parse(&id.to_string()), Some(id));
        assert_eq!(ChunkId::parse("ab"), None);
        assert_eq!(ChunkId::parse(&"é".repeat(32)), None);
    }

    #[test]
    fn chunks_cover_a_content_exactly() {
        for length in [0, 1, CHUNK_BYTES as u64 - 1, CHUNK_BYTES as u64, CHUNK_BYTES as u64 + 1, 5 << 30] {
            let total: u64 = (0..count_of(length)).map(|number| length_of(number, length) as u64).sum();
            assert_eq!(total, length);
            assert_eq!(length_of(count_of(length), length), 0);
        }
    }
}
