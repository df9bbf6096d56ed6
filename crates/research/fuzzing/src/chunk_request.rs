//! Chunk requests.

use crate::Seed;
use wire::chunk_request::{self, ChunkRequest, MAX_SLOTS};

/// The requested numbers rise, are bounded, and are never empty.
pub fn check(bytes: &[u8]) -> bool {
    let Ok(request) = ChunkRequest::parse(bytes) else { return false };
    let missing: Vec<usize> = request.missing().collect();
    assert!(missing.is_sorted() && missing.last().is_some_and(|&last| last < MAX_SLOTS));
    let mut out = Vec::new();
    chunk_request::emit(request.number.into(), missing, &mut out);
    assert_eq!(out, bytes);
    true
}

/// One chunk, and several.
pub fn seeds() -> Vec<Seed> {
    vec![
        Seed::of("one-chunk", |out| chunk_request::emit(5, [0], out)),
        Seed::of("several-chunks", |out| chunk_request::emit(70_000, [1, 2, 9, 500], out)),
    ]
}
