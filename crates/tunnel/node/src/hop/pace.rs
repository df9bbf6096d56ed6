//! Pacing: datagrams leave no faster than a rate.

use std::time::Duration;

/// So much may leave at once, as time at the rate; a datagram may leave in any case.
const BURST: Duration = Duration::from_millis(2);
/// Bytes of the outer headers of a datagram: IPv4 and UDP.
const HEADER_BYTES: usize = 28;

/// A bound for the rate: a leaky bucket (ITU-T I.371, the generic cell rate algorithm).
#[derive(Debug)]
pub struct Pace {
    bytes_a_second: f64,
    /// When everything that left would have left at the rate.
    even_at: Duration,
    /// When a packet was last held back.
    held_at: Duration,
}

impl Pace {
    /// A bound of so many bytes a second.
    #[must_use]
    pub fn new(bytes_a_second: f64) -> Self {
        Pace { bytes_a_second, even_at: Duration::ZERO, held_at: Duration::ZERO }
    }

    /// Changes the rate.
    pub fn set_rate(&mut self, bytes_a_second: f64) {
        self.bytes_a_second = bytes_a_second;
    }

    /// Bytes a second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.bytes_a_second
    }

    /// A datagram of so many bytes left.
    pub fn note_sent(&mut self, now: Duration, bytes: usize) {
        let takes = Duration::from_secs_f64((bytes + HEADER_BYTES) as f64 / self.bytes_a_second);
        self.even_at = self.even_at.max(now) + takes;
    }

    /// Whether a packet may leave.
    pub fn admits(&mut self, now: Duration) -> bool {
        let admits = self.admits_at() <= now;
        if !admits {
            self.held_at = now;
        }
        admits
    }

    /// When a packet may leave.
    #[must_use]
    pub fn admits_at(&self) -> Duration {
        self.even_at.saturating_sub(BURST)
    }

    /// Whether a packet was held back since then.
    #[must_use]
    pub fn has_held_since(&self, then: Duration) -> bool {
        self.held_at >= then && self.held_at > Duration::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn what_leaves_has_the_rate_and_a_pause_brings_no_more_than_a_burst() {
        let mut pace = Pace::new(2_500_000.0);
        let mut sent = 0;
        for ms in (0..1000).chain(3000..4000) {
            while pace.admits(ms * MS) {
                pace.note_sent(ms * MS, 1222);
                sent += 1;
            }
        }
        assert!((4000..4020).contains(&sent), "{sent} datagrams of 1250 bytes in two seconds");
        assert!(pace.has_held_since(3990 * MS) && !pace.has_held_since(4000 * MS));
    }

    #[test]
    fn at_any_rate_a_datagram_leaves_at_once() {
        let mut pace = Pace::new(100.0);
        assert!(pace.admits(Duration::ZERO));
        pace.note_sent(Duration::ZERO, 1472);
        assert!(!pace.admits(14_990 * MS));
        assert_eq!(pace.admits_at(), 14_998 * MS);
        assert!(pace.admits(pace.admits_at()));
    }
}
