//! The node's time: the time since the driver started.

use nix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// A clock with an origin. It stops while the machine sleeps.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin: Duration,
}

impl Clock {
    /// A clock that shows 0 now.
    #[must_use]
    pub fn start() -> Self {
        Clock { origin: monotonic() }
    }

    /// Time since the start.
    #[must_use]
    pub fn now(&self) -> Duration {
        monotonic().saturating_sub(self.origin)
    }
}

fn monotonic() -> Duration {
    // Linux always has this clock.
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from)
}
