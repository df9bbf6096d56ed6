//! A gateway, its stations, and what they overhear of each other.

use crate::pair::{repetitive, tcp_between};
use node::{Config, Group, NetworkKey, Node, PeerConfig, PrivateKey, Shortening};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

const GATEWAY: usize = 0;
const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// The share of datagrams that does not arrive: at whom they are for, and at who overhears.
#[derive(Clone, Copy)]
struct Air {
    loss: f64,
    unheard: f64,
}

/// To whom a datagram is under way, whether it is overheard, from where, and what it says.
type UnderWay = (usize, bool, SocketAddr, Vec<u8>);

struct Cell {
    now: Duration,
    air: Air,
    rng: ChaCha12Rng,
    nodes: Vec<Node>,
    configs: Vec<Config>,
    /// By arrival and number.
    under_way: BTreeMap<(Duration, u64), UnderWay>,
    number: u64,
    delivered: Vec<Vec<Vec<u8>>>,
    /// Bytes of datagrams that the gateway sent to each.
    sent_bytes: Vec<u64>,
    starts: u8,
}

fn address(index: usize) -> SocketAddr {
    format!("192.0.2.{}:4780", index + 1).parse().unwrap()
}

impl Cell {
    /// A gateway with so many stations, of which those in `listening` become members.
    fn new(seed: u64, stations: usize, listening: &[usize], air: Air) -> Self {
        let mut rng = ChaCha12Rng::seed_from_u64(seed);
        let network = NetworkKey::generate(&mut rng);
        let keys: Vec<PrivateKey> = (0..=stations).map(|_| PrivateKey::generate(&mut rng)).collect();
        let peer = |index: usize, endpoint: bool, allowed: String| PeerConfig {
            name: format!("node {index}"),
            public_key: keys[index].public(),
            endpoint: endpoint.then(|| address(index)),
            allowed_ips: vec![allowed.parse().unwrap()],
            keepalive: endpoint.then_some(Duration::from_secs(25)),
        };
        let configs: Vec<Config> = (0..=stations)
            .map(|index| {
                let peers = match index {
                    GATEWAY => (1..=stations).map(|at| peer(at, false, format!("10.0.0.{at}/32"))).collect(),
                    _ => vec![peer(GATEWAY, true, "0.0.0.0/0".into())],
                };
                let group = (index == GATEWAY || listening.contains(&index)).then(Group::default);
                let config = Config::new(keys[index].clone(), network.clone(), peers);
                Config { group, shorten: Shortening::ALL, ..config }
            })
            .collect();
        let node = |(index, config): (usize, &Config)| {
            Node::new(config.clone(), [index as u8; 32], Duration::ZERO).unwrap()
        };
        let nodes: Vec<Node> = configs.iter().enumerate().map(node).collect();
        let mut cell = Cell {
            now: Duration::ZERO,
            air,
            rng,
            nodes,
            configs,
            under_way: BTreeMap::new(),
            number: 0,
            delivered: vec![Vec::new(); stations + 1],
            sent_bytes: vec![0; stations + 1],
            starts: 100,
        };
        (0..=stations).for_each(|index| cell.poll(index));
        cell.run(3 * SECOND);
        cell
    }

