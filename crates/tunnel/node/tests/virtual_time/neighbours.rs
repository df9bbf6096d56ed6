//! Two gateways of one operator, stations that hear both or one, and stations that move.

use crate::mesh::{MS, Mesh, SECOND, address, random};
use crate::pair::tcp_between;
use node::{Config, Gateways, Group, NetworkKey, PeerConfig, PrivateKey, Shortening};
use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha12Rng;
use std::collections::BTreeSet;
use std::time::Duration;

const GATEWAYS: usize = 2;
const ONE: usize = 0;
const OTHER: usize = 1;

struct Net {
    mesh: Mesh,
    /// For each station, the gateways in its reach.
    reach: Vec<[bool; GATEWAYS]>,
    /// Whether the wire between the gateways is in order.
    wire: bool,
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
        bits_a_second: None,
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

/// On the air a gateway and a station hear each other that are in reach.
fn in_reach(reach: Vec<[bool; GATEWAYS]>) -> impl Fn(usize, usize) -> bool + 'static {
    move |one, other| {
        let (gateway, station) = (one.min(other), one.max(other));
        gateway < GATEWAYS && station >= GATEWAYS && reach[station][gateway]
    }
}

fn by_wire(one: usize, other: usize) -> bool {
    one.max(other) < GATEWAYS
}

impl Net {
    /// Two gateways, and a station for each that `first` says is associated with that gateway at first.
    fn new(seed: u64, first: &[usize]) -> Self {
        let configs = configs(seed, first);
        let reach = vec![[true; GATEWAYS]; configs.len()];
        let mesh = Mesh::wired(seed, &configs, in_reach(reach.clone()), by_wire);
        let mut net = Net { mesh, reach, wire: true };
        net.run(10 * SECOND);
        net
    }

    fn run(&mut self, time: Duration) {
        let wire = self.wire;
        self.mesh.medium.set_hears(in_reach(self.reach.clone()));
        self.mesh.medium.set_wired(move |one, other| wire && by_wire(one, other));
        self.mesh.run(time);
    }

    /// Sends these payloads to a station by a gateway, one in `pause`, each acknowledged by the station.
    fn send(&mut self, gateway: usize, station: usize, payloads: &[Vec<u8>], pause: Duration) -> Sent {
        let spent = |mesh: &Mesh| [ONE, OTHER].map(|by| mesh.medium.sent_bytes((by, station)));
        let before = spent(&self.mesh);
        let mut packets = BTreeSet::new();
        let mut sequence = 1u32;
        for payload in payloads {
            let packet = tcp_between(200, last(station), sequence, payload);
            sequence = sequence.wrapping_add(payload.len() as u32);
            self.mesh.send(gateway, &packet);
            packets.insert(packet);
            self.mesh.send(station, &tcp_between(last(station), 200, 7, b""));
            self.run(pause);
        }
        self.run(2 * SECOND);
        let after = spent(&self.mesh);
        Sent { packets, cost: [after[ONE] - before[ONE], after[OTHER] - before[OTHER]] }
    }

