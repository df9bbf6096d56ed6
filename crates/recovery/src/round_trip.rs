//! The local round trip: from the access point over the hop and back, and for how long to wait for an acknowledgment.

use std::time::Duration;

/// The shortest wait: a receiver may delay an acknowledgment by 40 ms.
const LEAST_TIMEOUT: Duration = Duration::from_millis(50);
/// The longest: the far sender waits at least 200 ms, and what it repeats itself need not be repeated here.
const MOST_TIMEOUT: Duration = Duration::from_secs(1);
/// Until something is measured.
const FIRST_TIMEOUT: Duration = Duration::from_millis(250);

/// The smoothed round trip and its variation (RFC 6298), and the shortest one.
#[derive(Debug, Clone, Default)]
pub(crate) struct RoundTrip {
    smoothed: Option<Duration>,
    variation: Duration,
    shortest: Duration,
}

impl RoundTrip {
    /// Takes a measurement of something that was sent once (Karn).
    pub fn sample(&mut self, sample: Duration) {
        match self.smoothed {
            None => {
                self.smoothed = Some(sample);
                self.variation = sample / 2;
                self.shortest = sample;
            }
            Some(smoothed) => {
                self.variation = (self.variation * 3 + smoothed.abs_diff(sample)) / 4;
                self.smoothed = Some((smoothed * 7 + sample) / 8);
                // it may have become longer
                self.shortest = sample.min(self.shortest + self.shortest / 256);
            }
        }
    }

    /// After how long without an acknowledgment a segment is sent again.
    pub fn timeout(&self) -> Duration {
        let timeout = self.smoothed.map(|smoothed| smoothed + self.variation * 4);
        timeout.map_or(FIRST_TIMEOUT, |timeout| timeout.clamp(LEAST_TIMEOUT, MOST_TIMEOUT))
    }

    /// The shortest lately.
    pub fn shortest(&self) -> Duration {
        self.shortest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn the_timeout_follows_the_round_trip_and_its_variation_within_bounds() {
        let mut round_trip = RoundTrip::default();
        assert_eq!(round_trip.timeout(), FIRST_TIMEOUT);
        round_trip.sample(30 * MS);
        assert_eq!(round_trip.timeout(), 90 * MS);
        (0..100).for_each(|_| round_trip.sample(10 * MS));
        assert_eq!(round_trip.timeout(), LEAST_TIMEOUT);
        assert_eq!(round_trip.shortest(), 10 * MS);
        (0..100).for_each(|_| round_trip.sample(5000 * MS));
        assert_eq!(round_trip.timeout(), MOST_TIMEOUT);
        assert!(round_trip.shortest() > 10 * MS, "forgotten in time");
    }
}
