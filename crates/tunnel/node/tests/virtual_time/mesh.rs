//! Nodes of which not everybody hears everybody, in virtual time.

use crate::pair::tcp_between;
use node::{Config, NetworkKey, Node, Transmit};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use sim::network::{Hearer, Medium, Network, Sent};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

pub const MS: Duration = Duration::from_millis(1);
pub const SECOND: Duration = Duration::from_secs(1);

/// Writes something else into what a node is about to seal.
type Forges = Box<dyn FnMut(usize, &mut Vec<u8>)>;

/// Whether something reaches from one node to another.
type Reaches = Box<dyn Fn(usize, usize) -> bool>;

/// The air and the wires between nodes.
pub struct Air {
    nodes: usize,
    rng: ChaCha12Rng,
    hears: Reaches,
    /// Between whom there is a wire, which nobody overhears and which loses nothing.
    wired: Reaches,
    pub loss: f64,
    pub unheard: f64,
    /// Who has the keys speaks in others' names.
    pub forges: Option<Forges>,
    /// Up to so long datagrams are late, and so overtake each other.
    pub late: Duration,
    /// How fast each node sends, in bytes a second; none: at once.
    pub rates: Vec<Option<u64>>,
    /// Datagrams and their bytes, by sender and receiver.
    pub sent: BTreeMap<(usize, usize), (u64, u64)>,
}

impl Air {
    /// From now on others hear each other.
    pub fn set_hears(&mut self, hears: impl Fn(usize, usize) -> bool + 'static) {
        self.hears = Box::new(hears);
    }

    /// From now on there are these wires.
    pub fn set_wired(&mut self, wired: impl Fn(usize, usize) -> bool + 'static) {
        self.wired = Box::new(wired);
    }

    /// Bytes that were sent from one to the other.
    pub fn sent_bytes(&self, hop: (usize, usize)) -> u64 {
        self.sent.get(&hop).map_or(0, |(_, bytes)| *bytes)
    }
}

impl Medium for Air {
    fn before_seal(&mut self, from: usize, _: &Transmit, datagram: &mut Vec<u8>) {
        if let Some(forges) = &mut self.forges {
            forges(from, datagram);
        }
    }

    fn who_hears(&mut self, sent: &Sent<'_>, hearers: &mut Vec<Hearer>) -> Duration {
        let &Sent { from, to: Some(to), datagram, .. } = sent else { return Duration::ZERO };
        let (datagrams, bytes) = self.sent.entry((from, to)).or_default();
        (*datagrams, *bytes) = (*datagrams + 1, *bytes + datagram.len() as u64);
        let by_wire = (self.wired)(from, to);
        for node in (0..self.nodes).filter(|&node| node != from) {
            let overhears = node != to;
            let missed = match overhears {
                false if by_wire => 0.0,
                _ if by_wire || !(self.hears)(from, node) => continue,
                true => self.unheard,
                false => self.loss,
            };
            if !self.rng.random_bool(missed) {
                let late = self.late.mul_f64(self.rng.random());
                hearers.push(Hearer { after: 5 * MS + late, overhears, ..Hearer::of(node) });
            }
        }
        let taken = |rate| Duration::from_secs_f64(datagram.len() as f64 / rate as f64);
        self.rates[from].map_or(Duration::ZERO, taken)
    }
}

/// A network of nodes that have met, which can start again.
pub struct Mesh {
    network: Network<Air>,
    configs: Vec<Config>,
    starts: u8,
}

impl Deref for Mesh {
    type Target = Network<Air>;

    fn deref(&self) -> &Self::Target {
        &self.network
    }
}

impl DerefMut for Mesh {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.network
    }
}

pub fn address(index: usize) -> SocketAddr {
    format!("192.0.2.{}:4780", index + 1).parse().unwrap()
}

impl Mesh {
    /// Nodes that have met.
    pub fn new(seed: u64, configs: &[Config], hears: impl Fn(usize, usize) -> bool + 'static) -> Self {
        Mesh::wired(seed, configs, hears, |_, _| false)
    }

