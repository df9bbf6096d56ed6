//! Two stations that do not hear each other, and two relays between them (REfactor, Figure 1c).

use crate::pair::tcp_between;
use node::{Config, Group, Mesh, NetworkKey, Node, PeerConfig, PrivateKey, Shortening};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

pub const C1: usize = 0;
pub const R1: usize = 1;
pub const R2: usize = 2;
pub const C2: usize = 3;
const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// To whom a datagram is under way, whether it is overheard, from where, and what it says.
type UnderWay = (usize, bool, SocketAddr, Vec<u8>);

pub struct Mesh1c {
    pub now: Duration,
    rng: ChaCha12Rng,
    pub nodes: Vec<Node>,
    under_way: BTreeMap<(Duration, u64), UnderWay>,
    number: u64,
    loss: f64,
    unheard: f64,
    pub delivered: Vec<Vec<Vec<u8>>>,
    /// By sender and receiver.
    pub sent_bytes: BTreeMap<(usize, usize), u64>,
}

pub fn address(index: usize) -> SocketAddr {
    format!("192.0.2.{}:4780", index + 1).parse().unwrap()
}

/// Stations and relays hear each other; the two stations do not, nor the two relays.
fn hears(one: usize, other: usize) -> bool {
    let is_relay = |node| node == R1 || node == R2;
    is_relay(one) != is_relay(other)
}

pub fn configs(seed: u64, overhears: bool) -> Vec<Config> {
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    let network = NetworkKey::generate(&mut rng);
    let keys: Vec<PrivateKey> = (0..4).map(|_| PrivateKey::generate(&mut rng)).collect();
    let peer = |index: usize, allowed: &[usize]| PeerConfig {
        name: format!("node {index}"),
        public_key: keys[index].public(),
        endpoint: Some(address(index)),
        allowed_ips: allowed.iter().map(|at| format!("10.0.0.{}/32", at + 1).parse().unwrap()).collect(),
        keepalive: Some(25 * SECOND),
    };
    let config = |index: usize| {
        // C1 reaches C2 by R1, and C2 reaches C1 by R2
        let (peers, mesh) = match index {
            C1 => (vec![peer(R1, &[C2]), peer(R2, &[])], Mesh { relays: vec![0, 1], ..Mesh::default() }),
            C2 => (vec![peer(R1, &[]), peer(R2, &[C1])], Mesh { relays: vec![0, 1], ..Mesh::default() }),
            _ => (vec![peer(C1, &[C1]), peer(C2, &[C2])], Mesh { forwards: true, ..Mesh::default() }),
        };
        let config = Config::new(keys[index].clone(), network.clone(), peers);
        Config { group: overhears.then(Group::default), shorten: Shortening::ALL, mesh, ..config }
    };
    (0..4).map(config).collect()
}

impl Mesh1c {
    fn new(seed: u64, overhears: bool) -> Self {
        Self::with(seed, overhears, |_, _| ())
    }

    pub fn with(seed: u64, overhears: bool, change: impl Fn(usize, &mut Config)) -> Self {
        let mut configs = configs(seed, overhears);
        configs.iter_mut().enumerate().for_each(|(index, config)| change(index, config));
        Self::of(seed, &configs)
    }

    pub fn of(seed: u64, configs: &[Config]) -> Self {
        let node = |(index, config): (usize, &Config)| {
            Node::new(config.clone(), [index as u8; 32], Duration::ZERO).unwrap()
        };
        let mut mesh = Mesh1c {
            now: Duration::ZERO,
            rng: ChaCha12Rng::seed_from_u64(seed),
            nodes: configs.iter().enumerate().map(node).collect(),
            under_way: BTreeMap::new(),
            number: 0,
            loss: 0.0,
            unheard: 0.0,
            delivered: vec![Vec::new(); 4],
            sent_bytes: BTreeMap::new(),
        };
        (0..4).for_each(|index| mesh.poll(index));
        mesh.run(5 * SECOND);
        mesh
    }

