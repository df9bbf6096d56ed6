//! The last hour by steps, for each peer and for the whole node.

use crate::node::air_time::AirTime;
use crate::node::sample::{Columns, Sample};
use ::page::ring::{Newer, Rings, Step};
use node::{PeerCounters, PeerStatus, Status};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The most peers with samples of their own. Later ones, in the configuration's order, count only in the
/// whole.
pub const MAX_PEERS: usize = 64;

/// A peer with a track.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Tracked {
    name: String,
    public_key: String,
}

/// A node's samples.
#[derive(Debug)]
pub struct History {
    air_time: AirTime,
    /// The peers with samples of their own.
    tracked: Vec<Tracked>,
    /// Counters of all peers at the last report, by public key.
    counters: BTreeMap<String, PeerCounters>,
    /// The first track is all peers; each other track is one peer.
    rings: Rings<Sample>,
}

impl History {
    /// No samples, for a node whose radio has this rate.
    #[must_use]
    pub fn new(air_time: AirTime) -> Self {
        History { air_time, tracked: Vec::new(), counters: BTreeMap::new(), rings: Rings::default() }
    }

    /// Notes a status of the node; an old one is ignored.
    pub fn note(&mut self, status: &Status) {
        if !self.rings.is_later(status.uptime_seconds) {
            return;
        }
        self.track(status);
        let kept = self.tracked.len();
        let mut samples = vec![Sample::default(); 1 + kept];
        let mut counters = BTreeMap::new();
        for (at, peer) in status.peers.iter().enumerate() {
            let before = self.counters.remove(&peer.public_key).unwrap_or_default();
            let sample = Sample::between(&before, peer);
            counters.insert(peer.public_key.clone(), peer.counters);
            samples[0].beside(&sample);
            if at < kept {
                samples[1 + at] = sample;
            }
        }
        self.counters = counters;
        self.rings.push(status.uptime_seconds, &samples);
    }

    /// The first peers of a status have tracks. After a change of the peers, each keeps its own.
    fn track(&mut self, status: &Status) {
        let tracked =
            |peer: &PeerStatus| Tracked { name: peer.name.clone(), public_key: peer.public_key.clone() };
        let peers = status.peers.iter().take(MAX_PEERS);
        let is_same =
            |(one, peer): (&Tracked, &PeerStatus)| one.name == peer.name && one.public_key == peer.public_key;
        if peers.len() == self.tracked.len() && self.tracked.iter().zip(peers.clone()).all(is_same) {
            return;
        }
        let place = |peer: &PeerStatus| {
            self.tracked.iter().position(|it| it.public_key == peer.public_key).map(|at| at + 1)
        };
        let from: Vec<Option<usize>> = std::iter::once(Some(0)).chain(peers.clone().map(place)).collect();
        self.rings.arrange(&from);
        self.tracked = peers.map(tracked).collect();
    }

    /// The steps of one length that ended after `since_seconds` of the node's uptime.
    #[must_use]
    pub fn series(&self, step: Step, since_seconds: f64) -> Series {
        let Newer { uptime_seconds, end_seconds, seconds, tracks } = self.rings.newer(step, since_seconds);
        let mut tracks = tracks.into_iter();
        let whole = tracks.next().unwrap_or_default();
        let air_seconds = |packets: &[u64], bytes: &[u64]| -> Vec<f64> {
            let of = |(packets, bytes): (&u64, &u64)| self.air_time.of(*packets, *bytes).as_secs_f64();
            packets.iter().zip(bytes).map(of).collect()
        };
        let peer = |(it, columns): (&Tracked, Columns)| PeerSeries { name: it.name.clone(), columns };
        Series {
            step_seconds: step.seconds(),
            uptime_seconds,
            air_rate: self.air_time.rate().to_string(),
            end_seconds,
            seconds,
            offered_air_seconds: air_seconds(&whole.offered_packets, &whole.offered_bytes),
            sent_air_seconds: air_seconds(&whole.sent_datagrams, &whole.sent_bytes),
            whole,
            peers: self.tracked.iter().zip(tracks).map(peer).collect(),
        }
    }
}

/// Steps by columns, for transfer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Approximate length of a step.
    pub step_seconds: u32,
    /// The node's uptime.
    pub uptime_seconds: f64,
    /// The rate of the air times, such as `24Mbit/s`.
    pub air_rate: String,
    /// End of each step, by the node's uptime.
    pub end_seconds: Vec<f64>,
    /// Duration of each step.
    pub seconds: Vec<f64>,
    /// Estimated air time of the offered traffic.
    pub offered_air_seconds: Vec<f64>,
    /// Estimated air time of the sent traffic.
    pub sent_air_seconds: Vec<f64>,
    /// All peers.
    pub whole: Columns,
    /// Each peer, up to [`MAX_PEERS`].
    pub peers: Vec<PeerSeries>,
}

/// One peer's series.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PeerSeries {
    /// Its name.
    pub name: String,
    /// Its samples.
    #[serde(flatten)]
    pub columns: Columns,
}

#[cfg(test)]
mod tests;
