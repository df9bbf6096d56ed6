//! Several gateways: the stations of each, and the content named by others.

use super::nothing;
use console::Table;
use std::io::Write;

/// Prints the state of several gateways, if there are several.
pub fn print(out: &mut impl Write, node: &node::Status) -> std::io::Result<()> {
    let speaks = |peer: &&node::PeerStatus| {
        peer.overheard_by.is_some()
            || peer.counters.neighbour_messages_sent + peer.counters.neighbour_messages_received > 0
    };
    let gateways: Vec<_> = node.peers.iter().filter(speaks).collect();
    if !gateways.is_empty() {
        Table::of(gateways.into_iter().map(GatewayRow::of)).write(out)?;
        for (station, gateway) in
            node.peers.iter().filter_map(|peer| Some((&peer.name, peer.associated_with.as_ref()?)))
        {
            writeln!(out, "{station} is with {gateway}")?;
        }
        writeln!(out)?;
    }
    match node.peers.iter().find(|peer| peer.associated == Some(true)) {
        Some(gateway) => writeln!(out, "associated with: {}", gateway.name),
        None => Ok(()),
    }
}

console::row! {
    /// One row for each other gateway of the operator.
    struct GatewayRow {
        /// The name of the gateway.
        gateway: String,
        /// Messages to it.
        told: String,
        /// Messages from it.
        heard: String,
        /// The number of its stations that overhear this gateway.
        its_stations_hear_us: String,
        /// Chunks that it named, and that stations of this gateway overheard there.
        chunks_named: String,
        /// Packets that it forwarded for stations of this node.
        sent_on_to_us: String,
    }
}

impl GatewayRow {
    fn of(gateway: &node::PeerStatus) -> Self {
        let it = &gateway.counters;
        GatewayRow {
            gateway: gateway.name.clone(),
            told: it.neighbour_messages_sent.to_string(),
            heard: it.neighbour_messages_received.to_string(),
            its_stations_hear_us: gateway.overheard_by.map_or_else(nothing, |stations| stations.to_string()),
            chunks_named: it.chunks_named.to_string(),
            sent_on_to_us: it.forwarded_packets.to_string(),
        }
    }
}
