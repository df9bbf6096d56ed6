//! Random variates by address: a purpose and an index always give the same variate.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Purpose of a variate. Each has its own ChaCha stream, so that, for example, reordering does not change the
/// lost frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Loss of a frame's first try.
    Loss = 1,
    /// Loss of further tries.
    Retry = 2,
    /// State of a bit-level model after a frame's first try.
    State = 3,
    /// State after further tries.
    RetryState = 4,
    /// Initial state of a model with memory.
    Beginning = 5,
    /// Whether a frame is held back.
    Reorder = 6,
    /// Whether a frame is duplicated.
    Duplicate = 7,
    /// Whether a bit flips.
    Corrupt = 8,
    /// Number of the flipped bit.
    Position = 9,
    /// Slots of a station's backoff.
    Backoff = 10,
    /// Fading of a frame.
    Fading = 11,
    /// Properties of a pair of stations.
    Pair = 12,
}

/// Variates of one purpose, uniform in [0, 1), by index.
///
/// Sequential access costs only the generator; a jump costs one more block of ChaCha8.
#[derive(Debug, Clone)]
pub struct Variates {
    rng: ChaCha8Rng,
}

/// A variate takes one u64: two of ChaCha's words.
const WORDS: u128 = 2;

impl Variates {
    /// The variates of `purpose` under `seed`.
    pub fn new(seed: u64, purpose: Purpose) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(purpose as u64);
        Self { rng }
    }

    /// The variate at `index`.
    pub fn at(&mut self, index: u64) -> f64 {
        self.seek(index);
        self.rng.random()
    }

    /// A whole number below `bound` at `index`; 0 when `bound` is 0. Its bias is below `bound`/2^64.
    pub fn below(&mut self, index: u64, bound: u64) -> u64 {
        self.seek(index);
        ((u128::from(self.rng.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    fn seek(&mut self, index: u64) {
        let position = u128::from(index) * WORDS;
        if self.rng.get_word_pos() != position {
            self.rng.set_word_pos(position);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variate_is_the_same_in_order_backwards_and_alone() {
        let mut forward = Variates::new(7, Purpose::Loss);
        let in_order: Vec<f64> = (0..300).map(|index| forward.at(index)).collect();
        let mut backward = Variates::new(7, Purpose::Loss);
        for index in (0..300).rev() {
            assert_eq!(backward.at(index), in_order[index as usize]);
            assert_eq!(Variates::new(7, Purpose::Loss).at(index), in_order[index as usize]);
        }
    }

    #[test]
    fn purposes_and_seeds_are_independent() {
        let of = |seed, purpose| {
            let mut variates = Variates::new(seed, purpose);
            (0..1000).map(|index| variates.at(index)).collect::<Vec<_>>()
        };
        let one = of(1, Purpose::Loss);
        for other in [of(1, Purpose::Reorder), of(2, Purpose::Loss)] {
            assert!(one.iter().zip(&other).all(|(a, b)| a != b));
            let covariance: f64 =
                one.iter().zip(&other).map(|(a, b)| (a - 0.5) * (b - 0.5)).sum::<f64>() / 1000.0;
            // The standard error of the covariance of 1000 pairs is 1/12/sqrt(1000) = 0.0026.
            assert!(covariance.abs() < 0.0105, "{covariance}");
        }
    }

    #[test]
    fn whole_numbers_stay_below_their_bound() {
        let mut variates = Variates::new(3, Purpose::Position);
        let mut seen = [0u32; 7];
        for index in 0..7000 {
            seen[variates.below(index, 7) as usize] += 1;
        }
        assert!(seen.iter().all(|&count| (870..1130).contains(&count)), "{seen:?}");
        assert_eq!(variates.below(0, 0), 0);
    }
}