    /// Nodes that all hear each other and had to meet in an air that loses these shares: at whom a datagram
    /// is for, and at who overhears.
    pub fn in_air(seed: u64, configs: &[Config], (loss, unheard): (f64, f64)) -> Self {
        let mut mesh = Mesh::unmet(seed, configs, |_, _| true, |_, _| false);
        (mesh.medium.loss, mesh.medium.unheard) = (loss, unheard);
        mesh.meet()
    }

    /// Nodes that have met, some of them by wires.
    pub fn wired(
        seed: u64,
        configs: &[Config],
        hears: impl Fn(usize, usize) -> bool + 'static,
        wired: impl Fn(usize, usize) -> bool + 'static,
    ) -> Self {
        Mesh::unmet(seed, configs, hears, wired).meet()
    }

    fn unmet(
        seed: u64,
        configs: &[Config],
        hears: impl Fn(usize, usize) -> bool + 'static,
        wired: impl Fn(usize, usize) -> bool + 'static,
    ) -> Self {
        let medium = Air {
            nodes: configs.len(),
            rng: ChaCha12Rng::seed_from_u64(seed),
            hears: Box::new(hears),
            wired: Box::new(wired),
            loss: 0.0,
            unheard: 0.0,
            forges: None,
            late: Duration::ZERO,
            rates: vec![None; configs.len()],
            sent: BTreeMap::new(),
        };
        let mut network = Network::new(Duration::ZERO, medium);
        for (index, config) in configs.iter().enumerate() {
            let node = Node::new(config.clone(), [index as u8; 32], Duration::ZERO).unwrap();
            network.join(address(index), node);
        }
        Mesh { network, configs: configs.to_vec(), starts: 100 }
    }

    fn meet(mut self) -> Self {
        (0..self.node_count()).for_each(|index| self.poll(index));
        self.run(5 * SECOND);
        self
    }

    /// A node's program ends, and another one begins with the same configuration.
    pub fn restart(&mut self, index: usize) {
        self.starts += 1;
        self.restart_with(index, [self.starts; 32]);
    }

    /// The same, with this randomness.
    pub fn restart_with(&mut self, index: usize, seed: [u8; 32]) {
        let node = Node::new(self.configs[index].clone(), seed, self.now()).unwrap();
        self.replace(index, node);
    }

    /// A node's program ends, and another one begins with these keys of the network.
    pub fn restart_with_keys(&mut self, index: usize, key: NetworkKey, previous: Option<NetworkKey>) {
        let config = &mut self.configs[index];
        (config.network_key, config.previous_network_key) = (key, previous);
        self.restart(index);
    }

    /// The packets that were delivered to a node, each once.
    pub fn got(&self, index: usize) -> BTreeSet<Vec<u8>> {
        self.delivered(index).iter().cloned().collect()
    }

    /// A TCP packet with this payload leaves a node for another one.
    pub fn send_one(&mut self, from: usize, to: usize, sequence: u32, payload: &[u8]) -> Vec<u8> {
        let packet = tcp_between(from as u8 + 1, to as u8 + 1, sequence, payload);
        self.send(from, &packet);
        packet
    }
}

/// Payloads of `bytes` of which the first `shared` are those of the other's, and the rest is like nothing
/// else.
pub fn contents(seed: u64, count: usize, bytes: usize, shared: usize) -> [Vec<Vec<u8>>; 2] {
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    let mut some = |bytes: usize| -> Vec<u8> { (0..bytes).map(|_| rng.random()).collect() };
    let one: Vec<Vec<u8>> = (0..count).map(|_| some(bytes)).collect();
    let other = one.iter().map(|one| [&one[..shared], &some(bytes - shared)].concat()).collect();
    [one, other]
}

/// Packets that no compressor and no earlier packet of the same station shortens.
pub fn random(seed: u64, count: usize) -> Vec<Vec<u8>> {
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    (0..count).map(|_| (0..1200).map(|_| rng.random()).collect()).collect()
}

/// A packet as it was sent, but for the hops that relays took off it.
pub fn as_sent(packet: &[u8]) -> Vec<u8> {
    let mut packet = packet.to_vec();
    packet[8] = 0;
    packet[10..12].fill(0);
    packet
}

/// Packets as they were sent, each once.
pub fn all(packets: &[Vec<u8>]) -> BTreeSet<Vec<u8>> {
    packets.iter().map(|it| as_sent(it)).collect()
}
