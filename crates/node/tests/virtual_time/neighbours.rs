//! Two gateways of one operator, stations that hear both or one, and stations that move.

use crate::pair::tcp_between;
use node::{Config, Event, Gateways, Group, NetworkKey, Node, PeerConfig, PrivateKey, Shortening};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

const GATEWAYS: usize = 2;
const ONE: usize = 0;
const OTHER: usize = 1;
const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// To whom a datagram is under way, whether it is overheard, from where, and what it says.
type UnderWay = (usize, bool, SocketAddr, Vec<u8>);

struct Net {
    now: Duration,
    rng: ChaCha12Rng,
    nodes: Vec<Node>,
    configs: Vec<Config>,
    /// Which gateways a station is in reach of.
    reach: Vec<[bool; GATEWAYS]>,
    /// The share of what is in reach that is lost, and of what could be overheard and is not.
    loss: f64,
    unheard: f64,
    /// Whether the wire between the gateways is in order.
    wire: bool,
    under_way: BTreeMap<(Duration, u64), UnderWay>,
    number: u64,
    delivered: Vec<Vec<Vec<u8>>>,
    /// Bytes of datagrams from a gateway to a station.
    sent_bytes: BTreeMap<(usize, usize), u64>,
    starts: u8,
    events: Vec<(usize, Event)>,
}

fn address(index: usize) -> SocketAddr {
    format!("192.0.2.{}:4780", index + 1).parse().unwrap()
}

/// The last byte of a node's inner address.
fn last(index: usize) -> u8 {
    index as u8 + 1
}

fn configs(seed: u64, first: &[usize]) -> Vec<Config> {
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    let network = NetworkKey::generate(&mut rng);
    let count = GATEWAYS + first.len();
    let keys: Vec<PrivateKey> = (0..count).map(|_| PrivateKey::generate(&mut rng)).collect();
    let peer = |index: usize, keepalive: Option<Duration>, allowed: String| PeerConfig {
        name: format!("node {index}"),
        public_key: keys[index].public(),
        endpoint: keepalive.map(|_| address(index)),
        allowed_ips: vec![allowed.parse().unwrap()],
        keepalive,
    };
    let host = |index: usize| format!("10.0.0.{}/32", last(index));
    let config = |index: usize| {
        let (peers, gateways) = if index < GATEWAYS {
            let stations = (GATEWAYS..count).map(|at| peer(at, None, host(at)));
            let others = (0..GATEWAYS).filter(|at| *at != index);
            let others = others.map(|at| peer(at, Some(25 * SECOND), host(at)));
            let peers: Vec<_> = stations.chain(others).collect();
            (peers, Gateways::Neighbours((count - GATEWAYS..count - 1).collect()))
        } else {
            let order = [first[index - GATEWAYS], 1 - first[index - GATEWAYS]];
            let peers = order.map(|at| peer(at, Some(2 * SECOND), "0.0.0.0/0".into()));
            (peers.to_vec(), Gateways::Choice(vec![0, 1]))
        };
        let config = Config::new(keys[index].clone(), network.clone(), peers);
        Config { group: Some(Group::default()), shorten: Shortening::ALL, gateways, ..config }
    };
    (0..count).map(config).collect()
}

impl Net {
    /// Two gateways, and a station for each that `first` says is associated with that gateway at first.
    fn new(seed: u64, first: &[usize]) -> Self {
        let configs = configs(seed, first);
        let node = |(index, config): (usize, &Config)| {
            Node::new(config.clone(), [index as u8; 32], Duration::ZERO).unwrap()
        };
        let nodes: Vec<Node> = configs.iter().enumerate().map(node).collect();
        let count = nodes.len();
        let mut net = Net {
            now: Duration::ZERO,
            rng: ChaCha12Rng::seed_from_u64(seed),
            nodes,
            configs,
            reach: vec![[true; GATEWAYS]; count],
            loss: 0.0,
            unheard: 0.0,
            wire: true,
            under_way: BTreeMap::new(),
            number: 0,
            delivered: vec![Vec::new(); count],
            sent_bytes: BTreeMap::new(),
            starts: 100,
            events: Vec::new(),
        };
        (0..count).for_each(|index| net.poll(index));
        net.run(10 * SECOND);
        net
    }

    fn in_reach(&self, one: usize, other: usize) -> bool {
        let (gateway, station) = (one.min(other), one.max(other));
        match (gateway < GATEWAYS, station < GATEWAYS) {
            (true, true) => self.wire,
            (true, false) => self.reach[station][gateway],
            _ => false,
        }
    }

