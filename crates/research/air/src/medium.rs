//! One channel that many stations share: 802.11's distributed coordination function over distances.
//!
//! A station that senses an idle channel sends. Otherwise it waits until the channel is idle, and then for a
//! random backoff, which stops while others send. The receiver acknowledges the frame. Carrier sense reaches
//! farther than reception, so the hops of a path share the air. It does not cover everything: two stations
//! that do not sense each other may both reach a third one, which then receives neither ([`propagation`]
//! gives the powers). A frame is received if its power suffices and exceeds the sum of all others by a
//! factor; a sending station receives nothing.
//!
//! [`crate::timing`] gives the common parts. Here backoffs are drawn and can collide. Not modelled: RTS and
//! CTS, and propagation delay. Packets use one rate; the sender of a frame can decide its rates ([`Tries`]).
//! A frame and its acknowledgement 10 µs later have the same fading; different tries do not.
//!
//! The interface is that of a [`crate::Link`]: [`Medium::send`], [`Medium::poll_timeout`],
//! [`Medium::poll_deliver`].

mod config;
mod draws;
pub mod etx;
mod exchange;
mod plan;
pub mod propagation;
mod queue;
mod station;

use std::collections::VecDeque;
use std::time::Duration;

pub use config::{DirectedLoss, MOST_STATIONS, MediumConfig};
use draws::Draws;
use exchange::{Exchange, Phase};
use plan::{Attempt, Plan};
pub use plan::{Ended, Tries};
pub use propagation::{Propagation, Wall};
use queue::Waiting;
use station::Station;
pub use station::StationCounters;

use crate::loss::LossProcess;
use crate::timing::{ETHERNET_TO_MPDU_BYTES, Timing};
use crate::variates::Purpose;
use crate::{Bitrate, ConfigError};

/// Growth of a packet in 802.11: header, LLC and SNAP, FCS. An Ethernet header of 14 bytes would be removed
/// first.
pub const PACKET_TO_MPDU_BYTES: usize = ETHERNET_TO_MPDU_BYTES + 14;

/// A frame that has arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Its sender.
    pub from: usize,
    /// Its addressee; `None` for a broadcast.
    pub addressee: Option<usize>,
    /// Its receivers: the addressee, all that heard a broadcast, or listeners to others' frames.
    pub to: Vec<usize>,
    /// Its octets.
    pub frame: Vec<u8>,
    /// The rate, for a frame whose sender decided it.
    pub rate: Option<Bitrate>,
}

/// A channel that stations share. The stations' queues and untaken arrivals bound its memory.
///
/// Time never goes back: an earlier `now` counts as the latest one.
#[derive(Debug)]
pub struct Medium {
    config: MediumConfig,
    propagation: Propagation,
    timing: Timing,
    broadcast: Timing,
    /// Loss rate of tries at any power, by sender, then receiver.
    losses: Vec<f64>,
    /// Losses in one direction: sender, receiver, number of tries, and loss process.
    directed: Vec<(usize, usize, u64, LossProcess)>,
    now: Duration,
    stations: Vec<Station>,
    /// For each station, the stations that sense it.
    sensed_by: Vec<Vec<usize>>,
    on_air: Vec<Exchange>,
    arrived: VecDeque<Delivery>,
    ended: VecDeque<Ended>,
    capture: f64,
    backoffs: Draws,
    fades: Draws,
    chances: Draws,
}

impl Medium {
    /// An idle medium at time 0. Media with equal configuration and seed treat equal schedules equally.
    ///
    /// # Errors
    ///
    /// The errors of [`MediumConfig::validate`].
    pub fn new(config: &MediumConfig, seed: u64) -> Result<Self, ConfigError> {
        config.validate()?;
        let propagation = config.propagation();
        let count = config.stations.len();
        let sensed_by = (0..count)
            .map(|from| (0..count).filter(|to| propagation.is_sensed(from, *to)).collect())
            .collect();
        Ok(Self {
            timing: Timing::new(config.radio.standard, config.radio.rate)?,
            broadcast: Timing::new(config.radio.standard, config.broadcast_rate)?,
            losses: (0..count * count)
                .map(|pair| propagation.loss(seed, pair / count, pair % count))
                .collect(),
            directed: (0..)
                .zip(&config.directed_losses)
                .map(|(way, it)| (it.from, it.to, 0, LossProcess::new(&it.loss, seed.rotate_left(32) ^ way)))
                .collect(),
            now: Duration::ZERO,
            stations: (0..count).map(|_| Station::default()).collect(),
            sensed_by,
            on_air: Vec::new(),
            arrived: VecDeque::new(),
            ended: VecDeque::new(),
            capture: 10f64.powf(config.capture_decibels / 10.0),
            backoffs: Draws::new(seed, Purpose::Backoff),
            fades: Draws::new(seed, Purpose::Fading),
            chances: Draws::new(seed, Purpose::Loss),
            propagation,
            config: config.clone(),
        })
    }

    /// Offers a packet at `now` from one station to another, or for `None` to all that hear it. Missing
    /// stations are ignored.
    pub fn send(&mut self, now: Duration, from: usize, to: Option<usize>, frame: Vec<u8>) {
        self.offer(now, from, Waiting { to, bytes: frame.len(), frame, plan: None });
    }

