//! A policer, and whatever else drops without a long queue, such as CoDel at another node.
//!
//! No round trip tells of it, and where the hop repairs its losses, no end host hears of them either: they
//! would send ever more. It is told from the air by a trial. At a lower rate a policer loses nothing, and the
//! air as much as before. Only a loss that rises begins a trial, because the air's is there at every rate.
//!
//! From then on the rate follows the losses as CUBIC's window does where it is small (RFC 9438, section 4.3),
//! so that other senders keep their share.

use super::progress::Span;
use std::time::Duration;

/// A loss is taken over so many round trips and sequences at least.
const INTERVAL: f64 = 4.0;
const LEAST_SEQUENCES: u64 = 200;
/// A loss of this share at least begins a trial ...
const LEAST_LOSS: f64 = 0.04;
/// ... of packets that are so large on average: calls and acknowledgments overload no policer, and a burst of
/// the air's losses is seldom in the trial that follows it ...
const LEAST_BYTES: u64 = 400;
/// ... if it is so much more than the least one lately, and by so many standard deviations, in two intervals.
const MORE: f64 = 0.05;
const DEVIATIONS: f64 = 4.0;
/// The least loss while none is known: the air seldom loses more.
const ASSUMED: f64 = 0.08;
/// For so long the least loss is remembered, at least.
const MEMORY: Duration = Duration::from_secs(60);
/// The rate of a trial, by the one that arrives.
const TRIAL: f64 = 0.8;
/// Effects of a rate are heard after so many round trips, and for so many, and for so long.
const EFFECT: f64 = 1.5;
const LENGTH: f64 = 1.5;
const LEAST_LENGTH: Duration = Duration::from_millis(200);
const TRIAL_SEQUENCES: u64 = 50;
/// Beside such queueing, packets may be lost to a full queue, and the end hosts hear of it.
const DEEP: Duration = Duration::from_millis(30);
/// A queue has so much time to drain before.
const DRAINS_FOR: Duration = Duration::from_secs(1);
/// A policer: less than this share of the loss is left.
const LEFT: f64 = 1.0 / 3.0;
/// A loss leaves this share of the rate.
const DECREASE: f64 = 0.7;
/// Bytes that the window grows by in a round trip.
const INCREASE: f64 = 0.53 * 1500.0;
/// Bounds of the rate, by the first one: beyond them, it was no policer or is none any more.
const BOUNDS: std::ops::RangeInclusive<f64> = 0.15..=2.5;
/// Without a packet that waits for so long, the rate is given up.
const IDLE: Duration = Duration::from_secs(10);
/// After a trial that found the air, the next one waits for so long.
const LEAST_PAUSE: Duration = Duration::from_secs(10);
const MOST_PAUSE: Duration = Duration::from_secs(600);

/// The state of the search on one path.
#[derive(Debug, Default)]
pub struct Policer {
    state: State,
    span: Span,
    /// The least share that was lost in an interval, and when that was.
    least: Option<(f64, Duration)>,
    /// The queue was deep in the interval.
    is_deep: bool,
    /// The loss of the interval before rose, too.
    rises: bool,
    paused_until: Duration,
    pause: Duration,
}

#[derive(Debug, Default, Clone, Copy)]
enum State {
    #[default]
    Open,
    /// A rate is tried since then, after this loss. `is_heard`: its effect is.
    Trial { rate: f64, since: Duration, loss: f64, is_heard: bool },
    /// There is a policer. `first`: the first rate. Until `deaf_until`, losses are of a rate before.
    Found { rate: f64, first: f64, deaf_until: Duration },
}

impl Policer {
    /// Bytes a second that may leave; `None`: any.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        match self.state {
            State::Open => None,
            State::Trial { rate, .. } | State::Found { rate, .. } => Some(rate),
        }
    }

    /// When the loss began to be counted.
    #[must_use]
    pub fn since(&self) -> Duration {
        self.span.since()
    }

    /// Takes the totals of a receipt beside this round trip and queueing. `is_queued`: packets wait in the
    /// path. `is_needed`: packets waited for the rate since [`since`](Self::since).
    pub fn note_receipt(
        &mut self,
        now: Duration,
        (base, queueing): (Duration, Duration),
        totals: Span,
        (is_queued, is_needed): (bool, bool),
    ) {
        self.is_deep |= queueing > DEEP;
        let round_trip = (base + queueing).max(Duration::from_millis(1));
        let passed = now.saturating_sub(self.span.since());
        let round_trips = passed.div_duration_f64(round_trip);
        let over = totals.less(&self.span);
        let least = self.least.filter(|(_, at)| now < *at + MEMORY).map(|(least, _)| least);
        match self.state {
            State::Open if round_trips < INTERVAL || over.sequences() < LEAST_SEQUENCES => return,
            State::Open => self.judge(now, &over, least),
            State::Trial { rate, since, loss, is_heard: false } => {
                if round_trips < EFFECT || is_queued && now < since + DRAINS_FOR {
                    return;
                }
                self.state = State::Trial { rate, since, loss, is_heard: true };
            }
            State::Trial { .. }
                if round_trips < LENGTH || passed < LEAST_LENGTH || over.sequences() < TRIAL_SEQUENCES =>
            {
                return;
            }
            State::Trial { rate, loss, .. } if over.loss() < loss * LEFT => {
                self.pause = Duration::ZERO;
                self.least = Some((least.unwrap_or(1.0).min(over.loss()), now));
                self.state = State::Found { rate, first: rate, deaf_until: now };
            }
            State::Trial { .. } => self.open(now),
            State::Found { .. } if !is_needed => {
                if passed < IDLE {
                    return;
                }
                self.state = State::Open;
            }
            State::Found { .. } if round_trips < 1.0 => return,
            State::Found { rate, first, deaf_until } => {
                let is_lost = now >= deaf_until && over.exceeds(self.least.map_or(0.0, |(least, _)| least));
                let (rate, deaf_until) = match is_lost {
                    true => (rate * DECREASE, now + 2 * round_trip),
                    false => (rate + INCREASE * round_trips / round_trip.as_secs_f64(), deaf_until),
                };
                self.state = State::Found { rate, first, deaf_until };
                if !BOUNDS.contains(&(rate / first)) {
                    self.open(now);
                }
            }
        }
        self.span = totals.at(now);
        self.is_deep = false;
    }

    /// Judges an interval without a rate. `least`: the least loss lately.
    fn judge(&mut self, now: Duration, over: &Span, least: Option<f64>) {
        let loss = over.loss();
        let usual = least.unwrap_or(ASSUMED);
        let is_bulk = over.mean_bytes() >= LEAST_BYTES;
        let rises = is_bulk
            && !self.is_deep
            && loss > LEAST_LOSS
            && loss > usual + MORE + DEVIATIONS * over.deviation(usual);
        if rises && self.rises && now >= self.paused_until {
            let rate = over.rate(now) * (1.0 - loss) * TRIAL;
            self.state = State::Trial { rate, since: now, loss, is_heard: false };
        }
        if least.is_none_or(|least| loss < least) {
            self.least = Some((loss, now));
        }
        self.rises = rises;
    }

    /// There is no policer; for longer each time, none is looked for.
    fn open(&mut self, now: Duration) {
        self.pause = (self.pause * 2).clamp(LEAST_PAUSE, MOST_PAUSE);
        self.paused_until = now + self.pause;
        self.state = State::Open;
    }
}
