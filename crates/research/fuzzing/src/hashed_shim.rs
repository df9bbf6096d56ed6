//! Shims that name chunks by their SHA-1, with their literals.

use crate::Seed;
use published::shim::hashed::{self, Field, HASH_BYTES, Hashed};
use wire::shim::MAX_RESTORED_BYTES;

/// No chunk is empty, and there are the literals that are asked for.
pub fn check(bytes: &[u8]) -> bool {
    let Ok(shim) = Hashed::parse(bytes) else { return false };
    let fields: Vec<Field> = shim.fields().collect();
    assert!(fields.iter().all(|field| field.length > 0));
    let sum = |of: fn(&Field) -> u32| fields.iter().map(|field| of(field) as usize).sum::<usize>();
    assert!(sum(|field| field.literal_bytes) <= shim.literals.len());
    assert_eq!(shim.restored_bytes, sum(|field| field.length) + shim.literals.len());
    assert!(shim.restored_bytes <= MAX_RESTORED_BYTES);
    let mut out = Vec::new();
    hashed::emit(&fields, &mut out);
    out.extend_from_slice(shim.literals);
    assert!(out.len() <= bytes.len(), "numbers are written in their shortest form");
    let again = Hashed::parse(&out).expect("what was read and written is read again");
    assert!(again.fields().eq(fields));
    assert_eq!((again.literals, again.restored_bytes), (shim.literals, shim.restored_bytes));
    true
}

/// No chunk, one, and several.
pub fn seeds() -> Vec<Seed> {
    let field = Field { literal_bytes: 40, length: 120, hash: [0x5a; HASH_BYTES] };
    let several =
        [field, Field { literal_bytes: 0, length: 64, ..field }, Field { literal_bytes: 9, ..field }];
    [("no-chunk", &several[..0]), ("one-chunk", &several[..1]), ("several-chunks", &several[..])]
        .into_iter()
        .map(|(name, fields)| {
            Seed::of(name, |out| {
                hashed::emit(fields, out);
                out.extend_from_slice(&[0x33; 60]);
            })
        })
        .collect()
}