    fn poll(&mut self, index: usize) {
        self.nodes[index].handle_timeout(self.now);
        let mut datagram = Vec::new();
        while let Some(transmit) = self.nodes[index].poll_transmit(self.now, &mut datagram) {
            transmit.seal(&mut datagram);
            let Some(to) = (0..self.nodes.len()).find(|&at| address(at) == transmit.to) else { continue };
            *self.sent_bytes.entry((index, to)).or_default() += datagram.len() as u64;
            let is_on_the_wire = index < GATEWAYS && to < GATEWAYS;
            for at in 0..self.nodes.len() {
                if at == index || !self.in_reach(index, at) {
                    continue;
                }
                let overheard = at != to;
                // on the wire nobody overhears, and gateways do not listen
                if overheard && (is_on_the_wire || at < GATEWAYS) {
                    continue;
                }
                let missed = if is_on_the_wire {
                    0.0
                } else if overheard {
                    self.unheard
                } else {
                    self.loss
                };
                if !self.rng.random_bool(missed) {
                    let arrival = (self.now + 5 * MS, self.number);
                    self.under_way.insert(arrival, (at, overheard, address(index), datagram.clone()));
                    self.number += 1;
                }
            }
        }
        let mut packet = Vec::new();
        while self.nodes[index].poll_deliver(&mut packet) {
            self.delivered[index].push(packet.clone());
        }
        while let Some(event) = self.nodes[index].poll_event() {
            self.events.push((index, event));
        }
    }

    fn run(&mut self, time: Duration) {
        let end = self.now + time;
        let mut turns = 0;
        loop {
            let arrival = self.under_way.keys().next().map(|&(at, _)| at);
            let timers: Vec<_> = self.nodes.iter().map(Node::poll_timeout).collect();
            let next = timers.iter().copied().chain([arrival]).flatten().min();
            let Some(next) = next.filter(|&next| next <= end) else { break };
            turns += 1;
            assert!(turns < 1_000_000, "a timer that is always due: {timers:?} at {:?}", self.now);
            self.now = self.now.max(next);
            if arrival == Some(next) {
                let (_, (to, overheard, from, mut datagram)) = self.under_way.pop_first().unwrap();
                match overheard {
                    true => self.nodes[to].handle_overheard(self.now, from, &mut datagram),
                    false => self.nodes[to].handle_datagram(self.now, from, 0, &mut datagram),
                }
                self.poll(to);
            } else {
                for (index, timer) in timers.into_iter().enumerate() {
                    if timer == Some(next) {
                        self.poll(index);
                    }
                }
            }
        }
        self.now = end;
    }

    /// Sends these payloads to a station by a gateway, one in `pause`, each acknowledged by the station.
    fn send(&mut self, gateway: usize, station: usize, payloads: &[Vec<u8>], pause: Duration) -> Sent {
        let before = self.sent_bytes.clone();
        let mut packets = BTreeSet::new();
        let mut sequence = 1u32;
        for payload in payloads {
            let packet = tcp_between(200, last(station), sequence, payload);
            sequence = sequence.wrapping_add(payload.len() as u32);
            self.nodes[gateway].handle_packet(self.now, &packet);
            self.poll(gateway);
            packets.insert(packet);
            self.nodes[station].handle_packet(self.now, &tcp_between(last(station), 200, 7, b""));
            self.poll(station);
            self.run(pause);
        }
        self.run(2 * SECOND);
        let cost = |by: usize| {
            let of = |sent: &BTreeMap<(usize, usize), u64>| sent.get(&(by, station)).copied().unwrap_or(0);
            of(&self.sent_bytes) - of(&before)
        };
        Sent { packets, cost: [cost(ONE), cost(OTHER)] }
    }

    fn delivered(&self, station: usize) -> BTreeSet<Vec<u8>> {
        self.delivered[station].iter().cloned().collect()
    }

    fn restart(&mut self, index: usize) {
        self.starts += 1;
        self.nodes[index] = Node::new(self.configs[index].clone(), [self.starts; 32], self.now).unwrap();
        self.poll(index);
    }

    /// The gateway with which a station is associated as it sees it, and whether each gateway sees it so.
    fn association(&self, station: usize) -> (usize, [bool; GATEWAYS]) {
        let is = |peer: &node::PeerStatus| peer.associated == Some(true);
        let peers = self.nodes[station].status(self.now).peers;
        let name = &peers.iter().find(|peer| is(peer)).unwrap().name;
        let gateway = if name == "node 0" { ONE } else { OTHER };
        let sees = |at: usize| {
            let peer = &self.nodes[at].status(self.now).peers[station - GATEWAYS];
            peer.associated_with.is_none() == (at == gateway)
        };
        (gateway, [sees(ONE), sees(OTHER)])
    }
}

