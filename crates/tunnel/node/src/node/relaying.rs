//! A node of a mesh (REfactor, sections 2.2.2 and 3.4, Figure 1c): passes on packets for others, and
//! remembers its own packets, because a relay that heard them will not send them back.

use super::{Named, Node};
use crate::path::hop_limit;
use std::time::Duration;
use wire::inner::Inner;

impl Node {
    /// Passes on packets that a peer sent and that are for another one. The kernel answers a packet without
    /// hops left.
    pub(super) fn relay(&mut self, now: Duration, from: usize, delivered: usize) {
        if !self.ctx.config.mesh.forwards {
            return;
        }
        for (mut packet, sequence) in self.ctx.deliveries.take_behind(delivered) {
            let inner = Inner::parse(&packet).ok();
            let way = inner.as_ref().and_then(|inner| self.way(inner.flow.destination));
            let Some((inner, way)) = inner.zip(way) else {
                self.ctx.deliveries.push_buffer(packet);
                continue;
            };
            match way.next_hop().filter(|to| *to != from) {
                Some(to) if hop_limit::decrement(&mut packet) => {
                    self.peers[to].counters_mut().relayed_packets += 1;
                    let name = sequence.and_then(|sequence| self.name(from, sequence, &inner));
                    self.pass_on(now, to, (&packet, name), &inner);
                }
                None if way.is_another_node() => self.refuse_relayed(now, way, &packet, &inner),
                _ => {
                    self.ctx.deliveries.push_buffer(packet);
                    continue;
                }
            }
            self.ctx.deliveries.recycle(packet);
        }
    }

    /// Lets a packet that came from elsewhere wait for a peer. If it cannot, its sender is told the way it
    /// came, which no kernel here need know.
    pub(super) fn pass_on(&mut self, now: Duration, to: usize, packet: Named<'_>, inner: &Inner) {
        let before = self.ctx.deliveries.len();
        self.send_to(now, to, packet, inner);
        self.answer(now, before);
    }

    /// Returns the answers to senders, behind the first `before` deliveries, by the way of their packets.
    pub(super) fn answer(&mut self, now: Duration, before: usize) {
        for (answer, _) in self.ctx.deliveries.take_behind(before) {
            let inner = Inner::parse(&answer).ok();
            let sender = inner.as_ref().and_then(|inner| self.way(inner.flow.destination)?.next_hop());
            match inner.zip(sender) {
                Some((inner, sender)) => {
                    let peer = &mut self.peers[self.ctx.roaming.way(sender)];
                    peer.enqueue(now, &answer, &inner.flow, None);
                    self.ctx.deliveries.recycle(answer);
                }
                None => self.ctx.deliveries.push_buffer(answer),
            }
        }
    }

    /// Puts a relay's packets to its group into the caches for other relays that address chunks alike, and
    /// tells these relays.
    pub(super) fn keep_for_others(&mut self) {
        // in their order: slots are overwritten
        for at in 0..self.ctx.heard.len() {
            let (from, rest) = std::mem::take(&mut self.ctx.heard[at]);
            if let Some(key) = self.peers[from].address_key() {
                let others = self.peers.iter_mut().filter(|peer| peer.index() != from);
                let alike = others.filter(|peer| peer.address_key() == Some(key));
                alike.for_each(|peer| peer.keep_sent(&rest));
            }
            self.ctx.deliveries.recycle(rest);
        }
        self.ctx.heard.clear();
    }

    /// Puts this node's shared packets into its caches for the others' groups, as their listeners do.
    pub(super) fn hear_oneself(&mut self) {
        while let Some(rest) = self.ctx.shared.pop() {
            self.peers.iter_mut().for_each(|peer| peer.keep_sent(&rest));
            self.ctx.deliveries.recycle(rest);
        }
    }
}
