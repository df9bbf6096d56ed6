//! A search without a compiler's help: mutations of seeds, and of mutations that were accepted.

use crate::{Target, mutation};
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Accepted mutations that are mutated further.
const MOST_DESCENDANTS: usize = 64;
/// One accepted mutation in this many is a new seed, up to this length.
const DESCENDANT_EVERY: u32 = 16;
const LONGEST_DESCENDANT_BYTES: usize = 4096;

/// Inputs for one target. Equal targets, inputs and numbers give equal searches.
pub struct Search<'a> {
    target: &'a Target,
    seeds: Vec<Vec<u8>>,
    descendants: Vec<Vec<u8>>,
    rng: ChaCha8Rng,
    input: Vec<u8>,
    executions: u64,
    accepted: u64,
}

/// The target fails on an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The target's name.
    pub target: &'static str,
    /// The input.
    pub input: Vec<u8>,
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Found { target, input } = self;
        write!(f, "the target {target} fails on the input ")?;
        input.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        write!(
            f,
            "\nwrite these bytes to fuzz/regressions/{target}/NAME (`xxd -r -p`), \
             and `cargo test --workspace --test replay what_fuzzing_found` fails on them"
        )
    }
}

impl std::error::Error for Found {}

impl<'a> Search<'a> {
    /// The search with this number. It begins at the target's seeds and at `inputs`.
    #[must_use]
    pub fn new(target: &'a Target, inputs: Vec<Vec<u8>>, number: u64) -> Self {
        let mut seeds: Vec<Vec<u8>> = (target.seeds)().into_iter().map(|seed| seed.bytes).collect();
        seeds.extend(inputs);
        Search {
            target,
            seeds,
            descendants: Vec::new(),
            rng: ChaCha8Rng::seed_from_u64(number),
            input: Vec::new(),
            executions: 0,
            accepted: 0,
        }
    }

    /// Tries the next input.
    pub fn step(&mut self) -> Result<(), Found> {
        let [one, other] = [(); 2].map(|()| {
            let from_descendants = !self.descendants.is_empty() && self.rng.random();
            let pool = if from_descendants { &self.descendants } else { &self.seeds };
            pool.choose(&mut self.rng).map_or(&[][..], Vec::as_slice)
        });
        self.input.clear();
        self.input.extend_from_slice(one);
        mutation::mutate(&mut self.input, other, &mut self.rng);
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.target.check)(&self.input)));
        let Ok(is_accepted) = outcome else {
            return Err(Found { target: self.target.name, input: self.input.clone() });
        };
        self.executions += 1;
        self.accepted += u64::from(is_accepted);
        if is_accepted && self.rng.random_ratio(1, DESCENDANT_EVERY) {
            self.keep();
        }
        Ok(())
    }

    fn keep(&mut self) {
        if self.input.len() > LONGEST_DESCENDANT_BYTES {
            return;
        }
        if self.descendants.len() < MOST_DESCENDANTS {
            self.descendants.push(self.input.clone());
        } else {
            let at = self.rng.random_range(0..MOST_DESCENDANTS);
            self.descendants[at].clone_from(&self.input);
        }
    }

    /// Inputs that were tried.
    #[must_use]
    pub fn executions(&self) -> u64 {
        self.executions
    }

    /// Inputs that were accepted.
    #[must_use]
    pub fn accepted(&self) -> u64 {
        self.accepted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    fn target(check: fn(&[u8]) -> bool) -> Target {
        let seeds = || vec![Seed { name: "zeros", bytes: vec![0; 8] }];
        Target { name: "zeros", check, seeds, mutations: 1 }
    }

    #[test]
    fn equal_searches_find_the_same_input_and_say_how_to_see_it_again() {
        let target = target(|bytes| {
            assert!(bytes.len() < 40, "too long");
            true
        });
        let find = |number| {
            let mut search = Search::new(&target, Vec::new(), number);
            let found = (0..100_000).find_map(|_| search.step().err());
            (found.unwrap(), search.executions())
        };
        assert_eq!(find(1), find(1));
        assert_ne!(find(1), find(2));
        let said = find(1).0.to_string();
        assert!(said.contains("fuzz/regressions/zeros/") && said.contains("000000"), "{said}");
    }

    #[test]
    fn accepted_mutations_are_mutated_further() {
        let target = target(|bytes| bytes.iter().fold(0, |all, byte| all ^ byte) & 1 == 0);
        let mut search = Search::new(&target, Vec::new(), 3);
        for _ in 0..5000 {
            search.step().unwrap();
        }
        assert_eq!(search.descendants.len(), MOST_DESCENDANTS);
        assert!(search.accepted() > 1000 && search.accepted() < search.executions());
    }
}
