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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn it_shows_parts_of_a_second() {
        let (clock, begin) = (Clock::start(), Instant::now());
        std::thread::sleep(Duration::from_millis(20));
        let (shown, passed) = (clock.now(), begin.elapsed() + Duration::from_millis(1));
        assert!(shown >= Duration::from_millis(20) && shown <= passed, "{shown:?} of {passed:?}");
    }
}
