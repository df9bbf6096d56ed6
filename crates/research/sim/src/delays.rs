//! Delays of packets, in bounded memory.

use hdrhistogram::Histogram;
use serde::Serialize;
use std::time::Duration;

/// Delays between a microsecond and an hour, each kept within a thousandth of its value.
#[derive(Debug, Clone)]
pub struct Delays(Histogram<u64>);

/// What delays are reported as.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DelayReport {
    /// Half of the packets took at most this long.
    pub median_seconds: f64,
    /// 99 of 100 took at most this long.
    pub p99_seconds: f64,
    /// The longest.
    pub max_seconds: f64,
}

const LONGEST_MICROS: u64 = 3_600_000_000;

impl Default for Delays {
    fn default() -> Self {
        Delays(Histogram::new_with_bounds(1, LONGEST_MICROS, 3).expect("the bounds are sound"))
    }
}

impl Delays {
    /// Adds a delay.
    pub fn record(&mut self, delay: Duration) {
        self.0.saturating_record(u64::try_from(delay.as_micros()).unwrap_or(u64::MAX));
    }

    /// Median, 99th percentile and maximum; `None` if there are none.
    #[must_use]
    pub fn report(&self) -> Option<DelayReport> {
        let seconds = |micros: u64| micros as f64 / 1e6;
        (!self.0.is_empty()).then(|| DelayReport {
            median_seconds: seconds(self.0.value_at_quantile(0.5)),
            p99_seconds: seconds(self.0.value_at_quantile(0.99)),
            max_seconds: seconds(self.0.max()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_what_was_recorded() {
        let mut delays = Delays::default();
        assert_eq!(delays.report(), None);
        (1..=1000).for_each(|ms| delays.record(Duration::from_millis(ms)));
        let report = delays.report().unwrap();
        assert!((report.median_seconds - 0.5).abs() < 0.001, "{report:?}");
        assert!((report.p99_seconds - 0.99).abs() < 0.001, "{report:?}");
        assert!((report.max_seconds - 1.0).abs() < 0.001, "{report:?}");
    }
}
