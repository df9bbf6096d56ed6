//! The node's state around its peers. A peer is borrowed beside it.

use crate::config::Config;
use crate::deliveries::Deliveries;
use crate::event::Event;
use crate::group::Sharing;
use crate::group::coding::Coding;
use crate::path::icmp::{self, Reason};
use crate::roaming::{Roaming, Told};
use crate::route::Routes;
use crate::session::allowance::Allowance;
use crate::session::keyring::Keyring;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;
use wire::inner::Inner;

/// Events that wait to be told; the oldest are forgotten first.
const MAX_EVENTS: usize = 1 << 16;

/// The newest events, in order.
#[derive(Default)]
pub(crate) struct Events(VecDeque<Event>);

impl Events {
    pub fn push(&mut self, event: Event) {
        if self.0.len() == MAX_EVENTS {
            self.0.pop_front();
        }
        self.0.push_back(event);
    }

    /// The oldest.
    pub fn pop(&mut self) -> Option<Event> {
        self.0.pop_front()
    }
}

/// The node's state around its peers.
pub(crate) struct Context {
    pub config: Config,
    pub routes: Routes,
    pub keyring: Keyring,
    pub deliveries: Deliveries,
    pub events: Events,
    /// ICMP messages that may be sent.
    pub messages: Allowance,
    /// State shared with the group, if there is one.
    pub sharing: Option<Sharing>,
    /// Knowledge of natives, if some may share a frame.
    pub coding: Option<Coding>,
    pub roaming: Roaming,
    /// Messages of peers about gateways and stations.
    pub told: Vec<(usize, Told)>,
    /// This node's own packets that others may hear, in a mesh: the rests of shared frames.
    pub shared: Vec<Vec<u8>>,
    /// Packets from relays by peer index, which other relays may find in the cache here.
    pub heard: Vec<(usize, Vec<u8>)>,
    /// Packets wait for the processor and not for the link.
    pub processor_is_short: bool,
}

impl Context {
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
        if let Some(sharing) = self.sharing.as_mut().filter(|_| self.config.mesh.is_one())
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
        self.roaming.may_come(&self.routes, source, peer) || self.config.mesh.relays.contains(&peer)
    }
}
