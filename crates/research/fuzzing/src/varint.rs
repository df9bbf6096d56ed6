//! Integers in seven-bit groups.

use crate::Seed;
use wire::varint;

/// A parsed shim is emitted in at most as many bytes, and in exactly the predicted number.
pub fn check(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    let Ok(value) = varint::parse(&mut rest) else {
        assert_eq!(rest, bytes, "what is refused is not taken");
        return false;
    };
    let taken = bytes.len() - rest.len();
    let mut out = Vec::new();
    varint::emit(value, &mut out);
    assert_eq!(out.len(), varint::encoded_len(value));
    assert!(out.len() <= taken && taken <= varint::MAX_BYTES);
    assert_eq!(varint::parse(&mut &out[..]), Ok(value));
    true
}

/// Both ends of each length.
pub fn seeds() -> Vec<Seed> {
    [("zero", 0), ("one-byte", 127), ("two-bytes", 128), ("three-bytes", 16_384), ("most", u32::MAX)]
        .into_iter()
        .map(|(name, value)| Seed::of(name, |out| varint::emit(value, out)))
        .collect()
}
