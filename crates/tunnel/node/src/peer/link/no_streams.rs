//! Reasons why no TCP connection crosses a hop as a stream, for the status.

use crate::config::{Config, Gateways};
use std::fmt;

/// Why no connection crosses the hop as a stream, on a node that has streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoStreams {
    /// No session.
    NoSession,
    /// The peer does not take streams.
    AtPeer,
    /// The session is a plain tunnel.
    Plain,
    /// Stations hear the packets for each other.
    Overhearing,
    /// The node is a relay, or a peer is.
    Relay,
    /// The node has several gateways, or there are others.
    Gateways,
}

impl NoStreams {
    /// The reason on a link. `takes`: the peer takes streams. `is_heard`: stations hear the packets for it.
    pub fn of(config: &Config, is_plain: bool, takes: bool, is_heard: bool) -> Option<Self> {
        let reasons = [
            (config.mesh.is_one(), NoStreams::Relay),
            (config.gateways != Gateways::One, NoStreams::Gateways),
            (is_heard, NoStreams::Overhearing),
            (is_plain, NoStreams::Plain),
            (!takes || config.streams.is_none(), NoStreams::AtPeer),
        ];
        reasons.into_iter().find(|(holds, _)| *holds).map(|(_, reason)| reason)
    }
}

impl fmt::Display for NoStreams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NoStreams::NoSession => "no session",
            NoStreams::AtPeer => "at the peer",
            NoStreams::Plain => "plain session",
            NoStreams::Overhearing => "stations overhear",
            NoStreams::Relay => "relays",
            NoStreams::Gateways => "several gateways",
        })
    }
}