    pub fn poll(&mut self, index: usize) {
        self.nodes[index].handle_timeout(self.now);
        let mut datagram = Vec::new();
        while let Some(transmit) = self.nodes[index].poll_transmit(self.now, &mut datagram) {
            transmit.seal(&mut datagram);
            let Some(to) = (0..4).find(|&at| address(at) == transmit.to) else { continue };
            *self.sent_bytes.entry((index, to)).or_default() += datagram.len() as u64;
            // relays may have a wire between them
            for at in (0..4).filter(|&at| at != index && (hears(index, at) || at == to)) {
                let overheard = at != to;
                let missed = if overheard { self.unheard } else { self.loss };
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

    pub fn run(&mut self, time: Duration) {
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

    /// One station sends these payloads to the other, one in five milliseconds; what each hop took, in bytes.
    fn send(&mut self, from: usize, to: usize, payloads: &[Vec<u8>]) -> (Vec<Vec<u8>>, [u64; 2]) {
        let relay = if from == C1 { R1 } else { R2 };
        let before = self.sent_bytes.clone();
        let mut packets = Vec::new();
        for (index, payload) in payloads.iter().enumerate() {
            let packet = tcp_between(from as u8 + 1, to as u8 + 1, 1 + 2000 * index as u32, payload);
            self.nodes[from].handle_packet(self.now, &packet);
            self.poll(from);
            packets.push(packet);
            self.run(5 * MS);
        }
        self.run(2 * SECOND);
        let cost = |hop: (usize, usize)| {
            let of = |sent: &BTreeMap<(usize, usize), u64>| sent.get(&hop).copied().unwrap_or(0);
            of(&self.sent_bytes) - of(&before)
        };
        (packets, [cost((from, relay)), cost((relay, to))])
    }
}

/// Payloads of `bytes` of which the first `shared` are those of the other's, and the rest is like nothing else.
pub fn contents(seed: u64, count: usize, bytes: usize, shared: usize) -> [Vec<Vec<u8>>; 2] {
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    let mut some = |bytes: usize| -> Vec<u8> { (0..bytes).map(|_| rng.random()).collect() };
    let one: Vec<Vec<u8>> = (0..count).map(|_| some(bytes)).collect();
    let other = one.iter().map(|one| [&one[..shared], &some(bytes - shared)].concat()).collect();
    [one, other]
}

/// A packet as it was sent, but for the hops that relays took off it.
fn as_sent(packet: &[u8]) -> Vec<u8> {
    let mut packet = packet.to_vec();
    packet[8] = 0;
    packet[10..12].fill(0);
    packet
}

pub fn same(delivered: &[Vec<u8>], sent: &[Vec<u8>]) -> bool {
    let plain =
        |packets: &[Vec<u8>]| packets.iter().map(|it| as_sent(it)).collect::<std::collections::BTreeSet<_>>();
    plain(delivered) == plain(sent)
}

#[test]
fn two_stations_and_two_relays_take_four_less_delta() {
    let mut mesh = Mesh1c::new(1, true);
    let [abc, abd] = contents(1, 200, 1200, 800);
    let (sent, [c1_r1, r1_c2]) = mesh.send(C1, C2, &abc);
    assert!(same(&mesh.delivered[C2], &sent));
    assert_eq!(mesh.delivered[C2][0][8], 63, "one hop was taken off");
    let (sent, [c2_r2, r2_c1]) = mesh.send(C2, C1, &abd);
    assert!(same(&mesh.delivered[C1], &sent));
    // of 800 bytes at a packet's front all chunks but the one in which they end are known; 64 to 256 bytes each, usually 128,
    // of which the removed ones take 18 bits of a shim each, and 12 bytes for number, MAC and lengths
    let known = 800.0 - 64.0;
    let delta = (known - known / 128.0 * 18.0 / 8.0 - 12.0) / 1200.0;
    let one = c1_r1 as f64;
    let transmissions = [c1_r1, r1_c2, c2_r2, r2_c1].iter().sum::<u64>() as f64 / one;
    println!(
        "{transmissions:.3} transmissions, 4 - delta is {:.3}; {:?}",
        4.0 - delta,
        [c1_r1, r1_c2, c2_r2, r2_c1]
    );
    assert!((transmissions / (4.0 - delta) - 1.0).abs() < 0.05, "{transmissions} for {}", 4.0 - delta);
    let relay = mesh.nodes[R2].status(mesh.now);
    assert_eq!(relay.peers[0].counters.relayed_packets, 200, "{relay:#?}");
    assert!(relay.peers[0].counters.overheard_removed_bytes > 200 * 600, "{relay:#?}");
    assert_eq!(mesh.nodes[C1].status(mesh.now).peers[1].counters.chunks_missed, 0);
}

#[test]
fn without_overhearing_they_take_four() {
    let mut mesh = Mesh1c::new(2, false);
    let [abc, abd] = contents(2, 100, 1200, 800);
    let (_, there) = mesh.send(C1, C2, &abc);
    let (sent, back) = mesh.send(C2, C1, &abd);
    assert!(same(&mesh.delivered[C1], &sent));
    let transmissions = there.iter().chain(&back).sum::<u64>() as f64 / there[0] as f64;
    assert!((transmissions - 4.0).abs() < 0.05, "{transmissions}");
}

#[test]
fn losses_cost_savings_and_never_bytes() {
    for seed in 0..4 {
        let mut mesh = Mesh1c::new(10 + seed, true);
        let [warm, _] = contents(20 + seed, 10, 1200, 800);
        mesh.send(C1, C2, &warm);
        mesh.send(C2, C1, &warm);
        mesh.delivered.iter_mut().for_each(Vec::clear);
        (mesh.loss, mesh.unheard) = (0.05, 0.3);
        let [abc, abd] = contents(30 + seed, 150, 1200, 800);
        for (from, to, payloads) in [(C1, C2, &abc), (C2, C1, &abd)] {
            let (sent, _) = mesh.send(from, to, payloads);
            let sent: std::collections::BTreeSet<_> = sent.iter().map(|it| as_sent(it)).collect();
            let delivered: std::collections::BTreeSet<_> =
                mesh.delivered[to].iter().map(|it| as_sent(it)).collect();
            assert!(delivered.is_subset(&sent), "only what was sent");
            let missing = sent.difference(&delivered).count();
            assert!(missing <= 3, "{missing} of 150 are missing");
        }
    }
}

#[test]
fn who_sends_what_is_too_large_for_a_later_hop_is_told_through_the_mesh() {
    let mut mesh = Mesh1c::with(4, true, |index, config| {
        if index == R1 {
            (config.max_datagram_bytes, config.largest_datagram_bytes) = (1200, 1200);
        }
    });
    let packet = tcp_between(1, 4, 1, &[7; 1240]);
    mesh.nodes[C1].handle_packet(mesh.now, &packet);
    mesh.poll(C1);
    mesh.run(SECOND);
    assert!(mesh.delivered[C2].is_empty() && mesh.delivered[R1].is_empty());
    let [told] = &mesh.delivered[C1][..] else { panic!("one answer: {:?}", mesh.delivered[C1]) };
    assert_eq!(told[9], 1, "ICMP");
    assert_eq!(told[20..22], [3, 4], "fragmentation needed");
}

#[test]
fn what_has_no_hop_left_is_not_passed_on() {
    let mut mesh = Mesh1c::new(3, true);
    let mut packet = tcp_between(1, 4, 1, b"too far");
    (packet[8], packet[10], packet[11]) = (1, 0, 0);
    mesh.nodes[C1].handle_packet(mesh.now, &packet);
    mesh.poll(C1);
    mesh.run(SECOND);
    assert!(mesh.delivered[C2].is_empty());
    assert_eq!(mesh.delivered[R1].len(), 1, "its kernel answers");
}
