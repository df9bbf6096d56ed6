//! Requests: packets that a node misses and wants again (byte-caching paper, section VIII; REfactor 3.1.1).
//!
//! ```text
//! +------------------+------------------+-----
//! | sequence (24)    | sequence (24)    | ...
//! +------------------+------------------+-----
//! ```

use crate::Malformed;
use crate::number::{from_u24, to_u24};

/// The most sequences in one request.
pub const MAX_SEQUENCES: usize = 64;

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    sequences: &'a [u8],
}

impl<'a> Request<'a> {
    /// Reads a request frame's body.
    pub fn parse(body: &'a [u8]) -> Result<Self, Malformed> {
        if body.is_empty() || !body.len().is_multiple_of(3) || body.len() > 3 * MAX_SEQUENCES {
            return Err(Malformed("request"));
        }
        Ok(Request { sequences: body })
    }

    /// The low 24 bits of each link sequence asked for.
    pub fn sequences(&self) -> impl Iterator<Item = u32> + 'a {
        self.sequences.as_chunks::<3>().0.iter().map(|&bytes| from_u24(bytes))
    }
}

/// Appends a request frame's body for the first [`MAX_SEQUENCES`] of `sequences`.
pub fn emit(sequences: &[u64], out: &mut Vec<u8>) {
    for &sequence in sequences.iter().take(MAX_SEQUENCES) {
        out.extend_from_slice(&to_u24(sequence));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trips(sequences in proptest::collection::vec(0u64..1 << 24, 1..MAX_SEQUENCES)) {
            let mut out = Vec::new();
            emit(&sequences, &mut out);
            let read: Vec<u64> = Request::parse(&out).unwrap().sequences().map(u64::from).collect();
            prop_assert_eq!(read, sequences);
        }

        #[test]
        fn any_bytes_parse_or_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(request) = Request::parse(&bytes) {
                prop_assert!(request.sequences().count() <= MAX_SEQUENCES);
            }
        }
    }
}
