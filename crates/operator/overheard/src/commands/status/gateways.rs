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
        let mut table = Table::new(&[
            "gateway",
            "told",
            "heard",
            "its stations hear us",
            "chunks named",
            "sent on to us",
        ]);
        for gateway in gateways {
            let it = &gateway.counters;
            table.row([
                gateway.name.clone(),
                it.neighbour_messages_sent.to_string(),
                it.neighbour_messages_received.to_string(),
                gateway.overheard_by.map_or_else(nothing, |stations| stations.to_string()),
                it.chunks_named.to_string(),
                it.forwarded_packets.to_string(),
            ]);
        }
        table.write(out)?;
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
