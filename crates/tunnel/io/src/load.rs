//! Whether the processor is what is short: a loop that hardly ever waits is not waiting for the link.

use std::time::Duration;

/// Over so long it is reckoned.
const WINDOW: Duration = Duration::from_millis(50);
/// It becomes short when less than one part in so many was spent waiting,
const SHORT_BELOW: u32 = 20;
/// ... and is so no more when more than one in so many was.
const ENOUGH_ABOVE: u32 = 4;

/// What one loop spent waiting.
#[derive(Debug, Default)]
pub struct Load {
    since: Duration,
    waited: Duration,
    is_short: bool,
}

impl Load {
    /// The loop waited from `before` until `now`. Whether the processor is short, if that has changed.
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
        // turns of a millisecond, of which so many microseconds are spent waiting
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
