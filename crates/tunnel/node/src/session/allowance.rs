//! An allowance (token bucket) for work that strangers can cause.

use std::time::Duration;

/// So many a second, and as many at once.
#[derive(Debug)]
pub struct Allowance {
    per_second: f64,
    left: f64,
    at: Duration,
}

impl Allowance {
    /// A full allowance.
    #[must_use]
    pub fn new(per_second: u32, now: Duration) -> Self {
        Allowance { per_second: per_second.into(), left: per_second.into(), at: now }
    }

    /// Whether nothing was taken that has not been regained.
    #[must_use]
    pub fn is_full(&self, now: Duration) -> bool {
        self.left_at(now) >= self.per_second
    }

    fn left_at(&self, now: Duration) -> f64 {
        let gained = now.saturating_sub(self.at).as_secs_f64() * self.per_second;
        (self.left + gained).min(self.per_second)
    }

    /// Takes one; `false` if there is none left.
    pub fn take(&mut self, now: Duration) -> bool {
        self.left = self.left_at(now);
        self.at = now;
        if self.left < 1.0 {
            return false;
        }
        self.left -= 1.0;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_gets_the_allowance_and_no_more() {
        let mut allowance = Allowance::new(10, Duration::ZERO);
        let taken = (0..1000).filter(|&ms| allowance.take(Duration::from_millis(ms))).count();
        assert!((19..=20).contains(&taken), "{taken}");
    }
}
