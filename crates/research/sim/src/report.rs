//! What a run amounts to.

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

/// Everything that is known at some time of a run.
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
    /// Packets that came out of a host and were never offered to it. In a tunnel: wrong bytes.
    pub unrecognised: u64,
    /// How many packets the ledger remembers at this time.
    pub remembered_packets: usize,
}

/// One source.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceReport {
    /// What it is called.
    pub name: String,
    /// Packets that went where its first packet went.
    pub forwards: FlowReport,
    /// Packets that went the other way.
    pub backwards: FlowReport,
    /// Round trips, where the source measures them.
    pub round_trip: Option<DelayReport>,
    /// The share of what it wanted to bring over that has come out without a gap from the beginning, for
    /// sources that can tell.
    pub in_order_share: Option<f64>,
    /// When everything that the source wanted had happened, for sources that can tell.
    pub completed_at_seconds: Option<f64>,
}

/// The packets of one source and direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct FlowReport {
    /// Packets that were offered.
    pub offered: Packets,
    /// Packets that came out, each counted once.
    pub delivered: Packets,
    /// Packets that came out once more.
    pub duplicates: u64,
    /// From offer to delivery, for those delivered.
    pub delay: Option<DelayReport>,
}

impl FlowReport {
    /// The share of the packets offered that have not come out; `None` if none were offered.
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
    /// What its node said of itself at the end of each boot, the present one last; none in the bare run.
    pub boots: Vec<node::Status>,
    /// What became of the packets that arrived at its node.
    pub outcomes: Outcomes,
    /// Frames that its node wanted to send where nobody is, or over a link that was down.
    pub not_sent: Packets,
    /// Frames that came for another address, or with damaged headers.
    pub not_taken: Packets,
    /// The most bytes that waited in the node for one peer, looked at once a second.
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
    /// What the link counted. Its frames start with the outer IP header.
    pub counters: air::LinkCounters,
    /// Frames refused while it was down.
    pub refused: Packets,
    /// The most that it held at once, waiting and in flight.
    pub most_held_bytes: u64,
}

impl LinkReport {
    /// The share of the frames put on the air that did not arrive whole, lost or corrupted; `None` if there
    /// were none.
    #[must_use]
    pub fn loss(&self) -> Option<f64> {
        let counters = &self.counters;
        let sent = counters.transmitted.frames - counters.retried.frames;
        (sent > 0).then(|| (counters.lost.frames + counters.corrupted.frames) as f64 / sent as f64)
    }
}
