//! Nodes of the mesh with a changing way (REfactor, section 2.2.2: next hops are the routing protocol's). The
//! node's driver names the peer that is the next hop. Packets follow it, including those that wait for the
//! earlier one.
//!
//! Without a next hop packets wait as for a peer that is [down](crate::path::reachability), and are refused
//! after that time. Packets of others do not wait: the way may lead next to their last hop, and nothing
//! goes back there.

use super::Node;
use crate::config::Destination;
use crate::event::Event;
use crate::path::icmp::Reason;
use crate::path::reachability::DOWN_AFTER;
use crate::peer::Peer;
use crate::queue::Queue;
use crate::route::Routes;
use crate::status::DestinationStatus;
use std::net::IpAddr;
use std::time::Duration;
use wire::inner::Inner;

/// The way to an inner address.
#[derive(Debug, Clone, Copy)]
pub(super) enum NextHop {
    /// It is a peer's.
    Peer(usize),
    /// It is a destination's.
    Destination {
        /// Its index.
        index: usize,
        /// The peer on the way there, if there is a way.
        next_hop: Option<usize>,
        /// Whether it is by a prefix that holds everything: then it may be this node's own, too.
        is_default: bool,
    },
}

impl NextHop {
    /// The peer that is next.
    pub fn next_hop(self) -> Option<usize> {
        match self {
            NextHop::Peer(peer) => Some(peer),
            NextHop::Destination { next_hop, .. } => next_hop,
        }
    }

    /// Whether the address is another node's for sure, so that the kernel has nothing to do with it.
    pub fn is_another_node(self) -> bool {
        matches!(self, NextHop::Destination { is_default: false, .. })
    }
}

/// All of them.
pub(super) struct Destinations {
    routes: Routes,
    all: Vec<Reached>,
}

/// How one is reached.
struct Reached {
    name: String,
    next_hop: Option<usize>,
    /// Since when it has none.
    without_since: Duration,
    waiting: Queue,
    changes: u64,
    refused_packets: u64,
}

impl Destinations {
    /// No way to any of them is known yet.
    pub fn new(destinations: &[Destination], queue_bytes: usize, salt: [u64; 4], now: Duration) -> Self {
        let nets = destinations.iter().map(|it| it.allowed_ips.as_slice());
        let reached = |destination: &Destination| Reached {
            name: destination.name.clone(),
            next_hop: None,
            without_since: now,
            waiting: Queue::new(queue_bytes, salt),
            changes: 0,
            refused_packets: 0,
        };
        let all = destinations.iter().map(reached).collect();
        Destinations { routes: Routes::to(nets.zip(0..)), all }
    }

    /// When packets have waited long enough.
    pub fn timeout(&self) -> Option<Duration> {
        let waiting = self.all.iter().filter(|it| !it.waiting.is_empty());
        waiting.map(|it| it.without_since + DOWN_AFTER).min()
    }

    /// Status of the destinations.
    pub fn status(&self, peers: &[Peer]) -> Vec<DestinationStatus> {
        let status = |it: &Reached| DestinationStatus {
            name: it.name.clone(),
            next_hop: it.next_hop.map(|peer| peers[peer].name().to_owned()),
            changes: it.changes,
            refused_packets: it.refused_packets,
        };
        self.all.iter().map(status).collect()
    }
}

impl Node {
    /// Sets the next hop to a destination, both by their indices in the configuration; `None`: there is no
    /// way. Waiting packets go the new way. Unknown indices change nothing.
    pub fn set_next_hop(&mut self, now: Duration, destination: usize, next_hop: Option<usize>) {
        let Some(reached) = self.destinations.all.get_mut(destination) else { return };
        if reached.next_hop == next_hop || next_hop.is_some_and(|peer| peer >= self.peers.len()) {
            return;
        }
        let before = std::mem::replace(&mut reached.next_hop, next_hop);
        reached.without_since = now;
        reached.changes += 1;
        let peer = next_hop.map(|peer| self.peers[peer].name().to_owned());
        self.ctx.events.push(Event::NextHop { destination: reached.name.clone(), peer });
        let waiting = match before {
            None => reached.waiting.take_out(|_| true),
            Some(peer) => self.take_out(peer, destination),
        };
        for packet in waiting {
            self.send_again(now, destination, packet);
        }
    }

