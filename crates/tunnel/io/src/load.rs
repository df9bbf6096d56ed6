//! Whether the processor is the bottleneck: the loop then hardly ever waits for anything else.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// Interval of the computation: a burst that is over sooner is not worth a change.
const WINDOW: Duration = Duration::from_millis(250);
/// The processor becomes short if less than one part in this many was spent waiting.
const SHORT_BELOW: u32 = 6;
/// The processor is no longer short if more than one part in this many was spent waiting. A packet takes up
/// to twice as long with redundancy elimination.
const ENOUGH_ABOVE: u32 = 2;

/// The waiting time of one loop.
#[derive(Debug, Default)]
pub struct Load {
    since: Duration,
    waited: Duration,
    is_short: bool,
    run_queue: Option<RunQueue>,
}

/// The time for which a thread was ready and another had its processor (proc(5), `/proc/PID/schedstat`).
#[derive(Debug)]
struct RunQueue {
    /// `None` where the kernel does not count it.
    counters: Option<File>,
    before: Duration,
}

impl RunQueue {
    /// Of this thread.
    fn of_this_thread() -> Self {
        let mut it =
            RunQueue { counters: File::open("/proc/thread-self/schedstat").ok(), before: Duration::ZERO };
        it.since_last();
        it
    }

    /// The time since the last call.
    fn since_last(&mut self) -> Duration {
        let now = self.counters.as_ref().and_then(waited_to_run).unwrap_or(self.before);
        now.saturating_sub(std::mem::replace(&mut self.before, now))
    }
}

/// The second number of a thread's schedstat, in nanoseconds.
fn waited_to_run(counters: &File) -> Option<Duration> {
    let mut text = [0; 64];
    let length = counters.read_at(&mut text, 0).ok()?;
    let second = text[..length].split(|byte| *byte == b' ').nth(1)?;
    std::str::from_utf8(second).ok()?.parse().ok().map(Duration::from_nanos)
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
        let run_queue = self.run_queue.get_or_insert_with(RunQueue::of_this_thread);
        // then it waited for a processor, not for work
        let waited = std::mem::take(&mut self.waited).saturating_sub(run_queue.since_last());
        self.since = now;
        let is_short = waited * if self.is_short { ENOUGH_ABOVE } else { SHORT_BELOW } < window;
        (std::mem::replace(&mut self.is_short, is_short) != is_short).then_some(is_short)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_knows_how_long_it_was_ready_without_a_processor() {
        let Ok(counters) = File::open("/proc/thread-self/schedstat") else {
            println!("skipped: this kernel does not count it");
            return;
        };
        let before = waited_to_run(&counters).unwrap();
        let busy = || (0..20_000_000_u64).for_each(|it| _ = std::hint::black_box(it));
        let threads = 4 * std::thread::available_parallelism().unwrap().get();
        std::thread::scope(|scope| {
            (0..threads).for_each(|_| _ = scope.spawn(busy));
            busy();
        });
        assert!(waited_to_run(&counters).unwrap() > before);
    }

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
        assert_eq!(after(500, 2000), None);
        assert_eq!(after(200, 2000), None, "a fifth is enough");
        assert_eq!(after(80, 1000), Some(true));
        assert_eq!(after(400, 2000), None, "it does not flutter");
        assert_eq!(after(600, 2000), Some(false));
    }
}