struct Sent {
    packets: BTreeSet<Vec<u8>>,
    /// By each gateway, in bytes.
    cost: [u64; GATEWAYS],
}

/// What no compressor and no earlier packet of the same station helps with.
fn random(seed: u64, count: usize) -> Vec<Vec<u8>> {
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    (0..count).map(|_| (0..1200).map(|_| rng.random()).collect()).collect()
}

#[test]
fn what_a_station_overheard_of_another_gateway_its_own_does_not_send() {
    let mut net = Net::new(1, &[ONE, OTHER]);
    let [first, second] = [GATEWAYS, GATEWAYS + 1];
    assert_eq!(net.association(first), (ONE, [true; 2]));
    assert_eq!(net.association(second), (OTHER, [true; 2]));
    let payloads = random(1, 300);
    let sent = net.send(ONE, first, &payloads, MS);
    assert!(net.delivered(first) == sent.packets);
    assert!(sent.cost[ONE] > 300 * 1200, "{:?}", sent.cost);
    let again = net.send(OTHER, second, &payloads, MS);
    assert!(net.delivered(second) == again.packets);
    let gateway = net.nodes[OTHER].status(net.now);
    let station = net.nodes[second].status(net.now);
    assert!(again.cost[OTHER] * 4 < sent.cost[ONE], "{:?} {gateway:#?} {station:#?}", again.cost);
    assert!(gateway.peers[2].counters.chunks_named > 1000, "{gateway:#?}");
    assert_eq!(net.nodes[ONE].status(net.now).peers[2].overheard_by, Some(1));
    assert!(station.peers[0].counters.chunks_hit > 1000, "{station:#?}");
}

#[test]
fn a_station_out_of_the_others_reach_gets_what_it_always_got() {
    let mut net = Net::new(2, &[ONE, OTHER]);
    let [first, second] = [GATEWAYS, GATEWAYS + 1];
    net.reach[second][ONE] = false;
    net.run(20 * SECOND);
    let payloads = random(2, 100);
    net.send(ONE, first, &payloads, MS);
    let again = net.send(OTHER, second, &payloads, MS);
    assert!(net.delivered(second) == again.packets);
    assert!(again.cost[OTHER] > 100 * 1200, "{:?}", again.cost);
    assert_eq!(net.nodes[second].status(net.now).peers[0].counters.chunks_missed, 0);
}

#[test]
fn a_gateway_that_dies_costs_what_its_stations_had_overheard_there_and_no_packet_of_the_other() {
    let mut net = Net::new(3, &[ONE, OTHER]);
    let [first, second] = [GATEWAYS, GATEWAYS + 1];
    let payloads = random(3, 200);
    net.send(ONE, first, &payloads, MS);
    net.reach[first][ONE] = false;
    net.reach[second][ONE] = false;
    net.wire = false;
    let again = net.send(OTHER, second, &payloads, MS);
    assert!(net.delivered(second) == again.packets);
    net.run(30 * SECOND);
    assert_eq!(net.association(first).0, OTHER, "its station has moved");
    let moved = net.send(OTHER, first, &random(4, 50), MS);
    assert!(moved.packets.is_subset(&net.delivered(first)));
}

#[test]
fn a_station_that_moves_out_of_reach_is_reached_by_the_other_gateway_at_its_address() {
    let mut net = Net::new(5, &[ONE]);
    let station = GATEWAYS;
    let sent = net.send(ONE, station, &random(5, 50), 10 * MS);
    assert!(net.delivered(station) == sent.packets);
    net.reach[station][ONE] = false;
    net.run(8 * SECOND);
    let status = net.nodes[ONE].status(net.now);
    assert_eq!(net.association(station), (OTHER, [true; 2]), "{status:#?} {:#?}", net.events);
    // the world still leads to the first gateway
    let after = net.send(ONE, station, &random(6, 50), 10 * MS);
    assert!(after.packets.is_subset(&net.delivered(station)), "nothing is lost");
    assert_eq!(after.cost[ONE], 0, "nothing is sent into the void");
    assert!(after.cost[OTHER] > 50 * 1200);
    assert_eq!(net.nodes[OTHER].status(net.now).peers[1].counters.forwarded_packets, 50);
    // what it says leaves by the gateway where it is
    assert!(net.delivered[OTHER].len() >= 50);
    // and back
    net.reach[station] = [true, false];
    net.run(8 * SECOND);
    assert_eq!(net.association(station), (ONE, [true; 2]));
    let back = net.send(ONE, station, &random(7, 50), 10 * MS);
    assert!(back.packets.is_subset(&net.delivered(station)));
    assert_eq!(back.cost[OTHER], 0);
}

