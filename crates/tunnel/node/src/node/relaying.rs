//! A node of a mesh (REfactor, sections 2.2.2 and 3.4, Figure 1c): passes on packets for others, and
//! remembers its own packets, because a relay that heard them will not send them back.

use super::Node;
use crate::effects::{Effect, Forward, Why};
use std::time::Duration;

impl Node {
    /// Settles what peers' datagrams brought about for others. Whether one was told something about gateways
    /// and stations.
    pub(super) fn settle(&mut self, now: Duration) -> bool {
        let mut is_told = false;
        while let Some(effect) = self.ctx.effects.pop() {
            match effect {
                Effect::Forward(forward) => self.forward(now, forward),
                Effect::Told { peer, told } => {
                    self.heed(now, peer, told);
                    is_told = true;
                }
                Effect::Heard { from, rest } => self.keep_for_others(from, rest),
                Effect::Shared { rest } => {
                    self.peers.iter_mut().for_each(|peer| peer.keep_sent(&rest));
                    self.ctx.deliveries.recycle(rest);
                }
            }
        }
        is_told
    }

    /// Lets a packet of one peer wait for another.
    fn forward(&mut self, now: Duration, forward: Forward) {
        let Forward { from, to, sequence, packet, inner, why } = forward;
        let name = match why {
            Why::Station => {
                self.peers[from].counters_mut().forwarded_packets += 1;
                None
            }
            Why::Relay => {
                self.peers[to].counters_mut().relayed_packets += 1;
                sequence.and_then(|sequence| self.name(from, sequence, &inner))
            }
            Why::Answer => {
                self.peers[to].enqueue(now, &packet, &inner.flow, None);
                return self.ctx.deliveries.recycle(packet);
            }
        };
        if let Some(answer) = self.send_to(now, to, (&packet, name), &inner) {
            self.ctx.answer(answer);
        }
        self.ctx.deliveries.recycle(packet);
    }

    /// Puts a relay's packet to its group into the caches for other relays that address chunks alike.
    fn keep_for_others(&mut self, from: usize, rest: Vec<u8>) {
        if let Some(key) = self.peers[from].address_key() {
            let others = self.peers.iter_mut().filter(|peer| peer.index() != from);
            let alike = others.filter(|peer| peer.address_key() == Some(key));
            alike.for_each(|peer| peer.keep_sent(&rest));
        }
        self.ctx.deliveries.recycle(rest);
    }
}
