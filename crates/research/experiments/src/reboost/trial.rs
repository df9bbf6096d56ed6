//! One download by one system over one link.

use std::collections::BTreeMap;
use std::time::Duration;

use air::{Bitrate, LinkConfig, LossConfig};
use anyhow::{Context as _, Result};
use lab::{Download, Outcome, Scenario, Start};

use super::content::File;
use super::system::System;
use crate::cell::Path;
use crate::estimate::{Estimate, quantile};
use crate::figure::{Need, Results, Setting};
use crate::pair::{AIR, Carrier, GATEWAY, Pair, SERVER, STATION};
use crate::row::Row;

/// When downloads start; the session stands by then.
pub const START_SECONDS: f64 = 5.0;
/// When a trial is given up.
const BOUND_SECONDS: f64 = 900.0;
/// After how long without a new octet a download has stalled.
const STALL_SECONDS: u32 = 120;
/// What waits before the link's transmitter at most: a thousand packets, as before an interface of Linux.
const QUEUE_BYTES: usize = 1_500_000;

/// The link from the sender to the receiver and back (Figure 1 of the letter): 100 Mbit/s, with this round
/// trip; the data is lost as told.
pub fn links(round_trip_milliseconds: u64, loss: LossConfig) -> [LinkConfig; 2] {
    let plain = || LinkConfig {
        rate: Some(Bitrate::from_bytes_per_second(12_500_000)),
        delay: Duration::from_micros(round_trip_milliseconds * 500),
        queue_bytes: QUEUE_BYTES,
        ..LinkConfig::default()
    };
    [LinkConfig { loss, ..plain() }, plain()]
}

/// A download.
#[derive(Debug, Clone)]
pub struct Trial {
    /// Which figure's, and where in it: what tells trials of different links apart.
    pub place: String,
    /// The system.
    pub system: System,
    /// What.
    pub file: File,
    /// Random bytes of the file's remaining size, by this share, in place of the file.
    pub left: Option<f64>,
    /// The round trip of a wire between the server and the link's sender, which is a gateway then.
    pub wire_milliseconds: Option<u32>,
    /// The link.
    pub links: [LinkConfig; 2],
    /// TCP's congestion control.
    pub control: &'static str,
}

impl Trial {
    /// A whole file over a link alone, under cubic.
    pub fn new(place: impl Into<String>, system: System, file: File, links: [LinkConfig; 2]) -> Self {
        let place = place.into();
        Trial { place, system, file, left: None, wire_milliseconds: None, links, control: "cubic" }
    }

    /// Its scenario's name.
    pub fn name(&self) -> String {
        let compressed = if self.left.is_some() { " compressed" } else { "" };
        format!("{}, {}{compressed}, {}", self.place, self.file.name(), self.system.name())
    }

    /// Its needs.
    pub fn need(&self, setting: &Setting<'_>, seeds: u32) -> Result<Need> {
        Ok(Need::Scenario(Box::new(self.scenario(setting, seeds)?)))
    }

    /// The scenario, with the seeds from 1 on.
    pub fn scenario(&self, setting: &Setting<'_>, seeds: u32) -> Result<Scenario> {
        let content = match self.left {
            None => self.file.content(setting)?,
            Some(left) => self.file.compressed(setting, left)?,
        };
        let [forward, backward] = &self.links;
        let wire = self
            .wire_milliseconds
            .and_then(|milliseconds| Path { wire_milliseconds: Some(milliseconds), ..Path::hop(0) }.wire());
        let (topology, server, from) = match wire {
            None => (Pair::topology(forward, backward), GATEWAY, Pair::server(&Carrier::tunnel(""))),
            Some(wire) => (Pair::topology_with_wire(forward, backward, &wire), SERVER, Pair::far_server()),
        };
        Ok(Scenario {
            name: self.name(),
            seeds: (1..=u64::from(seeds)).collect(),
            topology,
            parameters: parameters(self.control),
            servers: vec![server.to_owned()],
            daemons: self.system.daemons(setting.testbed.pair()),
            downloads: vec![download(&content, from)],
            contents: vec![content],
            bound_seconds: BOUND_SECONDS,
            ..Scenario::default()
        })
    }
}

/// TCP as it comes, with this congestion control.
pub fn parameters(control: &str) -> BTreeMap<String, String> {
    BTreeMap::from([("net.ipv4.tcp_congestion_control".to_owned(), control.to_owned())])
}

/// A download of a content from an address.
pub fn download(content: &lab::Content, from: std::net::IpAddr) -> Download {
    Download {
        place: STATION.to_owned(),
        from,
        content: content.name.clone(),
        port: lab::HTTP_PORT,
        start: Start::AtSeconds(START_SECONDS),
        stall_seconds: STALL_SECONDS,
    }
}

/// Bytes on the link towards the receiver, lost or not.
pub fn link_bytes(outcome: &Outcome) -> Option<f64> {
    Some(outcome.link(AIR)?.forward.transmitted.bytes as f64)
}

/// A quantity of two trials' runs with the same seeds, where both have it.
pub fn pairs(
    results: &Results<'_>,
    one: &Trial,
    other: &Trial,
    quantity: impl Fn(&Outcome) -> Option<f64>,
) -> Result<Vec<(f64, f64)>> {
    let (ours, theirs) = (results.outcomes(&one.name())?, results.outcomes(&other.name())?);
    let of_seed = |seed| theirs.iter().find(|outcome| outcome.seed == seed).and_then(&quantity);
    Ok(ours.iter().filter_map(|outcome| Some((quantity(outcome)?, of_seed(outcome.seed)?))).collect())
}

/// A row with the median quotient of two trials' times.
pub fn quotient(results: &Results<'_>, row: Row, one: &Trial, other: &Trial) -> Result<Row> {
    let pairs = pairs(results, one, other, Outcome::first_seconds)?;
    let runs = u32::try_from(pairs.len()).unwrap_or(u32::MAX);
    Ok(row.measured(Estimate::paired_median(&pairs), results.setting.driver, runs))
}

/// A row with the median of a trial's times, and the mean in its note.
pub fn time(results: &Results<'_>, row: Row, trial: &Trial) -> Result<Row> {
    let outcomes = results.outcomes(&trial.name())?;
    let times: Vec<f64> = outcomes.iter().filter_map(Outcome::first_seconds).collect();
    let ended = times.len();
    let mut row = row.measured(None, results.setting.driver, u32::try_from(ended).unwrap_or(u32::MAX));
    row.value = quantile(&times, 0.5);
    if let Some(mean) = Estimate::mean(&times) {
        let deviation = times.iter().map(|time| (time - mean.value).powi(2)).sum::<f64>();
        let deviation = (deviation / (ended.max(2) - 1) as f64).sqrt();
        row = row.note(format!("mean {:.2} s, standard deviation {deviation:.2} s", mean.value));
    }
    if ended < outcomes.len() {
        row = row.note(format!("{} of {} downloads did not end", outcomes.len() - ended, outcomes.len()));
    }
    Ok(row)
}

/// Needs of many trials, each with `seeds` seeds. A file that cannot be written causes an error when the
/// scenario runs.
pub fn needs(setting: &Setting<'_>, trials: &[Trial], seeds: u32) -> Vec<Need> {
    let need = |trial: &Trial| trial.need(setting, seeds).context(trial.name());
    trials.iter().filter_map(|trial| need(trial).map_err(|error| tracing::error!("{error:#}")).ok()).collect()
}
