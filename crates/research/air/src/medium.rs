//! One channel that many stations share: 802.11's distributed coordination function over distances.
//!
//! A station that hears the channel free sends; one that hears it busy waits until it is free and then for a
//! random backoff, which stands still while others send. Who has got a frame acknowledges it. Carrier sense
//! reaches farther than reception, so that the hops of one way share the air among themselves, and not far
//! enough for everything: two that do not hear each other may both be heard by a third, and neither is
//! received there ([`propagation`] says how strongly stations hear each other). A frame is received if it is
//! strong enough for itself, and so many times stronger than all that was on the air with it; who sends hears
//! nothing.
//!
//! What is as in [`crate::timing`] stands there. Here the backoff is drawn, and collides. What is left out:
//! RTS and CTS, rate adaptation (all frames for one station are sent at one rate), and propagation delay. A
//! frame and its acknowledgement, which follows in 10 µs, meet the same fading; tries do not.
//!
//! Driven like a [`crate::Link`]: [`Medium::send`], [`Medium::poll_timeout`], [`Medium::poll_deliver`].

mod config;
mod draws;
pub mod etx;
mod exchange;
pub mod propagation;
mod queue;
mod station;

use std::collections::VecDeque;
use std::time::Duration;

pub use config::{DirectedLoss, MOST_STATIONS, MediumConfig};
use draws::Draws;
use exchange::{Exchange, Phase};
pub use propagation::{Propagation, Wall};
use queue::Waiting;
use station::Station;
pub use station::StationCounters;

use crate::ConfigError;
use crate::loss::LossProcess;
use crate::timing::{ETHERNET_TO_MPDU_BYTES, Timing};
use crate::variates::Purpose;

/// What a packet grows by in 802.11: header, LLC and SNAP, FCS. An Ethernet header of 14 bytes would be taken
/// off first.
pub const PACKET_TO_MPDU_BYTES: usize = ETHERNET_TO_MPDU_BYTES + 14;

/// A frame that has arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Who sent it.
    pub from: usize,
    /// Whom it was for; `None`: everybody.
    pub addressee: Option<usize>,
    /// Who got it: the one that it was for, everybody who heard it, or those who listen to what others are
    /// sent.
    pub to: Vec<usize>,
    /// Its octets.
    pub frame: Vec<u8>,
}

/// A channel that stations share. Memory is bounded by the stations' queues, and by what has arrived and is
/// not taken.
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
    /// What is lost one way only: sender, receiver, how many tries there were, and which are lost.
    directed: Vec<(usize, usize, u64, LossProcess)>,
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

impl Medium {
    /// A medium on which nobody has sent anything, at time 0. Equal configuration and seed treat equal
    /// schedules equally.
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
            directed: (0..)
                .zip(&config.directed_losses)
                .map(|(way, it)| (it.from, it.to, 0, LossProcess::new(&it.loss, seed.rotate_left(32) ^ way)))
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

    /// Offers a packet at `now`, from one station to another or, for `None`, to all that hear it. What is
    /// offered by or to a station that does not exist is ignored.
    pub fn send(&mut self, now: Duration, from: usize, to: Option<usize>, frame: Vec<u8>) {
        self.advance(now);
        let count = self.stations.len();
        if from >= count || to.is_some_and(|to| to >= count || to == from) {
            return;
        }
        let station = &mut self.stations[from];
        station.counters.offered.add(frame.len());
        let was_idle = station.queue.is_empty() && !station.is_sending;
        let waiting = Waiting { to, bytes: frame.len(), frame };
        if let Some(refused) = station.queue.push(waiting, self.config.queue_frames, self.config.takes_turns)
        {
            station.counters.queue_dropped.add(refused.bytes);
        }
        let waiting = station.queue.len() - 1;
        station.counters.longest_queue_frames = station.counters.longest_queue_frames.max(waiting);
        if was_idle {
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

    /// When to call [`Medium::poll_deliver`] next, if nothing is sent before; `None` while nothing is to be
    /// sent. It may turn out that nothing arrives then.
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
}

#[derive(Debug, Clone, Copy)]
enum Event {
    PhaseEnds(usize),
    Attempts(usize),
}
