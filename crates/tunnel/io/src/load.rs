//! Whether the processor is the bottleneck: the loop then hardly ever waits.

use std::time::Duration;

/// Interval of the computation.
const WINDOW: Duration = Duration::from_millis(50);
/// The processor becomes short if less than one part in this many was spent waiting.
const SHORT_BELOW: u32 = 20;
/// The processor is no longer short if more than one part in this many was spent waiting.
const ENOUGH_ABOVE: u32 = 4;

/// The waiting time of one loop.
#[derive(Debug, Default)]
pub struct Load {
    since: Duration,
    waited: Duration,
    is_short: bool,
}

impl Load {
    /// Notes that the loop waited from `before` until `now`. Returns whether the processor is short, if that
    /// changed.
    pub fn waited(&mut self, before: Duration, now: Duration) -> Option<bool> {
        self.waited += now.saturating_sub(before);
        let window = now.saturating_sub(self.since);
        if window < WINDOW {
            return None;
        }
        let waited = std::mem::take(&mut self.waited);
        self.since = now;
        let is_short = waited * if self.is_short { ENOUGH_ABOVE } else { SHORT_BELOW } < window;
        (std::mem::replace(&mut self.is_short, is_short) != is_short).then_some(is_short)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_hardly_waits_is_short_until_it_waits_a_good_part_of_its_time() {
        let mut load = Load::default();
        let mut now = Duration::ZERO;
        // Turns of a millisecond, with `wait` microseconds of waiting each.
        let mut after = |wait: u64, turns: u32| {
            let mut last = None;
            for _ in 0..turns {
                now += Duration::from_micros(1000 - wait);
                let before = now;
                now += Duration::from_micros(wait);
                last = load.waited(before, now).or(last);
            }
            last
        };
        assert_eq!(after(500, 200), None);
        assert_eq!(after(100, 200), None, "a tenth is enough");
        assert_eq!(after(10, 100), Some(true));
        assert_eq!(after(100, 200), None, "it does not flutter");
        assert_eq!(after(400, 200), Some(false));
    }
}
