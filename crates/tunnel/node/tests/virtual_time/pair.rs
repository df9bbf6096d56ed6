//! Two nodes and a road between them, in virtual time.

use node::{Config, Event, NetworkKey, Node, Outcome, PeerConfig, PrivateKey, Shortening, Status};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

pub const GATEWAY: usize = 0;
pub const STATION: usize = 1;

/// What the road does to datagrams.
#[derive(Debug, Clone, Copy)]
pub struct Road {
    pub delay: Duration,
    pub loss: f64,
    pub duplicate: f64,
    pub reorder: f64,
    pub corrupt: f64,
    /// The longest datagram that passes; longer ones are lost without a word.
    pub carries: usize,
    /// How much of what may be marked is.
    pub mark: f64,
}

impl Default for Road {
    fn default() -> Self {
        Road {
            delay: Duration::from_millis(10),
            loss: 0.0,
            duplicate: 0.0,
            reorder: 0.0,
            corrupt: 0.0,
            carries: usize::MAX,
            mark: 0.0,
        }
    }
}

/// To whom a datagram is under way, from where, with which codepoint, and what it says.
type UnderWay = (usize, SocketAddr, u8, Vec<u8>);

pub struct Pair {
    pub now: Duration,
    pub road: Road,
    pub rng: ChaCha12Rng,
    pub configs: [Config; 2],
    pub nodes: [Node; 2],
    pub addresses: [SocketAddr; 2],
    starts: u8,
    /// By arrival and number.
    under_way: BTreeMap<(Duration, u64), UnderWay>,
    number: u64,
    /// Whether datagrams pass at all.
    pub cut: bool,
    pub delivered: [Vec<Vec<u8>>; 2],
    pub events: Vec<(Duration, usize, Event)>,
    pub sent_bytes: [u64; 2],
    /// The traffic class of every datagram sent.
    pub classes: [Vec<u8>; 2],
    /// From which port to where each datagram went.
    pub ways: [Vec<(usize, SocketAddr)>; 2],
    /// Every datagram ever sent, for tests that look at or repeat them.
    pub recording: Option<Vec<(usize, Vec<u8>)>>,
    /// What stands inside every seal.
    pub plaintexts: Option<Vec<Vec<u8>>>,
}

pub fn configs(seed: u64, reduce: &re::Parameters) -> [Config; 2] {
    let rng = &mut ChaCha12Rng::seed_from_u64(seed);
    let network = NetworkKey::generate(rng);
    let keys = [PrivateKey::generate(rng), PrivateKey::generate(rng)];
    let gateway = PeerConfig {
        name: "gateway".into(),
        public_key: keys[GATEWAY].public(),
        endpoint: Some("192.0.2.1:4780".parse().unwrap()),
        allowed_ips: vec!["0.0.0.0/0".parse().unwrap(), "::/0".parse().unwrap()],
        keepalive: Some(Duration::from_secs(25)),
    };
    let station = PeerConfig {
        name: "station".into(),
        public_key: keys[STATION].public(),
        endpoint: None,
        allowed_ips: vec!["10.0.0.2/32".parse().unwrap(), "fd00::2/128".parse().unwrap()],
        keepalive: None,
    };
    let config = |key: &PrivateKey, peer| Config {
        reduce: *reduce,
        trace: true,
        shorten: if reduce.policy == re::Policy::Adaptive { Shortening::ALL } else { Shortening::NONE },
        ..Config::new(key.clone(), network.clone(), vec![peer])
    };
    [config(&keys[GATEWAY], station), config(&keys[STATION], gateway)]
}

impl Pair {
    pub fn new(seed: u64, road: Road, reduce: &re::Parameters) -> Self {
        let configs = configs(seed, reduce);
        let node =
            |index: usize| Node::new(configs[index].clone(), [index as u8; 32], Duration::ZERO).unwrap();
        let mut pair = Pair {
            now: Duration::ZERO,
            road,
            rng: ChaCha12Rng::seed_from_u64(seed ^ 0x5eed),
            nodes: [node(0), node(1)],
            configs,
            addresses: ["192.0.2.1:4780".parse().unwrap(), "198.51.100.7:40000".parse().unwrap()],
            starts: 2,
            under_way: BTreeMap::new(),
            number: 0,
            cut: false,
            delivered: [Vec::new(), Vec::new()],
            events: Vec::new(),
            sent_bytes: [0, 0],
            classes: [Vec::new(), Vec::new()],
            ways: [Vec::new(), Vec::new()],
            recording: None,
            plaintexts: None,
        };
        pair.poll(GATEWAY);
        pair.poll(STATION);
        pair
    }

    /// The node forgets everything and starts again.
    pub fn reboot(&mut self, index: usize) {
        self.starts += 1;
        self.nodes[index] = Node::new(self.configs[index].clone(), [self.starts; 32], self.now).unwrap();
        self.poll(index);
    }

    pub fn send(&mut self, from: usize, packet: &[u8]) {
        self.nodes[from].handle_packet(self.now, packet);
        self.poll(from);
    }

