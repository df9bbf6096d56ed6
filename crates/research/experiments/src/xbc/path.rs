//! The paper's three nodes, and one download over them.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use air::{Bitrate, LinkConfig};
use anyhow::Result;
use lab::{Action, Download, Event, Outcome, Scenario, Start};

use super::bursts::{Losses, PACKET_BITS};
use crate::cell::File;
use crate::estimate::Estimate;
use crate::figure::{Results, Setting};
use crate::pair::{Carrier, GATEWAY, Pair, SERVER, STATION};

/// Bytes that the tunnel adds to a packet: outer headers, the unit's, link sequence, frame type, tag.
const TUNNEL_BYTES: f64 = 28.0 + 8.0 + 3.0 + 1.0 + 16.0;
/// Bits of one of the paper's packets with those. The link is faster and its bit errors are rarer by as much.
const ON_AIR_BITS: f64 = PACKET_BITS + TUNNEL_BYTES * 8.0;
/// The radio's queue, in packets: that of ns-2.
const QUEUE_PACKETS: f64 = 50.0;
/// The segment size that makes packets of 1040 bytes, headers and timestamps included.
const SEGMENT_BYTES: u32 = 1000;
/// The largest number of the station's packets in flight. The paper does not give it. With this number the
/// congestion window is about 20 on average, and more than 16 packets of buffer are useless, both as in its
/// section V-B.
pub(super) const WINDOW_PACKETS: u32 = 32;
/// Bytes of receive buffer for each of those: of a buffer Linux offers what fits beside its own bookkeeping.
const RECEIVE_BYTES: u32 = 2600;
/// Times of the station's route, and of the start of the download.
const ROUTE_SECONDS: f64 = 3.0;
pub(super) const START_SECONDS: f64 = 5.0;

/// What repairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repair {
    /// TCP itself.
    Off,
    /// Snoop, the oldest packet giving way to the newest.
    Lru,
    /// Snoop, what finds no room not being kept.
    NonLru,
    /// XBC with this degree and distance.
    Xbc(u8, u8),
    /// Rows of Reed-Solomon's code.
    ReedSolomon,
    /// XBC with degree and distance as the link makes best, or rows where those are better.
    Adaptive,
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("TCP alone"),
            Self::Lru => f.write_str("Snoop, LRU"),
            Self::NonLru => f.write_str("Snoop, non-LRU"),
            Self::Xbc(degree, distance) => write!(f, "XBC d = {degree} l = {distance}"),
            Self::ReedSolomon => f.write_str("Reed-Solomon"),
            Self::Adaptive => f.write_str("XBC adaptive"),
        }
    }
}

impl Repair {
    /// The lines of the gateway's configuration.
    pub(super) fn config(self, buffer_packets: u32) -> String {
        let (replacement, coding) = match self {
            Self::Off => return String::new(),
            Self::Lru => ("lru", "degree = 1".to_owned()),
            Self::NonLru => ("none", "degree = 1".to_owned()),
            Self::Xbc(degree, distance) => ("none", format!("degree = {degree}\ndistance = {distance}")),
            Self::ReedSolomon => ("none", "reed_solomon = true".to_owned()),
            Self::Adaptive => ("none", "adaptive = true".to_owned()),
        };
        format!("[snoop]\nbuffer_packets = {buffer_packets}\nreplacement = \"{replacement}\"\n{coding}\n")
    }
}

/// One download over the three nodes. Equal trials have equal names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Trial {
    pub repair: Repair,
    pub buffer_packets: u32,
    pub losses: Losses,
    /// The sender's congestion control.
    pub control: &'static str,
    /// Whether the two ends speak selective acknowledgment.
    pub sack: bool,
    /// One way over the wire, in milliseconds.
    pub wire_milliseconds: u32,
    /// The station's largest number of packets in flight; `None` for its system's default.
    pub window_packets: Option<u32>,
    /// Duration or amount.
    pub extent: Extent,
    /// Whether the station sends, and its packets are lost.
    pub is_upload: bool,
    /// Whether the station sends receipts, by which the hop repairs its own losses.
    pub has_receipts: bool,
}

/// Duration of a download.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Extent {
    /// Data that arrives within this many seconds counts.
    Seconds(u32),
    /// This file, to its end.
    File(File),
}

impl Trial {
    /// The paper's: reno with SACK, as ns-2's.
    pub(super) fn new(repair: Repair, buffer_packets: u32, losses: Losses, seconds: u32) -> Self {
        Self {
            repair,
            // TCP alone has no buffer, in every comparison.
            buffer_packets: if repair == Repair::Off { 0 } else { buffer_packets },
            losses,
            control: "reno",
            sack: true,
            wire_milliseconds: 50,
            window_packets: Some(WINDOW_PACKETS),
            extent: Extent::Seconds(seconds),
            is_upload: false,
            has_receipts: false,
        }
    }

    /// For how many seconds it goes on; none where a file's end ends it.
    pub(super) fn seconds(&self) -> Option<u32> {
        match self.extent {
            Extent::Seconds(seconds) => Some(seconds),
            Extent::File(_) => None,
        }
    }

