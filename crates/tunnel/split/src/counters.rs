//! Counters.

use portable_atomic::{AtomicU64, Ordering};
use serde::{Deserialize, Serialize};

/// Counts since the start.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub open: AtomicU64,
    pub accepted: AtomicU64,
    pub unreached: AtomicU64,
    pub refused: AtomicU64,
    pub idle: AtomicU64,
    pub reset: AtomicU64,
    pub bytes: AtomicU64,
}

/// The counters at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Open connections.
    pub open: u64,
    /// Accepted connections since the start.
    pub accepted: u64,
    /// Accepted connections with an unreachable other end.
    pub unreached: u64,
    /// Connections beyond the limit, which the node reset.
    pub refused: u64,
    /// Connections that ended after a time without a byte.
    pub idle: u64,
    /// Connections that one end reset.
    pub reset: u64,
    /// Forwarded bytes.
    pub bytes: u64,
}

impl Counters {
    pub(crate) fn counts(&self) -> Counts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            open: read(&self.open),
            accepted: read(&self.accepted),
            unreached: read(&self.unreached),
            refused: read(&self.refused),
            idle: read(&self.idle),
            reset: read(&self.reset),
            bytes: read(&self.bytes),
        }
    }

    pub(crate) fn one(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}
