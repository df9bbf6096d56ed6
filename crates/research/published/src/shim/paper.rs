//! The byte-caching paper's encoding fields (Le, Srivatsa, Iyengar, ICDCS 2012, section III-B), 14 bytes
//! each.
//!
//! ```text
//! +-----------------+   +------------------+---------------+----------------+-------------+   +-------------
//! | fields (varint) |   | fingerprint (64) | offset in new | offset in      | length (16) |   | literals ...
//! |                 |   |                  | packet (16)   | stored (16)    |             |   |
//! +-----------------+   +------------------+---------------+----------------+-------------+   +-------------
//!                        '---------------------- once a region, in order ------------------'
//! ```
//!
//! Numbers are big-endian; both offsets count from the packet's start. The stored packet is the receiver's
//! packet of the fingerprint. The paper does not define how a receiver gets the number of fields; the count
//! is ours.

use wire::shim::grow;
use wire::{Malformed, take, varint};

/// Bytes of one field.
pub const FIELD_BYTES: usize = 14;

/// One removed region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Rabin fingerprint of a window inside the region.
    pub fingerprint: u64,
    /// Where the region starts in the packet that was reduced.
    pub offset_in_new: u16,
    /// Where the region starts in the stored packet.
    pub offset_in_stored: u16,
    /// The region's length in bytes; at least 1.
    pub length: u16,
}

impl Field {
    fn from_bytes(bytes: &[u8; FIELD_BYTES]) -> Self {
        let [f0, f1, f2, f3, f4, f5, f6, f7, n0, n1, s0, s1, l0, l1] = *bytes;
        Field {
            fingerprint: u64::from_be_bytes([f0, f1, f2, f3, f4, f5, f6, f7]),
            offset_in_new: u16::from_be_bytes([n0, n1]),
            offset_in_stored: u16::from_be_bytes([s0, s1]),
            length: u16::from_be_bytes([l0, l1]),
        }
    }

    fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.fingerprint.to_be_bytes());
        for number in [self.offset_in_new, self.offset_in_stored, self.length] {
            out.extend_from_slice(&number.to_be_bytes());
        }
    }
}

/// A shim and its literals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paper<'a> {
    fields: &'a [u8],
    /// The bytes that were not removed.
    pub literals: &'a [u8],
    /// How long the restored packet will be.
    pub restored_bytes: usize,
}

impl<'a> Paper<'a> {
    /// Reads a shim; what follows it are the literals.
    pub fn parse(mut input: &'a [u8]) -> Result<Self, Malformed> {
        let count = varint::parse(&mut input)? as usize;
        let fields = take(&mut input, count.saturating_mul(FIELD_BYTES), "paper shim: fields")?;
        let (mut region_bytes, mut end_of_last) = (0, 0);
        for field in fields.as_chunks().0.iter().map(Field::from_bytes) {
            let start = usize::from(field.offset_in_new);
            if start < end_of_last || field.length == 0 {
                return Err(Malformed("paper shim: field"));
            }
            end_of_last = start + usize::from(field.length);
            grow(&mut region_bytes, usize::from(field.length))?;
        }
        if end_of_last - region_bytes > input.len() {
            return Err(Malformed("paper shim: literals"));
        }
        let mut restored_bytes = region_bytes;
        grow(&mut restored_bytes, input.len())?;
        Ok(Paper { fields, literals: input, restored_bytes })
    }

    /// The fields in the packet's order.
    pub fn fields(&self) -> impl Iterator<Item = Field> + 'a {
        self.fields.as_chunks().0.iter().map(Field::from_bytes)
    }
}

/// Appends a shim; the caller appends the literals.
pub fn emit(fields: &[Field], out: &mut Vec<u8>) {
    varint::emit(fields.len() as u32, out);
    for field in fields {
        field.emit(out);
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
            regions in proptest::collection::vec((0usize..100, any::<u64>(), any::<u16>(), 1u16..1000), 0..30),
            tail in proptest::collection::vec(any::<u8>(), 0..100),
        ) {
            let (mut fields, mut end, mut literal_bytes) = (Vec::new(), 0, tail.len());
            for (gap, fingerprint, offset_in_stored, length) in regions {
                let offset_in_new = (end + gap) as u16;
                fields.push(Field { fingerprint, offset_in_new, offset_in_stored, length });
                end += gap + usize::from(length);
                literal_bytes += gap;
            }
            let mut out = Vec::new();
            emit(&fields, &mut out);
            prop_assert_eq!(out.len(), 1 + FIELD_BYTES * fields.len());
            out.extend(std::iter::repeat_n(7, literal_bytes - tail.len()));
            out.extend_from_slice(&tail);
            let shim = Paper::parse(&out).unwrap();
            prop_assert_eq!(shim.fields().collect::<Vec<_>>(), fields);
            prop_assert_eq!(shim.literals.len(), literal_bytes);
            prop_assert_eq!(shim.restored_bytes, end + tail.len());
        }

        #[test]
        fn any_bytes_parse_or_are_refused(count in 0u8..6, bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut input = vec![count];
            input.extend_from_slice(&bytes);
            if let Ok(shim) = Paper::parse(&input) {
                prop_assert!(shim.restored_bytes <= MAX_RESTORED_BYTES);
                prop_assert_eq!(shim.fields().count(), usize::from(count));
            }
        }
    }

    #[test]
    fn fields_that_overlap_are_refused() {
        let field = Field { fingerprint: 1, offset_in_new: 40, offset_in_stored: 0, length: 20 };
        let mut out = Vec::new();
        emit(&[field, Field { offset_in_new: 59, ..field }], &mut out);
        out.extend_from_slice(&[0; 40]);
        assert_eq!(Paper::parse(&out), Err(Malformed("paper shim: field")));
    }
}
