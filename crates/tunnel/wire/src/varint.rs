//! Unsigned integers in seven-bit groups, least significant first (LEB128), at most 32 bits.
//!
//! Chosen over QUIC's form because most lengths and offsets in a shim lie below 128, and one byte there
//! reaches 127 instead of 63.

use crate::Malformed;

/// The most bytes one integer takes.
pub const MAX_BYTES: usize = 5;

/// Appends `value`.
pub fn emit(mut value: u32, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// How many bytes [`emit`] would append.
#[must_use]
pub fn encoded_len(value: u32) -> usize {
    (32 - (value | 1).leading_zeros()).div_ceil(7) as usize
}

/// Takes one integer off the front of `input`.
pub fn parse(input: &mut &[u8]) -> Result<u32, Malformed> {
    let mut value = 0u32;
    for (index, &byte) in input.iter().take(MAX_BYTES).enumerate() {
        let group = u32::from(byte & 0x7f);
        if index == MAX_BYTES - 1 && byte > 0x0f {
            break;
        }
        value |= group << (7 * index);
        if byte & 0x80 == 0 {
            *input = &input[index + 1..];
            return Ok(value);
        }
    }
    Err(Malformed("varint"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trips_and_knows_its_length(value: u32) {
            let mut out = Vec::new();
            emit(value, &mut out);
            prop_assert_eq!(out.len(), encoded_len(value));
            out.push(0xee);
            let mut input = &out[..];
            prop_assert_eq!(parse(&mut input), Ok(value));
            prop_assert_eq!(input, &[0xee][..]);
        }

        #[test]
        fn any_bytes_parse_or_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..8)) {
            let mut input = &bytes[..];
            let _ = parse(&mut input);
        }
    }

    #[test]
    fn more_than_32_bits_are_refused() {
        let mut input = &[0xff, 0xff, 0xff, 0xff, 0x1f][..];
        assert_eq!(parse(&mut input), Err(Malformed("varint")));
    }
}
