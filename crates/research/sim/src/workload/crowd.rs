//! A gateway with several stations, in groups that threads of their own may drive: each group has some of the gateway's
//! peers and the stations that these are.

use crate::addresses::{GATEWAY, outer};
use crate::setup::{Purpose, Setup, SetupError, Station, Tunnel};
use air::LinkConfig;
use node::{Concerns, Node, Shards};
use rand::RngExt;
use std::net::SocketAddr;
use std::time::Duration;

/// Virtual time between batches.
const BATCH_TIME: Duration = Duration::from_micros(300);

/// All of them.
pub struct Crowd {
    /// What may be driven at the same time.
    pub groups: Vec<Group>,
}

/// Some peers of the gateway.
pub struct Group {
    shard: usize,
    gateway: Node,
    /// By their number.
    stations: Vec<(usize, Node)>,
    now: Duration,
    datagram: Vec<u8>,
    packet: Vec<u8>,
}

impl Crowd {
    /// A gateway and its stations, which have shaken hands, in so many groups.
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
            // dealt out as the gateway deals out its peers
            groups[(host - 1) % count].stations.push((host, station));
        }
        let mut crowd = Crowd { groups };
        crowd.shake_hands(&shards);
        Ok(crowd)
    }

    /// What stations send goes where the shards say, as in a driver.
    fn shake_hands(&mut self, shards: &Shards) {
        let now = Duration::ZERO;
        for _ in 0..2 {
            let mut letters = Vec::new();
            for group in &mut self.groups {
                for (host, station) in &mut group.stations {
                    station.handle_timeout(now);
                    while let Some(transmit) = station.poll_transmit(now, &mut group.datagram) {
                        transmit.seal(&mut group.datagram);
                        letters.push((*host, group.datagram.clone()));
                    }
                }
            }
            for (host, letter) in letters {
                let concerns = shards.of_datagram(&letter);
                for group in &mut self.groups {
                    if concerns == Concerns::Every || concerns == Concerns::One(group.shard) {
                        group.gateway.handle_datagram(now, outer(host).into(), 0, &mut letter.clone());
                    }
                }
            }
            self.groups.iter_mut().for_each(Group::hand_over);
        }
    }
}

impl Group {
    fn of((shard, gateway): (usize, Node)) -> Self {
        Group {
            shard,
            gateway,
            stations: Vec::new(),
            now: Duration::ZERO,
            datagram: Vec::new(),
            packet: Vec::new(),
        }
    }

    /// The numbers of its stations.
    pub fn stations(&self) -> impl Iterator<Item = usize> + '_ {
        self.stations.iter().map(|(host, _)| *host)
    }

    /// Carries packets from the gateway to one of its stations, receipts back included; how many came out as they went
    /// in.
    pub fn carry(&mut self, station: usize, packets: &[Vec<u8>]) -> usize {
        self.now += BATCH_TIME;
        for packet in packets {
            self.gateway.handle_packet(self.now, packet);
        }
        self.hand_over();
        let mut right = 0;
        if let Some((_, station)) = self.stations.iter_mut().find(|(host, _)| *host == station) {
            for packet in packets {
                right += usize::from(station.poll_deliver(&mut self.packet) && self.packet == *packet);
            }
        }
        for (host, station) in &mut self.stations {
            station.handle_timeout(self.now);
            let from: SocketAddr = outer(*host).into();
            while let Some(transmit) = station.poll_transmit(self.now, &mut self.datagram) {
                transmit.seal(&mut self.datagram);
                self.gateway.handle_datagram(self.now, from, 0, &mut self.datagram);
            }
            while station.poll_event().is_some() {}
        }
        self.gateway.handle_timeout(self.now);
        self.hand_over();
        while self.gateway.poll_event().is_some() {}
        right
    }

    /// What the gateway has reaches its stations.
    fn hand_over(&mut self) {
        let from: SocketAddr = outer(GATEWAY).into();
        while let Some(transmit) = self.gateway.poll_transmit(self.now, &mut self.datagram) {
            transmit.seal(&mut self.datagram);
            let to = |(host, _): &&mut (usize, Node)| SocketAddr::from(outer(*host)) == transmit.to;
            if let Some((_, station)) = self.stations.iter_mut().find(to) {
                station.handle_datagram(self.now, from, 0, &mut self.datagram);
            }
        }
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
