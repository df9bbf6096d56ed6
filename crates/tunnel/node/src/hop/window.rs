//! The window: bytes under way at which the path's queue has the wanted length.

use std::time::Duration;

/// Queueing that the window aims at: enough to keep a link busy whose rate changes.
const TARGET: Duration = Duration::from_millis(20);
/// Queueing beyond so many times the target is long.
const LONG: u32 = 3;
/// Fewer bytes than this are never the bound: two full datagrams.
const LEAST_BYTES: f64 = 3000.0;
/// More bytes than this are never under way by a window.
const MOST_BYTES: f64 = 1e9;
/// A window shrinks to no less than this share of itself in a round trip.
const LEAST_FACTOR: f64 = 0.5;
/// It grows as if so many round trips had passed in one: a link that is faster again is not to idle.
const GROWTH: f64 = 3.0;

/// A bound for the bytes under way.
#[derive(Debug)]
pub struct Window {
    bytes: f64,
    changed_at: Duration,
}

impl Window {
    /// The window that empties a queue with so many bytes under way.
    #[must_use]
    pub fn new(now: Duration, flight: u64, (base, queueing): (Duration, Duration)) -> Self {
        let factor = (base + TARGET).div_duration_f64(base + queueing).max(LEAST_FACTOR);
        Window { bytes: (flight as f64 * factor).max(LEAST_BYTES), changed_at: now }
    }

    /// Takes a round trip; the window grows only if it is needed. Whether the queue is long.
    pub fn note_round_trip(
        &mut self,
        now: Duration,
        (base, queueing): (Duration, Duration),
        is_needed: bool,
    ) -> bool {
        let round_trip = base + queueing;
        let aim = (base + TARGET).div_duration_f64(round_trip).max(LEAST_FACTOR);
        let passed = now.saturating_sub(self.changed_at).div_duration_f64(round_trip).min(1.0);
        self.changed_at = now;
        let round_trips = match aim {
            ..1.0 => passed,
            _ if is_needed => passed * GROWTH,
            _ => 0.0,
        };
        self.bytes = (self.bytes * aim.powf(round_trips)).clamp(LEAST_BYTES, MOST_BYTES);
        queueing > TARGET * LONG
    }

    /// How many bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes as u64
    }
}
