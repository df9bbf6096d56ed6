//! What a peer's datagrams bring about for others. A peer is borrowed alone while it takes a datagram, and so
//! the node settles these afterwards, in their order.

use crate::roaming::Told;
use std::collections::VecDeque;
use wire::inner::Inner;

/// One of them.
pub(crate) enum Effect {
    /// A packet goes on to another peer.
    Forward(Forward),
    /// A peer said something about gateways and stations.
    Told { peer: usize, told: Told },
    /// A relay sent this rest of a shared packet to its group. Other relays may find it in the cache here.
    Heard { from: usize, rest: Vec<u8> },
    /// This node sent this rest of a shared packet, in a mesh. It has it from now on, as if overheard.
    Shared { rest: Vec<u8> },
}

/// A packet from one peer for another.
pub(crate) struct Forward {
    pub from: usize,
    pub to: usize,
    /// The link sequence under which it came, if it came under one.
    pub sequence: Option<u64>,
    pub packet: Vec<u8>,
    pub inner: Inner,
    pub why: Why,
}

/// Why a packet goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// Another gateway sent it for a station here.
    Station,
    /// This node relays packets.
    Relay,
    /// It answers a packet that came from there.
    Answer,
}

/// The effects that are not settled. The node settles them after each datagram.
#[derive(Default)]
pub(crate) struct Effects(VecDeque<Effect>);

impl Effects {
    pub fn push(&mut self, effect: Effect) {
        self.0.push_back(effect);
    }

    pub fn pop(&mut self) -> Option<Effect> {
        self.0.pop_front()
    }
}
