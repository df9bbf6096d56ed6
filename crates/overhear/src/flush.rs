//! When the caches are emptied (REfactor, section 3.3).

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
