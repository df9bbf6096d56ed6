//! Small damage to inputs, as accidents and attackers do it.

use rand::{Rng, RngExt};

/// Mutations never make an input longer than this.
pub const MAX_BYTES: usize = 1 << 16;

/// Bytes at which parsers change their mind.
const EDGES: [u8; 8] = [0x00, 0x01, 0x0f, 0x10, 0x7f, 0x80, 0xfe, 0xff];

/// Does one to four kinds of damage to `bytes`, some of it with pieces of `other`.
pub fn mutate(bytes: &mut Vec<u8>, other: &[u8], rng: &mut impl Rng) {
    for _ in 0..rng.random_range(1..=4) {
        damage(bytes, other, rng);
    }
    bytes.truncate(MAX_BYTES);
}

fn damage(bytes: &mut Vec<u8>, other: &[u8], rng: &mut impl Rng) {
    let at = rng.random_range(0..=bytes.len());
    let count = rng.random_range(0..=(bytes.len() - at).min(32));
    match rng.random_range(0..9u8) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(at..at + count)),
        2 => bytes.extend_from_within(at..at + count),
        3 => {
            let piece = bytes[at..at + count].to_vec();
            bytes.splice(at..at, piece);
        }
        4 => {
            let from = rng.random_range(0..=other.len());
            bytes.truncate(at);
            bytes.extend_from_slice(&other[from..]);
        }
        5 => bytes.insert(at, rng.random()),
        damage => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = match damage {
                    6 => *byte ^ 1 << rng.random_range(0..8u8),
                    7 => EDGES[rng.random_range(0..EDGES.len())],
                    _ => byte.wrapping_add(if rng.random() { 1 } else { 0xff }),
                };
            }
        }
    }
}
