//! The exchanges on the air: a try from its first symbol to its acknowledgement, the stations that it holds
//! back, and its receivers.

use std::time::Duration;

use super::plan::{Attempt, Ended};
use super::{Delivery, Medium};

/// A try, from its first symbol to its acknowledgement or the timeout.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) from: usize,
    pub(super) to: Option<usize>,
    /// Its rate.
    pub(super) attempt: Attempt,
    pub(super) phase: Phase,
    pub(super) began: Duration,
    pub(super) until: Duration,
    /// Start of this phase.
    pub(super) phase_began: Duration,
    /// Exchanges on the air during this phase; the first `earlier` ones began before it.
    pub(super) overlapping: Vec<usize>,
    pub(super) earlier: usize,
    /// Fading power between the two, of mean 1.
    pub(super) fade: f64,
}

/// A phase of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Data,
    /// SIFS.
    Gap,
    Acknowledgement,
    /// The wait for a missing acknowledgement.
    Silence,
}

impl Exchange {
    /// The station that sends now.
    pub(super) fn emitter(&self) -> Option<usize> {
        match self.phase {
            Phase::Data => Some(self.from),
            Phase::Acknowledgement => self.to,
            Phase::Gap | Phase::Silence => None,
        }
    }
}

impl Medium {
    /// Starts the transmission of a station's first frame.
    pub(super) fn begin(&mut self, from: usize, now: Duration) {
        let station = &self.stations[from];
        let next = station.queue.front().map(|first| {
            (first.to, first.bytes, self.attempt(first, station.retry), self.length(first, station.retry))
        });
        let station = &mut self.stations[from];
        station.attempt = None;
        let Some((to, bytes, attempt, length)) = next else { return };
        station.is_sending = true;
        station.slots = 0;
        station.counters.transmitted.add(bytes);
        if station.retry > 0 {
            station.counters.retried.add(bytes);
        }
        let until = now + length;
        let fade = self.draw_fade();
        let exchange = Exchange {
            from,
            to,
            attempt,
            phase: Phase::Data,
            began: now,
            until,
            phase_began: now,
            overlapping: Vec::new(),
            earlier: 0,
            fade,
        };
        self.on_air.push(exchange);
        self.emit(self.on_air.len() - 1, now);
    }

    /// A fading power of mean 1, exponentially distributed under Rayleigh fading.
    fn draw_fade(&mut self) -> f64 {
        if self.config.rayleigh { -(1.0 - self.fades.draw()).ln() } else { 1.0 }
    }

