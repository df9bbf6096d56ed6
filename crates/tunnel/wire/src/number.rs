//! Numbers that travel truncated and are widened again next to the newest one seen.
//!
//! The same idea as QUIC's packet numbers (RFC 9000, appendix A.3): of all full numbers with the given low
//! bits, take the one nearest to what is expected next.

/// Bits of a counter (nonce) on the air.
pub const COUNTER_BITS: u32 = 24;
/// Bits of a link sequence on the air.
pub const SEQUENCE_BITS: u32 = 24;

/// The full number nearest to `expected` whose low `bits` are those of `truncated`.
///
/// Never underflows: near zero the smallest candidate is taken.
#[must_use]
pub fn widen(truncated: u64, bits: u32, expected: u64) -> u64 {
    debug_assert!(bits < 64);
    let span = 1u64 << bits;
    let half = span >> 1;
    let candidate = (expected & !(span - 1)) | (truncated & (span - 1));
    if candidate.wrapping_add(half) <= expected && candidate < u64::MAX - span {
        candidate + span
    } else if candidate > expected.saturating_add(half) && candidate >= span {
        candidate - span
    } else {
        candidate
    }
}

/// The low 24 bits, most significant byte first.
#[must_use]
pub fn to_u24(value: u64) -> [u8; 3] {
    [(value >> 16) as u8, (value >> 8) as u8, value as u8]
}

/// Reads 24 bits, most significant byte first.
#[must_use]
pub fn from_u24(bytes: [u8; 3]) -> u32 {
    u32::from(bytes[0]) << 16 | u32::from(bytes[1]) << 8 | u32::from(bytes[2])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn widening_undoes_truncation_within_half_the_span(
            expected in 0u64..1 << 50,
            offset in -(1i64 << 23) + 1..(1i64 << 23) - 1,
        ) {
            let full = expected.saturating_add_signed(offset);
            prop_assert_eq!(widen(full & 0xff_ffff, SEQUENCE_BITS, expected), full);
        }

        #[test]
        fn widening_never_panics(truncated: u64, expected: u64, bits in 1u32..63) {
            let _ = widen(truncated, bits, expected);
        }

        #[test]
        fn u24_round_trips(value in 0u32..1 << 24) {
            prop_assert_eq!(from_u24(to_u24(u64::from(value))), value);
        }
    }
}
