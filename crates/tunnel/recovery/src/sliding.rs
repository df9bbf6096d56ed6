//! Forward error correction: a sliding-window random linear code over GF(2^8) (RFC 8681; Tetrys, RFC 9407).
//!
//! The [`Encoder`] keeps the newest *sources*. A *repair* is a sum of scaled sources, those of its *window*.
//! The [`Decoder`] keeps what arrived. As many repairs as sources were lost restore them, in any order.
//!
//! ```text
//! sources   0   1   2   3       4   5   6   7       8 ...
//! repairs                  R0                  R1         R0 = a sum of 0 to 3, R1 = a sum of 0 to 7
//! ```
//!
//! A source is any buffer. Behind its bytes stands [`END`], since sums are as long as their longest source.
//! Its number rises from source to source, with gaps. The repair's number is its *key*: the scale factors
//! follow from both numbers ([`factor`]), and are not sent. A random square system is singular in one of 250
//! cases (RFC 8681, section 1.3). One repair more then helps.

mod decoder;
mod encoder;

pub use decoder::{Decoder, Restored};
pub use encoder::Encoder;

pub use wire::repair::MAX_SPAN;
/// The byte behind a source.
pub const END: u8 = 1;

/// The scale factor of a source in the repair with this key; never 0. The mixing is that of SplitMix64
/// (Steele, Lea, Flood, OOPSLA 2014).
#[must_use]
pub const fn factor(key: u64, source: u64) -> u8 {
    let mut mixed = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ source;
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    (mixed % 255) as u8 + 1
}

#[cfg(test)]
mod tests;
