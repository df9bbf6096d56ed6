//! Chunks by their SHA-1, as chunk-match writes them (Lee, Kim, Shin: REboost, IEEE Communications Letters
//! 2017, section II-A; Aggarwal and others: EndRE, NSDI 2010).
//!
//! ```text
//! +-----------------+   +----------------+--------------------+-------------+   +-------------
//! | chunks (varint) |   | literal bytes  | the chunk's length | SHA-1 (160) |   | literals ...
//! |                 |   | before, varint | (varint)           |             |   |
//! +-----------------+   +----------------+--------------------+-------------+   +-------------
//!                        '----------- once a chunk, in order --------------'
//! ```
//!
//! The receiver finds a chunk in its store by itself. The papers do not define the layout of the fields.

use wire::shim::grow;
use wire::{Malformed, take_array, varint};

/// Bytes of a SHA-1.
pub const HASH_BYTES: usize = 20;

/// A chunk's SHA-1.
pub type Hash = [u8; HASH_BYTES];

/// One removed chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Bytes between the chunk before, or the packet's start, and this one.
    pub literal_bytes: u32,
    /// The chunk's length in bytes; at least 1.
    pub length: u32,
    /// Its SHA-1.
    pub hash: Hash,
}

impl Field {
    fn parse(input: &mut &[u8]) -> Result<Self, Malformed> {
        let literal_bytes = varint::parse(input)?;
        let length = varint::parse(input)?;
        let hash = take_array(input, "hashed shim: hash")?;
        if length == 0 {
            return Err(Malformed("hashed shim: length"));
        }
        Ok(Field { literal_bytes, length, hash })
    }
}

/// A shim and its literals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hashed<'a> {
    fields: &'a [u8],
    /// The bytes that were not removed.
    pub literals: &'a [u8],
    /// How long the restored packet will be.
    pub restored_bytes: usize,
}

impl<'a> Hashed<'a> {
    /// Reads a shim; what follows it are the literals.
    pub fn parse(mut input: &'a [u8]) -> Result<Self, Malformed> {
        let count = varint::parse(&mut input)?;
        let fields = input;
        let (mut literal_bytes, mut restored_bytes) = (0, 0);
        for _ in 0..count {
            let field = Field::parse(&mut input)?;
            grow(&mut literal_bytes, field.literal_bytes as usize)?;
            grow(&mut restored_bytes, field.length as usize)?;
        }
        if literal_bytes > input.len() {
            return Err(Malformed("hashed shim: literals"));
        }
        grow(&mut restored_bytes, input.len())?;
        let fields = &fields[..fields.len() - input.len()];
        Ok(Hashed { fields, literals: input, restored_bytes })
    }

    /// The chunks in the packet's order.
    pub fn fields(&self) -> impl Iterator<Item = Field> + 'a {
        let mut fields = self.fields;
        std::iter::from_fn(move || if fields.is_empty() { None } else { Field::parse(&mut fields).ok() })
    }
}

/// Appends a shim; the caller appends the literals.
pub fn emit(fields: &[Field], out: &mut Vec<u8>) {
    varint::emit(fields.len() as u32, out);
    for field in fields {
        varint::emit(field.literal_bytes, out);
        varint::emit(field.length, out);
        out.extend_from_slice(&field.hash);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wire::shim::MAX_RESTORED_BYTES;

    proptest! {
        #[test]
        fn round_trips(
            chunks in prop::collection::vec((0u32..100, 1u32..1000, any::<[u8; HASH_BYTES]>()), 0..30),
            tail in prop::collection::vec(any::<u8>(), 0..100),
        ) {
            let field = |(literal_bytes, length, hash)| Field { literal_bytes, length, hash };
            let fields: Vec<Field> = chunks.into_iter().map(field).collect();
            let literal_bytes: usize = fields.iter().map(|field| field.literal_bytes as usize).sum();
            let removed_bytes: usize = fields.iter().map(|field| field.length as usize).sum();
            let literals = [vec![7; literal_bytes], tail].concat();
            let mut out = Vec::new();
            emit(&fields, &mut out);
            out.extend_from_slice(&literals);
            let shim = Hashed::parse(&out).unwrap();
            prop_assert!(shim.fields().eq(fields));
            prop_assert_eq!(shim.literals, &literals[..]);
            prop_assert_eq!(shim.restored_bytes, removed_bytes + literals.len());
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(shim) = Hashed::parse(&bytes) {
                prop_assert!(shim.restored_bytes <= MAX_RESTORED_BYTES);
            }
        }
    }

    #[test]
    fn more_than_a_packet_and_chunks_of_nothing_are_refused() {
        let mut out = Vec::new();
        let field = Field { literal_bytes: 0, length: 40_000, hash: [1; HASH_BYTES] };
        emit(&[field; 2], &mut out);
        assert_eq!(Hashed::parse(&out), Err(Malformed("shim: restored length")));
        out.clear();
        emit(&[Field { length: 0, ..field }], &mut out);
        assert_eq!(Hashed::parse(&out), Err(Malformed("hashed shim: length")));
        out.clear();
        emit(&[Field { literal_bytes: 5, length: 1, ..field }], &mut out);
        out.extend_from_slice(&[0; 4]);
        assert_eq!(Hashed::parse(&out), Err(Malformed("hashed shim: literals")));
    }
}
