//! One channel that many stations share: 802.11's distributed coordination function over distances.
//!
//! A station that hears the channel free sends; one that hears it busy waits until it is free and then for a random
//! backoff, which stands still while others send. Who has got a frame acknowledges it. Carrier sense reaches farther than
//! reception, so that the hops of one way share the air among themselves, and not far enough for everything: two that do
//! not hear each other may both be heard by a third, and neither is received there ([`propagation`] says how strongly
//! stations hear each other). A frame is received if it is strong enough for itself, and so many times stronger than all
//! that was on the air with it; who sends hears nothing.
//!
//! What is as in [`crate::timing`] stands there. Here the backoff is drawn, and collides. What is left out: RTS and CTS,
//! rate adaptation (all frames for one station are sent at one rate), and propagation delay. A frame and its
//! acknowledgement, which follows in 10 µs, meet the same fading; tries do not.
//!
//! Driven like a [`crate::Link`]: [`Medium::send`], [`Medium::poll_timeout`], [`Medium::poll_deliver`].

mod config;
pub mod etx;
pub mod propagation;
mod station;

use std::collections::VecDeque;
use std::time::Duration;

pub use config::{MOST_STATIONS, MediumConfig};
pub use propagation::{Propagation, Wall};
pub use station::StationCounters;
use station::{Station, Waiting};

use crate::ConfigError;
use crate::timing::{ETHERNET_TO_MPDU_BYTES, Timing};
use crate::variates::{Purpose, Variates};

/// What a packet grows by in 802.11: header, LLC and SNAP, FCS. An Ethernet header of 14 bytes would be taken off first.
pub const PACKET_TO_MPDU_BYTES: usize = ETHERNET_TO_MPDU_BYTES + 14;

/// A frame that has arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Who sent it.
    pub from: usize,
    /// Who got it: the one that it was for, or everybody who heard it.
    pub to: Vec<usize>,
    /// Its octets.
    pub frame: Vec<u8>,
}

/// A channel that stations share. Memory is bounded by the stations' queues.
///
/// Time never goes back: an earlier `now` than the latest is taken for the latest.
#[derive(Debug)]
pub struct Medium {
    config: MediumConfig,
    propagation: Propagation,
    timing: Timing,
    broadcast: Timing,
    /// The part of tries lost whatever their power, by sender, then receiver.
    losses: Vec<f64>,
    now: Duration,
    stations: Vec<Station>,
    /// By station, who senses it.
    sensed_by: Vec<Vec<usize>>,
    on_air: Vec<Exchange>,
    arrived: VecDeque<Delivery>,
    capture: f64,
    backoffs: Draws,
    fades: Draws,
    chances: Draws,
}

/// Variates, one after the other.
#[derive(Debug)]
struct Draws {
    variates: Variates,
    next: u64,
}

impl Draws {
    fn new(seed: u64, purpose: Purpose) -> Self {
        Self { variates: Variates::new(seed, purpose), next: 0 }
    }

    fn index(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    fn draw(&mut self) -> f64 {
        let index = self.index();
        self.variates.at(index)
    }

    fn below(&mut self, bound: u32) -> u32 {
        let index = self.index();
        // Below a u32.
        self.variates.below(index, bound.into()) as u32
    }
}

/// A try, from its first symbol to its acknowledgement or the end of waiting for that.
#[derive(Debug)]
struct Exchange {
    from: usize,
    to: Option<usize>,
    phase: Phase,
    began: Duration,
    until: Duration,
    /// Who was on the air at the same time as this phase.
    overlapping: Vec<usize>,
    /// The power of fading, of mean 1, between the two.
    fade: f64,
    /// The station that it is for has it.
    arrives: bool,
}

/// What is on the air, or is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Data,
    /// SIFS.
    Gap,
    Acknowledgement,
    /// Waiting for an acknowledgement that does not come.
    Silence,
}

impl Exchange {
    /// Who sends now.
    fn emitter(&self) -> Option<usize> {
        match self.phase {
            Phase::Data => Some(self.from),
            Phase::Acknowledgement => self.to,
            Phase::Gap | Phase::Silence => None,
        }
    }
}