    pub(super) fn name(&self) -> String {
        let Self { repair, buffer_packets, losses, control, sack, .. } = self;
        let Self { wire_milliseconds, window_packets, extent, is_upload, has_receipts, .. } = self;
        let upload = if *is_upload { ", upload" } else { "" };
        let receipts = if *has_receipts { ", receipts" } else { "" };
        let sack = if *sack { "" } else { " without SACK" };
        let window = window_packets.map_or_else(String::new, |packets| format!(", window {packets}"));
        format!(
            "xbc: {repair}, buffer {buffer_packets}, {losses}, {control}{sack}, wire {wire_milliseconds} ms{window}, {extent:?}{upload}{receipts}"
        )
    }

    pub(super) fn scenario(&self, setting: &Setting<'_>, seeds: u32) -> Scenario {
        let radio = LinkConfig {
            rate: Some(Bitrate::from_bits_per_second((2e6 * ON_AIR_BITS / PACKET_BITS) as u64)),
            queue_bytes: (QUEUE_PACKETS * ON_AIR_BITS / 8.0) as usize,
            ..LinkConfig::default()
        };
        let lossy = LinkConfig { loss: self.losses.on_air(ON_AIR_BITS), ..radio.clone() };
        let (down, up) = if self.is_upload { (radio, lossy) } else { (lossy, radio) };
        let wire = LinkConfig {
            rate: Some(Bitrate::from_bits_per_second(10_000_000)),
            delay: Duration::from_millis(self.wire_milliseconds.into()),
            ..LinkConfig::default()
        };
        let carrier = Carrier::tunnel(if self.has_receipts { "adaptive" } else { "off" });
        let mut daemons = setting.testbed.pair().daemons(&carrier);
        if let Some(gateway) = daemons.iter_mut().find(|daemon| daemon.name == GATEWAY) {
            gateway.config += &self.repair.config(self.buffer_packets);
        }
        let (file, seconds) = match self.extent {
            Extent::Seconds(seconds) => (File::Long, f64::from(seconds)),
            Extent::File(file) => (file, 7200.0),
        };
        Scenario {
            name: self.name(),
            seeds: (1..=u64::from(seeds)).collect(),
            topology: Pair::topology_with_wire(&down, &up, &wire),
            parameters: parameters(self.control, self.sack, self.window_packets),
            contents: vec![setting.testbed.lab_content(file)],
            servers: vec![if self.is_upload { STATION } else { SERVER }.to_owned()],
            daemons,
            downloads: vec![Download {
                place: if self.is_upload { SERVER } else { STATION }.to_owned(),
                from: if self.is_upload { Pair::station(&carrier) } else { Pair::far_server() },
                content: file.slug().to_owned(),
                port: lab::HTTP_PORT,
                start: Start::AtSeconds(START_SECONDS),
                stall_seconds: 600,
            }],
            events: vec![Event {
                at_seconds: ROUTE_SECONDS,
                action: Action::Run { place: STATION.to_owned(), command: route(Pair::far_server()) },
            }],
            bound_seconds: START_SECONDS + seconds,
            ..Scenario::default()
        }
    }
}

/// Kernel parameters of all places: congestion control, selective acknowledgment, and the station's largest
/// number of packets in flight.
pub(super) fn parameters(control: &str, sack: bool, window_packets: Option<u32>) -> BTreeMap<String, String> {
    let mut parameters = BTreeMap::from([
        ("net.ipv4.tcp_congestion_control".to_owned(), control.to_owned()),
        ("net.ipv4.tcp_sack".to_owned(), u8::from(sack).to_string()),
    ]);
    if let Some(packets) = window_packets {
        let bytes = packets * RECEIVE_BYTES;
        parameters.insert("net.ipv4.tcp_rmem".to_owned(), format!("4096 {bytes} {bytes}"));
    }
    parameters
}

/// The command for a station's route to its server, which sets the size of segments.
pub(super) fn route(server: IpAddr) -> Vec<String> {
    let (server, segment) = (server.to_string(), SEGMENT_BYTES.to_string());
    let command = ["ip", "route", "replace", &server, "dev", "oh0", "advmss", &segment];
    command.map(str::to_owned).into()
}

/// What a trial's downloads brought, in Mbit/s, by its seeds.
pub(super) fn throughputs(outcomes: &[Outcome]) -> Vec<f64> {
    let rate = |outcome: &Outcome| {
        let download = outcome.downloads.first()?;
        Some(download.bytes as f64 * 8e-6 / download.seconds)
    };
    outcomes.iter().filter_map(rate).collect()
}

/// The mean of those.
pub(super) fn throughput(results: &Results<'_>, trial: &Trial) -> Result<Option<Estimate>> {
    Ok(Estimate::mean(&throughputs(results.outcomes(&trial.name())?)))
}

/// A trial's share of another's throughput with the same seeds.
pub(super) fn quotient(results: &Results<'_>, trial: &Trial, other: &Trial) -> Result<Option<Estimate>> {
    let ours = throughputs(results.outcomes(&trial.name())?);
    let theirs = throughputs(results.outcomes(&other.name())?);
    Ok(Estimate::paired_ratio(&ours.into_iter().zip(theirs).collect::<Vec<_>>()))
}
