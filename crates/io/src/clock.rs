//! The node's time: what has passed since the driver started, by the clock that the timers use too.

use rustix::time::{ClockId, Timespec, clock_gettime};
use std::time::Duration;

/// A clock that started at some moment. It does not run while the machine sleeps.
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

    /// Since the start.
    #[must_use]
    pub fn now(&self) -> Duration {
        monotonic().saturating_sub(self.origin)
    }

    /// What the system's monotonic clock will show when this one shows `at`.
    #[must_use]
    pub(crate) fn monotonic_at(&self, at: Duration) -> Timespec {
        let at = self.origin.saturating_add(at);
        Timespec {
            tv_sec: i64::try_from(at.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(at.subsec_nanos()),
        }
    }
}

fn monotonic() -> Duration {
    let time = clock_gettime(ClockId::Monotonic);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}
