//! Peers shared out among several nodes, each of which a thread of its own may drive, and which are one node
//! to the others: state is the peers', and no two peers share any.
//!
//! The shard of a packet or datagram is found without keys, and without a question to the nodes. A packet's
//! destination gives it. So does the id of a session in a sealed unit or a response: this node chose that id,
//! and it contains the shard. The owner of an initiation is secret, and a reset names an id of the other end.
//! Both go to every shard.

use crate::config::{Config, ConfigError, Memory};
use crate::event::{Event, SentPacket};
use crate::memory::{Budget, Share};
use crate::node::Node;
use crate::roster::Roster;
use crate::route::{ELSEWHERE, Routes};
use crate::session::shard::Shard;
use crate::status::{Refused, Status};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use std::time::Duration;
use wire::inner::Inner;
use wire::unit::{self, Kind};

/// The shards that a datagram concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concerns {
    /// This shard.
    One(usize),
    /// Any of them: show it to each.
    Every,
}

/// The assignment of peers to shards.
pub struct Shards {
    /// By destination, the shard.
    routes: Routes,
    count: usize,
}

impl Shards {
    /// The nodes of `config`, at most `most` and no more than it has peers. Peers are dealt out in turn; with
    /// one node, it is what [`Node::new`] makes.
    pub fn new(
        config: &Config,
        most: usize,
        seed: [u8; 32],
        now: Duration,
    ) -> Result<(Self, Vec<Node>), ConfigError> {
        config.validate()?;
        let count = most.min(config.peers.len()).max(1);
        let mut seeds = ChaCha12Rng::from_seed(seed);
        seeds.set_stream(2);
        let mut cookies = seeds.clone();
        cookies.set_stream(4);
        let cookie_secret = (count > 1).then(|| cookies.random());
        let shard_of = |peer: usize| peer % count;
        let memory = config.memory.map(|memory| Memory { nodes: count, ..memory });
        let budget = memory.map(|memory| Budget::new(memory.bytes, count));
        let nodes = (0..count).map(|index| {
            let (own, others): (Vec<_>, Vec<_>) =
                config.peers.iter().cloned().enumerate().partition(|(peer, _)| shard_of(*peer) == index);
            let elsewhere = others.iter().map(|(_, peer)| peer.public_key).collect();
            let shard = Shard::new(index as u32, count as u32 - 1, elsewhere, cookie_secret);
            // each knows all addresses: what belongs to a peer elsewhere must not come from a peer here
            let local = |peer: usize| if shard_of(peer) == index { peer / count } else { ELSEWHERE };
            let routes = Routes::by(&config.peers, local);
            let peers = own.into_iter().map(|(_, peer)| peer).collect();
            let seed = if index == 0 { seed } else { seeds.random() };
            let share = Share::of(budget.clone(), index);
            Node::of_shard(Config { peers, memory, ..config.clone() }, routes, shard, share, seed, now)
        });
        let nodes = nodes.collect::<Result<Vec<_>, _>>()?;
        Ok((Shards { routes: Routes::by(&config.peers, shard_of), count }, nodes))
    }

    /// Takes over the peers of `roster`, as each node does by [`Node::adopt`].
    pub fn adopt(&mut self, roster: &Roster) {
        let count = self.count;
        self.routes = roster.routes(|place| place % count);
    }

    /// Shard of a packet from the TUN. The first shard refuses packets without a peer.
    #[must_use]
    pub fn of_packet(&self, packet: &[u8]) -> usize {
        let destination = Inner::parse(packet).ok().map(|inner| inner.flow.destination);
        destination.and_then(|destination| self.routes.peer(destination)).unwrap_or(0)
    }

    /// Shard of a datagram, by its first unit: one peer packs all units. The first shard refuses malformed
    /// datagrams.
    #[must_use]
    pub fn of_datagram(&self, mut datagram: &[u8]) -> Concerns {
        if self.count == 1 {
            return Concerns::One(0);
        }
        let Ok(unit) = unit::parse(&mut datagram) else { return Concerns::One(0) };
        match unit.kind {
            Kind::Sealed { .. } | Kind::Response | Kind::Challenge => {
                Concerns::One(unit.key_id as usize % self.count)
            }
            // a group's key is named by its gateway, in whichever shard here that peer is
            Kind::Initiation | Kind::InitiationWithCookie | Kind::Reset | Kind::Group { .. } => {
                Concerns::Every
            }
        }
    }

    /// A shard's event, with the peer's index in the whole configuration.
    #[must_use]
    pub fn told_by(&self, shard: usize, mut event: Event) -> Event {
        if let Event::Reachable { index, .. }
        | Event::Unreachable { index, .. }
        | Event::Arrived { peer: index, .. }
        | Event::Sent(SentPacket { peer: index, .. }) = &mut event
        {
            *index = *index * self.count + shard;
        }
        event
    }
}

