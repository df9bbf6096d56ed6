//! A model of the path, for bytes that no end host's control bounds: its rate and its round trip.
//!
//! The rate is the most that arrived lately, and what is under way is bounded by rate and round trip, as in
//! BBR (N. Cardwell et al., ACM Queue 14(5), 2016). It sends more than arrives by the share that the air
//! loses, so that a lossy path is filled as well. Losses of full queues, and those that the rate
//! [makes](super::excess), lower a [ceiling](super::ceiling). While there is one, it alone probes for more.

use super::ceiling::{Ceiling, PACKET_BYTES};
use super::excess::{self, Excess, Left};
use std::collections::VecDeque;
use std::time::Duration;

/// Repairs of bytes that somebody waits for take this share of the path.
const REPAIRS_SHARE: f64 = 0.25;
/// Growth in a round trip until the path is full: doubling (2 / ln 2).
const STARTUP_GAIN: f64 = 2.885;
/// ... of which the bytes leave within a part of a round trip.
const STARTUP_PACE: f64 = 1.5;
/// The path is full when so many round trips brought less than this growth.
const FULL_ROUNDS: u32 = 3;
const FULL_GROWTH: f64 = 1.25;
/// It is as well when packets queue for a round trip, each for longer than this and a share of it.
const QUEUE: Duration = Duration::from_millis(10);
const QUEUE_SHARE: u32 = 8;
/// Gains of the rate in turn, a round trip each.
const GAINS: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Under way are so many times rate and round trip.
const FLIGHT_GAIN: f64 = 2.0;
/// The rate is the most in so many round trips.
const RATE_ROUNDS: u64 = 10;
/// Bytes that leave in the first round trip.
const FIRST_FLIGHT: f64 = 32.0 * PACKET_BYTES;
/// ... within this share of it. So its receipts come in time for a full second one.
const FIRST_SHARE: u32 = 4;
/// The rate is known for so long after the last datagram.
const REMEMBERED: Duration = Duration::from_secs(60);
/// Bytes that may always be under way.
const LEAST_FLIGHT: f64 = 4.0 * PACKET_BYTES;
/// The longest round trip of a usual path.
const LONGEST: Duration = Duration::from_secs(1);
/// A round trip, while none is known.
const UNKNOWN: Duration = Duration::from_millis(100);
/// Receipts tell of what came so much later at most.
const RECEIPTS: Duration = Duration::from_millis(30);
/// So many bytes leave at once after a pause (RFC 6928).
const AT_ONCE: f64 = 10.0 * PACKET_BYTES;
/// ... and what is due within this time: the clock of drivers is coarse.
const BURST: Duration = Duration::from_millis(2);
/// More of the air's loss is not made up for.
const MOST_LOSS: f64 = 0.5;
/// The rate is halved for a while where more than this share is lost, not before so long after the last time.
const TRIAL_GAIN: f64 = 0.5;
const LOSS_TO_TRY: f64 = 0.002;
const TRIAL_PAUSE: Duration = Duration::from_secs(2);
const TRIAL_ROUNDS: u32 = 32;
/// Where the air loses packets, nobody's window fills a queue for long. A queue is ours then, and a short one
/// is, too. Less leaves by this share of it by the round trip, up to a bound.
const DEEP_QUEUE: Duration = Duration::from_millis(30);
const EASE: f64 = 0.5;
const MOST_EASE: f64 = 0.25;
/// Silence for so long beyond two round trips is tried by sending a datagram again, then twice as long.
const PATIENCE: Duration = Duration::from_millis(50);
const MOST_DOUBLINGS: u32 = 3;
/// So many datagrams try it, since one is lost easily (RFC 9002, section 6.2.4).
const PROBES: usize = 2;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    Startup,
    Drain,
    Steady {
        gain: usize,
        since: Duration,
    },
    /// The rate is halved, to hear what the air loses.
    Trial {
        since: Duration,
    },
}