    /// Takes what waits for a peer and is for a destination.
    fn take_out(&mut self, peer: usize, destination: usize) -> Vec<Vec<u8>> {
        let (routes, destinations) = (&self.ctx.routes, &self.destinations);
        self.peers[peer].take_out(|packet| {
            let address = Inner::parse(packet).map(|inner| inner.flow.destination);
            address.is_ok_and(|address| matches!(way(routes, destinations, address), Some(NextHop::Destination { index, .. }) if index == destination))
        })
    }

    /// Lets a packet that waited for a destination wait where the way leads now.
    fn send_again(&mut self, now: Duration, destination: usize, packet: Vec<u8>) {
        if let Ok(inner) = Inner::parse(&packet) {
            match self.destinations.all[destination].next_hop {
                // a relay no longer knows the last hop of the packet, but it knows the next hop on the way
                // back
                Some(peer)
                    if self.ctx.config.mesh.forwards
                        && self.way(inner.flow.source).and_then(NextHop::next_hop) == Some(peer) =>
                {
                    self.destinations.all[destination].refused_packets += 1;
                }
                Some(peer) => self.send_to(now, peer, (&packet, None), &inner),
                None => self.hold(now, destination, &packet, &inner),
            }
        }
        self.destinations.all[destination].waiting.recycle(packet);
    }

    /// The way to an inner address: of the longest prefix, and a destination's before the same one of a
    /// peer's.
    pub(super) fn way(&self, address: IpAddr) -> Option<NextHop> {
        way(&self.ctx.routes, &self.destinations, address)
    }

    /// Keeps a packet of this host's for when there is a way again, for a while.
    pub(super) fn hold(&mut self, now: Duration, destination: usize, packet: &[u8], inner: &Inner) {
        let reached = &mut self.destinations.all[destination];
        if now < reached.without_since + DOWN_AFTER {
            reached.waiting.push(now, packet, &inner.flow);
        } else {
            reached.refused_packets += 1;
            self.ctx.tell_sender(now, packet, inner, Reason::Unreachable);
        }
    }

    /// Refuses a packet for a destination without a way onward. Where it could only return, the routes are
    /// about to change, and its sender gets no message.
    pub(super) fn refuse_relayed(&mut self, now: Duration, way: NextHop, packet: &[u8], inner: &Inner) {
        let NextHop::Destination { index, next_hop, .. } = way else { return };
        self.destinations.all[index].refused_packets += 1;
        if next_hop.is_none() {
            let before = self.ctx.deliveries.len();
            self.ctx.tell_sender(now, packet, inner, Reason::Unreachable);
            self.answer(now, before);
        }
    }

    /// Refuses what has waited long enough for a way.
    pub(super) fn give_up_destinations(&mut self, now: Duration) {
        for index in 0..self.destinations.all.len() {
            let reached = &mut self.destinations.all[index];
            if reached.waiting.is_empty() || now < reached.without_since + DOWN_AFTER {
                continue;
            }
            for packet in reached.waiting.take_out(|_| true) {
                self.send_again(now, index, packet);
            }
        }
    }
}

fn way(routes: &Routes, destinations: &Destinations, address: IpAddr) -> Option<NextHop> {
    let own = routes.longest(address);
    match destinations.routes.longest(address) {
        Some((bits, index)) if own.is_none_or(|(others, _)| bits >= others) => {
            let next_hop = destinations.all[index].next_hop;
            Some(NextHop::Destination { index, next_hop, is_default: bits == 0 })
        }
        _ => own.map(|(_, peer)| NextHop::Peer(peer)),
    }
}
