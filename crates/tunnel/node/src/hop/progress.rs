//! Totals that receipts tell, and differences of them.

use std::time::Duration;

/// What left and what arrived: from the beginning, or over a time.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    since: Duration,
    sent: u64,
    came: u64,
    bytes: u64,
}

impl Span {
    /// Totals: so many sequences of which receipts tell, so many that came of them, and the bytes that left
    /// with them.
    #[must_use]
    pub fn totals(sent: u64, came: u64, bytes: u64) -> Self {
        Span { since: Duration::ZERO, sent, came, bytes }
    }

    /// The same totals, as the beginning of a time.
    #[must_use]
    pub fn at(self, since: Duration) -> Self {
        Span { since, ..self }
    }

    /// When the time began.
    #[must_use]
    pub fn since(&self) -> Duration {
        self.since
    }

    /// The difference to these earlier totals.
    #[must_use]
    pub fn less(&self, earlier: &Self) -> Self {
        Span {
            since: earlier.since,
            sent: self.sent.saturating_sub(earlier.sent),
            came: self.came.saturating_sub(earlier.came),
            bytes: self.bytes.saturating_sub(earlier.bytes),
        }
    }

    /// Sequences that left.
    #[must_use]
    pub fn sequences(&self) -> u64 {
        self.sent
    }

    /// Bytes that left with a sequence, on average.
    #[must_use]
    pub fn mean_bytes(&self) -> u64 {
        self.bytes / self.sent.max(1)
    }

    /// The share of sequences that did not come.
    #[must_use]
    pub fn loss(&self) -> f64 {
        match self.sent {
            0 => 0.0,
            sent => (1.0 - self.came as f64 / sent as f64).clamp(0.0, 1.0),
        }
    }

    /// The standard deviation of that share, by chance, over an air that loses `share`.
    #[must_use]
    pub fn deviation(&self, share: f64) -> f64 {
        (share * (1.0 - share) / self.sent.max(1) as f64).sqrt()
    }

    /// Whether more was lost than an air takes that loses this share: beyond two standard deviations.
    #[must_use]
    pub fn exceeds(&self, share: f64) -> bool {
        let expected = self.sent as f64 * share;
        self.sent.saturating_sub(self.came) as f64 > expected + 2.0 * expected.sqrt() + 0.5
    }

    /// Bytes a second that left until `now`.
    #[must_use]
    pub fn rate(&self, now: Duration) -> f64 {
        let seconds = now.saturating_sub(self.since).as_secs_f64();
        if seconds > 0.0 { self.bytes as f64 / seconds } else { 0.0 }
    }
}
