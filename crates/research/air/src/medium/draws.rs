//! Sequential random draws.

use crate::variates::{Purpose, Variates};

/// Variates in sequence.
#[derive(Debug)]
pub(super) struct Draws {
    variates: Variates,
    next: u64,
}

impl Draws {
    pub(super) fn new(seed: u64, purpose: Purpose) -> Self {
        Self { variates: Variates::new(seed, purpose), next: 0 }
    }

    fn index(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Uniform in [0, 1).
    pub(super) fn draw(&mut self) -> f64 {
        let index = self.index();
        self.variates.at(index)
    }

    /// A whole number below `bound`.
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        let index = self.index();
        // Below a u32.
        self.variates.below(index, bound.into()) as u32
    }
}
