//! The last hour: what happened in each step, to each peer and to the node as a whole.

use crate::node::air_time::AirTime;
use crate::node::sample::{Columns, Sample};
use ::page::ring::{Newer, Rings, Step};
use node::{PeerCounters, Status};
use serde::{Deserialize, Serialize};

/// Peers whose samples are kept; those behind, in the order of the configuration, are in the whole alone.
pub const MAX_PEERS: usize = 64;

/// What a node has told of itself.
#[derive(Debug)]
pub struct History {
    air_time: AirTime,
    names: Vec<String>,
    /// Counters of all peers at the last question.
    counters: Vec<PeerCounters>,
    /// The first track is all peers, each of the others one.
    rings: Rings<Sample>,
}

impl History {
    /// Nothing yet, of a node whose radio sends at this rate.
    #[must_use]
    pub fn new(air_time: AirTime) -> Self {
        History { air_time, names: Vec::new(), counters: Vec::new(), rings: Rings::default() }
    }

    /// Takes what the node says now; what is not later than what it said before is no news.
    pub fn note(&mut self, status: &Status) {
        if !self.rings.is_later(status.uptime_seconds) {
            return;
        }
        self.counters.resize(status.peers.len(), PeerCounters::default());
        let kept = status.peers.len().min(MAX_PEERS);
        let mut samples = vec![Sample::default(); 1 + kept];
        for (at, (peer, before)) in status.peers.iter().zip(&mut self.counters).enumerate() {
            let sample = Sample::between(before, peer);
            *before = peer.counters;
            samples[0].beside(&sample);
            if at < kept {
                samples[1 + at] = sample;
            }
        }
        if self.names.len() != kept {
            self.names = status.peers.iter().take(kept).map(|peer| peer.name.clone()).collect();
        }
        self.rings.push(status.uptime_seconds, &samples);
    }

    /// The steps of one length that ended later than `since_seconds` of the node's uptime.
    #[must_use]
    pub fn series(&self, step: Step, since_seconds: f64) -> Series {
        let Newer { uptime_seconds, end_seconds, seconds, tracks } = self.rings.newer(step, since_seconds);
        let mut tracks = tracks.into_iter();
        let whole = tracks.next().unwrap_or_default();
        let air_seconds = |packets: &[u64], bytes: &[u64]| -> Vec<f64> {
            let of = |(packets, bytes): (&u64, &u64)| self.air_time.of(*packets, *bytes).as_secs_f64();
            packets.iter().zip(bytes).map(of).collect()
        };
        let peer = |(name, columns): (&String, Columns)| PeerSeries { name: name.clone(), columns };
        Series {
            step_seconds: step.seconds(),
            uptime_seconds,
            air_rate: self.air_time.rate().to_string(),
            end_seconds,
            seconds,
            offered_air_seconds: air_seconds(&whole.offered_packets, &whole.offered_bytes),
            sent_air_seconds: air_seconds(&whole.sent_datagrams, &whole.sent_bytes),
            whole,
            peers: self.names.iter().zip(tracks).map(peer).collect(),
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
