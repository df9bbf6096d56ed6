//! A relay's output: forwarded packets, savings, combined packets, and next hops of destinations.

use console::{Table, bytes};
use std::io::Write;

/// Prints next hops of destinations, and packets forwarded to each peer, if any.
pub fn print(out: &mut impl Write, node: &node::Status) -> std::io::Result<()> {
    if !node.destinations.is_empty() {
        let mut table = Table::new(&["destination", "next hop", "changes", "refused"]);
        for it in &node.destinations {
            let next_hop = it.next_hop.clone().unwrap_or_else(|| "none".to_owned());
            table.row([it.name.clone(), next_hop, it.changes.to_string(), it.refused_packets.to_string()]);
        }
        table.write(out)?;
        writeln!(out)?;
    }
    let peers: Vec<_> = node.peers.iter().filter(|peer| peer.counters.relayed_packets > 0).collect();
    if peers.is_empty() {
        return Ok(());
    }
    let mut table = Table::new(&["relayed", "packets", "sent", "not sent again"]);
    for peer in peers {
        let it = &peer.counters;
        table.row([
            peer.name.clone(),
            it.relayed_packets.to_string(),
            bytes(it.outer_sent_bytes),
            bytes(it.overheard_removed_bytes),
        ]);
    }
    table.write(out)?;
    writeln!(out)
}

/// Prints combined packets, sent and received.
pub fn print_coded(out: &mut impl Write, node: &node::Status) -> std::io::Result<()> {
    let of = |it: &node::PeerCounters| it.natives_sent + it.natives_decoded + it.natives_undecodable;
    let peers: Vec<_> = node.peers.iter().filter(|peer| of(&peer.counters) > 0).collect();
    if peers.is_empty() {
        return Ok(());
    }
    let mut table = Table::new(&[
        "coded",
        "frames",
        "packets in them",
        "not sent for that",
        "taken out",
        "not taken out",
    ]);
    for peer in peers {
        let it = &peer.counters;
        table.row([
            peer.name.clone(),
            it.natives_datagrams.to_string(),
            it.natives_sent.to_string(),
            bytes(it.natives_saved_bytes),
            it.natives_decoded.to_string(),
            it.natives_undecodable.to_string(),
        ]);
    }
    table.write(out)?;
    writeln!(out)
}
