//! A rate that the user told.
//!
//! It is a lower bound: a user who tells too little is not to lose anything. Where packets wait for it and
//! the path shows neither a queue nor more losses, the rate grows until it does. It hardly falls below what
//! was told; where that is too much, the queue is the path's, as without a rate.

use super::progress::Span;
use crate::arq::delay::Delay;
use std::time::Duration;

/// Growth in two round trips until the path first shows a queue, and later.
const FAST_STEP: f64 = 1.25;
const STEP: f64 = 1.05;
/// More queueing than this, and a sixteenth of the path's own length, is a queue ...
const QUEUE: Duration = Duration::from_millis(5);
/// ... which drains at this share of the rate.
const DRAINING: f64 = 0.95;
/// The queue has so many round trips to drain before the rate falls again.
const SHRINKS_AFTER: u32 = 8;
/// After the path showed a queue, the rate stays for so long.
const STAY: Duration = Duration::from_secs(10);
/// A loss of this much more, as a share, and of so many standard deviations, is as good as a queue.
const MORE_LOSS: f64 = 0.05;
const DEVIATIONS: f64 = 3.0;
/// The least share that was lost becomes older by this, with each judgment.
const FORGOTTEN: f64 = 0.001;
/// The rate is at most so many times what was told.
const MOST: f64 = 16.0;

/// The rate, and what is known of the path at it.
#[derive(Debug)]
pub struct Told {
    /// Bytes a second.
    told: f64,
    rate: f64,
    step: f64,
    judged_at: Duration,
    grows_at: Duration,
    shrinks_at: Duration,
    /// The path has a queue.
    drains: bool,
    /// The least share that was lost lately: the air's.
    loss: f64,
}

impl Told {
    /// So many bytes a second.
    #[must_use]
    pub fn new(bytes_a_second: f64) -> Self {
        Told {
            told: bytes_a_second,
            rate: bytes_a_second,
            step: FAST_STEP,
            judged_at: Duration::ZERO,
            grows_at: Duration::ZERO,
            shrinks_at: Duration::ZERO,
            drains: false,
            loss: 1.0,
        }
    }

    /// Bytes a second, now.
    #[must_use]
    pub fn rate(&self) -> f64 {
        if self.drains { self.rate * DRAINING } else { self.rate }
    }

    /// When the rate was last judged.
    #[must_use]
    pub fn judged_at(&self) -> Duration {
        self.judged_at
    }

    /// Takes a round trip. `is_needed`: packets waited for the rate since the last judgment. `over`: what
    /// left and arrived since then. Whether this was a judgment.
    pub fn note_round_trip(&mut self, now: Duration, delay: &Delay, is_needed: bool, over: &Span) -> bool {
        let Some((base, queueing)) = delay.round_trips() else { return false };
        let is_due = now >= self.judged_at + base + queueing;
        let loss = over.loss();
        let single = 1.0 / over.sequences().max(1) as f64;
        let chance = DEVIATIONS * over.deviation(loss).max(single);
        let loses_more = is_due && loss > self.loss + MORE_LOSS + chance;
        self.drains = queueing > QUEUE + base / 16;
        if self.drains || loses_more {
            if now >= self.shrinks_at {
                self.rate = (self.rate / self.step).max(self.told);
                self.shrinks_at = now + SHRINKS_AFTER * (base + queueing);
            }
            (self.step, self.grows_at) = (STEP, now + STAY);
        } else if is_due && is_needed && now >= self.grows_at {
            self.rate = (self.rate * self.step).min(self.told * MOST);
            self.grows_at = now + 2 * (base + queueing);
        }
        if is_due {
            self.loss = loss.min(self.loss + FORGOTTEN);
            self.judged_at = now;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// The rates at the end of so many round trips of 40 ms over a link of this rate, by `loss` at a rate.
    fn after(told: f64, link: f64, round_trips: u32, loss: impl Fn(f64) -> f64) -> f64 {
        let (mut it, mut delay, mut queue) = (Told::new(told), Delay::default(), 0.0f64);
        delay.sample(Duration::ZERO, 40 * MS);
        for round in 1..=round_trips {
            queue = (queue + 40.0 * (it.rate() / link - 1.0)).clamp(0.0, 200.0);
            let round_trip = Duration::from_secs_f64((40.0 + queue) / 1000.0);
            delay.sample(round * 60 * MS, round_trip);
            let came = (1000.0 * (1.0 - loss(it.rate()))).round() as u64;
            let over = Span::totals(1000, came, 0);
            it.note_round_trip(round * 60 * MS, &delay, it.rate() < 1.3 * link, &over);
        }
        it.rate()
    }

    #[test]
    fn half_of_the_link_becomes_nearly_all_of_it_and_double_stays() {
        let grown = after(1e6, 2e6, 1000, |_| 0.0);
        assert!((1.85e6..2.2e6).contains(&grown), "{grown}");
        assert!(after(4e6, 2e6, 1000, |_| 0.0) > 3.7e6);
        assert!(after(2e6, 2e6, 1000, |_| 0.0) < 2.2e6);
    }

    #[test]
    fn losses_that_come_with_the_rate_end_its_growth_and_others_do_not() {
        let policed = after(1e6, 1e9, 300, |rate| (1.0 - 1.5e6 / rate).max(0.0));
        assert!(policed < 1.8e6, "{policed}");
        assert!(after(1e6, 1e9, 300, |_| 0.2) > 10e6);
    }

    #[test]
    fn the_chance_of_few_sequences_does_not_end_the_growth() {
        let (mut it, mut delay) = (Told::new(1e6), Delay::default());
        delay.sample(Duration::ZERO, 20 * MS);
        for round in 1..=60 {
            delay.sample(round * 30 * MS, 20 * MS);
            let lost = [0, 1, 0, 3, 1, 0, 2, 0, 1, 2][round as usize % 10];
            it.note_round_trip(round * 30 * MS, &delay, true, &Span::totals(17, 17 - lost, 0));
        }
        assert!(it.rate() > 10e6, "{}", it.rate());
    }
}
