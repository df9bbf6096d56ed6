//! The node's state around its peers. A peer is borrowed beside it.

use crate::config::Config;
use crate::deliveries::Deliveries;
use crate::destinations::{Destinations, NextHop};
use crate::effects::{Effect, Effects, Forward, Why};
use crate::event::Event;
use crate::features::Overhearing;
use crate::group::Sharing;
use crate::group::coding::Coding;
use crate::memory::Share;
use crate::path::hop_limit;
use crate::path::icmp::{self, Reason};
use crate::roaming::{Place, Roaming, Told};
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

/// Where a packet from a peer goes.
enum Onward {
    Here,
    Peer {
        to: usize,
        inner: Inner,
        why: Why,
    },
    /// Its destination has no way.
    Nowhere {
        way: Option<NextHop>,
        inner: Inner,
    },
    /// Its station is elsewhere.
    Misled,
}

/// The node's state around its peers.
pub(crate) struct Context {
    pub config: Config,
    /// The node's share of a budget of memory.
    pub memory: Share,
    pub routes: Routes,
    pub keyring: Keyring,
    pub deliveries: Deliveries,
    pub events: Events,
    /// ICMP messages that may be sent.
    pub messages: Allowance,
    /// State shared with the group, if there is one.
    pub sharing: Option<Overhearing<Sharing>>,
    /// Knowledge of natives, if some may share a frame.
    pub coding: Option<Overhearing<Coding>>,
    pub roaming: Roaming,
    /// Destinations with a changing way.
    pub destinations: Destinations,
    /// What concerns other peers than the one that caused it.
    pub effects: Effects,
    /// Packets that another gateway sent for a station of a third one.
    pub misled_packets: u64,
    /// Packets wait for the processor and not for the link.
    pub processor_is_short: bool,
}

impl Context {
    /// Lets the node know what a peer said.
    pub fn tell(&mut self, peer: usize, told: Told) {
        if matches!(self.roaming, Roaming::Gateway(_) | Roaming::Relay(_)) {
            self.effects.push(Effect::Told { peer, told });
        }
    }

    /// The way to an inner address.
    pub fn way(&self, address: IpAddr) -> Option<NextHop> {
        self.destinations.way(&self.routes, address)
    }

    /// Hands on a packet that a peer sent under `sequence`: to this host, to a station, or to the next hop.
    pub fn hand_on(&mut self, now: Duration, from: usize, sequence: Option<u64>, mut packet: Vec<u8>) {
        let (to, inner, why) = match self.onward(from, &mut packet) {
            Onward::Here => return self.deliveries.push(packet),
            Onward::Peer { to, inner, why } => (to, inner, why),
            Onward::Nowhere { way, inner } => {
                self.refuse_relayed(now, way, &packet, &inner);
                return self.deliveries.recycle(packet);
            }
            Onward::Misled => {
                self.misled_packets += 1;
                return self.deliveries.recycle(packet);
            }
        };
        self.effects.push(Effect::Forward(Forward { from, to, sequence, packet, inner, why }));
    }

    /// Where a packet from a peer goes. A packet that goes on has one hop less.
    fn onward(&self, from: usize, packet: &mut [u8]) -> Onward {
        let is_from_gateway = matches!(&self.roaming, Roaming::Gateway(all) if all.is_neighbour(from));
        if !is_from_gateway && !self.config.mesh.forwards {
            return Onward::Here;
        }
        let Ok(inner) = Inner::parse(packet) else { return Onward::Here };
        if is_from_gateway
            && let Roaming::Gateway(locations) = &self.roaming
            && let Some(station) = self.routes.peer(inner.flow.destination)
            && let Some(place) = locations.place(station)
        {
            // packets from another gateway go to their station only, and never back
            return match place {
                Place::Here => Onward::Peer { to: station, inner, why: Why::Station },
                Place::There(_) => Onward::Misled,
            };
        }
        let way = self.way(inner.flow.destination).filter(|_| self.config.mesh.forwards);
        match way.and_then(NextHop::next_hop).filter(|to| *to != from) {
            // the kernel answers a packet without hops left
            Some(to) if hop_limit::decrement(packet) => Onward::Peer { to, inner, why: Why::Relay },
            None if way.is_some_and(NextHop::is_another_node) => Onward::Nowhere { way, inner },
            _ => Onward::Here,
        }
    }

    /// Refuses a packet for a destination without a way onward. Where it could only return, the routes are
    /// about to change, and its sender gets no message.
    fn refuse_relayed(&mut self, now: Duration, way: Option<NextHop>, packet: &[u8], inner: &Inner) {
        let Some(NextHop::Destination { index, next_hop, .. }) = way else { return };
        self.destinations.refuse(index);
        if next_hop.is_none()
            && let Some(answer) = self.write_message(now, packet, inner, Reason::Unreachable)
        {
            self.answer(answer);
        }
    }

    /// Sends the answer to a packet from elsewhere the way that the packet came, which no kernel here need
    /// know.
    pub fn answer(&mut self, answer: Vec<u8>) {
        let inner = Inner::parse(&answer).ok();
        let sender = inner.as_ref().and_then(|inner| self.way(inner.flow.destination)?.next_hop());
        match inner.zip(sender) {
            Some((inner, sender)) => {
                let to = self.roaming.way(sender);
                let forward =
                    Forward { from: to, to, sequence: None, packet: answer, inner, why: Why::Answer };
                self.effects.push(Effect::Forward(forward));
            }
            None => self.deliveries.push(answer),
        }
    }

    /// Keeps a packet of this host for when there is a way to its destination again, for a while.
    pub fn hold(&mut self, now: Duration, destination: usize, packet: &[u8], inner: &Inner) {
        if !self.destinations.hold(now, destination, packet, inner)
            && let Some(message) = self.write_message(now, packet, inner, Reason::Unreachable)
        {
            self.deliveries.push(message);
        }
    }

    /// Keeps a packet that a peer sent to its group, in a mesh. This node may have to send it as well, and
    /// the peer has it.
    pub fn hear(&mut self, peer: usize, rest: &[u8]) {
        if self.config.mesh.relays.len() > 1 {
            let mut kept = self.deliveries.buffer();
            kept.extend_from_slice(rest);
            self.effects.push(Effect::Heard { from: peer, rest: kept });
        }
        if let Some(sharing) = self.sharing.as_mut().filter(|_| self.config.mesh.is_one())
            && let Ok(number) = sharing.codec.hear(rest, None)
        {
            sharing.codec.record_held(overhear::StationId(peer as u8), number);
        }
    }

    /// The message that tells the sender of a packet why it does not go on, if one may be sent now.
    pub fn write_message(
        &mut self,
        now: Duration,
        packet: &[u8],
        inner: &Inner,
        reason: Reason,
    ) -> Option<Vec<u8>> {
        let mut message = self.deliveries.buffer();
        if icmp::tell(packet, inner, reason, &mut message) && self.messages.take(now) {
            return Some(message);
        }
        self.deliveries.recycle(message);
        None
    }

    /// Lets a copy of a packet for a host wait for its delivery.
    pub fn deliver_copy(&mut self, packet: &[u8]) {
        let mut buffer = self.deliveries.buffer();
        buffer.extend_from_slice(packet);
        self.deliveries.push(buffer);
    }

    /// Whether a packet from an inner address may come from this peer.
    pub fn may_come(&self, source: IpAddr, peer: usize) -> bool {
        self.roaming.may_come(&self.routes, source, peer) || self.config.mesh.relays.contains(&peer)
    }
}
