//! Two nodes and a road between them, in virtual time.

use node::{Config, Event, NetworkKey, Node, Outcome, PeerConfig, PrivateKey, Shortening, Transmit};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use sim::network::{Hearer, Medium, Network, Sent};
use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

pub const GATEWAY: usize = 0;
pub const STATION: usize = 1;

/// The path's effect on datagrams.
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

/// The road with what passes on it.
pub struct Between {
    pub road: Road,
    /// Whether datagrams pass at all.
    pub cut: bool,
    rng: ChaCha12Rng,
    pub sent_bytes: [u64; 2],
    /// The traffic class of every datagram sent.
    pub classes: [Vec<u8>; 2],
    /// From which port to where each datagram went.
    pub ways: [Vec<(usize, SocketAddr)>; 2],
    /// Every datagram ever sent, for tests that look at or repeat them.
    pub recording: Option<Vec<(usize, Vec<u8>)>>,
    /// The plaintext of every sealed unit.
    pub plaintexts: Option<Vec<Vec<u8>>>,
    /// Changes the plaintext of each sealed unit of a node.
    pub forges: Option<fn(usize, &mut [u8])>,
}

impl Medium for Between {
    fn before_seal(&mut self, from: usize, transmit: &Transmit, datagram: &mut Vec<u8>) {
        if let Some(forges) = self.forges.filter(|_| transmit.is_sealed()) {
            forges(from, datagram);
        }
        if let Some(plaintexts) = self.plaintexts.as_mut().filter(|_| transmit.is_sealed()) {
            plaintexts.push(datagram[wire::unit::SEALED_HEADER_BYTES..].to_vec());
        }
    }

    fn who_hears(&mut self, sent: &Sent<'_>, hearers: &mut Vec<Hearer>) -> Duration {
        let &Sent { from, datagram, transmit: &Transmit { to, source_port, class, .. }, .. } = sent;
        self.sent_bytes[from] += datagram.len() as u64;
        if let Some(recording) = &mut self.recording {
            recording.push((from, datagram.to_vec()));
        }
        self.classes[from].push(class);
        self.ways[from].push((source_port, to));
        let (road, rng) = (self.road, &mut self.rng);
        let copies = if rng.random_bool(road.duplicate) { 2 } else { 1 };
        for _ in 0..copies {
            if self.cut || datagram.len() > road.carries || rng.random_bool(road.loss) {
                continue;
            }
            let Some(node) = sent.to else { continue };
            let bits = datagram.len() * 8;
            let flipped_bit = rng.random_bool(road.corrupt).then(|| rng.random_range(0..bits));
            let marked = class & 3 != 0 && rng.random_bool(road.mark);
            let ecn = if marked { 3 } else { class & 3 };
            let extra = if rng.random_bool(road.reorder) { rng.random_range(1..40) } else { 0 };
            let after = road.delay + Duration::from_millis(extra);
            hearers.push(Hearer { after, ecn, flipped_bit, ..Hearer::of(node) });
        }
        Duration::ZERO
    }
}

/// A network of two nodes, which can start again.
pub struct Pair {
    network: Network<Between>,
    pub configs: [Config; 2],
    starts: u8,
}

impl Deref for Pair {
    type Target = Network<Between>;

    fn deref(&self) -> &Self::Target {
        &self.network
    }
}

impl DerefMut for Pair {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.network
    }
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
        bits_a_second: None,
    };
    let station = PeerConfig {
        name: "station".into(),
        public_key: keys[STATION].public(),
        endpoint: None,
        allowed_ips: vec!["10.0.0.2/32".parse().unwrap(), "fd00::2/128".parse().unwrap()],
        keepalive: None,
        bits_a_second: None,
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
        let medium = Between {
            road,
            cut: false,
            rng: ChaCha12Rng::seed_from_u64(seed ^ 0x5eed),
            sent_bytes: [0, 0],
            classes: [Vec::new(), Vec::new()],
            ways: [Vec::new(), Vec::new()],
            recording: None,
            plaintexts: None,
            forges: None,
        };
        let mut network = Network::new(Duration::ZERO, medium);
        for (index, address) in ["192.0.2.1:4780", "198.51.100.7:40000"].into_iter().enumerate() {
            let node = Node::new(configs[index].clone(), [index as u8; 32], Duration::ZERO).unwrap();
            network.join(address.parse().unwrap(), node);
        }
        network.poll(GATEWAY);
        network.poll(STATION);
        Pair { network, configs, starts: 2 }
    }

    /// The node forgets everything and starts again.
    pub fn reboot(&mut self, index: usize) {
        self.starts += 1;
        self.reboot_with(index, [self.starts; 32]);
    }

    /// The same, with this randomness.
    pub fn reboot_with(&mut self, index: usize, seed: [u8; 32]) {
        self.start_above(index, self.now().as_micros() as u64, seed);
    }

    /// The same as [`reboot`](Self::reboot), and the node's clock was set back to the beginning.
    pub fn reboot_with_clock_set_back(&mut self, index: usize) {
        self.starts += 1;
        self.start_above(index, 0, [self.starts; 32]);
    }

    fn start_above(&mut self, index: usize, handshakes_above: u64, seed: [u8; 32]) {
        let node = self.machine(index, handshakes_above, seed);
        self.replace(index, node);
    }

    /// Another machine with the same keys.
    pub fn twin(&mut self, index: usize) -> Node {
        self.starts += 1;
        self.machine(index, self.now().as_micros() as u64, [self.starts; 32])
    }

    fn machine(&self, index: usize, handshakes_above: u64, seed: [u8; 32]) -> Node {
        let config = Config { handshakes_above, ..self.configs[index].clone() };
        Node::new(config, seed, self.now()).unwrap()
    }

    pub fn outcomes(&self, at: usize, wanted: Outcome) -> usize {
        let matches = |event: &Event| matches!(event, Event::Arrived { outcome, .. } if *outcome == wanted);
        self.events().iter().filter(|(_, index, event)| *index == at && matches(event)).count()
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
