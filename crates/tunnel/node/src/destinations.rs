//! Nodes of the mesh with a changing way (REfactor, section 2.2.2: next hops are the routing protocol's). The
//! node's driver names the peer that is the next hop. Packets follow it, including those that wait for the
//! earlier one.
//!
//! Without a next hop packets wait as for a peer that is [down](crate::path::reachability), and are refused
//! after that time. Packets of others do not wait: the way may lead next to their last hop, and nothing
//! goes back there.

use crate::config::Destination;
use crate::path::reachability::DOWN_AFTER;
use crate::queue::Queue;
use crate::route::Routes;
use crate::status::DestinationStatus;
use std::net::IpAddr;
use std::time::Duration;
use wire::inner::Inner;

/// The way to an inner address.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NextHop {
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
pub(crate) struct Destinations {
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

    /// Status of the destinations; `name` says how a peer is called.
    pub fn status(&self, name: impl Fn(usize) -> String) -> Vec<DestinationStatus> {
        let status = |it: &Reached| DestinationStatus {
            name: it.name.clone(),
            next_hop: it.next_hop.map(&name),
            changes: it.changes,
            refused_packets: it.refused_packets,
        };
        self.all.iter().map(status).collect()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// A destination's name.
    pub fn name(&self, index: usize) -> &str {
        &self.all[index].name
    }

    /// The peer on the way to a destination.
    pub fn next_hop(&self, index: usize) -> Option<usize> {
        self.all[index].next_hop
    }

    /// Sets the next hop to a destination. The next hop before; `None`: there is no such destination, or
    /// nothing changes.
    pub fn set_next_hop(
        &mut self,
        now: Duration,
        index: usize,
        next_hop: Option<usize>,
    ) -> Option<Option<usize>> {
        let reached = self.all.get_mut(index).filter(|reached| reached.next_hop != next_hop)?;
        reached.without_since = now;
        reached.changes += 1;
        Some(std::mem::replace(&mut reached.next_hop, next_hop))
    }

    /// Takes all packets that wait for a way.
    pub fn take_waiting(&mut self, index: usize) -> Vec<Vec<u8>> {
        self.all[index].waiting.take_out(|_| true)
    }

    /// The same, if they have waited long enough.
    pub fn take_expired(&mut self, now: Duration, index: usize) -> Vec<Vec<u8>> {
        let reached = &self.all[index];
        let waits = !reached.waiting.is_empty() && now >= reached.without_since + DOWN_AFTER;
        if waits { self.take_waiting(index) } else { Vec::new() }
    }

    /// Keeps a packet for when there is a way again, for a while. `false`: it is refused.
    pub fn hold(&mut self, now: Duration, index: usize, packet: &[u8], inner: &Inner) -> bool {
        let reached = &mut self.all[index];
        let waits = now < reached.without_since + DOWN_AFTER;
        if waits {
            reached.waiting.push(now, packet, &inner.flow);
        } else {
            reached.refused_packets += 1;
        }
        waits
    }

    /// Counts a packet without a way.
    pub fn refuse(&mut self, index: usize) {
        self.all[index].refused_packets += 1;
    }

    /// Takes back the buffer of a packet that waited.
    pub fn recycle(&mut self, index: usize, packet: Vec<u8>) {
        self.all[index].waiting.recycle(packet);
    }

    /// The way to an inner address: of the longest prefix, and a destination's before the same one of a
    /// peer's in `routes`.
    pub fn way(&self, routes: &Routes, address: IpAddr) -> Option<NextHop> {
        let own = routes.longest(address);
        match self.routes.longest(address) {
            Some((bits, index)) if own.is_none_or(|(others, _)| bits >= others) => {
                let next_hop = self.all[index].next_hop;
                Some(NextHop::Destination { index, next_hop, is_default: bits == 0 })
            }
            _ => own.map(|(_, peer)| NextHop::Peer(peer)),
        }
    }
}
