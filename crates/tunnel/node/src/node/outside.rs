//! The parts of the node around a peer that it uses.

use crate::allowance::Allowance;
use crate::coding::Coding;
use crate::config::Config;
use crate::deliveries::Deliveries;
use crate::event::Event;
use crate::group::Sharing;
use crate::icmp::{self, Reason};
use crate::keyring::Keyring;
use crate::roaming::{Roaming, Told};
use crate::route::Routes;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;
use wire::inner::Inner;

/// Events that wait to be told; the oldest are forgotten first.
const MAX_EVENTS: usize = 1 << 16;

// Not a method: a peer is borrowed beside what it makes.
macro_rules! outside {
    ($node:expr) => {
        $crate::node::Outside {
            config: &$node.config,
            routes: &$node.routes,
            keyring: &mut $node.keyring,
            deliveries: &mut $node.deliveries,
            events: &mut $node.events,
            messages: &mut $node.messages,
            sharing: $node.sharing.as_mut(),
            coding: $node.coding.as_mut(),
            roaming: &$node.roaming,
            told: &mut $node.told,
            shared: &mut $node.shared,
            heard: &mut $node.heard,
            processor_is_short: $node.processor_is_short,
        }
    };
}

/// The newest events, in order.
#[derive(Default)]
pub(crate) struct Events(pub(super) VecDeque<Event>);

impl Events {
    pub fn push(&mut self, event: Event) {
        if self.0.len() == MAX_EVENTS {
            self.0.pop_front();
        }
        self.0.push_back(event);
    }
}

/// The parts of the node around a peer that it uses.
pub(crate) struct Outside<'a> {
    pub config: &'a Config,
    pub routes: &'a Routes,
    pub keyring: &'a mut Keyring,
    pub deliveries: &'a mut Deliveries,
    pub events: &'a mut Events,
    pub messages: &'a mut Allowance,
    /// State shared with the group, if there is one.
    pub sharing: Option<&'a mut Sharing>,
    /// Knowledge of natives, if some may share a frame.
    pub coding: Option<&'a mut Coding>,
    pub roaming: &'a Roaming,
    /// Messages of peers about gateways and stations.
    pub(super) told: &'a mut Vec<(usize, Told)>,
    /// This node's own packets that others may hear, in a mesh: the rests of shared frames.
    pub shared: &'a mut Vec<Vec<u8>>,
    /// Packets from relays by peer index, which other relays may find in the cache here.
    pub(super) heard: &'a mut Vec<(usize, Vec<u8>)>,
    /// Packets wait for the processor and not for the link.
    pub processor_is_short: bool,
}

impl Outside<'_> {
    /// Lets the node know what a peer said.
    pub fn tell(&mut self, peer: usize, told: Told) {
        if !matches!(self.roaming, Roaming::Alone) {
            self.told.push((peer, told));
        }
    }

    /// Keeps a packet that a peer sent to its group, in a mesh. This node may have to send it as well, and
    /// the peer has it.
    pub fn hear(&mut self, peer: usize, rest: &[u8]) {
        if self.config.mesh.relays.len() > 1 {
            let mut kept = self.deliveries.buffer();
            kept.extend_from_slice(rest);
            self.heard.push((peer, kept));
        }
        if let Some(sharing) = self.sharing.as_deref_mut().filter(|_| self.config.mesh.is_one())
            && let Ok(number) = sharing.codec.hear(rest, None)
        {
            sharing.codec.record_held(overhear::StationId(peer as u8), number);
        }
    }

    /// Tells the sender of a packet why it does not go on, if there is a message left to be sent now, and
    /// says whether it was.
    pub fn tell_sender(&mut self, now: Duration, packet: &[u8], inner: &Inner, reason: Reason) -> bool {
        let mut message = self.deliveries.buffer();
        let told = icmp::tell(packet, inner, reason, &mut message) && self.messages.take(now);
        if told {
            self.deliveries.push_buffer(message);
        } else {
            self.deliveries.recycle(message);
        }
        told
    }

    /// Whether a packet from an inner address may come from this peer.
    pub fn may_come(&self, source: IpAddr, peer: usize) -> bool {
        self.roaming.may_come(self.routes, source, peer) || self.config.mesh.relays.contains(&peer)
    }
}
