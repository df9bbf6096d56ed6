//! Content-defined chunks by a gear hash: one shift and one addition a byte.
//!
//! W. Xia et al., "Ddelta: a deduplication-inspired fast delta compression approach", 2014. A chunk ends where
//! the hash of the bytes before has zeros in certain bits, so that the same content is cut alike wherever it
//! stands.

/// For each byte a random number, from a fixed seed.
const GEAR: [u64; 256] = table();

const fn table() -> [u64; 256] {
    // SplitMix64 (Steele, Lea, Flood, 2014).
    let mut table = [0; 256];
    let mut state = 0u64;
    let mut byte = 0;
    while byte < 256 {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        table[byte] = mixed ^ mixed >> 31;
        byte += 1;
    }
    table
}

/// How chunks are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gear {
    pub min_bytes: usize,
    pub max_bytes: usize,
    /// How many of the hash's high bits are zero where a chunk ends: one byte in 2^`bits` behind the minimum.
    pub bits: u32,
}

impl Gear {
    /// How long the first chunk of `bytes` is; `bytes` is not empty.
    pub(super) fn first_chunk(&self, bytes: &[u8]) -> usize {
        let longest = bytes.len().min(self.max_bytes);
        let bound = 1u64 << (64 - self.bits);
        let mut hash = 0u64;
        for (at, &byte) in bytes[..longest].iter().enumerate() {
            hash = (hash << 1).wrapping_add(GEAR[usize::from(byte)]);
            if hash < bound && at + 1 >= self.min_bytes {
                return at + 1;
            }
        }
        longest
    }
}
