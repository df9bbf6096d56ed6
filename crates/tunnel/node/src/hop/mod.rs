//! The hop's controller: how many bytes may be under way to the peer.
//!
//! Normally the end hosts' congestion control decides that. Where the path has a deep queue, they fill it,
//! and every packet waits behind it. There the controller keeps what is under way so small that the queue
//! stands in the node instead ([`crate::queue`]): a new flow passes it, and CoDel keeps it short. No rate is
//! set. The window follows the round trip, as in FAST TCP (D. X. Wei et al., IEEE/ACM Transactions on
//! Networking 14(6), 2006, equation 11), and thereby a link whose rate changes.
//!
//! A window by delay loses against senders that fill the queue. So each begins with a [trial] of whose queue
//! it is. Where it is another's, or stays long later although the window is small, the controller lets go,
//! for longer each time.
//!
//! A rate bounds what leaves where the user [told] one, a [policer] was found, or a flow [begins](onset).

mod ceiling;
mod excess;
mod in_flight;
pub mod model;
mod onset;
mod pace;
mod policer;
mod progress;
mod told;
mod trial;
mod window;

use crate::arq::Progress;
use in_flight::InFlight;
use onset::Onset;
use pace::Pace;
use policer::Policer;
use progress::Span;
use std::time::Duration;
use told::Told;
use trial::{Owner, Trial};
use window::Window;

/// Queueing beyond this, and a quarter of the path's own length, is a deep queue ...
const DEEP: Duration = Duration::from_millis(80);
/// ... if no round trip was shorter for so long.
const DEEP_FOR: Duration = Duration::from_millis(200);
/// A window that was not needed for so long is given up.
const IDLE: Duration = Duration::from_secs(10);
/// A queue that stays long under a small window for so long, while receipts come, is another's.
const OTHERS_AFTER: Duration = Duration::from_millis(1500);
/// Two receipts tell of so much time at most.
const MOST_BETWEEN: Duration = Duration::from_millis(100);
/// For so long another's queue is left alone at first, and at most.
const LEAST_PAUSE: Duration = Duration::from_secs(10);
const MOST_PAUSE: Duration = Duration::from_secs(600);
/// Without a receipt for so long beyond a round trip, what is under way is taken for lost.
const SILENCE: Duration = Duration::from_millis(200);

/// The controller of one link, on its sending side.
#[derive(Debug, Default)]
pub struct Controller {
    in_flight: InFlight,
    window: Option<Window>,
    /// Whether the queue is ours, while that is tried.
    trial: Option<Trial>,
    /// Since when the queue is deep.
    deep_since: Option<Duration>,
    /// When the last receipt came.
    heard_at: Duration,
    /// When the window last held a packet back.
    held_at: Duration,
    /// For how long the queue has been long under the window.
    long_for: Duration,
    /// Until when no window is set, and for how long that is next time.
    paused_until: Duration,
    pause: Duration,
    /// The round trip after which silence is loss.
    patience: Duration,
    /// The rate that the user told, and the totals when it was last judged.
    told: Option<(Told, Span)>,
    /// The search for a policer; only where the hop repairs its losses.
    policer: Option<Policer>,
    /// The rate while a flow begins; only where the hop repairs its losses.
    onset: Option<Onset>,
    pace: Option<Pace>,
}

impl Controller {
    /// A controller of a link of this rate in bytes a second, if the user told it. `repairs`: whether the hop
    /// repairs its losses.
    #[must_use]
    pub fn new(bytes_a_second: Option<f64>, repairs: bool) -> Self {
        let (policer, onset) = (repairs.then(Policer::default), repairs.then(Onset::default));
        let mut controller = Controller { policer, onset, ..Self::default() };
        controller.set_told(bytes_a_second);
        controller
    }

    /// The user tells this rate, in bytes a second, or none any more.
    pub fn set_told(&mut self, bytes_a_second: Option<f64>) {
        self.told = bytes_a_second.map(|rate| (Told::new(rate), Span::default()));
        self.pace = bytes_a_second.map(Pace::new);
    }

    /// A datagram of so many bytes left, with sequences up to `newest`.
    pub fn note_sent(&mut self, now: Duration, newest: Option<u64>, bytes: usize) {
        if self.in_flight.is_empty() {
            self.heard_at = now;
        }
        self.in_flight.push(now, newest, bytes);
        self.pace.iter_mut().for_each(|pace| pace.note_sent(now, bytes));
    }

    /// A receipt came.
    pub fn note_receipt(&mut self, now: Duration, progress: &Progress<'_>) {
        let delay = progress.delay;
        let flight = self.in_flight.bytes();
        self.in_flight.settle(progress.newest);
        self.set_pace(now, progress);
        let since = now.saturating_sub(self.heard_at).min(MOST_BETWEEN);
        self.heard_at = now;
        let Some((base, queueing)) = delay.round_trips() else { return };
        self.patience = base + queueing + SILENCE;
        match &mut self.window {
            None => self.consider(now, flight, (base, queueing)),
            Some(window) => {
                let is_needed = self.held_at + base + queueing >= now;
                if let Some(trial) = self.trial.as_mut().filter(|_| is_needed) {
                    match trial.note_round_trip(now, base + queueing) {
                        None => return,
                        Some(Owner::Others) => return self.let_go(now),
                        Some(Owner::Us) => {}
                    }
                }
                self.trial = None;
                let is_long = window.note_round_trip(now, (base, queueing), is_needed);
                self.long_for = if is_long { self.long_for + since } else { Duration::ZERO };
                if self.long_for > OTHERS_AFTER {
                    self.let_go(now);
                } else if now > self.held_at + IDLE {
                    self.release();
                }
            }
        }
    }

