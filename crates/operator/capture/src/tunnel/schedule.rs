//! Virtual time of a capture's packets.

use std::time::Duration;

/// Maps times of a capture to times of a run: they begin at zero, never go back, and pauses are bounded.
#[derive(Debug, Clone)]
pub(super) struct Schedule {
    longest_pause: Duration,
    previous: Option<Duration>,
    now: Duration,
}

impl Schedule {
    pub(super) fn new(start: Duration, longest_pause: Duration) -> Self {
        Schedule { longest_pause, previous: None, now: start }
    }

    /// The time of the run for a packet captured at `at`.
    pub(super) fn time_of(&mut self, at: Duration) -> Duration {
        let pause = at.saturating_sub(self.previous.unwrap_or(at)).min(self.longest_pause);
        self.previous = Some(at);
        self.now = self.now.saturating_add(pause);
        self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_bounded_and_a_clock_set_back_stands_still() {
        let second = Duration::from_secs(1);
        let mut schedule = Schedule::new(second, 10 * second);
        let times = [1000, 1003, 5000, 20, 22].map(|at| schedule.time_of(second * at).as_secs());
        assert_eq!(times, [1, 4, 14, 14, 16]);
    }
}
