//! The last hour: what happened in each step, to each peer and to the node as a whole.

use crate::node::air_time::AirTime;
use crate::node::sample::{Columns, Sample};
use node::{PeerCounters, Status};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Peers whose samples are kept; those behind, in the order of the configuration, are in the whole alone.
pub const MAX_PEERS: usize = 64;

/// How long steps are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// A second each, for ten minutes.
    Second,
    /// Ten seconds each, for an hour.
    TenSeconds,
}

impl Step {
    /// Its length. Steps are a little longer where the node was asked late.
    #[must_use]
    pub const fn seconds(self) -> u32 {
        match self {
            Step::Second => 1,
            Step::TenSeconds => 10,
        }
    }

    /// The step of so many seconds, if there is one.
    #[must_use]
    pub const fn of_seconds(seconds: u32) -> Option<Self> {
        match seconds {
            1 => Some(Step::Second),
            10 => Some(Step::TenSeconds),
            _ => None,
        }
    }

    /// How many are kept.
    #[must_use]
    pub const fn most(self) -> usize {
        match self {
            Step::Second => 600,
            Step::TenSeconds => 360,
        }
    }
}

/// The newest steps of one length.
#[derive(Debug)]
struct Ring {
    step: Step,
    /// When each ended, and how long it was, in seconds of the node's uptime.
    times: VecDeque<(f64, f64)>,
    whole: VecDeque<Sample>,
    peers: Vec<VecDeque<Sample>>,
}

impl Ring {
    fn new(step: Step) -> Self {
        Ring { step, times: VecDeque::new(), whole: VecDeque::new(), peers: Vec::new() }
    }

    fn push(&mut self, time: (f64, f64), whole: Sample, peers: &[Sample]) {
        self.peers.resize_with(peers.len(), VecDeque::new);
        push(&mut self.times, time, self.step.most());
        push(&mut self.whole, whole, self.step.most());
        for (ring, sample) in self.peers.iter_mut().zip(peers) {
            push(ring, *sample, self.step.most());
        }
    }
}

fn push<T>(ring: &mut VecDeque<T>, newest: T, most: usize) {
    if ring.len() == most {
        ring.pop_front();
    }
    ring.push_back(newest);
}

/// A step of ten seconds that is being made of steps of one.
#[derive(Debug, Default)]
struct Begun {
    seconds: f64,
    whole: Sample,
    peers: Vec<Sample>,
}

/// What a node has told of itself.
#[derive(Debug)]
pub struct History {
    air_time: AirTime,
    names: Vec<String>,
    uptime_seconds: f64,
    /// Counters of all peers at the last question.
    counters: Vec<PeerCounters>,
    seconds: Ring,
    ten_seconds: Ring,
    begun: Begun,
}

impl History {
    /// Nothing yet, of a node whose radio sends at this rate.
    #[must_use]
    pub fn new(air_time: AirTime) -> Self {
        History {
            air_time,
            names: Vec::new(),
            uptime_seconds: 0.0,
            counters: Vec::new(),
            seconds: Ring::new(Step::Second),
            ten_seconds: Ring::new(Step::TenSeconds),
            begun: Begun::default(),
        }
    }

    /// Takes what the node says now; what is not later than what it said before is no news.
    pub fn note(&mut self, status: &Status) {
        let passed = status.uptime_seconds - self.uptime_seconds;
        if passed.is_nan() || passed <= 0.0 {
            return;
        }
        self.uptime_seconds = status.uptime_seconds;
        self.counters.resize(status.peers.len(), PeerCounters::default());
        let mut whole = Sample::default();
        let mut peers = Vec::with_capacity(status.peers.len().min(MAX_PEERS));
        for (peer, before) in status.peers.iter().zip(&mut self.counters) {
            let sample = Sample::between(before, peer);
            *before = peer.counters;
            whole.beside(&sample);
            if peers.len() < MAX_PEERS {
                peers.push(sample);
            }
        }
        if self.names.len() != peers.len() {
            self.names = status.peers.iter().take(MAX_PEERS).map(|peer| peer.name.clone()).collect();
        }
        self.seconds.push((status.uptime_seconds, passed), whole, &peers);
        let begun = &mut self.begun;
        begun.seconds += passed;
        begun.whole.then(&whole);
        begun.peers.resize(peers.len(), Sample::default());
        begun.peers.iter_mut().zip(&peers).for_each(|(begun, sample)| begun.then(sample));
        // half a step early is nearer than half a step late
        if begun.seconds > f64::from(Step::TenSeconds.seconds()) - 0.5 {
            let Begun { seconds, whole, peers } = std::mem::take(begun);
            self.ten_seconds.push((status.uptime_seconds, seconds), whole, &peers);
        }
    }

    /// The steps of one length that ended later than `since_seconds` of the node's uptime.
    #[must_use]
    pub fn series(&self, step: Step, since_seconds: f64) -> Series {
        let ring = match step {
            Step::Second => &self.seconds,
            Step::TenSeconds => &self.ten_seconds,
        };
        let first = ring.times.iter().take_while(|(end, _)| *end <= since_seconds).count();
        let columns = |samples: &VecDeque<Sample>| {
            let mut columns = Columns::default();
            samples.iter().skip(first).for_each(|sample| columns.push(sample));
            columns
        };
        let whole = columns(&ring.whole);
        let air_seconds = |packets: &[u64], bytes: &[u64]| -> Vec<f64> {
            let of = |(packets, bytes): (&u64, &u64)| self.air_time.of(*packets, *bytes).as_secs_f64();
            packets.iter().zip(bytes).map(of).collect()
        };
        Series {
            step_seconds: step.seconds(),
            uptime_seconds: self.uptime_seconds,
            air_rate: self.air_time.rate().to_string(),
            end_seconds: ring.times.iter().skip(first).map(|(end, _)| *end).collect(),
            seconds: ring.times.iter().skip(first).map(|(_, seconds)| *seconds).collect(),
            offered_air_seconds: air_seconds(&whole.offered_packets, &whole.offered_bytes),
            sent_air_seconds: air_seconds(&whole.sent_datagrams, &whole.sent_bytes),
            whole,
            peers: self
                .names
                .iter()
                .zip(&ring.peers)
                .map(|(name, samples)| PeerSeries { name: name.clone(), columns: columns(samples) })
                .collect(),
        }
    }
}

/// Steps by columns, as they travel.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// How long a step is, about.
    pub step_seconds: u32,
    /// How long the node has run.
    pub uptime_seconds: f64,
    /// The rate that air times are reckoned with, such as `24Mbit/s`.
    pub air_rate: String,
    /// When each step ended, by the node's uptime.
    pub end_seconds: Vec<f64>,
    /// How long each was.
    pub seconds: Vec<f64>,
    /// How long what was offered would have been on the air.
    pub offered_air_seconds: Vec<f64>,
    /// How long what was sent was.
    pub sent_air_seconds: Vec<f64>,
    /// All peers.
    pub whole: Columns,
    /// Each peer, up to [`MAX_PEERS`].
    pub peers: Vec<PeerSeries>,
}

/// One peer's part of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PeerSeries {
    /// Its name.
    pub name: String,
    /// What happened to it.
    #[serde(flatten)]
    pub columns: Columns,
}

#[cfg(test)]
mod tests;
