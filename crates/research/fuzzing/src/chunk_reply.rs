//! Chunk replies.

use crate::Seed;
use wire::chunk_reply::{self, ChunkReply};
use wire::shim::slots::MAX_CHUNK_BYTES;

/// Chunks have the lengths that chunks may have.
pub fn check(bytes: &[u8]) -> bool {
    let Ok(reply) = ChunkReply::parse(bytes) else { return false };
    assert!(reply.chunks().all(|chunk| (1..=MAX_CHUNK_BYTES).contains(&chunk.len())));
    let mut out = Vec::new();
    chunk_reply::emit(reply.number.into(), reply.chunks(), &mut out);
    assert_eq!(out, bytes);
    true
}

/// No chunk, one, and several.
pub fn seeds() -> Vec<Seed> {
    let chunks = [&[1; MAX_CHUNK_BYTES][..], &[2], &[3; 64]];
    [("no-chunk", 0), ("one-chunk", 1), ("several-chunks", 3)]
        .map(|(name, count)| Seed::of(name, |out| chunk_reply::emit(9, chunks[..count].iter().copied(), out)))
        .into()
}
