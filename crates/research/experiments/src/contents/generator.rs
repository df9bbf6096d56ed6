//! Contents made by a seeded generator: stretches never seen before, and between them copies of earlier
//! stretches.
//!
//! Both lengths determine the effect of redundancy elimination. The frequency with which a copy changes its
//! source determines the number of packets that a packet refers to. A web page is made in this way: a
//! template, filled in.

use std::fmt;

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// Parameters of a content.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Recipe {
    length_bytes: usize,
    /// Mean length of new stretches.
    fresh_bytes: f64,
    /// Mean length of copied stretches; 0 for none.
    copied_bytes: f64,
    /// The largest distance of copies. Twice a distance is as likely as half of it, because repetitions are
    /// usually near.
    reach_bytes: usize,
    /// The chance that a copy does not go on behind where the one before was copied from.
    jump: f64,
    seed: u64,
}

impl Recipe {
    pub(super) const FILE_1: Self = Self {
        length_bytes: 587_567,
        fresh_bytes: 29.0,
        copied_bytes: 71.0,
        reach_bytes: 400_000,
        jump: 0.04,
        seed: 1,
    };
    pub(super) const DOCUMENTS: Self = Self {
        length_bytes: 10_185_037,
        fresh_bytes: 70.0,
        copied_bytes: 190.0,
        reach_bytes: 4_000_000,
        jump: 0.2,
        seed: 10,
    };
    pub(super) const FILE_2: Self = Self {
        length_bytes: 1_000_000,
        fresh_bytes: 46.0,
        copied_bytes: 55.0,
        reach_bytes: 900_000,
        jump: 0.38,
        seed: 2,
    };
    pub(super) const EBOOK: Self = Self {
        length_bytes: 567_198,
        fresh_bytes: 56.0,
        copied_bytes: 22.0,
        reach_bytes: 560_000,
        jump: 1.0,
        seed: 3,
    };
    pub(super) const VIDEO: Self = Self {
        length_bytes: 1_055_736,
        fresh_bytes: 1000.0,
        copied_bytes: 0.0,
        reach_bytes: 0,
        jump: 1.0,
        seed: 4,
    };

    /// Number of web pages.
    pub(super) const WEB_PAGES: u64 = 20;

    /// One of several pages, some with more repetition than others.
    pub(super) fn web_page(number: u64) -> Self {
        let share = number as f64 / Self::WEB_PAGES as f64;
        let fresh_bytes = 400.0 - 300.0 * share;
        Self {
            length_bytes: 120_000,
            fresh_bytes,
            copied_bytes: 150.0,
            reach_bytes: 60_000,
            jump: 0.2,
            seed: 100 + number,
        }
    }

    /// Makes the content.
    pub(super) fn cook(&self) -> Vec<u8> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let mut bytes = Vec::with_capacity(self.length_bytes + 4096);
        let mut from = 0;
        while bytes.len() < self.length_bytes {
            for _ in 0..around(self.fresh_bytes, &mut rng) {
                bytes.push(rng.random_range(b' '..=b'~'));
            }
            let length = around(self.copied_bytes, &mut rng);
            let oldest = bytes.len().saturating_sub(self.reach_bytes);
            let newest = bytes.len().saturating_sub(length);
            if length == 0 || oldest >= newest {
                continue;
            }
            if !(oldest..newest).contains(&from) || rng.random_bool(self.jump) {
                let farthest = (newest - oldest) as f64;
                let distance = farthest.powf(rng.random_range(0.5..1.0));
                from = newest - distance as usize;
            }
            bytes.extend_from_within(from..from + length);
            from += length + around(self.fresh_bytes, &mut rng);
        }
        bytes.truncate(self.length_bytes);
        bytes
    }
}

/// A length between half and three halves of the mean, all alike.
fn around(mean: f64, rng: &mut ChaCha8Rng) -> usize {
    (mean * rng.random_range(0.5..1.5)) as usize
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "seed {}, {} bytes new and {} copied in turn",
            self.seed, self.fresh_bytes, self.copied_bytes
        )
    }
}
