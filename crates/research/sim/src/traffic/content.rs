//! Content of payloads.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

/// An endless sequence of bytes.
#[derive(Debug, Clone)]
pub struct Content(Kind);

#[derive(Debug, Clone)]
enum Kind {
    /// Given bytes, repeated at the end.
    Given { bytes: Arc<[u8]>, next: usize },
    /// Random bytes without repetitions.
    Random(Box<ChaCha8Rng>),
}

impl Content {
    /// `bytes` in repetition; zeros if empty.
    #[must_use]
    pub fn given(bytes: impl Into<Arc<[u8]>>) -> Self {
        Content(Kind::Given { bytes: bytes.into(), next: 0 })
    }

    /// Bytes that have nothing in common with each other.
    #[must_use]
    pub fn random(seed: u64) -> Self {
        Content(Kind::Random(Box::new(ChaCha8Rng::seed_from_u64(seed))))
    }

    /// `total_bytes` in repetition. About `share` of them repeat earlier ones, in stretches of 100 to 900
    /// bytes from up to `reach_bytes` back.
    #[must_use]
    pub fn repeating(seed: u64, share: f64, reach_bytes: usize, total_bytes: usize) -> Self {
        use rand::RngExt;
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let mut bytes: Vec<u8> = Vec::with_capacity(total_bytes + 900);
        while bytes.len() < total_bytes {
            let length = rng.random_range(100..900);
            let reach = reach_bytes.min(bytes.len());
            if reach > length && rng.random_bool(share.clamp(0.0, 1.0)) {
                let start = bytes.len() - rng.random_range(length..=reach);
                bytes.extend_from_within(start..start + length);
            } else {
                let start = bytes.len();
                bytes.resize(start + length, 0);
                rng.fill_bytes(&mut bytes[start..]);
            }
        }
        bytes.truncate(total_bytes);
        Content::given(bytes)
    }

    /// Fills `payload` with what comes next.
    pub fn take(&mut self, payload: &mut [u8]) {
        match &mut self.0 {
            Kind::Random(rng) => rng.fill_bytes(payload),
            Kind::Given { bytes, .. } if bytes.is_empty() => payload.fill(0),
            Kind::Given { bytes, next } => {
                let mut rest = payload;
                while !rest.is_empty() {
                    let count = rest.len().min(bytes.len() - *next);
                    let (now, later) = rest.split_at_mut(count);
                    now.copy_from_slice(&bytes[*next..*next + count]);
                    *next = (*next + count) % bytes.len();
                    rest = later;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_content_starts_again_at_its_end() {
        let mut content = Content::given(*b"abcde");
        let mut payload = [0; 7];
        content.take(&mut payload);
        assert_eq!(&payload, b"abcdeab");
        content.take(&mut payload);
        assert_eq!(&payload, b"cdeabcd");
        Content::given([]).take(&mut payload);
        assert_eq!(payload, [0; 7]);
    }

    #[test]
    fn repeating_content_repeats_about_as_much_as_it_should() {
        for share in [0.0, 0.5, 0.9] {
            let mut bytes = vec![0; 400_000];
            Content::repeating(3, share, 100_000, bytes.len()).take(&mut bytes);
            let redundant = published::offline::Measure::default().of(&bytes).redundant();
            assert!((redundant - share).abs() < 0.08, "{share} {redundant}");
        }
    }
}
