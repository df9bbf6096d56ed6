//! Shims in the byte-caching paper's form, with their literals.

use crate::Seed;
use published::shim::paper::{self, FIELD_BYTES, Field, Paper};
use wire::shim::MAX_RESTORED_BYTES;

/// The fields are in order, do not overlap, and agree with the literals.
pub fn check(bytes: &[u8]) -> bool {
    let Ok(shim) = Paper::parse(bytes) else { return false };
    let fields: Vec<Field> = shim.fields().collect();
    let mut end_of_last = 0;
    for field in &fields {
        assert!(usize::from(field.offset_in_new) >= end_of_last && field.length > 0);
        end_of_last = usize::from(field.offset_in_new) + usize::from(field.length);
    }
    let region_bytes: usize = fields.iter().map(|field| usize::from(field.length)).sum();
    assert!(end_of_last - region_bytes <= shim.literals.len());
    assert_eq!(shim.restored_bytes, region_bytes + shim.literals.len());
    assert!(shim.restored_bytes <= MAX_RESTORED_BYTES);
    assert!(fields.len() * FIELD_BYTES <= bytes.len());
    let mut out = Vec::new();
    paper::emit(&fields, &mut out);
    out.extend_from_slice(shim.literals);
    assert!(out.len() <= bytes.len(), "numbers are written in their shortest form");
    let again = Paper::parse(&out).expect("what was read and written is read again");
    assert!(again.fields().eq(fields));
    assert_eq!((again.literals, again.restored_bytes), (shim.literals, shim.restored_bytes));
    true
}

/// No field, one, and several.
pub fn seeds() -> Vec<Seed> {
    let field =
        Field { fingerprint: 0x0123_4567_89ab_cdef, offset_in_new: 40, offset_in_stored: 52, length: 500 };
    let several = [
        field,
        Field { offset_in_new: 540, offset_in_stored: 0, length: 16, ..field },
        Field { offset_in_new: 570, offset_in_stored: 1400, length: 20, ..field },
    ];
    [("no-field", &several[..0]), ("one-field", &several[..1]), ("several-fields", &several[..])]
        .into_iter()
        .map(|(name, fields)| {
            Seed::of(name, |out| {
                paper::emit(fields, out);
                out.extend_from_slice(&[0x33; 60]);
            })
        })
        .collect()
}
