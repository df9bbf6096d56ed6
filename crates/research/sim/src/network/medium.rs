//! The receivers of a node's datagrams.

use node::Transmit;
use std::net::SocketAddr;
use std::time::Duration;

/// The network between the nodes of a [`Network`](super::Network).
pub trait Medium {
    /// Appends the receivers of a datagram to `hearers`. Returns the time that its sender is busy.
    fn who_hears(&mut self, sent: &Sent<'_>, hearers: &mut Vec<Hearer>) -> Duration;

    /// Sees a node's datagram before its seal, and may change it.
    fn before_seal(&mut self, from: usize, transmit: &Transmit, datagram: &mut Vec<u8>) {
        let _ = (from, transmit, datagram);
    }
}

/// A datagram that leaves a node.
#[derive(Clone, Copy)]
pub struct Sent<'a> {
    /// The sender.
    pub from: usize,
    /// The node with its destination address, if any.
    pub to: Option<usize>,
    /// Its source address.
    pub source: SocketAddr,
    /// Its destination address, source port and traffic class.
    pub transmit: &'a Transmit,
    /// Its bytes on the air.
    pub datagram: &'a [u8],
}

/// A node that hears a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hearer {
    /// Its number.
    pub node: usize,
    /// Its delay.
    pub after: Duration,
    /// Whether it overhears a datagram for another node.
    pub overhears: bool,
    /// The ECN codepoint with which the datagram arrives.
    pub ecn: u8,
    /// The flipped bit, if any.
    pub flipped_bit: Option<usize>,
}

impl Hearer {
    /// The addressee of a datagram, without delay, mark or damage.
    #[must_use]
    pub fn of(node: usize) -> Self {
        Hearer { node, after: Duration::ZERO, overhears: false, ecn: 0, flipped_bit: None }
    }
}

/// Nodes face to face: the addressee receives a datagram at once, and no other node does.
#[derive(Debug, Clone, Copy, Default)]
pub struct Direct;

impl Medium for Direct {
    fn who_hears(&mut self, sent: &Sent<'_>, hearers: &mut Vec<Hearer>) -> Duration {
        hearers.extend(sent.to.map(Hearer::of));
        Duration::ZERO
    }
}
