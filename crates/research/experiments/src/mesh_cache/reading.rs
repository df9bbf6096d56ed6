//! What a run showed, in the paper's measures (section 5).

use std::collections::HashMap;

use anyhow::{Context as _, Result};
use lab::{Ending, FetchOutcome, Outcome};

use super::network::Network;
use super::protocol::Protocol;
use super::trial::{Trial, cache_name};
use crate::estimate::Estimate;
use crate::figure::Results;

/// What a client gets from its own router at most, in kbit/s: the paper's "about 50 Mbps" (section 8.2). In
/// virtual time a processor takes none, and there is no radio between the two here.
const NEXT_DOOR: f64 = 50_000.0;

/// One run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Reading {
    /// Average aggregate throughput, in kbit/s: what a client got by the time that it waited for it, on
    /// average over clients.
    pub aggregate: f64,
    /// Bytes of all clients by the time that all waited, as measured, in kbit/s. Hits in a client's own
    /// router add bytes and next to no time.
    pub together: f64,
    /// What the gateway sent of contents, in KB (of 1000 bytes).
    pub gateway_kilobytes: f64,
    /// The same, of all routers on average, clients' included.
    pub router_kilobytes: f64,
    /// What clients asked for, each content counted once: no cache and no search spares the gateway more than
    /// the rest.
    pub once_kilobytes: f64,
    /// Packets that the network layer of all routers sent over the air for a file, without routing.
    pub packets: f64,
    /// Packets of routing, for each file.
    pub routing_packets: f64,
    /// Throughput of each complete file in kbit/s, with its router.
    pub throughputs: Vec<(usize, f64)>,
    /// Shares of clients' requests that were answered by their router because a client had asked before, and
    /// because it passed by for another router.
    pub local: f64,
    pub ph_local: f64,
    /// The share of clients' octets from routers other than their own and the gateway. (A router cannot
    /// distinguish a hit in the gateway's cache from one in another's.)
    pub remote: f64,
    /// Files asked for, and those of them that did not come whole, those apart that the end cut off.
    pub asked: usize,
    pub broken: usize,
}

/// What runs showed by what others with the same seeds did.
pub(super) fn quotient_of(
    ours: &[Reading],
    theirs: &[Reading],
    measure: impl Fn(&Reading) -> f64,
) -> Option<Estimate> {
    let pairs: Vec<(f64, f64)> =
        ours.iter().zip(theirs).map(|(ours, theirs)| (measure(ours), measure(theirs))).collect();
    Estimate::paired_ratio(&pairs)
}

impl Reading {
    pub(super) fn of(trial: &Trial, outcome: &Outcome) -> Result<Self> {
        let network = Network::draw(trial.place, trial.seed);
        let status = |router: usize| outcome.statuses.get(&cache_name(router));
        let sum = |counted: &serde_json::Value| -> f64 {
            counted.as_object().into_iter().flatten().filter_map(|(_, number)| number.as_f64()).sum()
        };
        let sent = |router: usize| status(router).map(|status| sum(&status["counters"]["bytes"]) / 1000.0);
        let gateway_kilobytes = sent(network.gateway).context("the gateway's cache did not say how it is")?;
        let caches: Vec<f64> = (0..network.medium.stations.len()).filter_map(sent).collect();
        let mut reading = Self {
            gateway_kilobytes,
            router_kilobytes: caches.iter().sum::<f64>() / caches.len() as f64,
            ..Self::default()
        };
        let (mut clients, mut kilobytes, mut all_waited) = (Vec::new(), 0.0, 0.0);
        let mut once = HashMap::new();
        for (number, fetches) in outcome.fetches.iter().enumerate() {
            let router = network.active[number / network.clients_each];
            let came: Vec<&FetchOutcome> = fetches.iter().filter(|it| it.came_whole()).collect();
            let bytes: f64 = came.iter().map(|it| it.bytes as f64).sum();
            let waited: f64 = came.iter().map(|it| seconds(it)).sum();
            if waited > 0.0 {
                clients.push(bytes * 8e-3 / waited);
            }
            kilobytes += bytes / 1000.0;
            all_waited += came.iter().map(|it| it.seconds).sum::<f64>();
            once.extend(came.iter().map(|it| (&it.content, it.bytes)));
            let throughput = |it: &&FetchOutcome| (router, it.bytes as f64 * 8e-3 / seconds(it));
            reading.throughputs.extend(came.iter().map(throughput));
            reading.asked += fetches.len();
            let cut_off = fetches.iter().filter(|it| it.ending == Ending::OutOfTime).count();
            reading.broken += fetches.len() - came.len() - cut_off;
        }
        reading.aggregate = clients.iter().sum::<f64>() / clients.len().max(1) as f64;
        reading.once_kilobytes = once.values().sum::<u64>() as f64 / 1000.0;
        reading.together = kilobytes * 8.0 / f64::max(all_waited, 1e-9);
        let channel = outcome.channels.first().context("there is no channel")?;
        let packets = |of: fn(&lab::StationCount) -> u64| channel.stations.iter().map(of).sum::<u64>() as f64;
        let files = reading.throughputs.len().max(1) as f64;
        let routing = packets(|station| station.link_local.packets);
        let all = packets(|station| station.offered.packets.saturating_sub(station.queue_dropped.packets));
        reading.packets = (all - routing) / files;
        reading.routing_packets = routing / files;
        let (mut kinds, mut requests) = ([0.0; 2], 0.0);
        for router in 0..network.medium.stations.len() {
            let Some(counted) = status(router).map(|status| &status["counters"]["requests"]) else {
                continue;
            };
            requests += sum(counted);
            for (kind, name) in kinds.iter_mut().zip(["local", "ph_local"]) {
                *kind += counted[name].as_f64().unwrap_or(0.0);
            }
        }
        let [local, ph_local] = kinds.map(|kind| kind / f64::max(requests, 1.0));
        if trial.protocol == Protocol::Default {
            // Hits that it counts as its own are hits of the gateway.
            return Ok(reading);
        }
        let remote = 1.0 - gateway_kilobytes / f64::max(kilobytes, 1.0) - local - ph_local;
        Ok(Self { local, ph_local, remote, ..reading })
    }

    /// The share of files above a rate in kbit/s.
    pub(super) fn share_above(&self, kilobits: f64) -> f64 {
        let above = self.throughputs.iter().filter(|(_, throughput)| *throughput > kilobits).count();
        above as f64 / self.throughputs.len().max(1) as f64
    }

    /// Mean throughput of files in kbit/s: each counts alike, from whichever cache it came.
    pub(super) fn mean_throughput(&self) -> f64 {
        let all = self.throughputs.iter().map(|(_, throughput)| throughput);
        all.sum::<f64>() / self.throughputs.len().max(1) as f64
    }
}

/// Duration of a fetch.
fn seconds(fetch: &FetchOutcome) -> f64 {
    fetch.seconds.max(fetch.bytes as f64 * 8e-3 / NEXT_DOOR)
}

/// Results of the same trial with other draws, up to the first one that was not run.
pub(super) fn readings(results: &Results<'_>, trial: &Trial, draws: u32) -> Result<Vec<Reading>> {
    let mut readings = Vec::new();
    for seed in 1..=u64::from(draws) {
        let trial = Trial { seed, ..*trial };
        let Some(outcome) = results.outcomes(&trial.name())?.first() else { break };
        readings.push(Reading::of(&trial, outcome)?);
    }
    Ok(readings)
}
