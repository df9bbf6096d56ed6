//! MODP: a chunk ends at a hash that p divides.

use super::window;

/// Length of the first chunk of `bytes`, which are more than `min_bytes`.
pub fn cut(bytes: &[u8], min_bytes: usize) -> usize {
    let mask = min_bytes.min(64) as u64 - 1;
    let fitting = window::hashes(bytes, min_bytes).position(|hash| hash & mask == 0);
    fitting.map_or(bytes.len(), |at| min_bytes + at)
}