    /// Starts an emission: it overlaps with all others, and holds back all stations that sense it.
    fn emit(&mut self, index: usize, now: Duration) {
        let exchange = &self.on_air[index];
        let Some(emitter) = exchange.emitter() else { return };
        // Data reserves the time of its acknowledgement, for stations that decode it and, by EIFS, for the
        // others.
        let until = match (exchange.phase, exchange.to) {
            (Phase::Data, Some(_)) => {
                exchange.until + self.timing.sifs() + exchange.attempt.timing.acknowledgement()
            }
            _ => exchange.until,
        };
        let (mut met, mut earlier) = (Vec::new(), 0);
        for (other, exchange) in self.on_air.iter_mut().enumerate() {
            if let Some(their) = exchange.emitter().filter(|_| other != index) {
                exchange.overlapping.push(emitter);
                met.push(their);
                if exchange.phase_began < now {
                    let last = met.len() - 1;
                    met.swap(earlier, last);
                    earlier += 1;
                }
            }
        }
        let exchange = &mut self.on_air[index];
        (exchange.phase_began, exchange.overlapping, exchange.earlier) = (now, met, earlier);
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

    /// Whether `receiver` was busy with one of these when a frame for it began, and stays so.
    fn is_engaged(&self, receiver: usize, earlier: &[usize]) -> bool {
        !self.config.turns_to_stronger
            && earlier.iter().any(|&other| self.propagation.is_sensed(other, receiver))
    }

    /// Whether a configured loss hits a frame to or overheard by this station.
    fn is_lost(&mut self, now: Duration, from: usize, to: usize, bytes: usize) -> bool {
        let way = self.directed.iter_mut().find(|way| (way.0, way.1) == (from, to));
        way.is_some_and(|(.., index, process)| {
            *index += 1;
            process.advance(now);
            process.lose(*index - 1, 0, bytes as u64 * 8)
        })
    }

    /// Whether `receiver` receives the emission of `emitter` at this fading despite the overlapping ones.
    fn receives(
        &mut self,
        (emitter, receiver): (usize, usize),
        least_power: f64,
        fade: f64,
        (overlapping, earlier): (&[usize], usize),
    ) -> Reception {
        let power = self.propagation.power(emitter, receiver) * fade;
        let loss = self.losses[emitter * self.stations.len() + receiver];
        if power < least_power || (loss > 0.0 && self.chances.draw() < loss) {
            return Reception::Weak;
        }
        let interference: f64 =
            overlapping.iter().map(|other| self.propagation.power(*other, receiver)).sum();
        let is_drowned = power < self.capture * interference;
        if is_drowned || self.is_engaged(receiver, &overlapping[..earlier]) {
            Reception::Interfered
        } else {
            Reception::Good
        }
    }

    /// Ends a phase of an exchange.
    pub(super) fn end_phase(&mut self, index: usize, now: Duration) {
        let exchange = &mut self.on_air[index];
        let (from, to, fade, attempt) = (exchange.from, exchange.to, exchange.fade, exchange.attempt);
        let (overlapping, earlier) = (std::mem::take(&mut exchange.overlapping), exchange.earlier);
        match (exchange.phase, to) {
            (Phase::Data, None) => {
                self.deliver_to_all(from, attempt, (&overlapping, earlier));
                self.finish(index, now, true);
            }
            (Phase::Data, Some(to)) => {
                self.overhear(now, (from, to), attempt, (&overlapping, earlier));
                let mut reception =
                    self.receives((from, to), attempt.least_power, fade, (&overlapping, earlier));
                let bytes = self.stations[from].queue.front().map_or(0, |first| first.bytes);
                // Drawn for every try, so that these losses do not depend on other events.
                if self.is_lost(now, from, to, bytes) && reception == Reception::Good {
                    reception = Reception::Weak;
                }
                let (sifs, slot) = (self.timing.sifs(), self.timing.slot());
                let exchange = &mut self.on_air[index];
                if reception == Reception::Good {
                    exchange.phase = Phase::Gap;
                    exchange.until = now + sifs;
                    self.deliver(from, to, attempt);
                } else {
                    exchange.phase = Phase::Silence;
                    exchange.until = now + sifs + slot + attempt.timing.reception_start();
                    self.stations[from].counters.interfered += u64::from(reception == Reception::Interfered);
                }
            }
            (Phase::Gap, _) => {
                exchange.phase = Phase::Acknowledgement;
                exchange.until = now + attempt.timing.acknowledgement();
                self.emit(index, now);
            }
            (Phase::Acknowledgement, Some(to)) => {
                // At the fading of the acknowledged frame, which was strong enough.
                let interference: f64 =
                    overlapping.iter().map(|other| self.propagation.power(*other, from)).sum();
                let power = self.propagation.power(to, from) * fade;
                let heard =
                    power >= self.capture * interference && !self.is_engaged(from, &overlapping[..earlier]);
                self.stations[from].counters.interfered += u64::from(!heard);
                self.finish(index, now, heard);
            }
            (Phase::Acknowledgement, None) => self.finish(index, now, true),
            (Phase::Silence, _) => self.finish(index, now, false),
        }
    }

    /// Delivers a station's first frame to its addressee, possibly again.
    fn deliver(&mut self, from: usize, to: usize, attempt: Attempt) {
        let station = &mut self.stations[from];
        if std::mem::replace(&mut station.has_arrived, true) {
            return;
        }
        let Some(first) = station.queue.front_mut() else { return };
        let frame = std::mem::take(&mut first.frame);
        station.counters.delivered.add(frame.len());
        self.stations[to].counters.received.add(frame.len());
        self.arrived.push_back(Delivery {
            from,
            addressee: Some(to),
            to: vec![to],
            frame,
            rate: attempt.rate,
        });
    }

    /// Delivers a try to listeners, once a frame. A repetition after delivery is not overheard, because
    /// listeners had the same chance before.
    fn overhear(
        &mut self,
        now: Duration,
        (from, addressee): (usize, usize),
        attempt: Attempt,
        overlapping: (&[usize], usize),
    ) {
        let mut to = Vec::new();
        let bytes = self.stations[from].queue.front().map_or(0, |first| first.bytes);
        for index in 0..self.config.listeners.len() {
            let listener = self.config.listeners[index];
            let has_heard = self.stations[from].overheard_by.contains(&listener);
            if has_heard
                || [from, addressee].contains(&listener)
                || !self.propagation.is_sensed(from, listener)
            {
                continue;
            }
            let fade = self.draw_fade();
            let is_lost = self.is_lost(now, from, listener, bytes);
            let reception = self.receives((from, listener), attempt.least_power, fade, overlapping);
            if reception == Reception::Good && !is_lost {
                to.push(listener);
            }
        }
        let station = &mut self.stations[from];
        let Some(first) = station.queue.front().filter(|_| !station.has_arrived && !to.is_empty()) else {
            return;
        };
        let frame = first.frame.clone();
        station.overheard_by.extend(&to);
        self.arrived.push_back(Delivery { from, addressee: Some(addressee), to, frame, rate: attempt.rate });
    }

    fn deliver_to_all(&mut self, from: usize, attempt: Attempt, overlapping: (&[usize], usize)) {
        let mut to = Vec::new();
        for receiver in 0..self.stations.len() {
            // Beyond carrier sense, reception would need thirteen decibels of fading.
            if !self.propagation.is_sensed(from, receiver) {
                continue;
            }
            let fade = self.draw_fade();
            if self.receives((from, receiver), attempt.least_power, fade, overlapping) == Reception::Good {
                to.push(receiver);
            }
        }
        let Some(first) = self.stations[from].queue.front_mut() else { return };
        let frame = std::mem::take(&mut first.frame);
        self.stations[from].counters.broadcast.add(frame.len());
        for receiver in &to {
            self.stations[*receiver].counters.received.add(frame.len());
        }
        self.arrived.push_back(Delivery { from, addressee: None, to, frame, rate: attempt.rate });
    }

    /// Ends a try: acknowledged, broadcast, or failed.
    fn finish(&mut self, index: usize, now: Duration, done: bool) {
        let exchange = self.on_air.swap_remove(index);
        let station = &mut self.stations[exchange.from];
        station.is_sending = false;
        station.counters.air_time += now.saturating_sub(exchange.began);
        let given_up = match station.queue.front().and_then(|first| first.plan.as_ref()) {
            Some(plan) => plan.ends_after(station.retry),
            None => station.retry >= self.config.radio.retry_limit,
        };
        if done || given_up {
            if let Some(first) = station.queue.pop_front() {
                if !done && !station.has_arrived {
                    station.counters.lost.add(first.bytes);
                }
                let tries = usize::from(station.retry) + 1;
                let from = exchange.from;
                self.ended.extend(first.plan.map(|plan| Ended {
                    id: plan.id,
                    from,
                    acknowledged: done,
                    tries,
                }));
            }
            station.has_arrived = false;
            station.overheard_by.clear();
            station.retry = 0;
        } else {
            station.retry += 1;
        }
        station.busy_until = station.busy_until.max(now);
        // Also after the last frame, so that no station sends twice in a row without a backoff.
        station.slots = self.backoffs.below(self.timing.window(station.retry) + 1);
        if !station.queue.is_empty() {
            let (difs, slot) = (self.timing.difs(), self.timing.slot());
            station.contend(now, difs, slot, || 0);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reception {
    Good,
    Weak,
    Interfered,
}
