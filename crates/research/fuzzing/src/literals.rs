//! Compressed literals.
//!
//! ```text
//! | the most bytes they may stand for (16) | compressed literals ...
//! ```

use crate::Seed;
use re::literals::{Compressor, Expander, MIN_SAVED_BYTES};

/// The buffer's contents before the literals.
const BEFORE: &[u8] = b"restored before";

/// The output has at most the allowed literals, or none; and compressing it again restores it.
pub fn check(bytes: &[u8]) -> bool {
    let Some((&limit, compressed)) = bytes.split_first_chunk::<2>() else { return false };
    let limit_bytes = usize::from(u16::from_be_bytes(limit));
    let (mut expander, mut out) = (Expander::new(), BEFORE.to_vec());
    if expander.expand(compressed, limit_bytes, &mut out).is_err() {
        assert_eq!(out, BEFORE);
        return false;
    }
    let literals = out.strip_prefix(BEFORE).expect("what was there is left alone");
    assert!(literals.len() <= limit_bytes);
    let (mut again, mut expanded) = (Vec::new(), Vec::new());
    if Compressor::new().compress(literals, &mut again) {
        assert!(again.len() + MIN_SAVED_BYTES <= literals.len());
        assert_eq!(expander.expand(&again, literals.len(), &mut expanded), Ok(()));
        assert_eq!(expanded, literals);
    }
    true
}

/// Text, one byte again and again, and numbers.
pub fn seeds() -> Vec<Seed> {
    let numbers: Vec<u8> = (0..400u32).flat_map(|number| (number * number).to_be_bytes()).collect();
    let text = include_bytes!("literals.rs");
    [("text", &text[..1400]), ("zeros", &[0; 1400][..]), ("numbers", &numbers[..])]
        .into_iter()
        .map(|(name, literals)| {
            Seed::of(name, |out| {
                out.extend_from_slice(&(literals.len() as u16).to_be_bytes());
                assert!(Compressor::new().compress(literals, out), "{name} is compressed");
            })
        })
        .collect()
}
