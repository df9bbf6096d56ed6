//! What a relay passed on, and what it did not have to send of that.

use crate::table::{Table, bytes};
use std::io::Write;

/// What was passed on to each peer, if anything was.
pub fn print(out: &mut impl Write, node: &node::Status) -> std::io::Result<()> {
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