    /// Lets time pass.
    pub fn run(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let arrival = self.under_way.keys().next().map(|&(at, _)| at);
            let timers = [0, 1].map(|index| self.nodes[index].poll_timeout());
            let next = [arrival, timers[0], timers[1]].into_iter().flatten().min();
            let Some(next) = next.filter(|&next| next <= end) else { break };
            self.now = self.now.max(next);
            if arrival == Some(next) {
                let (_, (to, from, ecn, mut datagram)) = self.under_way.pop_first().unwrap();
                self.nodes[to].handle_datagram(self.now, from, ecn, &mut datagram);
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

    pub fn poll(&mut self, index: usize) {
        self.nodes[index].handle_timeout(self.now);
        while self.poll_once(index) {}
        let mut packet = Vec::new();
        while self.nodes[index].poll_deliver(&mut packet) {
            self.delivered[index].push(packet.clone());
        }
        while let Some(event) = self.nodes[index].poll_event() {
            self.events.push((self.now, index, event));
        }
    }

    /// Lets at most one datagram leave; whether one did.
    pub fn poll_once(&mut self, index: usize) -> bool {
        let mut datagram = Vec::new();
        let Some(transmit) = self.nodes[index].poll_transmit(self.now, &mut datagram) else { return false };
        if let Some(plaintexts) = self.plaintexts.as_mut().filter(|_| transmit.is_sealed()) {
            plaintexts.push(datagram[wire::unit::SEALED_HEADER_BYTES..].to_vec());
        }
        transmit.seal(&mut datagram);
        self.sent_bytes[index] += datagram.len() as u64;
        if let Some(recording) = &mut self.recording {
            recording.push((index, datagram.clone()));
        }
        self.classes[index].push(transmit.class);
        self.ways[index].push((transmit.source_port, transmit.to));
        self.transport(index, (transmit.source_port, transmit.to), transmit.class, &datagram);
        true
    }

    fn transport(&mut self, from: usize, (port, to): (usize, SocketAddr), class: u8, datagram: &[u8]) {
        let road = self.road;
        let at_port = |mut address: SocketAddr, port: usize| {
            address.set_port(address.port() + port as u16);
            address
        };
        // a node takes what comes to any of its ports
        let there = self.addresses[1 - from];
        let taken = (0..node::MAX_LANES).any(|port| at_port(there, port) == to);
        let source = at_port(self.addresses[from], port);
        let copies = if self.rng.random_bool(road.duplicate) { 2 } else { 1 };
        for _ in 0..copies {
            if self.cut || datagram.len() > road.carries || self.rng.random_bool(road.loss) || !taken {
                continue;
            }
            let mut datagram = datagram.to_vec();
            if self.rng.random_bool(road.corrupt) {
                let bit = self.rng.random_range(0..datagram.len() * 8);
                datagram[bit / 8] ^= 1 << (bit % 8);
            }
            let marked = class & 3 != 0 && self.rng.random_bool(road.mark);
            let ecn = if marked { 3 } else { class & 3 };
            let extra = if self.rng.random_bool(road.reorder) { self.rng.random_range(1..40) } else { 0 };
            let at = self.now + road.delay + Duration::from_millis(extra);
            self.under_way.insert((at, self.number), (1 - from, source, ecn, datagram));
            self.number += 1;
        }
    }

    /// A datagram from anybody.
    pub fn inject(&mut self, to: usize, from: SocketAddr, datagram: &[u8]) {
        self.nodes[to].handle_datagram(self.now, from, 0, &mut datagram.to_vec());
        self.poll(to);
    }

    pub fn status(&self, index: usize) -> Status {
        self.nodes[index].status(self.now)
    }

    pub fn outcomes(&self, at: usize, wanted: Outcome) -> usize {
        let matches = |event: &Event| matches!(event, Event::Arrived { outcome, .. } if *outcome == wanted);
        self.events.iter().filter(|(_, index, event)| *index == at && matches(event)).count()
    }
}

/// A TCP packet to the station, or from it.
pub fn tcp(to: usize, sequence: u32, payload: &[u8]) -> Vec<u8> {
    let (source, destination) = if to == STATION { (1, 2) } else { (2, 1) };
    tcp_between(source, destination, sequence, payload)
}

/// A TCP packet from 10.0.0.`source` to 10.0.0.`destination`.
pub fn tcp_between(source: u8, destination: u8, sequence: u32, payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    etherparse::PacketBuilder::ipv4([10, 0, 0, source], [10, 0, 0, destination], 64)
        .tcp(80, 4242, sequence, 1000)
        .write(&mut packet, payload)
        .unwrap();
    packet
}

/// Text that repeats itself: `count` payloads of up to 1200 bytes out of a small stock of pieces.
pub fn repetitive(seed: u64, count: usize) -> Vec<Vec<u8>> {
    let rng = &mut ChaCha12Rng::seed_from_u64(seed);
    let pieces: Vec<Vec<u8>> = (0..12)
        .map(|_| {
            let length = rng.random_range(50..400);
            (0..length).map(|_| rng.random()).collect()
        })
        .collect();
    (0..count)
        .map(|_| {
            let mut payload = Vec::new();
            while payload.len() < 1000 {
                let piece = &pieces[rng.random_range(0..pieces.len())];
                payload.extend_from_slice(piece);
                payload.extend((0..rng.random_range(0..60)).map(|_| rng.random::<u8>()));
            }
            payload.truncate(1200);
            payload
        })
        .collect()
}
