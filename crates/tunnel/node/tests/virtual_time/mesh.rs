//! Nodes of which not everybody hears everybody, in virtual time.

use crate::pair::tcp_between;
use node::{Config, Event, Node};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

pub const MS: Duration = Duration::from_millis(1);
pub const SECOND: Duration = Duration::from_secs(1);

/// To whom a datagram is under way, whether it is overheard, from where, and what it says.
type UnderWay = (usize, bool, SocketAddr, Vec<u8>);

/// Writes something else into what a node is about to seal.
type Forges = Box<dyn FnMut(usize, &mut Vec<u8>)>;

/// Whether something reaches from one node to another.
type Reaches = Box<dyn Fn(usize, usize) -> bool>;

pub struct Mesh {
    pub now: Duration,
    pub rng: ChaCha12Rng,
    pub nodes: Vec<Node>,
    configs: Vec<Config>,
    starts: u8,
    hears: Reaches,
    /// Between whom there is a wire, which nobody overhears and which loses nothing.
    wired: Reaches,
    under_way: BTreeMap<(Duration, u64), UnderWay>,
    number: u64,
    pub loss: f64,
    pub unheard: f64,
    /// Who has the keys speaks in others' names.
    pub forges: Option<Forges>,
    /// Up to so long datagrams are late, and so overtake each other.
    pub late: Duration,
    /// How fast each node sends, in bytes a second; none: at once.
    pub rates: Vec<Option<u64>>,
    free_at: Vec<Duration>,
    pub delivered: Vec<Vec<Vec<u8>>>,
    pub events: Vec<(usize, Event)>,
    /// Datagrams and their bytes, by sender and receiver.
    pub sent: BTreeMap<(usize, usize), (u64, u64)>,
}

pub fn address(index: usize) -> SocketAddr {
    format!("192.0.2.{}:4780", index + 1).parse().unwrap()
}

impl Mesh {
    /// Nodes that have met.
    pub fn new(seed: u64, configs: &[Config], hears: impl Fn(usize, usize) -> bool + 'static) -> Self {
        Mesh::wired(seed, configs, hears, |_, _| false)
    }

    /// Nodes that all hear each other and had to meet in an air that loses these shares: at whom a datagram is for, and at who
    /// overhears.
    pub fn in_air(seed: u64, configs: &[Config], (loss, unheard): (f64, f64)) -> Self {
        let mut mesh = Mesh::unmet(seed, configs, |_, _| true, |_, _| false);
        (mesh.loss, mesh.unheard) = (loss, unheard);
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
        let node = |(index, config): (usize, &Config)| {
            Node::new(config.clone(), [index as u8; 32], Duration::ZERO).unwrap()
        };
        let count = configs.len();
        Mesh {
            now: Duration::ZERO,
            rng: ChaCha12Rng::seed_from_u64(seed),
            nodes: configs.iter().enumerate().map(node).collect(),
            configs: configs.to_vec(),
            starts: 100,
            hears: Box::new(hears),
            wired: Box::new(wired),
            under_way: BTreeMap::new(),
            number: 0,
            loss: 0.0,
            unheard: 0.0,
            forges: None,
            late: Duration::ZERO,
            rates: vec![None; count],
            free_at: vec![Duration::ZERO; count],
            delivered: vec![Vec::new(); count],
            events: Vec::new(),
            sent: BTreeMap::new(),
        }
    }

    fn meet(mut self) -> Self {
        (0..self.nodes.len()).for_each(|index| self.poll(index));
        self.run(5 * SECOND);
        self
    }

    /// From now on others hear each other.
    pub fn set_hears(&mut self, hears: impl Fn(usize, usize) -> bool + 'static) {
        self.hears = Box::new(hears);
    }

    /// From now on there are these wires.
    pub fn set_wired(&mut self, wired: impl Fn(usize, usize) -> bool + 'static) {
        self.wired = Box::new(wired);
    }

    /// A node's program ends, and another one begins with the same configuration.
    pub fn restart(&mut self, index: usize) {
        self.starts += 1;
        self.nodes[index] = Node::new(self.configs[index].clone(), [self.starts; 32], self.now).unwrap();
        self.poll(index);
    }

    /// What was delivered to a node, each packet once.
    pub fn got(&self, index: usize) -> BTreeSet<Vec<u8>> {
        self.delivered[index].iter().cloned().collect()
    }

    /// Bytes that were sent from one to the other.
    pub fn sent_bytes(&self, hop: (usize, usize)) -> u64 {
        self.sent.get(&hop).map_or(0, |(_, bytes)| *bytes)
    }

    pub fn poll(&mut self, index: usize) {
        self.nodes[index].handle_timeout(self.now);
        let mut datagram = Vec::new();
        while self.free_at[index] <= self.now
            && let Some(transmit) = self.nodes[index].poll_transmit(self.now, &mut datagram)
        {
            if let Some(forges) = &mut self.forges {
                forges(index, &mut datagram);
            }
            transmit.seal(&mut datagram);
            let count = self.nodes.len();
            let Some(to) = (0..count).find(|&at| address(at) == transmit.to) else { continue };
            let (datagrams, bytes) = self.sent.entry((index, to)).or_default();
            (*datagrams, *bytes) = (*datagrams + 1, *bytes + datagram.len() as u64);
            if let Some(rate) = self.rates[index] {
                self.free_at[index] = self.now + Duration::from_secs_f64(datagram.len() as f64 / rate as f64);
            }
            let by_wire = (self.wired)(index, to);
            for at in (0..count).filter(|&at| at != index) {
                let overheard = at != to;
                let missed = match overheard {
                    false if by_wire => 0.0,
                    _ if by_wire || !(self.hears)(index, at) => continue,
                    true => self.unheard,
                    false => self.loss,
                };
                if !self.rng.random_bool(missed) {
                    let late = self.late.mul_f64(self.rng.random());
                    let arrival = (self.now + 5 * MS + late, self.number);
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

    pub fn run(&mut self, time: Duration) {
        let end = self.now + time;
        let mut turns = 0;
        loop {
            let arrival = self.under_way.keys().next().map(|&(at, _)| at);
            let timer = |(node, &free): (&Node, &Duration)| {
                // whoever is sending does nothing else
                let until_free = (free > self.now).then_some(free);
                node.poll_timeout().map(|at| at.max(free)).into_iter().chain(until_free).min()
            };
            let timers: Vec<_> = self.nodes.iter().zip(&self.free_at).map(timer).collect();
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

    /// A TCP packet with this payload leaves a node for another one.
    pub fn send_one(&mut self, from: usize, to: usize, sequence: u32, payload: &[u8]) -> Vec<u8> {
        let packet = tcp_between(from as u8 + 1, to as u8 + 1, sequence, payload);
        self.nodes[from].handle_packet(self.now, &packet);
        self.poll(from);
        packet
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

/// What no compressor and no earlier packet of the same station helps with.
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