    /// The gateway with which a station is associated as it sees it, and whether each gateway sees it so.
    fn association(&self, station: usize) -> (usize, [bool; GATEWAYS]) {
        let is = |peer: &node::PeerStatus| peer.associated == Some(true);
        let peers = self.mesh.status(station).peers;
        let name = &peers.iter().find(|peer| is(peer)).unwrap().name;
        let gateway = if name == "node 0" { ONE } else { OTHER };
        let sees = |at: usize| {
            let peer = &self.mesh.status(at).peers[station - GATEWAYS];
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

#[test]
fn what_a_station_overheard_of_another_gateway_its_own_does_not_send() {
    let mut net = Net::new(1, &[ONE, OTHER]);
    let [first, second] = [GATEWAYS, GATEWAYS + 1];
    assert_eq!(net.association(first), (ONE, [true; 2]));
    assert_eq!(net.association(second), (OTHER, [true; 2]));
    let payloads = random(1, 300);
    let sent = net.send(ONE, first, &payloads, MS);
    assert!(net.mesh.got(first) == sent.packets);
    assert!(sent.cost[ONE] > 300 * 1200, "{:?}", sent.cost);
    let again = net.send(OTHER, second, &payloads, MS);
    assert!(net.mesh.got(second) == again.packets);
    let gateway = net.mesh.status(OTHER);
    let station = net.mesh.status(second);
    assert!(again.cost[OTHER] * 4 < sent.cost[ONE], "{:?} {gateway:#?} {station:#?}", again.cost);
    assert!(gateway.peers[2].counters.chunks_named > 1000, "{gateway:#?}");
    assert_eq!(net.mesh.status(ONE).peers[2].overheard_by, Some(1));
    assert!(station.peers[0].counters.chunks_hit > 1000, "{station:#?}");
}

#[test]
fn under_a_new_network_key_gateways_share_what_was_overheard_as_soon_as_both_have_it() {
    let mut net = Net::new(21, &[ONE, OTHER]);
    let [first, second] = [GATEWAYS, GATEWAYS + 1];
    let new = NetworkKey::generate(&mut ChaCha12Rng::seed_from_u64(22));
    let old = configs(21, &[ONE, OTHER])[ONE].network_key.clone();
    for (turn, node) in [ONE, first, OTHER, second].into_iter().enumerate() {
        let now = net.mesh.now();
        let (key, previous) = (new.clone(), Some(old.clone()));
        if node == OTHER {
            net.mesh.restart_with_keys(node, key, previous);
        } else {
            net.mesh.node_mut(node).set_network_keys(now, key, previous);
        }
        net.run(20 * SECOND);
        let payloads = random(30 + turn as u64, 20);
        for (gateway, station) in [(ONE, first), (OTHER, second)] {
            let sent = net.send(gateway, station, &payloads, MS);
            assert!(sent.packets.is_subset(&net.mesh.got(station)), "at change {turn}");
        }
    }
    net.run(20 * SECOND);
    let payloads = random(40, 300);
    let sent = net.send(ONE, first, &payloads, MS);
    let again = net.send(OTHER, second, &payloads, MS);
    assert!(again.packets.is_subset(&net.mesh.got(second)));
    assert!(again.cost[OTHER] * 4 < sent.cost[ONE], "{:?} of {:?}", again.cost, sent.cost);
    assert!(net.mesh.status(second).peers[0].counters.chunks_hit > 1000);
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
    assert!(net.mesh.got(second) == again.packets);
    assert!(again.cost[OTHER] > 100 * 1200, "{:?}", again.cost);
    assert_eq!(net.mesh.status(second).peers[0].counters.chunks_missed, 0);
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
    assert!(net.mesh.got(second) == again.packets);
    net.run(30 * SECOND);
    assert_eq!(net.association(first).0, OTHER, "its station has moved");
    let moved = net.send(OTHER, first, &random(4, 50), MS);
    assert!(moved.packets.is_subset(&net.mesh.got(first)));
}

#[test]
fn a_station_that_moves_out_of_reach_is_reached_by_the_other_gateway_at_its_address() {
    let mut net = Net::new(5, &[ONE]);
    let station = GATEWAYS;
    let sent = net.send(ONE, station, &random(5, 50), 10 * MS);
    assert!(net.mesh.got(station) == sent.packets);
    net.reach[station][ONE] = false;
    net.run(8 * SECOND);
    let status = net.mesh.status(ONE);
    assert_eq!(net.association(station), (OTHER, [true; 2]), "{status:#?} {:#?}", net.mesh.events());
    // the world still leads to the first gateway
    let after = net.send(ONE, station, &random(6, 50), 10 * MS);
    assert!(after.packets.is_subset(&net.mesh.got(station)), "nothing is lost");
    assert_eq!(after.cost[ONE], 0, "nothing is sent into the void");
    assert!(after.cost[OTHER] > 50 * 1200);
    assert_eq!(net.mesh.status(OTHER).peers[1].counters.forwarded_packets, 50);
    // what it says leaves by the gateway where it is
    assert!(net.mesh.delivered(OTHER).len() >= 50);
    // and back
    net.reach[station] = [true, false];
    net.run(8 * SECOND);
    assert_eq!(net.association(station), (ONE, [true; 2]));
    let back = net.send(ONE, station, &random(7, 50), 10 * MS);
    assert!(back.packets.is_subset(&net.mesh.got(station)));
    assert_eq!(back.cost[OTHER], 0);
}

#[test]
fn while_a_station_moves_packets_are_late_or_lost_for_a_few_seconds_and_then_come() {
    let mut net = Net::new(8, &[ONE]);
    let station = GATEWAYS;
    net.reach[station][ONE] = false;
    let sent = net.send(ONE, station, &random(8, 300), 50 * MS);
    let missing = sent.packets.difference(&net.mesh.got(station)).count();
    // five seconds of its word and a little more, twenty packets a second
    assert!(missing < 140, "{missing} of 300");
    assert!(net.mesh.got(station).is_subset(&sent.packets));
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
        assert!(sent.packets.is_subset(&net.mesh.got(station)), "{away:?}: {:#?}", net.mesh.events());
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
    assert!(after.packets.is_subset(&net.mesh.got(second)));
    assert!(after.cost[ONE] > 100 * 1200, "{:?}", after.cost);
    let status = net.mesh.status(second);
    assert_eq!(status.peers.iter().map(|peer| peer.counters.chunks_missed).sum::<u64>(), 0, "{status:#?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Gateways restart and stations leave reach, over an air that loses. Afterwards all gateways agree on
    /// the place of each station, all of its packets arrive, and overheard content saves bytes again.
    #[test]
    fn gateways_that_restart_at_any_moment_converge(
        seed: u64,
        loss in 0.0..0.1f64,
        troubles in proptest::collection::vec((0..4usize, 0..2usize, 0..2usize, 1..8000u64), 0..6),
    ) {
        let mut net = Net::new(seed, &[ONE, OTHER]);
        net.mesh.medium.loss = loss;
        for (what, gateway, station, ms) in troubles {
            match what {
                0 => net.mesh.restart(gateway),
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
        net.mesh.medium.loss = 0.0;
        net.run(60 * SECOND);
        for station in [GATEWAYS, GATEWAYS + 1] {
            let (at, agreed) = net.association(station);
            prop_assert_eq!(agreed, [true; 2], "{} of {}: {:#?}", at, station, net.mesh.events());
            for gateway in [ONE, OTHER] {
                let sent = net.send(gateway, station, &random(seed ^ 1, 20), MS);
                let missing = sent.packets.difference(&net.mesh.got(station)).count();
                let status = || (0..4).map(|node| format!("{:#?}", net.mesh.status(node))).collect::<String>();
                prop_assert!(missing == 0, "{} of 20 are missing at {}, which is at {}, by {}: {}", missing, station, at, gateway, status());
            }
        }
        let (at, _) = net.association(GATEWAYS);
        let payloads = random(seed ^ 2, 60);
        net.send(at, GATEWAYS, &payloads, MS);
        let (other, _) = net.association(GATEWAYS + 1);
        let again = net.send(other, GATEWAYS + 1, &payloads, MS);
        prop_assert!(again.packets.is_subset(&net.mesh.got(GATEWAYS + 1)));
        prop_assert!(again.cost[other] < 60 * 600, "{:?}", again.cost);
    }
}
