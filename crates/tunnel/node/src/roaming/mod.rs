//! Several gateways of one operator, and stations that move from one to another (REfactor, sections 2.2.2 and
//! 3.3).
//!
//! A station has a session with each gateway that it knows and is *associated* with one: its packets go there
//! ([`choice`]). It moves when that one does not answer and another does. Each ping says whether its gateway
//! is that one. The station's inner address stays, and so do its connections.
//!
//! A gateway believes a station's own word first ([`locations`]), and then a gateway that claims the
//! station. Packets for the station then go there, through the tunnel between the two gateways. A station
//! that moves begins with an empty cache, and the gateway's knowledge of it is void.

mod choice;
mod locations;

pub(crate) use choice::{Choice, Decision, Seen};
pub(crate) use locations::{Change, Locations, Place};

use crate::route::Routes;
use std::net::IpAddr;

/// Of a node.
pub(crate) enum Roaming {
    /// It knows one gateway, or is the only one.
    Alone,
    /// It is a station.
    Station(Choice),
    /// It is one of several gateways.
    Gateway(Locations),
    /// It is a relay, and these peers are others, with which it has stations in common.
    Relay(Vec<usize>),
}

/// A peer's message about associations.
#[derive(Debug)]
pub(crate) enum Told {
    /// A station, which of its associations is with this gateway; 0: none.
    Associated(u8),
    /// A gateway: [`wire::neighbours::Message`].
    Message(Vec<u8>),
    /// Nothing yet: it has just started.
    Started,
}

impl Roaming {
    /// Index of the peer that carries a packet with a destination behind `peer`.
    pub fn way(&self, peer: usize) -> usize {
        match self {
            Roaming::Alone | Roaming::Relay(_) => peer,
            Roaming::Station(choice) => choice.way(peer),
            Roaming::Gateway(locations) => locations.way(peer),
        }
    }

    /// Whether a packet from `source` may come from `peer`. A gateway may pass on packets of any source.
    pub fn may_come(&self, routes: &Routes, source: IpAddr, peer: usize) -> bool {
        let owner = routes.peer(source);
        owner == Some(peer)
            || match self {
                Roaming::Alone => false,
                Roaming::Station(choice) => {
                    choice.knows(peer) && owner.is_some_and(|owner| choice.knows(owner))
                }
                Roaming::Gateway(_) | Roaming::Relay(_) => self.is_neighbour(peer),
            }
    }

    /// Whether a peer is another gateway, where this node is one, or another relay.
    pub fn is_neighbour(&self, peer: usize) -> bool {
        match self {
            Roaming::Alone | Roaming::Station(_) => false,
            Roaming::Gateway(locations) => locations.is_neighbour(peer),
            Roaming::Relay(others) => others.contains(&peer),
        }
    }

    /// Whether a peer can become a member of this node's group now.
    pub fn is_associated(&self, peer: usize) -> bool {
        match self {
            Roaming::Alone | Roaming::Station(_) => true,
            Roaming::Gateway(locations) => locations.is_associated(peer),
            Roaming::Relay(_) => !self.is_neighbour(peer),
        }
    }
}
