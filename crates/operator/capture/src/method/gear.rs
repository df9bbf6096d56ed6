//! Content-defined chunks by a gear hash: one shift and one addition a byte.
//!
//! W. Xia et al., "Ddelta: a deduplication-inspired fast delta compression approach", 2014. A chunk ends
//! where the hash of the bytes before has zeros in certain bits, so equal content has equal cuts at any
//! position.
//!
//! Bit b of the hash depends on the last b + 1 bytes. The lowest bits depend on a few bytes, so frequent
//! words would decide. The highest depend on 64 bytes, more than a chunk, so after a difference the cuts
//! would not agree again. Bits from 32 on depend on the last 33 bytes or slightly more, about the shortest
//! chunk.

/// A random number for each byte, from a fixed seed.
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

/// The lowest of the bits that are zero at a chunk's end.
const LOWEST_BIT: u32 = 32;

/// Parameters of cutting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gear {
    pub min_bytes: usize,
    pub max_bytes: usize,
    /// Number of hash bits that are zero at a chunk's end: one byte in 2^`bits` behind the minimum.
    pub bits: u32,
}

impl Gear {
    /// Length of the first chunk of `bytes`, which is not empty.
    pub(super) fn first_chunk(&self, bytes: &[u8]) -> usize {
        let longest = bytes.len().min(self.max_bytes);
        let mask = ((1u64 << self.bits) - 1) << LOWEST_BIT;
        let mut hash = 0u64;
        for (at, &byte) in bytes[..longest].iter().enumerate() {
            hash = (hash << 1).wrapping_add(GEAR[usize::from(byte)]);
            if hash & mask == 0 && at + 1 >= self.min_bytes {
                return at + 1;
            }
        }
        longest
    }
}