/// The status of all shards as one. `all` is in the order of the shards; `None` if it is empty.
#[must_use]
pub fn merged(all: Vec<Status>) -> Option<Status> {
    let mut all = all.into_iter();
    let mut first = all.next()?;
    let mut peers: Vec<_> = vec![std::mem::take(&mut first.peers).into_iter()];
    for status in all {
        // what every shard is shown, the first has counted
        let shown = Refused {
            handshake_mark: 0,
            handshake_stranger: 0,
            handshake_rate: 0,
            handshake_repeated: 0,
            ..status.refused
        };
        first.refused += shown;
        if let Some((memory, other)) = first.memory.as_mut().zip(status.memory) {
            memory.store_bytes += other.store_bytes;
            memory.other_bytes += other.other_bytes;
        }
        peers.push(status.peers.into_iter());
    }
    // dealt out in turn, they are taken up in turn, until no shard has more
    loop {
        let before = first.peers.len();
        first.peers.extend(peers.iter_mut().filter_map(Iterator::next));
        if first.peers.len() == before {
            return Some(first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::PeerConfig;
    use crate::keys::{NetworkKey, PrivateKey};

    const NOW: Duration = Duration::ZERO;

    fn config(allowed: &[&str]) -> Config {
        let rng = &mut ChaCha12Rng::seed_from_u64(1);
        let peers = allowed.iter().map(|net| PeerConfig {
            name: (*net).to_owned(),
            public_key: PrivateKey::generate(rng).public(),
            endpoint: None,
            allowed_ips: vec![net.parse().unwrap()],
            keepalive: None,
            bits_a_second: None,
        });
        let peers = peers.collect();
        Config::new(PrivateKey::generate(rng), NetworkKey::generate(rng), peers)
    }

    #[test]
    fn the_longest_prefix_wins_across_shards_on_the_way_out_and_in() {
        let config = config(&["0.0.0.0/0", "10.1.0.0/16", "10.2.0.0/16"]);
        let (shards, nodes) = Shards::new(&config, 2, [7; 32], NOW).unwrap();
        assert_eq!(nodes.len(), 2);
        for (address, shard, local) in [("192.0.2.1", 0, 0), ("10.1.0.1", 1, 0), ("10.2.0.1", 0, 1)] {
            let address = address.parse().unwrap();
            assert_eq!(shards.routes.peer(address), Some(shard), "{address}");
            for (index, node) in nodes.iter().enumerate() {
                let expected = if index == shard { local } else { ELSEWHERE };
                assert_eq!(node.owner(address), Some(expected), "{address} in shard {index}");
            }
        }
    }

    #[test]
    fn changed_peers_are_found_in_their_shards_and_all_are_told_of() {
        let before = config(&["10.0.0.0/16", "10.1.0.0/16", "10.2.0.0/16"]);
        let mut after = config(&["10.0.0.0/16", "10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16", "10.4.0.0/16"]);
        after.peers.remove(1);
        after.peers.remove(0);
        let (mut shards, mut nodes) = Shards::new(&before, 2, [7; 32], NOW).unwrap();
        let roster = Roster::of(&before).followed_by(&after);
        shards.adopt(&roster);
        nodes.iter_mut().for_each(|node| node.adopt(NOW, &roster));
        for (address, place) in [("10.2.0.1", 2), ("10.3.0.1", 3), ("10.4.0.1", 4)] {
            let address = address.parse().unwrap();
            assert_eq!(shards.routes.peer(address), Some(place % 2), "{address}");
            for (index, node) in nodes.iter().enumerate() {
                let expected = if index == place % 2 { place / 2 } else { ELSEWHERE };
                assert_eq!(node.owner(address), Some(expected), "{address} in shard {index}");
            }
        }
        assert_eq!(shards.routes.peer("10.0.0.1".parse().unwrap()), None);
        let status = merged(nodes.iter().map(|node| node.status(NOW)).collect()).unwrap();
        let mut names: Vec<_> = status.peers.into_iter().map(|peer| peer.name).collect();
        names.sort();
        assert_eq!(names, ["10.2.0.0/16", "10.3.0.0/16", "10.4.0.0/16"]);
    }

    #[test]
    fn a_packet_for_a_peer_elsewhere_is_refused() {
        let mut packet = Vec::new();
        etherparse::PacketBuilder::ipv4([10, 2, 0, 1], [10, 1, 0, 1], 64)
            .udp(1, 2)
            .write(&mut packet, &[])
            .unwrap();
        let (shards, mut nodes) =
            Shards::new(&config(&["10.0.0.0/8", "10.1.0.0/16"]), 2, [7; 32], NOW).unwrap();
        assert_eq!(shards.of_packet(&packet), 1);
        nodes[0].handle_packet(NOW, &packet);
        assert_eq!(nodes[0].status(NOW).refused.no_route, 1);
    }

    #[test]
    fn there_are_no_more_shards_than_peers_and_together_they_tell_of_all_in_order() {
        let all = ["10.0.0.0/16", "10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16", "10.4.0.0/16"];
        for most in 0..8 {
            let (_, nodes) = Shards::new(&config(&all), most, [7; 32], NOW).unwrap();
            assert_eq!(nodes.len(), most.clamp(1, 5));
            let status = merged(nodes.iter().map(|node| node.status(NOW)).collect()).unwrap();
            let names: Vec<_> = status.peers.into_iter().map(|peer| peer.name).collect();
            assert_eq!(names, all);
        }
        assert!(merged(Vec::new()).is_none());
    }

    #[test]
    fn what_is_no_unit_is_the_first_shards_to_refuse() {
        let (shards, _) = Shards::new(&config(&["10.0.0.0/16", "10.1.0.0/16"]), 2, [7; 32], NOW).unwrap();
        for datagram in [&[][..], &[0xff; 40], &[0; 2]] {
            assert_eq!(shards.of_datagram(datagram), Concerns::One(0));
        }
    }
}
