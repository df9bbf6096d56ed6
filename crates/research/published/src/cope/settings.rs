//! Settings of a coding node.

use std::time::Duration;

use super::frame::MAX_COMPONENTS;

/// Bounds and thresholds; the defaults are COPE's where it has them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Least decoding probability of each next hop for a combination (COPE: G, 0.8).
    pub guess_at_least: f64,
    /// The most natives in one frame; 1 codes nothing.
    pub most_components: usize,
    /// Bytes in the XOR below which a native is small. COPE uses 100, for whole packets. With removed content
    /// all lengths occur, and less than a quarter of a full packet is small.
    pub small_bytes: usize,
    /// The most waiting natives.
    pub queue_packets: usize,
    /// Bytes of natives in the pool.
    pub pool_bytes: usize,
    /// Time that a native stays in the pool (COPE: T, 0.5 s).
    pub pool_for: Duration,
    /// Whether next hops acknowledge. COPE's own radios do that for uncoded frames, and experiments may omit
    /// it.
    pub acknowledges: bool,
    /// Time without an acknowledgment before a retransmission.
    pub again_after: Duration,
    /// The most transmissions of a native.
    pub tries: u8,
    /// Time after which a report without a frame gets a frame of its own.
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
