//! MAXP: a chunk ends at the greatest hash of the region behind the smallest chunk.
//!
//! Every region has a boundary, even if its bytes are uniform. The cost: the whole region must be examined.

use super::{MAX_CHUNK_BYTES, window};

/// Length of the first chunk of `bytes`, which are more than `min_bytes` and at most [`MAX_CHUNK_BYTES`].
///
/// The region (the paper's p) is twice the smallest chunk, if that fits into the greatest chunk. If the bytes
/// end inside the region, the greatest hash of the present part decides. It equals that of the whole region
/// if that lies in the present part.
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
