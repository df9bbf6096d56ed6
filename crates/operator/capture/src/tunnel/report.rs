//! What a tunnel carried, and what it sent for that.

use crate::report::percent;
use re::Policy;
use serde::Serialize;
use std::ops::AddAssign;

/// One direction of a tunnel, or both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Carried {
    /// IP packets carried.
    pub packets: u64,
    /// Bytes of these packets.
    pub packet_bytes: u64,
    /// Datagrams sent, with those of receipts.
    pub datagrams: u64,
    /// Bytes of these datagrams, with outer IP and UDP headers.
    pub sent_bytes: u64,
}

impl Carried {
    /// The share by which the datagrams are smaller than the packets, in percent; negative if they are
    /// larger.
    #[must_use]
    pub fn saved_percent(&self) -> f64 {
        if self.packet_bytes == 0 { 0.0 } else { 100.0 - percent(self.sent_bytes, self.packet_bytes) }
    }
}

impl AddAssign for Carried {
    fn add_assign(&mut self, other: Carried) {
        self.packets += other.packets;
        self.packet_bytes += other.packet_bytes;
        self.datagrams += other.datagrams;
        self.sent_bytes += other.sent_bytes;
    }
}

/// A capture through a tunnel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TunnelReport {
    /// The policy of redundancy elimination.
    pub policy: String,
    /// The store of each direction, in MiB.
    pub store_mib: usize,
    /// Savings of both directions, in percent of the packets' bytes.
    pub saved_percent: f64,
    /// The same from servers to clients.
    pub to_client_saved_percent: f64,
    /// The same from clients to servers.
    pub to_server_saved_percent: f64,
    /// From servers to clients.
    pub to_client: Carried,
    /// From clients to servers.
    pub to_server: Carried,
    /// Packets of the capture that the tunnel did not carry: too large for it, or dropped.
    pub packets_not_carried: u64,
}

impl TunnelReport {
    pub(super) fn new(
        policy: Policy,
        store_mib: usize,
        to_client: Carried,
        to_server: Carried,
        offered: u64,
    ) -> Self {
        let mut total = to_client;
        total += to_server;
        TunnelReport {
            policy: policy.to_string(),
            store_mib,
            saved_percent: total.saved_percent(),
            to_client_saved_percent: to_client.saved_percent(),
            to_server_saved_percent: to_server.saved_percent(),
            to_client,
            to_server,
            packets_not_carried: offered.saturating_sub(total.packets),
        }
    }

    /// Both directions together.
    #[must_use]
    pub fn total(&self) -> Carried {
        let mut total = self.to_client;
        total += self.to_server;
        total
    }

    /// Bytes of packets in the direction that has more of them: a store of this size holds all.
    pub(super) fn content_bytes(&self) -> u64 {
        self.to_client.packet_bytes.max(self.to_server.packet_bytes)
    }

    /// Whether the store holds all packets of either direction.
    pub(crate) fn holds_all(&self) -> bool {
        self.content_bytes() <= (self.store_mib as u64) << 20
    }
}
