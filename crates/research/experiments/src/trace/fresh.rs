//! Bytes that repeat nothing: content without what repeats in it, and the same under other alphabets without
//! end.

use std::collections::HashSet;

use rand::seq::SliceRandom as _;
use rand::{Rng as _, RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use re::anchors::AnchorFinder;

/// The unit of keeping and leaving out.
const BLOCK_BYTES: usize = 256;
/// A repetition is seen by one in four of its windows of 32 bytes.
const WINDOW_BYTES: usize = 32;
const SAMPLE_BITS: u32 = 2;
/// With less, every alphabet would come back too soon.
const LEAST_BYTES: usize = 64 << 10;
/// Number of prepared alphabets.
const ALPHABETS: usize = 1024;

/// After what repeats in it was left out, too little remains of a content to compose traffic from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "only {kept_bytes} bytes of the content repeat nothing of it: give at least {LEAST_BYTES} such bytes"
)]
pub struct TooLittleContent {
    /// What remains.
    pub kept_bytes: usize,
}

/// A stream of bytes none of which repeat, with places that can be read again.
#[derive(Clone)]
pub struct Fresh {
    content: Vec<u8>,
    alphabets: Vec<[u8; 256]>,
}

impl Fresh {
    /// The most content that is used.
    pub const MOST_BYTES: usize = 64 << 20;

    /// From contents. `seed` decides about the alphabets.
    ///
    /// # Errors
    ///
    /// When too little of them is without repetition.
    pub fn from_contents<'a>(
        contents: impl IntoIterator<Item = &'a [u8]>,
        seed: u64,
    ) -> Result<Self, TooLittleContent> {
        let mut finder = AnchorFinder::quick(WINDOW_BYTES, SAMPLE_BITS);
        let (mut seen, mut found) = (HashSet::new(), Vec::new());
        let mut kept = Vec::new();
        for block in contents.into_iter().flat_map(|content| content.chunks(BLOCK_BYTES)) {
            if kept.len() + BLOCK_BYTES > Self::MOST_BYTES {
                break;
            }
            finder.find(block, 0..block.len(), &mut found);
            let mut windows: Vec<u64> = found.iter().map(|anchor| anchor.fingerprint).collect();
            windows.sort_unstable();
            // runs of a byte may have no sampled window, or nothing but such
            let repeats = windows.is_empty()
                || windows.windows(2).any(|pair| pair[0] == pair[1])
                || windows.iter().any(|window| seen.contains(window));
            if block.len() == BLOCK_BYTES && !repeats {
                kept.extend_from_slice(block);
                seen.extend(windows);
            }
        }
        if kept.len() < LEAST_BYTES {
            return Err(TooLittleContent { kept_bytes: kept.len() });
        }
        Ok(Self::of(kept, seed))
    }

    /// From random bytes, as compressed and encrypted content is.
    #[must_use]
    pub fn random(seed: u64) -> Self {
        let mut content = vec![0; 8 << 20];
        ChaCha8Rng::seed_from_u64(seed).fill_bytes(&mut content);
        Self::of(content, seed)
    }

    fn of(content: Vec<u8>, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut alphabet = std::array::from_fn(|byte| byte as u8);
        let alphabets = (0..ALPHABETS).map(|number| {
            if number > 0 {
                alphabet.shuffle(&mut rng);
                // No byte may map to itself in every alphabet, for any shuffles.
                let first = rng.random_range(0..alphabet.len());
                alphabet.rotate_left(first);
            }
            alphabet
        });
        Self { alphabets: alphabets.collect(), content }
    }

    /// Number of bytes before alphabets repeat.
    #[must_use]
    pub fn length_bytes(&self) -> u64 {
        (self.content.len() * self.alphabets.len()) as u64
    }

    /// Number of bytes of content in use.
    #[must_use]
    pub fn content_bytes(&self) -> usize {
        self.content.len()
    }

    /// Appends the bytes at `place` to `out`.
    pub fn read(&self, place: u64, length_bytes: usize, out: &mut Vec<u8>) {
        let (length, mut place, mut rest) = (self.content.len() as u64, place, length_bytes);
        while rest > 0 {
            let alphabet = &self.alphabets[(place / length) as usize % self.alphabets.len()];
            let from = (place % length) as usize;
            let bytes = &self.content[from..self.content.len().min(from + rest)];
            out.extend(bytes.iter().map(|byte| alphabet[usize::from(*byte)]));
            rest -= bytes.len();
            place += bytes.len() as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_repeats_in_a_content_is_left_out() {
        let Fresh { content, .. } = Fresh::random(1);
        let once = &content[..1 << 20];
        let fresh = Fresh::from_contents([once, &once[100..]], 1).unwrap();
        assert_eq!(fresh.content_bytes(), once.len());
        let refused = Fresh::from_contents([&[7; 1 << 20][..]], 1).err().unwrap();
        assert!(refused.to_string().contains("repeat nothing"), "{refused}");
    }

    #[test]
    fn a_place_has_the_same_bytes_however_it_is_read() {
        let fresh = Fresh::random(2);
        let edge = fresh.content_bytes() as u64 - 700;
        let (mut whole, mut parts) = (Vec::new(), Vec::new());
        fresh.read(edge, 1400, &mut whole);
        fresh.read(edge, 900, &mut parts);
        fresh.read(edge + 900, 500, &mut parts);
        assert_eq!(whole, parts);
        let mut other = Vec::new();
        fresh.read(edge + fresh.content_bytes() as u64, 1400, &mut other);
        assert!(whole[..700] != other[..700], "another alphabet");
    }
}