impl Medium {
    /// A medium on which nobody has sent anything, at time 0. Equal configuration and seed treat equal schedules equally.
    ///
    /// # Errors
    ///
    /// What [`MediumConfig::validate`] finds.
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
            now: Duration::ZERO,
            stations: (0..count).map(|_| Station::default()).collect(),
            sensed_by,
            on_air: Vec::new(),
            arrived: VecDeque::new(),
            capture: 10f64.powf(config.capture_decibels / 10.0),
            backoffs: Draws::new(seed, Purpose::Backoff),
            fades: Draws::new(seed, Purpose::Fading),
            chances: Draws::new(seed, Purpose::Loss),
            propagation,
            config: config.clone(),
        })
    }

    /// Offers a packet at `now`, from one station to another or, for `None`, to all that hear it. What is offered by or
    /// to a station that does not exist is ignored.
    pub fn send(&mut self, now: Duration, from: usize, to: Option<usize>, frame: Vec<u8>) {
        self.advance(now);
        let count = self.stations.len();
        if from >= count || to.is_some_and(|to| to >= count || to == from) {
            return;
        }
        let station = &mut self.stations[from];
        station.counters.offered.add(frame.len());
        // The frame that is being tried does not wait.
        if station.queue.len() > self.config.queue_frames {
            station.counters.queue_dropped.add(frame.len());
            return;
        }
        station.queue.push_back(Waiting { to, bytes: frame.len(), frame });
        let waiting = station.queue.len() - 1;
        station.counters.longest_queue_frames = station.counters.longest_queue_frames.max(waiting);
        if waiting == 0 && !station.is_sending {
            let window = self.timing.window(station.retry);
            let backoffs = &mut self.backoffs;
            station.contend(self.now, self.timing.difs(), self.timing.slot(), || backoffs.below(window + 1));
        }
        self.advance(now);
    }

    /// The next frame that has arrived by `now`, if any. Call until there is none.
    pub fn poll_deliver(&mut self, now: Duration) -> Option<Delivery> {
        self.advance(now);
        self.arrived.pop_front()
    }

    /// When to call [`Medium::poll_deliver`] next, if nothing is sent before; `None` while nothing is to be sent. It may
    /// turn out that nothing arrives then.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        if !self.arrived.is_empty() {
            return Some(self.now);
        }
        // Nobody who is not about to send yet can be done before this.
        let soonest = self.timing.difs() + self.timing.frame(PACKET_TO_MPDU_BYTES);
        let on_air = self.on_air.iter().map(|exchange| match exchange.phase {
            Phase::Data => exchange.until,
            _ => exchange.until + soonest,
        });
        let about_to = self.stations.iter().filter_map(|station| {
            let first = station.queue.front()?;
            Some(station.attempt? + self.length(first.to, first.bytes))
        });
        on_air.chain(about_to).min()
    }

    /// What has happened to a station's frames so far.
    ///
    /// # Panics
    ///
    /// When there is no such station.
    #[must_use]
    pub fn counters(&self, station: usize) -> &StationCounters {
        &self.stations[station].counters
    }

    /// How many frames a station holds, the one that is being tried included.
    ///
    /// # Panics
    ///
    /// When there is no such station.
    #[must_use]
    pub fn held_frames(&self, station: usize) -> usize {
        self.stations[station].queue.len()
    }

    /// How strongly the stations hear each other.
    #[must_use]
    pub fn propagation(&self) -> &Propagation {
        &self.propagation
    }

    /// How long a packet is on the air.
    fn length(&self, to: Option<usize>, bytes: usize) -> Duration {
        let timing = if to.is_some() { &self.timing } else { &self.broadcast };
        timing.frame(bytes.saturating_add(PACKET_TO_MPDU_BYTES))
    }

    /// Lets everything happen that is due by `now`, each thing at its own time.
    fn advance(&mut self, now: Duration) {
        self.now = self.now.max(now);
        while let Some((due, what)) = self.next_event().filter(|(due, _)| *due <= self.now) {
            match what {
                Event::PhaseEnds(index) => self.end_phase(index, due),
                Event::Attempts(station) => self.begin(station, due),
            }
        }
    }

    /// What happens next; at one time, ends before beginnings.
    fn next_event(&self) -> Option<(Duration, Event)> {
        let ends =
            self.on_air.iter().enumerate().map(|(index, exchange)| (exchange.until, Event::PhaseEnds(index)));
        let begins = self.stations.iter().enumerate();
        let begins = begins.filter_map(|(index, station)| Some((station.attempt?, Event::Attempts(index))));
        ends.chain(begins).min_by_key(|(due, _)| *due)
    }

    /// A station sends its first frame.
    fn begin(&mut self, from: usize, now: Duration) {
        let station = &mut self.stations[from];
        station.attempt = None;
        let Some(first) = station.queue.front() else { return };
        let (to, bytes) = (first.to, first.bytes);
        station.is_sending = true;
        station.slots = 0;
        station.counters.transmitted.add(bytes);
        if station.retry > 0 {
            station.counters.retried.add(bytes);
        }
        let until = now + self.length(to, bytes);
        let fade = self.draw_fade();
        let exchange = Exchange {
            from,
            to,
            phase: Phase::Data,
            began: now,
            until,
            overlapping: Vec::new(),
            fade,
            arrives: false,
        };
        self.on_air.push(exchange);
        self.emit(self.on_air.len() - 1, now);
    }

    /// A mean of 1, exponentially distributed where there is fading.
    fn draw_fade(&mut self) -> f64 {
        if self.config.rayleigh { -(1.0 - self.fades.draw()).ln() } else { 1.0 }
    }

    /// Somebody begins to be on the air: it meets all who are, and holds back all who sense it.
    fn emit(&mut self, index: usize, now: Duration) {
        let exchange = &self.on_air[index];
        let Some(emitter) = exchange.emitter() else { return };
        // Data announces its acknowledgement, to those who understand it and, by EIFS, to those who do not.
        let until = match (exchange.phase, exchange.to) {
            (Phase::Data, Some(_)) => exchange.until + self.timing.sifs() + self.timing.acknowledgement(),
            _ => exchange.until,
        };
        let mut met = Vec::new();
        for (other, exchange) in self.on_air.iter_mut().enumerate() {
            if let Some(their) = exchange.emitter().filter(|_| other != index) {
                exchange.overlapping.push(emitter);
                met.push(their);
            }
        }
        self.on_air[index].overlapping = met;
        let (difs, slot) = (self.timing.difs(), self.timing.slot());
        for &station in &self.sensed_by[emitter] {
            let station = &mut self.stations[station];
            let window = self.timing.window(station.retry);
            let backoffs = &mut self.backoffs;
            station.sense(now, until, difs, slot, || backoffs.below(window + 1));
        }
        let station = &mut self.stations[emitter];
        station.busy_until = station.busy_until.max(until);
    }

    /// Whether what `emitter` sent to `receiver` with this fading came through what was on the air with it.
    fn receives(&mut self, emitter: usize, receiver: usize, fade: f64, overlapping: &[usize]) -> Reception {
        let power = self.propagation.power(emitter, receiver) * fade;
        let loss = self.losses[emitter * self.stations.len() + receiver];
        if power < 1.0 || (loss > 0.0 && self.chances.draw() < loss) {
            return Reception::Weak;
        }
        let interference: f64 =
            overlapping.iter().map(|other| self.propagation.power(*other, receiver)).sum();
        if power < self.capture * interference { Reception::Interfered } else { Reception::Good }
    }

    /// A phase of an exchange is over.
    fn end_phase(&mut self, index: usize, now: Duration) {
        let exchange = &mut self.on_air[index];
        let (from, to, fade) = (exchange.from, exchange.to, exchange.fade);
        let overlapping = std::mem::take(&mut exchange.overlapping);
        match (exchange.phase, to) {
            (Phase::Data, None) => {
                self.deliver_to_all(from, &overlapping);
                self.finish(index, now, true);
            }
            (Phase::Data, Some(to)) => {
                let reception = self.receives(from, to, fade, &overlapping);
                let (sifs, slot) = (self.timing.sifs(), self.timing.slot());
                let exchange = &mut self.on_air[index];
                if reception == Reception::Good {
                    exchange.arrives = true;
                    exchange.phase = Phase::Gap;
                    exchange.until = now + sifs;
                    self.deliver(from, to);
                } else {
                    exchange.phase = Phase::Silence;
                    exchange.until = now + sifs + slot + self.timing.reception_start();
                    self.stations[from].counters.interfered += u64::from(reception == Reception::Interfered);
                }
            }
            (Phase::Gap, _) => {
                exchange.phase = Phase::Acknowledgement;
                exchange.until = now + self.timing.acknowledgement();
                self.emit(index, now);
            }
            (Phase::Acknowledgement, Some(to)) => {
                // At the fading of the frame that it acknowledges, which was strong enough.
                let interference: f64 =
                    overlapping.iter().map(|other| self.propagation.power(*other, from)).sum();
                let power = self.propagation.power(to, from) * fade;
                let heard = power >= self.capture * interference;
                self.stations[from].counters.interfered += u64::from(!heard);
                self.finish(index, now, heard);
            }
            (Phase::Acknowledgement, None) => self.finish(index, now, true),
            (Phase::Silence, _) => self.finish(index, now, false),
        }
    }

    /// The first frame of a station has arrived where it should, perhaps again.
    fn deliver(&mut self, from: usize, to: usize) {
        let station = &mut self.stations[from];
        if std::mem::replace(&mut station.has_arrived, true) {
            return;
        }
        let Some(first) = station.queue.front_mut() else { return };
        let frame = std::mem::take(&mut first.frame);
        station.counters.delivered.add(frame.len());
        self.stations[to].counters.received.add(frame.len());
        self.arrived.push_back(Delivery { from, to: vec![to], frame });
    }

    fn deliver_to_all(&mut self, from: usize, overlapping: &[usize]) {
        let mut to = Vec::new();
        for receiver in 0..self.stations.len() {
            // Nobody beyond carrier sense, where fading would have to give thirteen decibels.
            if !self.propagation.is_sensed(from, receiver) {
                continue;
            }
            let fade = self.draw_fade();
            if self.receives(from, receiver, fade, overlapping) == Reception::Good {
                to.push(receiver);
            }
        }
        let Some(first) = self.stations[from].queue.front_mut() else { return };
        let frame = std::mem::take(&mut first.frame);
        self.stations[from].counters.broadcast.add(frame.len());
        for receiver in &to {
            self.stations[*receiver].counters.received.add(frame.len());
        }
        self.arrived.push_back(Delivery { from, to, frame });
    }

    /// A try is over: acknowledged, or sent to everybody, or neither.
    fn finish(&mut self, index: usize, now: Duration, done: bool) {
        let exchange = self.on_air.swap_remove(index);
        let station = &mut self.stations[exchange.from];
        station.is_sending = false;
        station.counters.air_time += now.saturating_sub(exchange.began);
        let given_up = station.retry >= self.config.radio.retry_limit;
        if done || given_up {
            if let Some(first) = station.queue.pop_front()
                && !done
                && !station.has_arrived
            {
                station.counters.lost.add(first.bytes);
            }
            station.has_arrived = false;
            station.retry = 0;
        } else {
            station.retry += 1;
        }
        station.busy_until = station.busy_until.max(now);
        // Also after the last frame, so that nobody sends twice in a row without a backoff.
        station.slots = self.backoffs.below(self.timing.window(station.retry) + 1);
        if !station.queue.is_empty() {
            let (difs, slot) = (self.timing.difs(), self.timing.slot());
            station.contend(now, difs, slot, || 0);
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Event {
    PhaseEnds(usize),
    Attempts(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reception {
    Good,
    Weak,
    Interfered,
}