    /// Offers a frame of 802.11 at `now`, with its header and without its FCS. Its sender numbers it, and
    /// decides the rate of every try; a broadcast has one. [`Medium::poll_ended`] has its end. A frame of or
    /// to a missing station, or without a try, ends at once.
    pub fn send_frame(
        &mut self,
        now: Duration,
        from: usize,
        to: Option<usize>,
        frame: Vec<u8>,
        (id, tries): (u64, &[Tries]),
    ) {
        let plan = Plan::new(id, tries, self.config.radio.standard, self.config.radio.rate);
        self.offer(now, from, Waiting { to, bytes: frame.len(), frame, plan: Some(plan) });
    }

    /// The next end of a frame of [`Medium::send_frame`] by `now`.
    pub fn poll_ended(&mut self, now: Duration) -> Option<Ended> {
        self.advance(now);
        self.ended.pop_front()
    }

    /// Ends a frame that is never on the air. Nobody waits for the end of a packet.
    fn refuse(&mut self, from: usize, refused: Waiting) {
        let ended = refused.plan.map(|plan| Ended { id: plan.id, from, acknowledged: false, tries: 0 });
        self.ended.extend(ended);
    }

    fn offer(&mut self, now: Duration, from: usize, waiting: Waiting) {
        self.advance(now);
        let count = self.stations.len();
        let is_absent = from >= count || waiting.to.is_some_and(|to| to >= count || to == from);
        if is_absent || waiting.plan.as_ref().is_some_and(Plan::is_empty) {
            return self.refuse(from, waiting);
        }
        let station = &mut self.stations[from];
        station.counters.offered.add(waiting.bytes);
        let was_idle = station.queue.is_empty() && !station.is_sending;
        let refused = station.queue.push(waiting, self.config.queue_frames, self.config.takes_turns);
        let waiting = station.queue.len() - 1;
        station.counters.longest_queue_frames = station.counters.longest_queue_frames.max(waiting);
        if let Some(refused) = refused {
            station.counters.queue_dropped.add(refused.bytes);
            self.refuse(from, refused);
        }
        let station = &mut self.stations[from];
        if was_idle {
            let window = self.timing.window(station.retry);
            let backoffs = &mut self.backoffs;
            station.contend(self.now, self.timing.difs(), self.timing.slot(), || backoffs.below(window + 1));
        }
        self.advance(now);
    }

    /// The next frame that has arrived by `now`. Call it until it returns `None`.
    pub fn poll_deliver(&mut self, now: Duration) -> Option<Delivery> {
        self.advance(now);
        self.arrived.pop_front()
    }

    /// Time of the next call of [`Medium::poll_deliver`], if nothing is sent before; `None` for an idle
    /// medium. Nothing may arrive then.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        if !self.arrived.is_empty() || !self.ended.is_empty() {
            return Some(self.now);
        }
        // A station that is not about to send cannot finish before this.
        let soonest = self.timing.difs() + self.timing.frame(PACKET_TO_MPDU_BYTES);
        let on_air = self.on_air.iter().map(|exchange| match exchange.phase {
            // The sender of a frame also waits for its end.
            _ if exchange.attempt.rate.is_some() => exchange.until,
            Phase::Data => exchange.until,
            _ => exchange.until + soonest,
        });
        let about_to = self.stations.iter().filter_map(|station| {
            let first = station.queue.front()?;
            Some(station.attempt? + self.length(first, station.retry))
        });
        on_air.chain(about_to).min()
    }

    /// Counters of a station's frames.
    ///
    /// # Panics
    ///
    /// If there is no such station.
    #[must_use]
    pub fn counters(&self, station: usize) -> &StationCounters {
        &self.stations[station].counters
    }

    /// Number of a station's frames, with the one in transmission.
    ///
    /// # Panics
    ///
    /// If there is no such station.
    #[must_use]
    pub fn held_frames(&self, station: usize) -> usize {
        self.stations[station].queue.len()
    }

    /// The powers between stations.
    #[must_use]
    pub fn propagation(&self) -> &Propagation {
        &self.propagation
    }

    /// The next try of a frame after this many failed ones.
    fn attempt(&self, waiting: &Waiting, failed: u8) -> Attempt {
        let usual = Attempt { rate: None, timing: self.timing, least_power: 1.0 };
        waiting.plan.as_ref().and_then(|plan| plan.attempt(failed)).unwrap_or(usual)
    }

    /// Air time of a frame's next try, after this many failed ones.
    fn length(&self, waiting: &Waiting, failed: u8) -> Duration {
        if waiting.plan.is_some() {
            return self.attempt(waiting, failed).length(waiting.bytes);
        }
        let timing = if waiting.to.is_some() { &self.timing } else { &self.broadcast };
        timing.frame(waiting.bytes.saturating_add(PACKET_TO_MPDU_BYTES))
    }

    /// Processes all events up to `now`, each at its own time.
    fn advance(&mut self, now: Duration) {
        self.now = self.now.max(now);
        while let Some((due, what)) = self.next_event().filter(|(due, _)| *due <= self.now) {
            match what {
                Event::PhaseEnds(index) => self.end_phase(index, due),
                Event::Attempts(station) => self.begin(station, due),
            }
        }
    }

    /// The next event; at equal times, ends come before beginnings.
    fn next_event(&self) -> Option<(Duration, Event)> {
        let ends =
            self.on_air.iter().enumerate().map(|(index, exchange)| (exchange.until, Event::PhaseEnds(index)));
        let begins = self.stations.iter().enumerate();
        let begins = begins.filter_map(|(index, station)| Some((station.attempt?, Event::Attempts(index))));
        ends.chain(begins).min_by_key(|(due, _)| *due)
    }
}

#[derive(Debug, Clone, Copy)]
enum Event {
    PhaseEnds(usize),
    Attempts(usize),
}