/// A datagram that left.
#[derive(Debug, Clone, Copy)]
struct Sent {
    sequence: u64,
    at: Duration,
    bytes: u64,
    /// Bytes that had arrived by then, and when.
    delivered: u64,
    delivered_at: Duration,
    /// When the newest datagram of those that had arrived had left.
    first_sent_at: Duration,
    /// It left after a pause, or nothing waited behind it: the path could have carried more.
    is_limited: bool,
    left: Left,
    is_settled: bool,
}

/// The model of one direction of a hop.
#[derive(Debug)]
pub struct Model {
    phase: Phase,
    sent: VecDeque<Sent>,
    in_flight: u64,
    /// The most of it in this round and in the one before.
    peaks: [u64; 2],
    delivered: u64,
    delivered_at: Duration,
    first_sent_at: Duration,
    /// Datagrams that leave before more than this was delivered do not fill the path.
    limited_until: u64,
    /// The most bytes a second of the latest rounds, falling, with the round of each.
    rates: VecDeque<(u64, f64)>,
    round: u64,
    round_ends_at: u64,
    full_rate: f64,
    full_rounds: u32,
    queues_since: Option<Duration>,
    /// The newest datagram of those that arrived since the last update.
    newest: Option<Sent>,
    round_trip: Duration,
    is_measured: bool,
    loss: f64,
    /// The share by which less leaves, because packets queue.
    ease: f64,
    excess: Excess,
    /// When the rate was halved, to hear what the air loses.
    tried_at: Duration,
    ceiling: Ceiling,
    /// When the next datagram leaves.
    next_at: Duration,
    /// When something was last heard or sent, and for how many silences since.
    active_at: Duration,
    silences: u32,
    /// Datagrams that may leave for that.
    probes: usize,
}

impl Default for Model {
    fn default() -> Self {
        Model {
            phase: Phase::Startup,
            sent: VecDeque::new(),
            in_flight: 0,
            peaks: [0; 2],
            delivered: 0,
            delivered_at: Duration::ZERO,
            first_sent_at: Duration::ZERO,
            limited_until: 0,
            rates: VecDeque::new(),
            round: 0,
            round_ends_at: 0,
            full_rate: 0.0,
            full_rounds: 0,
            queues_since: None,
            newest: None,
            round_trip: UNKNOWN,
            is_measured: false,
            loss: 0.0,
            ease: 0.0,
            excess: Excess::default(),
            tried_at: Duration::ZERO,
            ceiling: Ceiling::default(),
            next_at: Duration::ZERO,
            active_at: Duration::ZERO,
            silences: 0,
            probes: 0,
        }
    }
}

impl Model {
    /// Bytes a second that the path carries; `None` until something arrived.
    fn rate(&self) -> Option<f64> {
        self.rates.front().map(|(_, rate)| *rate)
    }

    fn gain(&self) -> f64 {
        match self.phase {
            Phase::Startup => STARTUP_GAIN,
            Phase::Drain => 1.0 / STARTUP_GAIN,
            Phase::Trial { .. } => TRIAL_GAIN,
            Phase::Steady { gain, .. } if self.ceiling.bytes().is_some() => GAINS[gain].min(1.0),
            Phase::Steady { gain, .. } => GAINS[gain],
        }
    }

    /// Bytes a second of repairs beside the bytes: a part of the path's rate, or of the first flight's.
    #[must_use]
    pub fn repair_rate(&self, told: Option<f64>) -> f64 {
        let first = FIRST_FLIGHT / self.round_trip.as_secs_f64().max(0.001);
        REPAIRS_SHARE * told.unwrap_or_else(|| self.rate().map_or(first, |rate| rate.max(first)))
    }

