//! How a store was used lately.

use std::time::Duration;
use streams::Tally;

/// The weight of what went by a store halves in this time.
const HALF_LIFE: Duration = Duration::from_secs(120);
/// A byte that the store saved counts as so many that it did not.
const SAVED_COUNTS: f64 = 8.0;
/// A store with so little weight is not in use.
const LEAST_WEIGHT: f64 = 64.0 * 1024.0;

/// The use of one store.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    weight: f64,
    tally: Tally,
    updated_at: Duration,
}

impl Usage {
    /// Takes what the store did since it was made. Returns whether it did something since the last call.
    pub fn update(&mut self, now: Duration, tally: Tally) -> bool {
        let seconds = now.saturating_sub(self.updated_at).as_secs_f64();
        self.weight *= (-seconds / HALF_LIFE.as_secs_f64()).exp2();
        // a new store counts from the beginning
        let is_new = tally.stored_bytes < self.tally.stored_bytes;
        let before = if is_new { Tally::default() } else { self.tally };
        let stored = tally.stored_bytes - before.stored_bytes;
        let saved = tally.saved_bytes.saturating_sub(before.saved_bytes);
        self.weight += stored as f64 + SAVED_COUNTS * saved as f64;
        (self.tally, self.updated_at) = (tally, now);
        stored > 0
    }

    /// The weight of the use.
    #[must_use]
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// Whether the store is in use.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.weight >= LEAST_WEIGHT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weight_halves_in_two_minutes_and_what_was_saved_counts_more() {
        let mut usage = Usage::default();
        let tally = |stored_bytes, saved_bytes| Tally { stored_bytes, saved_bytes };
        usage.update(Duration::from_secs(1), tally(1 << 20, 0));
        let plain = usage.weight();
        assert!(usage.is_active());
        usage.update(Duration::from_secs(121), tally(1 << 20, 0));
        assert!((usage.weight() - plain / 2.0).abs() < 1.0);
        usage.update(Duration::from_secs(121), tally(2 << 20, 1 << 20));
        assert!(usage.weight() > 9.0 * plain);
        usage.update(Duration::from_secs(3600), tally(2 << 20, 1 << 20));
        assert!(!usage.is_active());
        usage.update(Duration::from_secs(3600), tally(1 << 20, 0));
        assert!(usage.is_active(), "another store");
    }
}
