//! A gateway with several stations, in groups for threads: each group has some of the gateway's peers and
//! their stations.

use crate::addresses::{GATEWAY, outer};
use crate::network::{Direct, Network};
use crate::setup::{Purpose, Setup, SetupError, Station, Tunnel};
use air::LinkConfig;
use node::{Concerns, Node, Shards};
use rand::RngExt;
use std::time::Duration;

/// Virtual time between batches.
const BATCH_TIME: Duration = Duration::from_micros(300);

/// All of them.
pub struct Crowd {
    /// Groups that may run in parallel.
    pub groups: Vec<Group>,
}

/// Some peers of the gateway.
pub struct Group {
    shard: usize,
    /// The gateway's part, then its stations.
    network: Network<Direct>,
    /// The stations' numbers.
    hosts: Vec<usize>,
}

/// The gateway's part in its group.
const PART: usize = 0;

impl Crowd {
    /// A gateway and its stations after their handshakes, in this number of groups.
    pub fn new(seed: u64, tunnel: &Tunnel, stations: usize, groups: usize) -> Result<Self, SetupError> {
        let station = Station { down: LinkConfig::default(), up: LinkConfig::default() };
        let setup = Setup { seed, stations: vec![station; stations], tunnel: Some(tunnel.clone()) };
        setup.validate()?;
        let mut configs =
            setup.configs(tunnel).into_iter().map(|config| node::Config { trace: false, ..config });
        let Some(gateway) = configs.next() else { return Err(SetupError::Stations(0)) };
        let boot = |host| setup.rng(Purpose::Boots(host)).random();
        let (shards, gateways) = Shards::new(&gateway, groups, boot(GATEWAY), Duration::ZERO)?;
        let count = gateways.len();
        let mut groups: Vec<Group> = gateways.into_iter().enumerate().map(Group::of).collect();
        for (host, config) in (1..).zip(configs) {
            let station = Node::new(config, boot(host), Duration::ZERO)?;
            // Assigned as the gateway assigns its peers.
            groups[(host - 1) % count].join(host, station);
        }
        let mut crowd = Crowd { groups };
        crowd.shake_hands(&shards);
        Ok(crowd)
    }

    /// Sends stations' datagrams where the shards direct them, as in a driver.
    fn shake_hands(&mut self, shards: &Shards) {
        let mut datagram = Vec::new();
        for _ in 0..2 {
            let mut letters = Vec::new();
            for group in &mut self.groups {
                for (index, host) in (PART + 1..).zip(&group.hosts) {
                    group.network.node_mut(index).handle_timeout(Duration::ZERO);
                    while let Some(transmit) = group.network.poll_transmit(index, &mut datagram) {
                        transmit.seal(&mut datagram);
                        letters.push((*host, datagram.clone()));
                    }
                }
            }
            for (host, letter) in letters {
                let concerns = shards.of_datagram(&letter);
                for group in &mut self.groups {
                    if concerns == Concerns::Every || concerns == Concerns::One(group.shard) {
                        group.network.offer_datagram(PART, outer(host).into(), 0, &letter);
                    }
                }
            }
            for group in &mut self.groups {
                group.network.hand_over(PART);
            }
        }
    }
}

impl Group {
    fn of((shard, gateway): (usize, Node)) -> Self {
        let mut network = Network::new(Duration::ZERO, Direct);
        network.join(outer(GATEWAY).into(), gateway);
        Group { shard, network, hosts: Vec::new() }
    }

    fn join(&mut self, host: usize, station: Node) {
        self.network.join(outer(host).into(), station);
        self.hosts.push(host);
    }

    /// The numbers of its stations.
    pub fn stations(&self) -> impl Iterator<Item = usize> + '_ {
        self.hosts.iter().copied()
    }

    /// Carries packets from the gateway to one of its stations, with receipts back. Returns the number of
    /// correct packets.
    pub fn carry(&mut self, station: usize, packets: &[Vec<u8>]) -> usize {
        self.network.advance(BATCH_TIME);
        for packet in packets {
            self.network.offer_packet(PART, packet);
        }
        self.network.hand_over(PART);
        let at = self.hosts.iter().position(|&host| host == station);
        let delivered = at.map_or(&[][..], |at| self.network.delivered(PART + 1 + at));
        let right = delivered.iter().zip(packets).filter(|(came, went)| came == went).count();
        self.network.discard();
        let now = self.network.now();
        for index in (PART + 1..self.network.node_count()).chain([PART]) {
            self.network.node_mut(index).handle_timeout(now);
            self.network.hand_over(index);
        }
        self.network.discard();
        right
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::packets_to;

    #[test]
    fn a_gateway_in_any_number_of_groups_carries_every_packet_of_every_station() {
        for groups in 1..=5 {
            let mut crowd = Crowd::new(1, &Tunnel::default(), 4, groups).expect("the setup is sound");
            assert_eq!(crowd.groups.len(), groups.min(4));
            let mut served = Vec::new();
            for group in &mut crowd.groups {
                for station in group.stations().collect::<Vec<_>>() {
                    let packets = packets_to(station, 0.5, 300);
                    let right: usize = packets.chunks(32).map(|batch| group.carry(station, batch)).sum();
                    assert_eq!(right, 300, "station {station} of {groups} groups");
                    served.push(station);
                }
            }
            served.sort_unstable();
            assert_eq!(served, [1, 2, 3, 4]);
        }
    }
}
