//! A token bucket that drops what exceeds it.

use std::time::Duration;

use crate::config::PolicerConfig;

/// A token bucket, full at first.
///
/// The level is kept as a time, as in the virtual scheduling of ITU-T I.371: the bucket is full from
/// `full_from` on, and lacks the bytes of the time until then.
#[derive(Debug)]
pub(crate) struct Policer {
    config: PolicerConfig,
    full_from: Duration,
}

impl Policer {
    pub(crate) fn new(config: PolicerConfig) -> Self {
        Self { config, full_from: Duration::ZERO }
    }

    pub(crate) fn config(&self) -> &PolicerConfig {
        &self.config
    }

    /// Whether a frame of `bytes` at `now` may pass. A frame that passes takes its bytes from the bucket.
    pub(crate) fn passes(&mut self, now: Duration, bytes: usize) -> bool {
        let PolicerConfig { rate, burst_bytes } = self.config;
        let full_from = self.full_from.max(now).saturating_add(rate.time_for(bytes));
        let passes = full_from <= now.saturating_add(rate.time_for(burst_bytes));
        if passes {
            self.full_from = full_from;
        }
        passes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bitrate;

    const MS: Duration = Duration::from_millis(1);

    fn policer(burst_bytes: usize) -> Policer {
        Policer::new(PolicerConfig { rate: Bitrate::from_bytes_per_second(1_000_000), burst_bytes })
    }

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        let mut policer = policer(3000);
        let passed: Vec<bool> = (0..5).map(|_| policer.passes(MS * 10, 1000)).collect();
        assert_eq!(passed, [true, true, true, false, false]);
        // A millisecond refills 1000 bytes; what was dropped took none.
        let passed: Vec<bool> =
            (11..=13).flat_map(|at| [at, at]).map(|at| policer.passes(MS * at, 1000)).collect();
        assert_eq!(passed, [true, false, true, false, true, false]);
    }

    #[test]
    fn a_small_frame_passes_where_a_large_one_does_not() {
        let mut policer = policer(1500);
        assert!(policer.passes(MS, 1400));
        assert!(!policer.passes(MS, 101));
        assert!(policer.passes(MS, 100));
    }

    #[test]
    fn the_bucket_holds_no_more_than_the_burst() {
        let mut policer = policer(2000);
        let passed = (0..10).filter(|_| policer.passes(MS * 60_000, 1000)).count();
        assert_eq!(passed, 2);
        assert!(!policer.passes(MS * 120_000, 2001));
    }
}
