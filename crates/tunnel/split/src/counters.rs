//! What is counted.

use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};

/// Counted since the start.
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
    /// Connections that are open.
    pub open: u64,
    /// Connections that were taken.
    pub accepted: u64,
    /// Of these, those whose other end could not be reached.
    pub unreached: u64,
    /// Those beyond the bound, which were reset.
    pub refused: u64,
    /// Those that ended because nothing moved.
    pub idle: u64,
    /// Those that one end reset.
    pub reset: u64,
    /// Bytes handed across.
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
