//! What an analysis says.

use crate::dissect::{Dissector, TrafficCounts};
use crate::link::FrameCounts;
use crate::method::Method;
use crate::savings::{Savings, Tally};
use crate::{Damage, LinkType};
use serde::{Serialize, Serializer, ser::SerializeMap};

/// What each method would save on a capture.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Packets in the capture: its frames, whatever they hold.
    pub packets: u64,
    /// Clients that received at least 1,000 bytes.
    pub clients: u64,
    /// What the packets carried.
    #[serde(flatten)]
    pub traffic: TrafficCounts,
    /// Which kinds of links the capture was taken on.
    pub link_types: Vec<String>,
    /// What became of the frames.
    pub frames: FrameCounts,
    /// Why the capture could not be read to its end, if so.
    pub damage: Option<String>,
    /// The methods, in the table's order; in JSON an object, by name.
    #[serde(serialize_with = "by_name")]
    pub methods: Vec<MethodReport>,
    /// What a user should make of it, in one line.
    pub advice: String,
    /// What weakens the figures, worst first.
    pub notes: Vec<String>,
}

/// What one method would save.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MethodReport {
    /// The method's name, under which it stands.
    #[serde(skip)]
    pub name: String,
    /// What it is.
    pub description: String,
    /// Both directions together.
    #[serde(flatten)]
    pub total: Shares,
    /// Redundant bytes on the way to a client that the same client received before.
    pub intra_bytes: u64,
    /// Redundant bytes on the way to a client that only other clients received before.
    pub inter_bytes: u64,
    /// `intra_bytes` in percent of the payload to clients.
    pub intra_percent: f64,
    /// `inter_bytes` in percent of the payload to clients.
    pub inter_percent: f64,
    /// From servers to clients only.
    pub to_client: Shares,
    /// From clients to servers only.
    pub to_server: Shares,
    /// The method's memory was full, so that it may have missed repetition.
    pub memory_was_full: bool,
}

/// Savings, and what they are in percent of the payload.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Shares {
    /// In bytes.
    #[serde(flatten)]
    pub savings: Savings,
    /// Payload that is taken out.
    pub redundant_percent: f64,
    /// What is saved when all that the method adds is taken off.
    pub saved_percent: f64,
    /// The same with zstd for what is left.
    pub saved_with_zstd_percent: f64,
}

fn by_name<S: Serializer>(methods: &[MethodReport], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(methods.len()))?;
    for method in methods {
        map.serialize_entry(&method.name, method)?;
    }
    map.end()
}

/// `part` in percent of `whole`; 0 of nothing.
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
    pub(crate) fn new(
        dissector: &Dissector,
        link_types: &[LinkType],
        damage: Option<Damage>,
        methods: Vec<MethodReport>,
    ) -> Self {
        let traffic = *dissector.traffic();
        let much_is_repeated = 4 * traffic.retransmitted_bytes > traffic.payload_bytes;
        let mut report = Report {
            packets: dissector.frames().frames,
            clients: dissector.clients() as u64,
            traffic,
            link_types: link_types.iter().map(LinkType::to_string).collect(),
            frames: *dissector.frames(),
            damage: damage.map(|damage| damage.to_string()),
            methods,
            advice: String::new(),
            notes: Vec::new(),
        };
        let may_hold_packets_twice = much_is_repeated && link_types.iter().any(|kind| kind.is_cooked());
        report.advice = crate::advice::advice(&report);
        report.notes = crate::advice::notes(&report, may_hold_packets_twice);
        report
    }

    /// The method of this name.
    #[must_use]
    pub fn method(&self, name: &str) -> Option<&MethodReport> {
        self.methods.iter().find(|method| method.name == name)
    }

    /// Some of the payload, in percent of all of it.
    #[must_use]
    pub fn percent_of_payload(&self, bytes: u64) -> f64 {
        percent(bytes, self.traffic.payload_bytes)
    }
}
