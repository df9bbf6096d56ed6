//! Hellos.

use crate::Seed;
use wire::hello::{ANSWERS_REQUESTS, DRAFT, Hello, Second};

/// A parsed hello is emitted with the bytes that this version knows, whatever a newer one appends.
pub fn check(bytes: &[u8]) -> bool {
    let Ok(hello) = Hello::parse(bytes) else {
        assert!(bytes.len() < Hello::BYTES, "any bytes that are enough are a hello");
        return false;
    };
    let mut out = Vec::new();
    hello.emit(&mut out);
    assert_eq!(out, bytes[..out.len()]);
    assert!(out.len() >= Hello::BYTES);
    true
}

/// This version's hello, and that of a newer one.
pub fn seeds() -> Vec<Seed> {
    let hello = Hello {
        oldest_version: 1,
        newest_version: 1,
        boot: 0x0123_4567_89ab_cdef,
        number: 1,
        store_kib: 16_384,
        window_bytes: 16,
        sample_bits: 4,
        capabilities: ANSWERS_REQUESTS,
        reset_token: [7; 16],
        second: None,
    };
    let second = Some(Second { draft: DRAFT, across_boots: 1 << 50 });
    let newer = Hello { newest_version: 2, capabilities: u32::MAX, second, ..hello };
    vec![
        Seed::of("this-version", |out| hello.emit(out)),
        Seed::of("newer-version", |out| {
            newer.emit(out);
            out.extend_from_slice(b"more to say");
        }),
    ]
}
