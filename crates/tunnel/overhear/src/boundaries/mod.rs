//! Cutting a packet into chunks (REfactor, section 3.1).
//!
//! A chunk's end depends only on the bytes behind its start. Consecutive chunks are therefore cut on their
//! own as they were in their packet. A station can thus find the chunks among an encoded packet's literals,
//! although the bytes around them were removed. If content repeats at another offset, the cuts agree again
//! after a chunk or two.
//!
//! Chunks of all three methods have at most [`MAX_CHUNK_BYTES`] and at least the minimum. If a boundary would
//! leave less than the minimum behind it, the boundary moves. A chunk below the minimum occurs only where the
//! input itself is shorter; such a chunk is not cached.

mod gear;
mod maxp;
mod modp;
mod window;

use std::ops::Range;
pub use wire::shim::slots::MAX_CHUNK_BYTES;

/// Method that chooses boundaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Method {
    /// The greatest hash of a region behind the smallest chunk (the paper's method).
    Maxp,
    /// The first hash behind the smallest chunk that the mean distance divides.
    Modp,
    /// The first matching value of a rolling sum of random numbers, one a byte (Xia and others, "Ddelta",
    /// 2014). The fastest method.
    #[default]
    Gear,
}

/// The smallest chunk, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum MinChunk {
    /// 32 bytes; the mean is about 64.
    Bytes32,
    /// 64 bytes; the mean is about 128.
    #[default]
    Bytes64,
    /// 128 bytes; the mean is about 180.
    Bytes128,
}

impl MinChunk {
    /// In bytes.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            MinChunk::Bytes32 => 32,
            MinChunk::Bytes64 => 64,
            MinChunk::Bytes128 => 128,
        }
    }
}

/// Finds boundaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Boundaries {
    /// Method that chooses them.
    pub method: Method,
    /// Minimum distance of two boundaries.
    pub min_chunk: MinChunk,
}

impl Boundaries {
    /// The chunks of `bytes`, front to back, without gaps.
    pub fn chunks(self, bytes: &[u8]) -> impl Iterator<Item = Range<usize>> {
        let mut start = 0;
        std::iter::from_fn(move || {
            let rest = &bytes[start..];
            if rest.is_empty() {
                return None;
            }
            let end = start + self.first_chunk_bytes(rest);
            Some(std::mem::replace(&mut start, end)..end)
        })
    }

    /// Length of the first chunk of `bytes`; at least 1 for non-empty input.
    #[inline]
    fn first_chunk_bytes(self, bytes: &[u8]) -> usize {
        let (rest, min_bytes) = (bytes.len(), self.min_chunk.bytes());
        if rest < 2 * min_bytes {
            return rest;
        }
        // Input above the maximum is cut so that the minimum remains; other input may be one chunk. A run
        // that ends at any boundary is thus cut as if more bytes followed.
        let reach = if rest <= MAX_CHUNK_BYTES { rest } else { MAX_CHUNK_BYTES.min(rest - min_bytes) };
        let bytes = &bytes[..reach];
        let cut = match (self.method, self.min_chunk) {
            (Method::Maxp, _) => maxp::cut(bytes, min_bytes),
            (Method::Modp, _) => modp::cut(bytes, min_bytes),
            // The masks are constants.
            (Method::Gear, MinChunk::Bytes32) => gear::cut::<32>(bytes),
            (Method::Gear, MinChunk::Bytes64) => gear::cut::<64>(bytes),
            (Method::Gear, MinChunk::Bytes128) => gear::cut::<128>(bytes),
        };
        if rest - cut < min_bytes { rest } else { cut }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn all() -> impl Iterator<Item = Boundaries> {
        let sizes = [MinChunk::Bytes32, MinChunk::Bytes64, MinChunk::Bytes128];
        let methods = [Method::Maxp, Method::Modp, Method::Gear];
        methods.into_iter().flat_map(move |method| sizes.map(|min_chunk| Boundaries { method, min_chunk }))
    }

    fn random(count: usize, seed: u64) -> Vec<u8> {
        let mut bytes = vec![0; count];
        ChaCha8Rng::seed_from_u64(seed).fill_bytes(&mut bytes);
        bytes
    }

    /// Random bytes, or bytes of few values, whose hashes collide.
    fn content() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            (0usize..2000, any::<u64>()).prop_map(|(count, seed)| random(count, seed)),
            proptest::collection::vec(0u8..2, 0..1500),
            (0usize..1500, any::<u8>()).prop_map(|(count, byte)| vec![byte; count]),
        ]
    }

    proptest! {
        #[test]
        fn chunks_follow_each_other_and_have_the_lengths_promised(bytes in content()) {
            for boundaries in all() {
                let mut end_of_last = 0;
                for chunk in boundaries.chunks(&bytes) {
                    prop_assert_eq!(chunk.start, end_of_last);
                    prop_assert!((1..=MAX_CHUNK_BYTES).contains(&chunk.len()));
                    prop_assert!(chunk.len() >= boundaries.min_chunk.bytes().min(bytes.len()));
                    end_of_last = chunk.end;
                }
                prop_assert_eq!(end_of_last, bytes.len());
            }
        }

        #[test]
        fn any_run_of_consecutive_chunks_is_cut_as_it_was(bytes in content(), from: usize, count in 1usize..8) {
            for boundaries in all() {
                let chunks: Vec<_> = boundaries.chunks(&bytes).collect();
                if chunks.is_empty() {
                    continue;
                }
                let run = &chunks[from % chunks.len()..];
                let run = &run[..run.len().min(count)];
                let start = run[0].start;
                let again = boundaries.chunks(&bytes[start..run[run.len() - 1].end]);
                let again: Vec<_> = again.map(|chunk| chunk.start + start..chunk.end + start).collect();
                prop_assert_eq!(&again[..], run, "{:?}", boundaries);
            }
        }
    }

    #[test]
    fn content_at_another_offset_is_cut_alike_after_a_few_chunks() {
        let content = random(4000, 7);
        for boundaries in all() {
            let ends: Vec<usize> = boundaries.chunks(&content).map(|chunk| chunk.end).collect();
            for shift in [1, 13, 100, 333] {
                let shifted = [&random(shift, 8)[..], &content].concat();
                let again: Vec<usize> = boundaries
                    .chunks(&shifted)
                    .filter_map(|chunk| chunk.end.checked_sub(shift))
                    .filter(|end| *end > 1500)
                    .collect();
                let behind: Vec<usize> = ends.iter().copied().filter(|end| *end > 1500).collect();
                assert_eq!(again, behind, "{boundaries:?} shifted by {shift}");
            }
        }
    }

    #[test]
    fn the_mean_chunk_is_as_long_as_documented() {
        let content = random(1 << 20, 9);
        for boundaries in all() {
            let mean = content.len() as f64 / boundaries.chunks(&content).count() as f64;
            let expected = match boundaries.min_chunk {
                MinChunk::Bytes32 => 64.0,
                MinChunk::Bytes64 => 128.0,
                MinChunk::Bytes128 => 184.0,
            };
            assert!((mean / expected - 1.0).abs() < 0.08, "{boundaries:?}: {mean} for {expected}");
        }
    }
}
