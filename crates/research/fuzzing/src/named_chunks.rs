//! Chunks that gateways name to each other.

use crate::Seed;
use wire::named_chunks::{NamedChunk, NamedChunks, emit};

/// Slots rise, and emitted input parses equally.
pub fn check(bytes: &[u8]) -> bool {
    let Ok(read) = NamedChunks::parse(bytes) else { return false };
    let mut chunks: Vec<NamedChunk> = read.chunks().collect();
    assert_eq!(chunks.len(), read.count);
    assert!(chunks.windows(2).all(|two| two[0].slot < two[1].slot));
    assert!(chunks.iter().all(|chunk| chunk.slot >> read.slot_bits == 0));
    let mut again = Vec::new();
    emit(read.slot_bits, &mut chunks, &mut again);
    let again = NamedChunks::parse(&again).expect("it was written");
    assert!(again.chunks().eq(read.chunks()));
    true
}

/// None, and some.
pub fn seeds() -> Vec<Seed> {
    let chunk = |slot| NamedChunk { slot, tag: slot.wrapping_mul(0x9e37_79b9) };
    vec![
        Seed::of("none", |out| emit(20, &mut Vec::new(), out)),
        Seed::of("some", |out| emit(20, &mut [5, 6, 300, 70_000].map(chunk).to_vec(), out)),
    ]
}
