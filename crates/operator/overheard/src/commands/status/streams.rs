//! TCP connections that cross the hop as streams.

use console::{Table, bytes};
use std::io::Write;

/// Prints the streams with each peer, where they are on at this node.
pub fn print(out: &mut impl Write, node: &node::Status) -> std::io::Result<()> {
    let rows: Vec<_> = node.peers.iter().filter_map(StreamsRow::of).collect();
    if rows.is_empty() {
        return Ok(());
    }
    Table::of(rows).write(out)?;
    writeln!(out)
}

console::row! {
    /// One row for each peer, on a node with `streams`. Connections beside streams go in packets.
    struct StreamsRow {
        /// The name of the peer.
        streams: String,
        /// `on`: TCP connections cross the hop as streams. Otherwise `off`, and the reason. `at the peer`:
        /// streams are off in the peer's configuration, or its version has none. `plain session`: the two
        /// ends have no version of the formats in common. `no session`: the two ends have not met. `stations
        /// overhear`, `relays`, `several gateways`: streams do not work beside these.
        state: String,
        /// Open streams, and the most of them at once.
        open: String,
        /// Streams that this node opened for connections of its hosts.
        opened_here: String,
        /// Streams that the peer opened for connections of its hosts.
        by_the_peer: String,
        /// Connections that their destination refused, or did not answer.
        refused: String,
        /// Streams that ended by a reset of a host, or because a node began anew.
        reset: String,
        /// Connections that went in packets: no stream was free on one of the nodes, or the peer does not
        /// allow the addresses.
        in_packets: String,
        /// Connections that went in packets, as their destination did not answer through the peer.
        no_way_back: String,
        /// Bytes of streams from hosts here, sent to the peer in any form.
        from_hosts: String,
        /// Bytes as which these were sent for the first time, without what repeats.
        sent: String,
        /// Bytes of streams sent again.
        sent_again: String,
        /// Bytes of streams from the peer, handed to hosts.
        received: String,
        /// Bytes of streams that this node keeps for the peer, with the room that it promised to the peer.
        /// Then the most of them.
        memory: String,
    }
}

impl StreamsRow {
    fn of(peer: &node::PeerStatus) -> Option<Self> {
        let (now, it) = (peer.streams.as_ref()?, &peer.counters.streams);
        Some(StreamsRow {
            streams: peer.name.clone(),
            state: now.off.as_ref().map_or_else(|| "on".to_owned(), |why| format!("off: {why}")),
            open: format!("{} of {}", now.open, now.most),
            opened_here: it.opened.to_string(),
            by_the_peer: it.accepted.to_string(),
            refused: it.refused.to_string(),
            reset: it.aborted.to_string(),
            in_packets: it.passed.to_string(),
            no_way_back: it.no_way_back.to_string(),
            from_hosts: bytes(it.taken_bytes),
            sent: bytes(it.sent_bytes),
            sent_again: bytes(it.resent_bytes),
            received: bytes(it.received_bytes),
            memory: format!("{} of {}", bytes(now.memory_bytes), bytes(now.most_memory_bytes)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    #[test]
    fn the_table_has_a_row_for_each_peer_with_streams_on_here() {
        let peer = |name: &str, streams: serde_json::Value| fixture::peer(name, "streams", streams);
        let state = |off: Option<&str>| {
            serde_json::json!({
                "off": off, "open": 3, "most": 1024, "memory_bytes": 2_100_000, "most_memory_bytes": 64 << 20,
            })
        };
        let mut peers = vec![
            peer("roof", state(None)),
            peer("yard", state(Some("at the peer"))),
            peer("barn", serde_json::Value::Null),
        ];
        peers[0].counters.streams = node::StreamCounters {
            opened: 12,
            accepted: 4,
            refused: 2,
            aborted: 1,
            passed: 5,
            no_way_back: 6,
            unrestored: 0,
            taken_bytes: 90_300_000,
            sent_bytes: 45_200_000,
            resent_bytes: 1_100_000,
            received_bytes: 3_200_000,
        };
        let mut node = fixture::node(peers);
        let printed = |node: &node::Status| fixture::printed(|out| print(out, node));
        assert_eq!(
            printed(&node),
            [
                "STREAMS STATE OPEN OPENED HERE BY THE PEER REFUSED RESET IN PACKETS NO WAY BACK FROM HOSTS SENT SENT AGAIN RECEIVED MEMORY",
                "roof on 3 of 1024 12 4 2 1 5 6 90.3 MB 45.2 MB 1.1 MB 3.2 MB 2.1 MB of 67.1 MB",
                "yard off: at the peer 3 of 1024 0 0 0 0 0 0 0 B 0 B 0 B 0 B 2.1 MB of 67.1 MB",
                "",
            ]
        );
        node.peers.retain(|peer| peer.name == "barn");
        assert_eq!(printed(&node), [""; 0], "no table where streams are off");
    }
}
