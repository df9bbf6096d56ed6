//! A hash of the eight bytes before a boundary. Each position is independent, without the dependency chain of
//! a rolling hash over 32 bytes.

/// Bytes that decide a boundary.
pub const WINDOW_BYTES: usize = 8;

/// An odd constant with well-mixed bits: the golden ratio's fraction.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Hashes of the windows that end at the possible ends of the first chunk of `bytes`, shortest chunk first. A
/// chunk has at least `min_bytes`.
#[inline]
pub fn hashes(bytes: &[u8], min_bytes: usize) -> impl Iterator<Item = u64> {
    bytes[min_bytes - WINDOW_BYTES..].windows(WINDOW_BYTES).map(|window| {
        let product =
            u64::from_le_bytes(window.try_into().expect("windows of eight bytes")).wrapping_mul(MULTIPLIER);
        // The product's low bits depend only on the window's first bytes.
        product ^ product >> 32
    })
}