    fn poll(&mut self, index: usize) {
        self.nodes[index].handle_timeout(self.now);
        let mut datagram = Vec::new();
        while let Some(transmit) = self.nodes[index].poll_transmit(self.now, &mut datagram) {
            transmit.seal(&mut datagram);
            let Some(to) = (0..self.nodes.len()).find(|&at| address(at) == transmit.to) else { continue };
            self.sent_bytes[to] += if index == GATEWAY { datagram.len() as u64 } else { 0 };
            for at in (0..self.nodes.len()).filter(|&at| at != index) {
                let overheard = at != to;
                let missed = if overheard { self.air.unheard } else { self.air.loss };
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
    }

    fn run(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let arrival = self.under_way.keys().next().map(|&(at, _)| at);
            let timers: Vec<_> = self.nodes.iter().map(Node::poll_timeout).collect();
            let next = timers.iter().copied().chain([arrival]).flatten().min();
            let Some(next) = next.filter(|&next| next <= end) else { break };
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

    /// Sends these payloads to a station, one a millisecond; what they cost in bytes.
    fn fetch(&mut self, station: usize, payloads: &[Vec<u8>]) -> (u64, BTreeSet<Vec<u8>>) {
        let before = self.sent_bytes[station];
        let mut sent = BTreeSet::new();
        let mut sequence = 1u32;
        for (index, payload) in payloads.iter().enumerate() {
            let packet = tcp_between(200, station as u8, sequence, payload);
            sequence = sequence.wrapping_add(payload.len() as u32);
            self.nodes[GATEWAY].handle_packet(self.now, &packet);
            self.poll(GATEWAY);
            sent.insert(packet);
            if index % 2 == 0 {
                self.nodes[station].handle_packet(self.now, &tcp_between(station as u8, 200, 7, b""));
                self.poll(station);
            }
            self.run(MS);
        }
        self.run(2 * SECOND);
        (self.sent_bytes[station] - before, sent)
    }

    fn delivered(&self, station: usize) -> BTreeSet<Vec<u8>> {
        self.delivered[station].iter().cloned().collect()
    }

    fn restart(&mut self, index: usize) {
        self.starts += 1;
        self.nodes[index] = Node::new(self.configs[index].clone(), [self.starts; 32], self.now).unwrap();
        self.poll(index);
        // a station notices when it has something to say
        self.run(30 * SECOND);
    }
}

/// What no compressor and no earlier packet of the same station helps with.
fn random(seed: u64, count: usize) -> Vec<Vec<u8>> {
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    (0..count).map(|_| (0..1200).map(|_| rng.random()).collect()).collect()
}

#[test]
fn what_one_station_fetched_is_not_sent_to_another_that_overheard_it() {
    let mut cell = Cell::new(1, 2, &[1, 2], Air { loss: 0.0, unheard: 0.0 });
    let payloads = random(1, 300);
    let (first, sent) = cell.fetch(1, &payloads);
    assert!(cell.delivered(1) == sent);
    let (second, sent) = cell.fetch(2, &payloads);
    assert!(cell.delivered(2) == sent);
    assert!(first > 300 * 1200, "{first}");
    assert!(second * 5 < first, "{second} after {first}");
    let counters = cell.nodes[GATEWAY].status(cell.now).peers[1].counters;
    assert!(counters.overheard_removed_bytes > 300 * 1000, "{counters:?}");
    let at_24_mbit = counters.overheard_removed_bytes as f64 * 8.0 / 24e6;
    let spent = counters.air_spent_nanoseconds as f64 / 1e9;
    assert!((counters.air_saved_seconds() + spent - at_24_mbit).abs() < 1e-3, "{counters:?}");
    let station = cell.nodes[2].status(cell.now).peers[0].counters;
    assert!(station.chunks_hit > 1000 && station.chunks_missed == 0, "{station:?}");
}

#[test]
fn what_was_not_overheard_is_sent() {
    let mut cell = Cell::new(2, 2, &[1, 2], Air { loss: 0.0, unheard: 1.0 });
    let payloads = random(2, 200);
    let (first, _) = cell.fetch(1, &payloads);
    let (second, sent) = cell.fetch(2, &payloads);
    assert!(cell.delivered(2) == sent);
    assert!(second * 100 > first * 99, "{second} after {first}");
    assert_eq!(cell.nodes[2].status(cell.now).peers[0].counters.chunk_requests, 0);
}

#[test]
fn losses_on_every_way_cost_savings_and_never_bytes() {
    for (seed, loss, unheard) in [(3, 0.1, 0.3), (4, 0.2, 0.5), (5, 0.05, 0.9)] {
        let mut cell = Cell::new(seed, 3, &[1, 2, 3], Air { loss, unheard });
        cell.run(10 * SECOND);
        let payloads = random(seed, 200);
        let mut costs = Vec::new();
        for station in [1, 2, 3] {
            let (cost, sent) = cell.fetch(station, &payloads);
            costs.push(cost);
            let missing = sent.difference(&cell.delivered(station)).count();
            let counters = cell.nodes[station].status(cell.now).peers[0].counters;
            // the first ones are not repaired: nobody knows the round trip yet
            assert!(missing <= 2, "{missing} of 200, {loss} {unheard} {station}: {counters:?}");
            assert!(cell.delivered(station).is_subset(&sent));
        }
        assert!(costs[2] < costs[0], "{costs:?}");
        assert!(unheard > 0.5 || costs[2] * 10 < costs[0] * 8, "{costs:?}");
    }
}

#[test]
fn a_station_that_does_not_listen_gets_what_it_always_got() {
    let mut cell = Cell::new(6, 2, &[1], Air { loss: 0.0, unheard: 0.0 });
    let payloads = random(6, 100);
    cell.fetch(1, &payloads);
    let (_, sent) = cell.fetch(2, &payloads);
    assert!(cell.delivered(2) == sent);
    let peers = cell.nodes[GATEWAY].status(cell.now).peers;
    assert!(peers[0].counters.shared_packets > 90, "{:?}", peers[0].counters);
    assert_eq!(peers[1].counters.shared_packets, 0);
}

#[test]
fn members_that_restart_or_leave_begin_with_empty_caches_and_the_others_get_another_key() {
    let mut cell = Cell::new(7, 2, &[1, 2], Air { loss: 0.0, unheard: 0.0 });
    let payloads = random(7, 200);
    cell.fetch(1, &payloads);
    cell.restart(2);
    let (after_restart, sent) = cell.fetch(2, &payloads);
    assert!(cell.delivered(2) == sent);
    assert!(after_restart > 200 * 1200, "it has nothing any more: {after_restart}");
    // the key's change leaves the caches as they are
    cell.run(700 * SECOND);
    let (again, _) = cell.fetch(1, &payloads);
    assert!(again < 200 * 600, "{again}");
    let before = cell.nodes[GATEWAY].status(cell.now).peers[1].counters.shared_packets;
    cell.nodes[1].close();
    cell.poll(1);
    cell.run(SECOND);
    let (_, sent) = cell.fetch(2, &random(8, 50));
    assert!(sent.is_subset(&cell.delivered(2)));
    let after = cell.nodes[GATEWAY].status(cell.now).peers[1].counters.shared_packets;
    assert!(after > before, "under the new key");
}

#[test]
fn a_gateway_that_restarts_shares_anew() {
    let mut cell = Cell::new(9, 2, &[1, 2], Air { loss: 0.0, unheard: 0.0 });
    let payloads = random(9, 100);
    cell.fetch(1, &payloads);
    cell.restart(GATEWAY);
    cell.fetch(1, &payloads);
    let (cost, sent) = cell.fetch(2, &payloads);
    assert!(cell.delivered(2) == sent);
    assert!(cost < 100 * 400, "{cost}");
}

#[test]
fn text_that_repeats_within_a_station_is_removed_as_without_a_group() {
    let mut costs = Vec::new();
    for listening in [&[][..], &[1, 2]] {
        let mut cell = Cell::new(10, 2, listening, Air { loss: 0.0, unheard: 0.0 });
        let (cost, sent) = cell.fetch(1, &repetitive(10, 400));
        assert!(cell.delivered(1) == sent);
        costs.push(cost);
    }
    assert!(costs[1] < costs[0] * 13 / 10, "{costs:?}");
}

/// Frames that a member of the group would like to put into another's mouth.
fn any_forgery() -> impl Strategy<Value = Vec<u8>> {
    let frame = (0u8..32, proptest::collection::vec(any::<u8>(), 0..80));
    let frames = proptest::collection::vec(frame, 0..4);
    let forged =
        (0u8..3, any::<[u8; 8]>(), any::<[u8; 3]>(), frames).prop_map(|(member, mac, sequence, frames)| {
            let mut plaintext = vec![member];
            plaintext.extend_from_slice(&mac);
            plaintext.extend_from_slice(&sequence);
            for (number, body) in frames {
                plaintext.push(number);
                plaintext.push(body.len() as u8);
                plaintext.extend_from_slice(&body);
            }
            plaintext
        });
    prop_oneof![3 => forged, 1 => proptest::collection::vec(any::<u8>(), 0..200)]
}

#[test]
fn a_member_that_makes_up_numbers_spoils_no_packet_of_anothers() {
    let mut cell = Cell::new(12, 2, &[1, 2], Air { loss: 0.0, unheard: 0.0 });
    let payloads = random(12, 40);
    cell.fetch(1, &payloads[..10]);
    // chunks that are said to have been sent eight million packets later
    let forged = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 27, 6, 0x80, 0, 4, 0, 0, 0];
    let mut datagram = Vec::new();
    cell.nodes[GATEWAY].handle_packet(cell.now, &tcp_between(200, 1, 90_000, b"taken from its sender"));
    while let Some(transmit) = cell.nodes[GATEWAY].poll_transmit(cell.now, &mut datagram) {
        if datagram[0] & 7 == 4 {
            datagram.truncate(wire::unit::SEALED_HEADER_BYTES);
            datagram.extend_from_slice(&forged);
            transmit.seal(&mut datagram);
            cell.nodes[2].handle_overheard(cell.now, address(GATEWAY), &mut datagram);
        }
    }
    cell.poll(1);
    cell.fetch(1, &payloads[10..]);
    let (cost, sent) = cell.fetch(2, &payloads[10..]);
    assert!(sent.is_subset(&cell.delivered(2)));
    assert!(cost < 30 * 600, "it is still believed what it hears: {cost}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Who has the group's key can write units that everybody opens; what is in them is believed by nobody.
    #[test]
    fn a_member_can_forge_nothing(forgeries in proptest::collection::vec(any_forgery(), 1..8)) {
        let mut cell = Cell::new(11, 2, &[1, 2], Air { loss: 0.0, unheard: 0.0 });
        let payloads = random(11, 12);
        cell.fetch(1, &payloads[..4]);
        let before = cell.delivered[1].len();
        let mut datagram = Vec::new();
        for (index, forgery) in forgeries.iter().enumerate() {
            // the gateway's own unit gives the header and the seal
            let packet = tcp_between(200, 1, 90_000 + index as u32, b"taken from its sender");
            cell.nodes[GATEWAY].handle_packet(cell.now, &packet);
            while let Some(transmit) = cell.nodes[GATEWAY].poll_transmit(cell.now, &mut datagram) {
                if datagram[0] & 7 != 4 {
                    continue;
                }
                datagram.truncate(wire::unit::SEALED_HEADER_BYTES);
                datagram.extend_from_slice(forgery);
                transmit.seal(&mut datagram);
                cell.nodes[1].handle_datagram(cell.now, address(GATEWAY), 0, &mut datagram.clone());
                cell.nodes[2].handle_overheard(cell.now, address(GATEWAY), &mut datagram);
            }
        }
        cell.poll(1);
        prop_assert_eq!(cell.delivered[1].len(), before, "something was believed");
        for station in [1, 2] {
            let (_, sent) = cell.fetch(station, &payloads[4..]);
            prop_assert!(sent.is_subset(&cell.delivered(station)));
        }
    }
}
