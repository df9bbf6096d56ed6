//! Emptying the caches where collisions mark slots (REfactor, section 3.3), in three phases: the gateway asks
//! for it, stations empty their caches and acknowledge, and when most have, the gateway empties its own.
//!
//! Meanwhile it keeps no chunks and removes none. Stations that did not acknowledge are asked again, and
//! until they have, nothing is removed for them.

use std::time::Duration;

/// How long the gateway waits for acknowledgments before it asks again.
pub const ASK_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// Which of these comes first makes a gateway flush the caches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlushAfter {
    /// Bytes of packets since the last flush. The paper finds 200 to 300 MB to serve well.
    pub traffic_bytes: u64,
    /// By how many of all slots are marked.
    pub marked_share: f64,
}

impl Default for FlushAfter {
    fn default() -> Self {
        FlushAfter { traffic_bytes: 250_000_000, marked_share: 0.5 }
    }
}

/// Where the gateway is with it.
#[derive(Debug, Default)]
pub(crate) struct Flush {
    number: u32,
    runs: bool,
    asked_at: Option<Duration>,
    traffic_bytes: u64,
}

impl Flush {
    /// Whether the stations are emptying their caches.
    pub(crate) fn runs(&self) -> bool {
        self.runs
    }

    /// The number of the last flush that was begun.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// A packet was sent.
    pub(crate) fn count(&mut self, packet_bytes: usize) {
        self.traffic_bytes += packet_bytes as u64;
    }

    /// Whether a flush begins now.
    pub(crate) fn begins(&mut self, after: &FlushAfter, marked_share: f64) -> bool {
        if self.runs || self.traffic_bytes < after.traffic_bytes && marked_share < after.marked_share {
            return false;
        }
        *self = Flush { number: self.number.wrapping_add(1), runs: true, asked_at: None, traffic_bytes: 0 };
        true
    }

    /// Whether the stations that have not acknowledged are to be asked now.
    pub(crate) fn asks(&mut self, now: Duration) -> bool {
        let asks = self.asked_at.is_none_or(|at| now.saturating_sub(at) >= ASK_AGAIN_AFTER);
        if asks {
            self.asked_at = Some(now);
        }
        asks
    }

    /// Most have acknowledged.
    pub(crate) fn ends(&mut self) {
        self.runs = false;
    }
}
