//! What an analysis says.

use crate::dissect::{Dissector, TrafficCounts};
use crate::link::FrameCounts;
use crate::method::{Method, Savings};
use crate::{Damage, LinkType};
use serde::{Serialize, Serializer, ser::SerializeMap};

/// What each method would save on a capture.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Packets in the capture: its frames, whatever they hold.
    pub packets: u64,
    /// What the packets carried.
    #[serde(flatten)]
    pub traffic: TrafficCounts,
    /// Clients that received at least 1,000 bytes.
    pub clients: u64,
    /// Which kinds of links the capture was taken on.
    pub link_types: Vec<String>,
    /// What became of the frames.
    pub frames: FrameCounts,
    /// Why the capture could not be read to its end, if so.
    pub damage: Option<String>,
    /// Whether a forwarded packet may stand in the capture twice.
    pub may_hold_packets_twice: bool,
    /// The methods by name, in the table's order.
    #[serde(serialize_with = "by_name")]
    pub methods: Vec<MethodReport>,
    /// What a user should make of it, in one line.
    pub advice: String,
}

/// What one method would save.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MethodReport {
    /// The method's name, under which it stands.
    #[serde(skip)]
    pub name: String,
    /// What it is.
    pub description: String,
    /// In bytes.
    #[serde(flatten)]
    pub savings: Savings,
    /// In percent of the payload.
    #[serde(flatten)]
    pub shares: Shares,
}

/// Savings in percent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Shares {
    /// Redundant bytes of all payload.
    pub redundant_percent: f64,
    /// What is saved of all payload when what the method adds is taken off.
    pub saved_percent: f64,
    /// The same with zstd for what is left.
    pub saved_with_zstd_percent: f64,
    /// Redundant bytes that the same client received before, of the payload to clients.
    pub intra_percent: f64,
    /// Redundant bytes that only other clients received before, of the payload to clients.
    pub inter_percent: f64,
}

fn by_name<S: Serializer>(methods: &[MethodReport], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(methods.len()))?;
    for method in methods {
        map.serialize_entry(&method.name, method)?;
    }
    map.end()
}

fn percent(part: f64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part / whole as f64 }
}

impl MethodReport {
    pub(crate) fn new(method: &dyn Method) -> Self {
        let (name, description) = (method.name(), method.description());
        MethodReport { name, description, savings: method.savings(), shares: Shares::default() }
    }

    fn reckon_shares(&mut self, traffic: &TrafficCounts) {
        let Savings { redundant_bytes, encoded_bytes, encoded_zstd_bytes, intra_bytes, inter_bytes, .. } =
            self.savings;
        let (all, down) = (traffic.payload_bytes, traffic.to_client_bytes);
        self.shares = Shares {
            redundant_percent: percent(redundant_bytes as f64, all),
            saved_percent: percent(all as f64 - encoded_bytes as f64, all),
            saved_with_zstd_percent: percent(all as f64 - encoded_zstd_bytes as f64, all),
            intra_percent: percent(intra_bytes as f64, down),
            inter_percent: percent(inter_bytes as f64, down),
        };
    }
}

impl Report {
    pub(crate) fn new(
        dissector: &Dissector,
        link_types: &[LinkType],
        damage: Option<Damage>,
        mut methods: Vec<MethodReport>,
    ) -> Self {
        let traffic = *dissector.traffic();
        for method in &mut methods {
            method.reckon_shares(&traffic);
        }
        let twice = 4 * traffic.retransmitted_bytes > traffic.payload_bytes;
        let mut report = Report {
            packets: dissector.frames().frames,
            traffic,
            clients: dissector.clients() as u64,
            link_types: link_types.iter().map(LinkType::to_string).collect(),
            frames: *dissector.frames(),
            damage: damage.map(|damage| damage.to_string()),
            may_hold_packets_twice: twice && link_types.iter().any(|link_type| link_type.is_cooked()),
            methods,
            advice: String::new(),
        };
        report.advice = crate::advice::advice(&report);
        report
    }

    /// The method of this name.
    #[must_use]
    pub fn method(&self, name: &str) -> Option<&MethodReport> {
        self.methods.iter().find(|method| method.name == name)
    }

    /// A share of the payload, in percent.
    #[must_use]
    pub fn percent_of_payload(&self, bytes: u64) -> f64 {
        percent(bytes as f64, self.traffic.payload_bytes)
    }
}
