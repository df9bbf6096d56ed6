//! A hash of the eight bytes in front of a boundary: each position's on its own, without the chain of
//! dependent steps that a rolling hash over 32 bytes is.

/// Bytes that decide about a boundary.
pub const WINDOW_BYTES: usize = 8;

/// An odd constant with well-mixed bits: the golden ratio's fraction.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// The hashes of the windows that end where chunks of `bytes` of at least `min_bytes` may end, shortest
/// first.
#[inline]
pub fn hashes(bytes: &[u8], min_bytes: usize) -> impl Iterator<Item = u64> {
    bytes[min_bytes - WINDOW_BYTES..].windows(WINDOW_BYTES).map(|window| {
        let product =
            u64::from_le_bytes(window.try_into().expect("windows of eight bytes")).wrapping_mul(MULTIPLIER);
        // the product's low bits follow from the window's first bytes alone
        product ^ product >> 32
    })
}