    /// Bytes a second that leave.
    pub fn pace(&self, told: Option<f64>) -> f64 {
        if let Some(told) = told {
            return told;
        }
        let first = FIRST_FLIGHT / (self.round_trip / FIRST_SHARE).as_secs_f64().max(0.001);
        let Some(rate) = self.rate() else { return first };
        let least =
            if self.phase == Phase::Startup { STARTUP_PACE * self.startup_flight() } else { LEAST_FLIGHT };
        let least = least / self.round_trip.as_secs_f64().max(0.001);
        let gain = self.gain();
        // losses at a slow rate tell of the air alone
        let loss = if gain < 1.0 { 0.0 } else { self.loss };
        let rate = rate / (1.0 - loss);
        let bound = self.ceiling.bytes().map_or(rate, |bytes| bytes / self.flight_time());
        let eased = if gain == 1.0 { 1.0 - self.ease } else { 1.0 };
        (eased * gain * rate.min(bound)).max(least)
    }

    /// Seconds for which a byte is under way, until a receipt tells.
    fn flight_time(&self) -> f64 {
        (self.round_trip + RECEIPTS / 2).as_secs_f64()
    }

    /// Datagrams that are due within this time leave at once. A queue that was full may be short.
    fn at_once(&self, told: Option<f64>) -> Duration {
        if self.ceiling.bytes().is_some() {
            return BURST;
        }
        BURST.max(Duration::from_secs_f64(AT_ONCE / self.pace(told)))
    }

    /// Bytes that may be under way.
    fn most_in_flight(&self, told: Option<f64>) -> f64 {
        let (rate, gain) = match (told, self.rate(), self.phase) {
            (Some(told), ..) if !self.is_measured => return told * LONGEST.as_secs_f64(),
            (Some(told), ..) => (told, FLIGHT_GAIN),
            (None, Some(rate), Phase::Startup) => (rate, STARTUP_GAIN),
            (None, Some(rate), _) => (rate / (1.0 - self.loss), FLIGHT_GAIN),
            (None, None, _) => return FIRST_FLIGHT,
        };
        let flight = gain * rate * self.flight_time();
        let flight = flight.max(if self.phase == Phase::Startup { self.startup_flight() } else { 0.0 });
        let ceiling = self.ceiling.bytes().filter(|_| told.is_none());
        ceiling.map_or(flight, |ceiling| ceiling.min(flight)).max(LEAST_FLIGHT)
    }

    /// A full queue lost something; `round_trip`: as it is now.
    pub fn note_full_queue(&mut self, now: Duration, round_trip: Duration) {
        let [peak, before] = self.peaks;
        let in_flight = peak.max(before) as f64;
        if self.ceiling.reduce(now, in_flight, round_trip + RECEIPTS) && self.phase == Phase::Startup {
            self.phase = Phase::Drain;
        }
    }

    /// Bytes that may be under way during startup: a growth of the gain in each round trip, though the rate
    /// is that of the round trip before.
    fn startup_flight(&self) -> f64 {
        let grown = FIRST_FLIGHT + (STARTUP_GAIN - 1.0) * self.delivered as f64;
        let rate = self.rate().unwrap_or(0.0);
        grown.min(STARTUP_GAIN * STARTUP_GAIN * rate * self.round_trip.as_secs_f64()).max(FIRST_FLIGHT)
    }

    /// Whether a datagram may leave; `told`: the rate that the user told, in bytes a second.
    #[must_use]
    pub fn admits(&self, now: Duration, told: Option<f64>) -> bool {
        self.probes > 0
            || self.next_at <= now + self.at_once(told) && (self.in_flight as f64) < self.most_in_flight(told)
    }

    /// When one may leave without a receipt; `None`: when one came.
    #[must_use]
    pub fn admits_at(&self, told: Option<f64>) -> Option<Duration> {
        if self.probes > 0 {
            return Some(Duration::ZERO);
        }
        ((self.in_flight as f64) < self.most_in_flight(told))
            .then(|| self.next_at.saturating_sub(self.at_once(told)))
    }

