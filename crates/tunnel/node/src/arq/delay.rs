//! Delay: length of the path, and of its queue, from round trips.
//!
//! Losses come of two causes that look alike in a receipt. One is the air; the other is a full queue, which
//! is how the path asks the end hosts to slow down. The queue shows in the round trip of the packets that got
//! through beside the lost one: near the longest lately seen, it may have been as full as it gets
//! ([`crate::arq::losses`] says what follows).

use std::time::Duration;

/// For how long, at least, extremes are remembered; at most twice as long.
const MEMORY: Duration = Duration::from_secs(10);
/// Less queueing than this, and an eighth of the path's own length up to [`MOST_UNREST`], is no long queue,
/// whatever the longest was.
const NO_QUEUE: Duration = Duration::from_millis(4);
/// Less than this, and a thirty-second part of that length, is the unrest of a path without any queue.
const UNREST: Duration = Duration::from_millis(2);
const MOST_UNREST: Duration = Duration::from_millis(20);

/// The shortest and the longest of a time.
#[derive(Debug, Clone, Copy)]
struct Extremes {
    shortest: Duration,
    longest: Duration,
}

impl Extremes {
    fn of(sample: Duration) -> Self {
        Self { shortest: sample, longest: sample }
    }

    fn with(self, sample: Duration) -> Self {
        Self { shortest: self.shortest.min(sample), longest: self.longest.max(sample) }
    }
}

/// Round trips of one hop.
#[derive(Debug, Default)]
pub struct Delay {
    srtt: Option<Duration>,
    latest: Duration,
    since: Duration,
    current: Option<Extremes>,
    before: Option<Extremes>,
}

impl Delay {
    /// Takes a measurement.
    pub fn sample(&mut self, now: Duration, sample: Duration) {
        self.srtt = Some(self.srtt.map_or(sample, |srtt| (srtt * 7 + sample) / 8));
        self.latest = sample;
        if now.saturating_sub(self.since) > MEMORY {
            self.before = self.current.take();
            self.since = now;
        }
        self.current = Some(self.current.map_or(Extremes::of(sample), |extremes| extremes.with(sample)));
    }

    /// The smoothed round trip (RFC 6298, weight 1/8).
    #[must_use]
    pub fn srtt(&self) -> Option<Duration> {
        self.srtt
    }

    fn extremes(&self) -> Option<Extremes> {
        match (self.current, self.before) {
            (Some(one), Some(other)) => Some(one.with(other.shortest).with(other.longest)),
            (one, other) => one.or(other),
        }
    }

    /// The shortest round trip lately: the path's own length.
    #[must_use]
    pub fn shortest(&self) -> Option<Duration> {
        self.extremes().map(|extremes| extremes.shortest)
    }

    /// The longest round trip lately.
    #[must_use]
    pub fn longest(&self) -> Option<Duration> {
        self.extremes().map(|extremes| extremes.longest)
    }

    /// The shortest round trip, and the queueing beyond it in the latest one.
    #[must_use]
    pub fn round_trips(&self) -> Option<(Duration, Duration)> {
        self.shortest().zip(self.queueing())
    }

    /// How much longer than the shortest the latest round trip was.
    #[must_use]
    pub fn queueing(&self) -> Option<Duration> {
        self.shortest().map(|shortest| self.latest.saturating_sub(shortest))
    }

    /// Whether the queue was so short at the latest measurement that nothing can have overflown: it took a
    /// quarter of the longest queueing lately seen, or next to nothing.
    #[must_use]
    pub fn queue_is_short(&self) -> bool {
        let Some(Extremes { shortest, longest }) = self.extremes() else { return true };
        self.latest.saturating_sub(shortest) <= Self::unrest(shortest).max((longest - shortest) / 4)
    }

    /// Whether the queue was long at the latest measurement: more than half of the longest queueing lately
    /// seen, and more than any unrest.
    #[must_use]
    pub fn queue_is_long(&self) -> bool {
        self.exceeds(|shortest| NO_QUEUE + (shortest / 8).min(MOST_UNREST))
    }

    /// Whether it may have overflown then: the same, and more than the usual unrest. A queue of a few packets
    /// is shorter than what surely is long.
    #[must_use]
    pub fn queue_may_overflow(&self) -> bool {
        self.exceeds(Self::unrest)
    }

    /// Whether the latest queueing is more than half of the longest, and than a bound by the path's length.
    fn exceeds(&self, least: impl Fn(Duration) -> Duration) -> bool {
        self.extremes().is_some_and(|Extremes { shortest, longest }| {
            self.latest.saturating_sub(shortest) > least(shortest).max((longest - shortest) / 2)
        })
    }

    fn unrest(shortest: Duration) -> Duration {
        UNREST + (shortest / 32).min(MOST_UNREST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn on_a_long_path_a_queue_that_is_a_tenth_of_it_is_not_short() {
        let mut delay = Delay::default();
        assert!(delay.queue_is_short());
        for (rtt, is_short) in [(600, true), (615, true), (660, false), (640, false), (618, true)] {
            delay.sample(MS, rtt * MS);
            assert_eq!(delay.queue_is_short(), is_short, "{rtt} ms");
        }
        delay.sample(MS, 2000 * MS);
        delay.sample(MS, 700 * MS);
        assert!(delay.queue_is_short(), "a slow path: a packet alone takes so long");
    }

    #[test]
    fn a_queue_near_its_longest_is_long() {
        let mut delay = Delay::default();
        assert!(!delay.queue_is_long());
        for (second, rtt, long) in
            [(0, 20, false), (1, 22, false), (2, 84, true), (3, 60, true), (4, 40, false), (5, 23, false)]
        {
            delay.sample(second * 1000 * MS, rtt * MS);
            assert_eq!(delay.queue_is_long(), long, "{rtt} ms");
        }
        assert_eq!(delay.shortest(), Some(20 * MS));
        let mut far = Delay::default();
        for (rtt, long) in [(600, false), (610, false), (660, true), (615, false)] {
            far.sample(MS, rtt * MS);
            assert_eq!(far.queue_is_long(), long, "{rtt} ms");
        }
        // ten packets at 20 Mbit/s are 6 ms
        let mut shallow = Delay::default();
        for (rtt, may_overflow) in [(20, false), (22, false), (26, true), (23, false), (24, true)] {
            shallow.sample(MS, rtt * MS);
            assert_eq!(shallow.queue_may_overflow(), may_overflow, "{rtt} ms");
            assert!(!shallow.queue_is_long(), "{rtt} ms");
        }
        // old round trips are forgotten
        for second in 20..60 {
            delay.sample(second * 1000 * MS, 50 * MS);
        }
        assert_eq!(delay.shortest(), Some(50 * MS));
        assert!(!delay.queue_is_long());
    }
}