    /// Sets the rate by what is known of the path.
    fn set_pace(
        &mut self,
        now: Duration,
        Progress { sent, came, delay, waited, air_loss, .. }: &Progress<'_>,
    ) {
        let Some((base, queueing)) = delay.round_trips() else { return };
        let totals = Span::totals(*sent, *came, self.in_flight.settled_bytes());
        let pace = self.pace.as_ref();
        let is_needed = |since| pace.is_some_and(|pace| pace.has_held_since(since));
        if let Some((told, earlier)) = &mut self.told {
            let over = totals.less(earlier);
            if told.note_round_trip(now, delay, is_needed(told.judged_at()), &over) {
                *earlier = totals;
            }
        }
        if let Some(policer) = &mut self.policer {
            let how = (!delay.queue_is_short(), is_needed(policer.since()));
            policer.note_receipt(now, (base, queueing), totals, how);
        }
        if let Some(onset) = &mut self.onset {
            let in_flight = &self.in_flight;
            let receipt = onset::Told {
                at: now.saturating_sub(*waited),
                left_at: in_flight.settled_left_at(),
                bytes: in_flight.settled_bytes(),
            };
            let is_needed = is_needed(now.saturating_sub(base + queueing));
            onset.note_receipt(receipt, (base, queueing), *air_loss, is_needed);
        }
        let begins = self.onset.as_ref().and_then(Onset::rate);
        let told = self.told.as_ref().map(|(told, _)| told.rate());
        let policed = self.policer.as_ref().and_then(Policer::rate);
        match (told.into_iter().chain(policed).chain(begins).reduce(f64::min), &mut self.pace) {
            (Some(rate), Some(pace)) => pace.set_rate(rate),
            (rate, pace) => *pace = rate.map(Pace::new),
        }
    }

    /// Sets a window where the queue has been deep for some time.
    fn consider(&mut self, now: Duration, flight: u64, (base, queueing): (Duration, Duration)) {
        if queueing <= DEEP + base / 4 || now < self.paused_until {
            self.deep_since = None;
            return;
        }
        let since = *self.deep_since.get_or_insert(now);
        if now.saturating_sub(since) >= DEEP_FOR.max(base) {
            let window = Window::new(now, flight, (base, queueing));
            let left = window.bytes() as f64 / flight.max(1) as f64;
            self.trial = Some(Trial::new(now, base + queueing, left));
            self.window = Some(window);
            self.held_at = now;
        }
    }

    /// The queue is another's.
    fn let_go(&mut self, now: Duration) {
        self.pause = (self.pause * 2).clamp(LEAST_PAUSE, MOST_PAUSE);
        self.paused_until = now + self.pause;
        self.release();
    }

    fn release(&mut self) {
        (self.window, self.trial) = (None, None);
        self.deep_since = None;
        self.long_for = Duration::ZERO;
    }

    /// Whether a packet may leave. After a silence one may: what was under way is taken for lost.
    pub fn admits(&mut self, now: Duration) -> bool {
        self.pace.as_mut().is_none_or(|pace| pace.admits(now)) && self.window_admits(now)
    }

    fn window_admits(&mut self, now: Duration) -> bool {
        let Some(window) = &self.window else { return true };
        if self.in_flight.bytes() < window.bytes() {
            return true;
        }
        self.held_at = now;
        let is_silent = now >= self.heard_at + self.patience;
        if is_silent {
            self.in_flight.clear();
            self.heard_at = now;
        }
        is_silent
    }

    /// When a packet may leave, though no receipt comes; `None` if one may now.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        let is_full = self.window.as_ref().is_some_and(|window| self.in_flight.bytes() >= window.bytes());
        let after_silence = is_full.then_some(self.heard_at + self.patience);
        after_silence.max(self.pace.as_ref().map(Pace::admits_at))
    }

    /// Whether a window or a rate bounds what leaves.
    #[must_use]
    pub fn is_bound(&self) -> bool {
        self.window.is_some() || self.pace.is_some()
    }

    /// Whether it is being tried whose queue it is.
    #[must_use]
    pub fn is_trying(&self) -> bool {
        self.trial.is_some()
    }

    /// Bytes that may be under way; `None`: the end hosts decide.
    #[must_use]
    pub fn window_bytes(&self) -> Option<u64> {
        self.window.as_ref().map(Window::bytes)
    }

    /// The rate at most of what leaves, in bytes a second; `None`: the end hosts decide.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        self.pace.as_ref().map(Pace::rate)
    }
}

#[cfg(test)]
mod tests;
