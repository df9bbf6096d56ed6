//! The report of a run.

use crate::delays::DelayReport;
use crate::host::Outcomes;
use serde::Serialize;

/// Packets and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Packets {
    /// How many.
    pub packets: u64,
    /// Their lengths, summed.
    pub bytes: u64,
}

impl Packets {
    pub(crate) fn add(&mut self, bytes: usize) {
        self.packets += 1;
        self.bytes += bytes as u64;
    }
}

/// The state of a run at some time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The time, since the start.
    pub seconds: f64,
    /// The sources, in the order in which they were added.
    pub sources: Vec<SourceReport>,
    /// The hosts, gateway first.
    pub hosts: Vec<HostReport>,
    /// The links: for each station in turn, down and up.
    pub links: Vec<LinkReport>,
    /// Packets delivered at a host that were never offered to it. In a tunnel: wrong bytes.
    pub unrecognised: u64,
    /// How many packets the ledger remembers at this time.
    pub remembered_packets: usize,
}

/// One source.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceReport {
    /// What it is called.
    pub name: String,
    /// Packets in the direction of its first packet.
    pub forwards: FlowReport,
    /// Packets in the other direction.
    pub backwards: FlowReport,
    /// Round trips, if the source measures them.
    pub round_trip: Option<DelayReport>,
    /// The share of its content that was delivered without a gap from the beginning, if the source knows it.
    pub in_order_share: Option<f64>,
    /// Time of the source's completion, if it knows it.
    pub completed_at_seconds: Option<f64>,
}

/// The packets of one source and direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct FlowReport {
    /// Packets that were offered.
    pub offered: Packets,
    /// Packets delivered, each counted once.
    pub delivered: Packets,
    /// Packets delivered again.
    pub duplicates: u64,
    /// From offer to delivery, for those delivered.
    pub delay: Option<DelayReport>,
}

impl FlowReport {
    /// The share of offered packets that were not delivered; `None` if none were offered.
    #[must_use]
    pub fn perceived_loss(&self) -> Option<f64> {
        let lost = self.offered.packets - self.delivered.packets;
        (self.offered.packets > 0).then(|| lost as f64 / self.offered.packets as f64)
    }
}

/// One host.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostReport {
    /// What it is called.
    pub name: String,
    /// Status of its node at the end of each boot, the current one last; empty in the bare run.
    pub boots: Vec<node::Status>,
    /// Fates of the packets that arrived at its node.
    pub outcomes: Outcomes,
    /// Frames of its node without a destination, or over a link that was down.
    pub not_sent: Packets,
    /// Frames to another address, or with damaged headers.
    pub not_taken: Packets,
    /// The most waiting bytes for one peer of the node, sampled once a second.
    pub most_queue_bytes: usize,
}

impl HostReport {
    /// A counter of its nodes, added up over peers and boots.
    #[must_use]
    pub fn total(&self, counter: impl Fn(&node::PeerCounters) -> u64) -> u64 {
        self.boots.iter().flat_map(|boot| &boot.peers).map(|peer| counter(&peer.counters)).sum()
    }
}

/// One link.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkReport {
    /// Who sends.
    pub from: String,
    /// Who receives.
    pub to: String,
    /// The link's counters. Its frames start with the outer IP header.
    pub counters: air::LinkCounters,
    /// Frames refused while it was down.
    pub refused: Packets,
    /// The most bytes held at once, waiting and in flight.
    pub most_held_bytes: u64,
}

impl LinkReport {
    /// The share of transmitted frames that were lost or corrupted; `None` if there were none.
    #[must_use]
    pub fn loss(&self) -> Option<f64> {
        let counters = &self.counters;
        let sent = counters.transmitted.frames - counters.retried.frames;
        (sent > 0).then(|| (counters.lost.frames + counters.corrupted.frames) as f64 / sent as f64)
    }
}
