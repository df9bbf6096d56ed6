//! The local round trip from the access point over the hop and back, and the timeout for acknowledgments.

use std::time::Duration;

/// The shortest timeout, because a receiver may delay an acknowledgment by 40 ms.
const LEAST_TIMEOUT: Duration = Duration::from_millis(50);
/// The longest timeout. The far sender waits at least 200 ms, and its own retransmissions need none here.
const MOST_TIMEOUT: Duration = Duration::from_secs(1);
/// Bound of a queueing delay that the sender need not react to. CoDel (RFC 8289) allows the same time to
/// empty a queue.
const LONG_QUEUE: Duration = Duration::from_millis(100);
/// Time that the shortest and longest round trips are remembered, at least once and at most twice. A standing
/// queue of seconds must not count as propagation delay.
const REMEMBERED: Duration = Duration::from_secs(10);
/// Timeout before the first measurement.
const FIRST_TIMEOUT: Duration = Duration::from_millis(250);

/// The smoothed round trip and its variation (RFC 6298), and the shortest and longest ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct RoundTrip {
    smoothed: Option<Duration>,
    variation: Duration,
    latest: Duration,
    /// Of the current interval and of the one before.
    shortest: [Duration; 2],
    longest: [Duration; 2],
    since: Duration,
}

impl RoundTrip {
    /// Adds a measurement of a segment that was sent once (Karn).
    pub fn sample(&mut self, now: Duration, sample: Duration) {
        self.latest = sample;
        match self.smoothed {
            None => {
                self.smoothed = Some(sample);
                self.variation = sample / 2;
                (self.shortest, self.longest, self.since) = ([sample; 2], [sample; 2], now);
            }
            Some(smoothed) => {
                self.variation = (self.variation * 3 + smoothed.abs_diff(sample)) / 4;
                self.smoothed = Some((smoothed * 7 + sample) / 8);
                if now >= self.since + REMEMBERED {
                    self.shortest = [sample, self.shortest[0]];
                    self.longest = [sample, self.longest[0]];
                    self.since = now;
                }
                self.shortest[0] = sample.min(self.shortest[0]);
                self.longest[0] = sample.max(self.longest[0]);
            }
        }
    }

    /// Time without an acknowledgment after which a segment is retransmitted.
    pub fn timeout(&self) -> Duration {
        let timeout = self.smoothed.map(|smoothed| smoothed + self.variation * 4);
        timeout.map_or(FIRST_TIMEOUT, |timeout| timeout.clamp(LEAST_TIMEOUT, MOST_TIMEOUT))
    }

    /// Whether a loss beside the latest measurement comes from a full queue and not from the air. The sender
    /// must then slow down.
    pub fn is_congested(&self) -> bool {
        self.is_full_queue(self.latest.saturating_sub(self.shortest()))
    }

    /// Whether a queueing delay means a nearly full queue: it is long, and close to the recent maximum.
    pub fn is_full_queue(&self, waiting: Duration) -> bool {
        let longest = self.longest[0].max(self.longest[1]) - self.shortest();
        waiting > LONG_QUEUE && waiting > longest / 4 * 3
    }

    /// The recent minimum.
    pub fn shortest(&self) -> Duration {
        self.shortest[0].min(self.shortest[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_long_queue_near_its_longest_is_congestion() {
        let mut round_trip = RoundTrip::default();
        for (sample, congested) in
            [(10, false), (60, false), (100, false), (180, true), (220, true), (150, false), (30, false)]
        {
            round_trip.sample(MS, sample * MS);
            assert_eq!(round_trip.is_congested(), congested, "{sample} ms");
        }
        // A standing queue does not become the minimum, and the maximum expires.
        for step in 0..2000 {
            round_trip.sample(MS + 4 * MS * step, 220 * MS);
        }
        assert!(round_trip.is_congested());
        for step in 0..30 {
            round_trip.sample(Duration::from_secs(10 + step), 150 * MS);
        }
        assert!(!round_trip.is_congested(), "it is as long as ever");
    }

    #[test]
    fn the_timeout_follows_the_round_trip_and_its_variation_within_bounds() {
        let mut round_trip = RoundTrip::default();
        assert_eq!(round_trip.timeout(), FIRST_TIMEOUT);
        round_trip.sample(MS, 30 * MS);
        assert_eq!(round_trip.timeout(), 90 * MS);
        (0..100).for_each(|_| round_trip.sample(MS, 10 * MS));
        assert_eq!(round_trip.timeout(), LEAST_TIMEOUT);
        assert_eq!(round_trip.shortest(), 10 * MS);
        (0..100).for_each(|second| round_trip.sample(Duration::from_secs(second), 5000 * MS));
        assert_eq!(round_trip.timeout(), MOST_TIMEOUT);
        assert!(round_trip.shortest() > 10 * MS, "forgotten in time");
    }
}
