//! A relay's output: forwarded packets, savings, combined packets, and next hops of destinations.

use console::{Table, bytes};
use std::io::Write;

/// Prints next hops of destinations, and packets forwarded to each peer, if any.
pub fn print(out: &mut impl Write, node: &node::Status) -> std::io::Result<()> {
    if !node.destinations.is_empty() {
        Table::of(node.destinations.iter().map(DestinationRow::of)).write(out)?;
        writeln!(out)?;
    }
    let peers: Vec<_> = node.peers.iter().filter(|peer| peer.counters.relayed_packets > 0).collect();
    if peers.is_empty() {
        return Ok(());
    }
    Table::of(peers.into_iter().map(RelayedRow::of)).write(out)?;
    writeln!(out)
}

/// Prints combined packets, sent and received.
pub fn print_coded(out: &mut impl Write, node: &node::Status) -> std::io::Result<()> {
    let of = |it: &node::PeerCounters| it.natives_sent + it.natives_decoded + it.natives_undecodable;
    let peers: Vec<_> = node.peers.iter().filter(|peer| of(&peer.counters) > 0).collect();
    if peers.is_empty() {
        return Ok(());
    }
    Table::of(peers.into_iter().map(CodedRow::of)).write(out)?;
    writeln!(out)
}

console::row! {
    /// One row for each table `[[destination]]`.
    struct DestinationRow {
        /// The name of the destination.
        destination: String,
        /// The peer that is the next hop.
        next_hop: String,
        /// Changes of the next hop, the first one included.
        changes: String,
        /// Packets that had no route in time.
        refused: String,
    }
}

impl DestinationRow {
    fn of(it: &node::DestinationStatus) -> Self {
        DestinationRow {
            destination: it.name.clone(),
            next_hop: it.next_hop.clone().unwrap_or_else(|| "none".to_owned()),
            changes: it.changes.to_string(),
            refused: it.refused_packets.to_string(),
        }
    }
}

console::row! {
    /// One row for each peer that this relay forwarded packets to.
    struct RelayedRow {
        /// The name of the peer.
        relayed: String,
        /// Packets from other nodes that this relay forwarded to the peer.
        packets: String,
        /// Bytes of datagrams sent to the peer, with outer IP and UDP headers.
        sent: String,
        /// Bytes of chunks that the node did not send because the peer had them.
        not_sent_again: String,
    }
}

impl RelayedRow {
    fn of(peer: &node::PeerStatus) -> Self {
        let it = &peer.counters;
        RelayedRow {
            relayed: peer.name.clone(),
            packets: it.relayed_packets.to_string(),
            sent: bytes(it.outer_sent_bytes),
            not_sent_again: bytes(it.overheard_removed_bytes),
        }
    }
}

console::row! {
    /// One row for each peer with coded frames, which have packets for several peers.
    struct CodedRow {
        /// The name of the peer.
        coded: String,
        /// Coded frames with the peer as their address.
        frames: String,
        /// Packets for the peer sent in coded frames.
        packets_in_them: String,
        /// Bytes of datagrams saved by coded frames.
        not_sent_for_that: String,
        /// Packets from the peer decoded from coded frames.
        taken_out: String,
        /// Packets in coded frames that the node could not decode, because it lacked another packet.
        not_taken_out: String,
    }
}

impl CodedRow {
    fn of(peer: &node::PeerStatus) -> Self {
        let it = &peer.counters;
        CodedRow {
            coded: peer.name.clone(),
            frames: it.natives_datagrams.to_string(),
            packets_in_them: it.natives_sent.to_string(),
            not_sent_for_that: bytes(it.natives_saved_bytes),
            taken_out: it.natives_decoded.to_string(),
            not_taken_out: it.natives_undecodable.to_string(),
        }
    }
}
