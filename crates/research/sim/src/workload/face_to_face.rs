//! Two nodes face to face: each receives the other's datagrams at once. The work on a batch of packets is
//! divided into steps, so that each can be timed.

use crate::addresses::{GATEWAY, outer};
use crate::network::{Direct, Network};
use crate::setup::{Purpose, Setup, SetupError, Tunnel};
use air::LinkConfig;
use node::{Node, Transmit};
use rand::RngExt;
use std::time::Duration;

const STATION: usize = 1;
/// Virtual time between batches.
const BATCH_TIME: Duration = Duration::from_micros(300);

/// A gateway and a station with a session between them.
pub struct FaceToFace {
    network: Network<Direct>,
    /// Datagrams of the batch, with their seal parameters.
    batch: Vec<(Transmit, Vec<u8>)>,
    spare: Vec<Vec<u8>>,
    packet: Vec<u8>,
}

impl FaceToFace {
    /// Two nodes after their handshake.
    pub fn new(seed: u64, tunnel: &Tunnel) -> Result<Self, SetupError> {
        let setup = Setup::pair(seed, LinkConfig::default(), LinkConfig::default());
        let mut network = Network::new(Duration::ZERO, Direct);
        for (host, config) in setup.configs(tunnel).into_iter().enumerate() {
            let config = node::Config { trace: false, ..config };
            let node = Node::new(config, setup.rng(Purpose::Boots(host)).random(), network.now())?;
            network.join(outer(host).into(), node);
        }
        let mut pair = FaceToFace { network, batch: Vec::new(), spare: Vec::new(), packet: Vec::new() };
        pair.answer();
        pair.answer();
        Ok(pair)
    }

    /// Time passes until packets may leave again.
    pub fn wait(&mut self, time: Duration) {
        self.network.advance(time);
        self.answer();
    }

    /// The gateway converts packets to datagrams: classify, queue, reduce, pack.
    pub fn pack(&mut self, packets: &[Vec<u8>]) {
        self.network.advance(BATCH_TIME);
        for packet in packets {
            self.network.offer_packet(GATEWAY, packet);
        }
        let mut datagram = self.spare.pop().unwrap_or_default();
        while let Some(transmit) = self.network.poll_transmit(GATEWAY, &mut datagram) {
            self.batch
                .push((transmit, std::mem::replace(&mut datagram, self.spare.pop().unwrap_or_default())));
        }
        self.spare.push(datagram);
    }

    /// Seals the batch's datagrams.
    pub fn seal(&mut self) {
        for (transmit, datagram) in &mut self.batch {
            transmit.seal(datagram);
        }
    }

    /// Bytes of the datagrams of the batch.
    #[must_use]
    pub fn batch_bytes(&self) -> usize {
        self.batch.iter().map(|(_, datagram)| datagram.len()).sum()
    }

    /// The station processes the datagrams: open, unpack, restore.
    pub fn unpack(&mut self) {
        let (now, from) = (self.network.now(), self.network.address(GATEWAY));
        let station = self.network.node_mut(STATION);
        for (_, mut datagram) in self.batch.drain(..) {
            station.handle_datagram(now, from, 0, &mut datagram);
            self.spare.push(datagram);
        }
    }

    /// The station delivers the packets; returns the number of correct ones.
    pub fn deliver(&mut self, packets: &[Vec<u8>]) -> usize {
        self.take(packets, |taken, packet| taken == packet)
    }

    /// The same, by their lengths alone: where instructions are counted, a comparison would be a third of
    /// them.
    pub fn deliver_unread(&mut self, packets: &[Vec<u8>]) -> usize {
        self.take(packets, |taken, packet| taken.len() == packet.len())
    }

    fn take(&mut self, packets: &[Vec<u8>], is_right: impl Fn(&Vec<u8>, &Vec<u8>) -> bool) -> usize {
        let station = self.network.node_mut(STATION);
        let mut right = 0;
        for packet in packets {
            right += usize::from(station.poll_deliver(&mut self.packet) && is_right(&self.packet, packet));
        }
        right
    }

    /// The gateway's store for packets to the station: its bound in bytes.
    #[must_use]
    pub fn store_bytes(&self) -> Option<usize> {
        let status = self.network.status(GATEWAY);
        Some(status.peers.first()?.stores?.sent_bound_bytes)
    }

    /// The remaining work: the station's receipts reach the gateway.
    pub fn answer(&mut self) {
        let now = self.network.now();
        for host in [STATION, GATEWAY] {
            self.network.node_mut(host).handle_timeout(now);
            self.network.hand_over(host);
        }
        self.network.discard();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::packets;

    #[test]
    fn every_packet_comes_out_and_what_repeats_is_left_out() {
        let packets = packets(0.8, 3000);
        let mut pair = FaceToFace::new(1, &Tunnel::default()).expect("the setup is sound");
        let (mut right, mut datagram_bytes) = (0, 0);
        for batch in packets.chunks(32) {
            pair.pack(batch);
            pair.seal();
            datagram_bytes += pair.batch_bytes();
            pair.unpack();
            right += pair.deliver(batch);
            pair.answer();
        }
        assert_eq!(right, 3000);
        let packet_bytes: usize = packets.iter().map(Vec::len).sum();
        assert!(datagram_bytes * 2 < packet_bytes, "{datagram_bytes} of {packet_bytes}");
    }
}