#[test]
fn while_a_station_moves_packets_are_late_or_lost_for_a_few_seconds_and_then_come() {
    let mut net = Net::new(8, &[ONE]);
    let station = GATEWAYS;
    net.reach[station][ONE] = false;
    let sent = net.send(ONE, station, &random(8, 300), 50 * MS);
    let missing = sent.packets.difference(&net.delivered(station)).count();
    // five seconds of its word and a little more, twenty packets a second
    assert!(missing < 140, "{missing} of 300");
    assert!(net.delivered(station).is_subset(&sent.packets));
}

#[test]
fn a_station_that_was_away_for_so_short_a_time_that_nobody_noticed_is_served_again() {
    for away in [2500 * MS, 3500 * MS, 4500 * MS] {
        let mut net = Net::new(10, &[ONE]);
        let station = GATEWAYS;
        net.send(ONE, station, &random(10, 20), MS);
        net.reach[station][ONE] = false;
        net.run(away);
        net.reach[station] = [true, false];
        net.run(10 * SECOND);
        let sent = net.send(ONE, station, &random(11, 20), MS);
        assert!(sent.packets.is_subset(&net.delivered(station)), "{away:?}: {:#?}", net.events);
    }
}

#[test]
fn a_move_begins_with_an_empty_cache_and_ends_what_the_old_gateway_knew() {
    let mut net = Net::new(9, &[ONE, OTHER]);
    let [first, second] = [GATEWAYS, GATEWAYS + 1];
    let payloads = random(9, 100);
    net.send(ONE, first, &payloads, MS);
    net.reach[second][OTHER] = false;
    net.run(15 * SECOND);
    assert_eq!(net.association(second).0, ONE);
    let after = net.send(ONE, second, &payloads, MS);
    assert!(after.packets.is_subset(&net.delivered(second)));
    assert!(after.cost[ONE] > 100 * 1200, "{:?}", after.cost);
    let status = net.nodes[second].status(net.now);
    assert_eq!(status.peers.iter().map(|peer| peer.counters.chunks_missed).sum::<u64>(), 0, "{status:#?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Whoever restarts, whatever is out of reach meanwhile, over an air that loses: when it is over, everybody agrees on where
    /// each station is, all of its packets come, and what is overheard is saved again.
    #[test]
    fn gateways_that_restart_at_any_moment_converge(
        seed: u64,
        loss in 0.0..0.1f64,
        troubles in proptest::collection::vec((0..4usize, 0..2usize, 0..2usize, 1..8000u64), 0..6),
    ) {
        let mut net = Net::new(seed, &[ONE, OTHER]);
        net.loss = loss;
        for (what, gateway, station, ms) in troubles {
            match what {
                0 => net.restart(gateway),
                1 => net.reach[GATEWAYS + station][gateway] ^= true,
                2 => net.wire ^= true,
                _ => {
                    net.send(gateway, GATEWAYS + station, &random(seed, 5), MS);
                }
            }
            net.run(Duration::from_millis(ms));
        }
        net.reach = vec![[true; GATEWAYS]; 4];
        net.wire = true;
        net.loss = 0.0;
        net.run(60 * SECOND);
        for station in [GATEWAYS, GATEWAYS + 1] {
            let (at, agreed) = net.association(station);
            prop_assert_eq!(agreed, [true; 2], "{} of {}: {:#?}", at, station, net.events);
            for gateway in [ONE, OTHER] {
                let sent = net.send(gateway, station, &random(seed ^ 1, 20), MS);
                let missing = sent.packets.difference(&net.delivered(station)).count();
                let status = || net.nodes.iter().map(|node| format!("{:#?}", node.status(net.now))).collect::<String>();
                prop_assert!(missing == 0, "{} of 20 are missing at {}, which is at {}, by {}: {}", missing, station, at, gateway, status());
            }
        }
        let (at, _) = net.association(GATEWAYS);
        let payloads = random(seed ^ 2, 60);
        net.send(at, GATEWAYS, &payloads, MS);
        let (other, _) = net.association(GATEWAYS + 1);
        let again = net.send(other, GATEWAYS + 1, &payloads, MS);
        prop_assert!(again.packets.is_subset(&net.delivered(GATEWAYS + 1)));
        prop_assert!(again.cost[other] < 60 * 600, "{:?}", again.cost);
    }
}
