//! Requests.

use crate::Seed;
use wire::request::{self, MAX_SEQUENCES, Request};

/// A request writes itself again to the same bytes and asks for a bounded number of packets.
pub fn check(bytes: &[u8]) -> bool {
    let Ok(request) = Request::parse(bytes) else { return false };
    let sequences: Vec<u64> = request.sequences().map(u64::from).collect();
    assert!((1..=MAX_SEQUENCES).contains(&sequences.len()));
    let mut out = Vec::new();
    request::emit(&sequences, &mut out);
    assert_eq!(out, bytes);
    true
}

/// One packet, a few, and as many as may be.
pub fn seeds() -> Vec<Seed> {
    vec![
        Seed::of("one", |out| request::emit(&[5], out)),
        Seed::of("few", |out| request::emit(&[1, 2, 0x00ff_ffff], out)),
        Seed::of("most", |out| request::emit(&[0x0001_0101; MAX_SEQUENCES], out)),
    ]
}
