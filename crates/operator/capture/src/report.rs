//! The result of an analysis.

use crate::LinkType;
use crate::dissect::TrafficCounts;
use crate::link::FrameCounts;
use crate::method::Method;
use crate::pass::Results;
use crate::savings::{Savings, Tally};
use crate::tunnel::{TunnelReport, store_to_take};
use serde::{Serialize, Serializer, ser::SerializeMap};

/// Savings of each method on a capture.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Frames in the capture, with any contents.
    pub packets: u64,
    /// Clients that received at least 1,000 bytes.
    pub clients: u64,
    /// Counts of traffic.
    #[serde(flatten)]
    pub traffic: TrafficCounts,
    /// Link types of the capture.
    pub link_types: Vec<String>,
    /// Counts of frames.
    pub frames: FrameCounts,
    /// Reason why the capture was not read to its end, if so.
    pub damage: Option<String>,
    /// The methods, in the table's order; in JSON an object, by name.
    #[serde(serialize_with = "by_name")]
    pub methods: Vec<MethodReport>,
    /// The tunnel with the default configuration.
    pub default: Option<TunnelReport>,
    /// The same with the policy `acked`.
    pub acked: Option<TunnelReport>,
    /// The tunnel with stores of several sizes, from the smallest, the default one among them. Empty
    /// without a copy of a capture that can be read only once.
    pub stores: Vec<TunnelReport>,
    /// The smallest store whose savings are within one percent of the best ones, in MiB. None without a
    /// curve, and where a tunnel saves next to nothing.
    pub store_mib_to_take: Option<usize>,
    /// Lines for the configuration of both nodes; empty if the default one is best.
    pub configuration: Vec<String>,
    /// Advice to the user, in one line.
    pub advice: String,
    /// Limitations of the figures, worst first.
    pub notes: Vec<String>,
}

/// Savings of one method.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MethodReport {
    /// The method's name.
    #[serde(skip)]
    pub name: String,
    /// Its description.
    pub description: String,
    /// Both directions together.
    #[serde(flatten)]
    pub total: Shares,
    /// Redundant bytes to a client that the same client received before.
    pub intra_bytes: u64,
    /// Redundant bytes to a client that only other clients received before.
    pub inter_bytes: u64,
    /// `intra_bytes` in percent of the payload to clients.
    pub intra_percent: f64,
    /// `inter_bytes` in percent of the payload to clients.
    pub inter_percent: f64,
    /// From servers to clients.
    pub to_client: Shares,
    /// From clients to servers.
    pub to_server: Shares,
    /// The method's memory was full, so it may have missed repetitions.
    pub memory_was_full: bool,
}

/// Savings, in bytes and in percent of the payload.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Shares {
    /// In bytes.
    #[serde(flatten)]
    pub savings: Savings,
    /// Redundant payload.
    pub redundant_percent: f64,
    /// Savings after the method's overhead.
    pub saved_percent: f64,
    /// The same with zstd for the rest.
    pub saved_with_zstd_percent: f64,
}

fn by_name<S: Serializer>(methods: &[MethodReport], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(methods.len()))?;
    for method in methods {
        map.serialize_entry(&method.name, method)?;
    }
    map.end()
}

/// `part` in percent of `whole`; 0 if `whole` is 0.
pub(crate) fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

impl From<Savings> for Shares {
    fn from(savings: Savings) -> Self {
        let Savings { payload_bytes, redundant_bytes, encoded_bytes, encoded_zstd_bytes } = savings;
        let saved = |left_bytes: u64| {
            if payload_bytes == 0 { 0.0 } else { 100.0 - percent(left_bytes, payload_bytes) }
        };
        Shares {
            savings,
            redundant_percent: percent(redundant_bytes, payload_bytes),
            saved_percent: saved(encoded_bytes),
            saved_with_zstd_percent: saved(encoded_zstd_bytes),
        }
    }
}

impl MethodReport {
    pub(crate) fn new(method: &dyn Method) -> Self {
        let tally = method.tally();
        let Tally { to_client, to_server, intra_bytes, inter_bytes, memory_was_full } = tally;
        MethodReport {
            name: method.name(),
            description: method.description(),
            total: tally.total().into(),
            intra_bytes,
            inter_bytes,
            intra_percent: percent(intra_bytes, to_client.payload_bytes),
            inter_percent: percent(inter_bytes, to_client.payload_bytes),
            to_client: to_client.into(),
            to_server: to_server.into(),
            memory_was_full,
        }
    }
}

impl Report {
    pub(crate) fn new(results: Results) -> Self {
        let Results { dissector, link_types, damage, methods, tunnels } = results;
        let mut tunnels = tunnels.into_iter();
        let mut report = Report {
            packets: dissector.frames().frames,
            clients: dissector.clients() as u64,
            traffic: *dissector.traffic(),
            link_types: link_types.iter().map(LinkType::to_string).collect(),
            frames: *dissector.frames(),
            damage: damage.map(|damage| damage.to_string()),
            methods,
            default: tunnels.next(),
            acked: tunnels.next(),
            stores: Vec::new(),
            store_mib_to_take: None,
            configuration: Vec::new(),
            advice: String::new(),
            notes: Vec::new(),
        };
        let much_is_repeated = 4 * report.traffic.retransmitted_bytes > report.traffic.payload_bytes;
        let may_hold_packets_twice = much_is_repeated && link_types.iter().any(|kind| kind.is_cooked());
        report.notes = crate::notes::notes(&report, may_hold_packets_twice);
        report.advise();
        report
    }

    /// Adds the curve of savings over the size of the store.
    pub(crate) fn set_curve(&mut self, stores: Vec<TunnelReport>) {
        self.store_mib_to_take = store_to_take(&stores).map(|best| best.store_mib);
        self.stores = stores;
        self.advise();
    }

    fn advise(&mut self) {
        self.configuration = crate::advice::configuration(self);
        self.advice = crate::advice::advice(self);
    }

    /// The tunnel with the store to take; without a curve, the one with the default configuration.
    #[must_use]
    pub fn best_tunnel(&self) -> Option<&TunnelReport> {
        let to_take = self.store_mib_to_take;
        self.stores.iter().find(|point| Some(point.store_mib) == to_take).or(self.default.as_ref())
    }

    /// The method of this name.
    #[must_use]
    pub fn method(&self, name: &str) -> Option<&MethodReport> {
        self.methods.iter().find(|method| method.name == name)
    }

    /// Bytes of payload in percent of all of it.
    #[must_use]
    pub fn percent_of_payload(&self, bytes: u64) -> f64 {
        percent(bytes, self.traffic.payload_bytes)
    }
}