    /// A datagram of so many bytes left; whether nothing waits behind it.
    pub fn note_sent(
        &mut self,
        now: Duration,
        sequence: u64,
        bytes: usize,
        told: Option<f64>,
        is_last: bool,
    ) {
        if self.in_flight == 0 {
            if now > self.active_at + REMEMBERED {
                let Model { round_trip, is_measured, loss, .. } = *self;
                *self = Model { round_trip, is_measured, loss, ..Model::default() };
            }
            (self.delivered_at, self.first_sent_at, self.silences) = (now, now, 0);
            self.limited_until = self.delivered;
        }
        self.probes = self.probes.saturating_sub(1);
        self.active_at = now;
        let bytes = bytes as u64;
        let takes = Duration::from_secs_f64(bytes as f64 / self.pace(told));
        self.next_at = self.next_at.max(now) + takes;
        self.in_flight += bytes;
        self.peaks[0] = self.peaks[0].max(self.in_flight);
        if is_last {
            self.limited_until = self.delivered + self.in_flight;
        }
        self.sent.push_back(Sent {
            sequence,
            at: now,
            bytes,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            is_limited: self.delivered <= self.limited_until,
            left: if told.is_some() { Left::Somehow } else { self.left(now) },
            is_settled: false,
        });
    }

    /// How a datagram leaves now.
    fn left(&self, now: Duration) -> Left {
        match self.phase {
            Phase::Startup => Left::Somehow,
            Phase::Trial { since } if now < since + self.round_trip => Left::Somehow,
            Phase::Trial { .. } => Left::Slowly,
            _ if self.gain() < 1.0 => Left::Eased,
            _ => Left::Fast,
        }
    }

    /// For how long the rate is halved: until that has an effect, and so many datagrams left.
    fn trial_time(&self) -> Duration {
        let slowly = f64::from(excess::LEAST) * PACKET_BYTES / (TRIAL_GAIN * self.rate().unwrap_or(1.0));
        self.round_trip + self.round_trip.max(Duration::from_secs_f64(slowly.min(1.0)))
    }

    /// A datagram came, or is lost.
    pub fn settle(&mut self, now: Duration, sequence: u64, came: bool) {
        let at = self.sent.partition_point(|sent| sent.sequence < sequence);
        let Some(sent) = self.sent.get_mut(at).filter(|sent| sent.sequence == sequence && !sent.is_settled)
        else {
            return;
        };
        sent.is_settled = true;
        self.in_flight -= sent.bytes;
        self.excess.note(sent.left, came);
        if came {
            self.delivered += sent.bytes;
            self.delivered_at = now;
            self.active_at = self.active_at.max(now);
            self.silences = 0;
            if self.newest.is_none_or(|newest| newest.at <= sent.at) {
                self.newest = Some(*sent);
            }
        }
        while self.sent.front().is_some_and(|sent| sent.is_settled) {
            self.sent.pop_front();
        }
    }

    /// Says the shortest round trip.
    pub fn set_round_trip(&mut self, round_trip: Duration) {
        (self.round_trip, self.is_measured) = (round_trip, true);
    }

    /// Takes what a receipt told: the shortest round trip, the queueing beyond it, and the share that the air
    /// loses.
    pub fn update(&mut self, now: Duration, (round_trip, queueing): (Duration, Duration), loss: f64) {
        self.set_round_trip(round_trip);
        self.loss = loss.clamp(0.0, MOST_LOSS).min(self.most_air_loss());
        self.ease(queueing, loss);
        if self.excess.take() {
            self.note_full_queue(now, round_trip + queueing);
        }
        let most = 2.0 * self.rate().unwrap_or(0.0) * (round_trip + queueing + RECEIPTS).as_secs_f64();
        self.ceiling.grow(now, round_trip + queueing, most.max(FIRST_FLIGHT));
        let Some(newest) = self.newest.take() else { return };
        self.first_sent_at = newest.at;
        let is_new_round = newest.delivered >= self.round_ends_at;
        if is_new_round {
            self.round += 1;
            self.peaks = [self.in_flight, self.peaks[0]];
            self.round_ends_at = self.delivered;
        }
        let sending = newest.at.saturating_sub(newest.first_sent_at);
        let interval = now.saturating_sub(newest.delivered_at).max(sending);
        // receipts in a hurry measure the driver and not the path
        if interval >= round_trip.min(UNKNOWN) / 2 && !interval.is_zero() {
            let rate = (self.delivered - newest.delivered) as f64 / interval.as_secs_f64();
            if !newest.is_limited || self.rate().is_none_or(|known| rate >= known) {
                self.note_rate(rate);
            }
        }
        if queueing <= QUEUE + round_trip / QUEUE_SHARE {
            self.queues_since = None;
        } else if self.phase == Phase::Startup
            && now >= *self.queues_since.get_or_insert(now) + round_trip.max(RECEIPTS)
        {
            self.phase = Phase::Drain;
        }
        self.advance(now, is_new_round, newest.is_limited);
    }

