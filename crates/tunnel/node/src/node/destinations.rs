//! Packets for destinations with a changing way, and the changes.

use super::Node;
use crate::destinations::NextHop;
use crate::event::Event;
use std::time::Duration;
use wire::inner::Inner;

impl Node {
    /// Sets the next hop to a destination, both by their indices in the configuration; `None`: there is no
    /// way. Waiting packets go the new way. Unknown indices change nothing.
    pub fn set_next_hop(&mut self, now: Duration, destination: usize, next_hop: Option<usize>) {
        if next_hop.is_some_and(|peer| peer >= self.peers.len()) {
            return;
        }
        let Some(before) = self.ctx.destinations.set_next_hop(now, destination, next_hop) else { return };
        let peer = next_hop.map(|peer| self.peers[peer].name().to_owned());
        let destination_name = self.ctx.destinations.name(destination).to_owned();
        self.ctx.events.push(Event::NextHop { destination: destination_name, peer });
        let waiting = match before {
            None => self.ctx.destinations.take_waiting(destination),
            Some(peer) => self.take_out(peer, destination),
        };
        for packet in waiting {
            self.send_again(now, destination, packet);
        }
    }

    /// Takes what waits for a peer and is for a destination.
    fn take_out(&mut self, peer: usize, destination: usize) -> Vec<Vec<u8>> {
        let ctx = &self.ctx;
        self.peers[peer].take_out(|packet| {
            let way = Inner::parse(packet).ok().and_then(|inner| ctx.way(inner.flow.destination));
            matches!(way, Some(NextHop::Destination { index, .. }) if index == destination)
        })
    }

    /// Lets a packet that waited for a destination wait where the way leads now.
    fn send_again(&mut self, now: Duration, destination: usize, packet: Vec<u8>) {
        if let Ok(inner) = Inner::parse(&packet) {
            match self.ctx.destinations.next_hop(destination) {
                // a relay no longer knows the last hop of the packet, but it knows the next hop on the way
                // back
                Some(peer)
                    if self.ctx.config.mesh.forwards
                        && self.ctx.way(inner.flow.source).and_then(NextHop::next_hop) == Some(peer) =>
                {
                    self.ctx.destinations.refuse(destination);
                }
                Some(peer) => self.send_own(now, peer, &packet, &inner),
                None => self.ctx.hold(now, destination, &packet, &inner),
            }
        }
        self.ctx.destinations.recycle(destination, packet);
    }

    /// Refuses what has waited long enough for a way.
    pub(super) fn give_up_destinations(&mut self, now: Duration) {
        for index in 0..self.ctx.destinations.len() {
            for packet in self.ctx.destinations.take_expired(now, index) {
                self.send_again(now, index, packet);
            }
        }
    }
}
