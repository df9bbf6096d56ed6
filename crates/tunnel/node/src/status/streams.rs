//! The status of the streams with a peer.

use super::PeerCounters;
use serde::{Deserialize, Serialize};

/// State of the streams with a peer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamsStatus {
    /// The reason why no TCP connection crosses the hop as a stream: `at the peer` (the peer has streams
    /// off), `no session`, `plain session`, `stations overhear`, `relays` or `several gateways`. None where
    /// connections do.
    pub off: Option<String>,
    /// Open streams.
    pub open: usize,
    /// The most of them at once: `[streams] connections`.
    pub most: usize,
    /// Bytes of streams that this node keeps for the peer, and the room that it promised to the peer.
    pub memory_bytes: u64,
    /// The most of these bytes: `[streams] memory_mib`.
    pub most_memory_bytes: u64,
}

/// Streams with a peer, counted since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamCounters {
    /// Streams that this node opened.
    pub opened: u64,
    /// Streams that the peer opened.
    pub accepted: u64,
    /// Connections that the destination refused, or did not answer.
    pub refused: u64,
    /// Streams that ended by a reset of a host, or because a node began anew.
    pub aborted: u64,
    /// Connections of this node's hosts that went in packets: no stream was free on one of the nodes, or the
    /// peer does not allow the addresses.
    pub passed: u64,
    /// Connections of this node's hosts that went in packets, as the answers of their destination do not come
    /// back through the peer.
    #[serde(default)]
    pub no_way_back: u64,
    /// Streams of these with bytes that this node could not restore. Each tells of a mistake in a program.
    #[serde(default)]
    pub unrestored: u64,
    /// Bytes of streams from hosts, sent to the peer in any form.
    #[serde(default)]
    pub taken_bytes: u64,
    /// Bytes of streams sent to the peer for the first time, without what repeats.
    pub sent_bytes: u64,
    /// Bytes of streams sent again.
    pub resent_bytes: u64,
    /// Bytes of streams from the peer, handed to hosts.
    pub received_bytes: u64,
}

impl From<streams::Counters> for StreamCounters {
    fn from(counted: streams::Counters) -> Self {
        let streams::Counters {
            opened,
            accepted,
            refused,
            aborted,
            unrestored,
            passed,
            no_way_back,
            taken_bytes,
            sent_bytes,
            resent_bytes,
            received_bytes,
        } = counted;
        StreamCounters {
            opened,
            accepted,
            refused,
            aborted,
            unrestored,
            passed,
            no_way_back,
            taken_bytes,
            sent_bytes,
            resent_bytes,
            received_bytes,
        }
    }
}

impl PeerCounters {
    /// Bytes for the peer: of inner packets, and of streams.
    #[must_use]
    pub fn offered_bytes(&self) -> u64 {
        self.inner_sent_bytes + self.streams.taken_bytes
    }

    /// Bytes from the peer: of inner packets, and of streams.
    #[must_use]
    pub fn delivered_bytes(&self) -> u64 {
        self.inner_received_bytes + self.streams.received_bytes
    }
}
