//! MAXP: a chunk ends where the greatest hash of the region behind the smallest chunk is.
//!
//! A boundary lies in every region, however even the content is; but all of the region must be looked at.

use super::{MAX_CHUNK_BYTES, window};

/// How long the first chunk of `bytes` is, which are more than `min_bytes` and at most [`MAX_CHUNK_BYTES`].
///
/// The region (the paper's p) is twice as long as the smallest chunk, if that fits into the greatest. Where
/// bytes end within it, the greatest of what is there decides: that of the whole region is it still, where it
/// is there.
pub fn cut(bytes: &[u8], min_bytes: usize) -> usize {
    let region_bytes = (2 * min_bytes).min(MAX_CHUNK_BYTES - min_bytes);
    let bytes = &bytes[..bytes.len().min(min_bytes + region_bytes)];
    let mut greatest = (0, min_bytes);
    for (at, hash) in window::hashes(bytes, min_bytes).enumerate() {
        if hash > greatest.0 {
            greatest = (hash, min_bytes + at);
        }
    }
    greatest.1
}
