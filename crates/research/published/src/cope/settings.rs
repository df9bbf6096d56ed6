//! What a coding node is told.

use std::time::Duration;

use super::frame::MAX_COMPONENTS;

/// Bounds and thresholds; the defaults are COPE's where it says them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Natives are sent together if each next hop decodes with this probability at least (COPE: G, 0.8).
    pub guess_at_least: f64,
    /// The most natives in one frame; 1 codes nothing.
    pub most_components: usize,
    /// What has fewer bytes in the XOR is small. COPE says 100, of packets that are as they were; where
    /// content is removed packets of all lengths come about, and what has less than a quarter of a full one
    /// is small.
    pub small_bytes: usize,
    /// Natives that wait to be sent.
    pub queue_packets: usize,
    /// Bytes of natives in the pool.
    pub pool_bytes: usize,
    /// How long a native stays in the pool (COPE: T, 0.5 s).
    pub pool_for: Duration,
    /// Whether next hops acknowledge. COPE's own radios do for what is not coded, and experiments may leave
    /// it out.
    pub acknowledges: bool,
    /// After so long without an acknowledgment something is sent again.
    pub again_after: Duration,
    /// How often something is sent at most.
    pub tries: u8,
    /// What nothing could be put beside for so long is said in a frame of its own.
    pub say_after: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            guess_at_least: 0.8,
            most_components: MAX_COMPONENTS,
            small_bytes: 100,
            queue_packets: 128,
            pool_bytes: 1 << 20,
            pool_for: Duration::from_millis(500),
            acknowledges: true,
            again_after: Duration::from_millis(60),
            tries: 8,
            say_after: Duration::from_millis(20),
        }
    }
}
