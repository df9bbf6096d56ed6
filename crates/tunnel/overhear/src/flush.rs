//! Flushes of the caches where collisions mark slots (REfactor, section 3.3). A flush has three phases: the
//! gateway requests it, stations empty their caches and acknowledge, and after most acknowledgments the
//! gateway empties its own cache.
//!
//! During a flush the gateway stores and removes no chunks. It repeats the request to stations without
//! acknowledgment, and removes nothing for them until they acknowledge.

use std::time::Duration;

/// Time without acknowledgment after which the gateway repeats the request.
pub const ASK_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// Conditions for a flush; the first one that is met starts it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlushAfter {
    /// Bytes of packets since the last flush. The paper recommends 200 to 300 MB.
    pub traffic_bytes: u64,
    /// Share of marked slots among all slots.
    pub marked_share: f64,
}

impl Default for FlushAfter {
    fn default() -> Self {
        FlushAfter { traffic_bytes: 250_000_000, marked_share: 0.5 }
    }
}

/// The gateway's state of a flush.
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

    /// The number of the last flush that began.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Counts a sent packet.
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

    /// Whether the gateway now requests the flush of stations without acknowledgment.
    pub(crate) fn asks(&mut self, now: Duration) -> bool {
        let asks = self.asked_at.is_none_or(|at| now.saturating_sub(at) >= ASK_AGAIN_AFTER);
        if asks {
            self.asked_at = Some(now);
        }
        asks
    }

    /// Ends the flush after most stations acknowledged.
    pub(crate) fn ends(&mut self) {
        self.runs = false;
    }
}
