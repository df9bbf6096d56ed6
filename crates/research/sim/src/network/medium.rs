//! Who hears what a node sends.

use node::Transmit;
use std::net::SocketAddr;
use std::time::Duration;

/// What lies between the nodes of a [`Network`](super::Network).
pub trait Medium {
    /// Appends who hears a datagram to `hearers`; for how long its sender is busy with sending it.
    fn who_hears(&mut self, sent: &Sent<'_>, hearers: &mut Vec<Hearer>) -> Duration;

    /// Sees a datagram of a node before it is sealed, and may change it.
    fn before_seal(&mut self, from: usize, transmit: &Transmit, datagram: &mut Vec<u8>) {
        let _ = (from, transmit, datagram);
    }
}

/// A datagram that leaves a node.
#[derive(Clone, Copy)]
pub struct Sent<'a> {
    /// The sender.
    pub from: usize,
    /// The node that has the address to which it goes; none if nobody has it.
    pub to: Option<usize>,
    /// The address that it comes from.
    pub source: SocketAddr,
    /// To which address, from which port and of which traffic class.
    pub transmit: &'a Transmit,
    /// Its bytes as they are on the air.
    pub datagram: &'a [u8],
}

/// A node that hears a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hearer {
    /// Its number.
    pub node: usize,
    /// How much later.
    pub after: Duration,
    /// Whether it overhears what is for another one.
    pub overhears: bool,
    /// The ECN codepoint with which the datagram arrives.
    pub ecn: u8,
    /// The bit that the way has changed, if any.
    pub flipped_bit: Option<usize>,
}

impl Hearer {
    /// The node that a datagram is for: it hears it at once, unmarked and as it was.
    #[must_use]
    pub fn of(node: usize) -> Self {
        Hearer { node, after: Duration::ZERO, overhears: false, ecn: 0, flipped_bit: None }
    }
}

/// Nodes face to face: the one that a datagram is for hears it at once, and nobody else does.
#[derive(Debug, Clone, Copy, Default)]
pub struct Direct;

impl Medium for Direct {
    fn who_hears(&mut self, sent: &Sent<'_>, hearers: &mut Vec<Hearer>) -> Duration {
        hearers.extend(sent.to.map(Hearer::of));
        Duration::ZERO
    }
}