    /// Lets less leave where packets queue.
    fn ease(&mut self, queueing: Duration, loss: f64) {
        let is_ours = loss > LOSS_TO_TRY || queueing < DEEP_QUEUE;
        let round_trip = self.round_trip.max(Duration::from_millis(1));
        let share =
            if is_ours { EASE * queueing.saturating_sub(BURST).div_duration_f64(round_trip) } else { 0.0 };
        self.ease = share.min(MOST_EASE);
    }

    /// The most that the air loses: the share that is lost at less than the path's rate. Further losses are
    /// of a queue that we filled. To make up for those would lose more.
    #[must_use]
    pub fn most_air_loss(&self) -> f64 {
        self.excess.most_air_loss()
    }

    fn note_rate(&mut self, rate: f64) {
        while self.rates.back().is_some_and(|(_, other)| *other <= rate) {
            self.rates.pop_back();
        }
        self.rates.push_back((self.round, rate));
        while self.rates.len() > 1 && self.rates[0].0 + RATE_ROUNDS < self.round {
            self.rates.pop_front();
        }
    }

    fn advance(&mut self, now: Duration, is_new_round: bool, is_limited: bool) {
        let Some(rate) = self.rate() else { return };
        match self.phase {
            Phase::Startup if is_new_round && !is_limited => {
                if rate >= self.full_rate * FULL_GROWTH {
                    (self.full_rate, self.full_rounds) = (rate, 0);
                } else {
                    self.full_rounds += 1;
                    if self.full_rounds >= FULL_ROUNDS {
                        self.phase = Phase::Drain;
                    }
                }
            }
            Phase::Startup => {}
            Phase::Drain => {
                if (self.in_flight as f64) <= rate * self.round_trip.as_secs_f64() {
                    self.tried_at = now;
                    self.phase = Phase::Steady { gain: 2, since: now };
                }
            }
            Phase::Steady { gain, since } => {
                if now < since + self.round_trip {
                    return;
                }
                let next = (gain + 1) % GAINS.len();
                let pause = TRIAL_PAUSE.max(TRIAL_ROUNDS * self.round_trip);
                self.phase = if next == 0 && self.loss > LOSS_TO_TRY && now >= self.tried_at + pause {
                    self.tried_at = now;
                    Phase::Trial { since: now }
                } else {
                    Phase::Steady { gain: next, since: now }
                };
            }
            Phase::Trial { since } => {
                if now >= since + self.trial_time() {
                    self.phase = Phase::Steady { gain: 2, since: now };
                }
            }
        }
    }

    /// When silence is to be tried.
    #[must_use]
    pub fn probe_at(&self) -> Option<Duration> {
        let patience = (self.round_trip * 2 + PATIENCE) * (1 << self.silences.min(MOST_DOUBLINGS));
        (self.in_flight > 0).then_some(self.active_at + patience)
    }

    /// The newest datagrams under way, which are to leave again to try a silence. Then they are settled.
    pub fn probe(&mut self, now: Duration) -> Vec<u64> {
        if self.probe_at().is_none_or(|at| at > now) {
            return Vec::new();
        }
        self.silences += 1;
        self.active_at = now;
        let newest = self.sent.iter().rev().filter(|sent| !sent.is_settled).take(PROBES);
        let newest: Vec<u64> = newest.map(|sent| sent.sequence).collect();
        self.probes = newest.len();
        newest.iter().for_each(|sequence| self.settle(now, *sequence, false));
        newest
    }
}
