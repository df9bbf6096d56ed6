//! Two gateways of one operator and stations that know both, one of which is an insider.

use super::member::{Cell, Forgery, GATEWAYS, Member};
use super::{SECOND, SLICE};
use node::{Config, Event, Gateways, Group, NetworkKey, Node, PeerConfig, PrivateKey};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use sim::network::Network;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

const NODES: usize = 5;
/// Honest stations, all associated with the first gateway.
pub const STATIONS: std::ops::Range<usize> = GATEWAYS..NODES - 1;
pub const INSIDER: usize = NODES - 1;
/// Interval of packets from one sender to one receiver.
const PAUSE: Duration = Duration::from_millis(50);
/// The largest additional delay on a path without loss and delay.
const HASTE: Duration = Duration::from_millis(30);
/// The largest additional delay with loss, with retransmissions.
const PATIENCE: Duration = Duration::from_secs(3);

fn address(index: usize) -> SocketAddr {
    ([192, 0, 2, index as u8 + 1], 4780).into()
}

/// An insider's attack, and its air.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    pub seed: u64,
    pub forgery: Forgery,
    pub rate: u32,
    pub one_way: Duration,
    pub loss: f64,
    pub most_delay: Duration,
    /// Interval at which the insider leaves and returns; each time the group gets another key.
    pub restarts_every: Option<Duration>,
    /// Whether contents of one station are also sent to the other, which has heard them.
    pub repeats: bool,
}

impl Plan {
    pub fn of(seed: u64, forgery: Forgery) -> Self {
        let seed = seed * 10 + forgery as u64;
        let rng = &mut ChaCha12Rng::seed_from_u64(seed);
        let is_clean = rng.random_bool(0.75);
        let restarts = forgery == Forgery::Resealed || rng.random_bool(0.4);
        Plan {
            seed,
            forgery,
            rate: [20, 100, 400][rng.random_range(0..3)],
            one_way: Duration::from_millis([1, 20, 75][rng.random_range(0..3)]),
            loss: if is_clean { 0.0 } else { [0.02, 0.1][rng.random_range(0..2)] },
            most_delay: if is_clean { Duration::ZERO } else { Duration::from_millis(40) },
            restarts_every: restarts.then(|| SECOND * rng.random_range(3..6)),
            repeats: rng.random(),
        }
    }

    fn is_clean(&self) -> bool {
        self.loss == 0.0
    }

    /// Time within which an honest packet arrives.
    pub fn patience(&self) -> Duration {
        self.one_way + if self.is_clean() && !self.repeats { HASTE } else { PATIENCE }
    }
}

/// Two gateways of one operator, and stations that know both.
pub struct Scene {
    pub network: Network<Cell>,
    insider: Config,
    member: Member,
    plan: Plan,
    /// The gateway of the server's packets.
    pub gateway: usize,
    boots: u8,
    restarts_at: Option<Duration>,
    rng: ChaCha12Rng,
    /// Packets in flight, with their times.
    on_their_way: BTreeMap<Vec<u8>, Duration>,
    /// Contents sent to the first station.
    contents: VecDeque<Vec<u8>>,
    sent: u32,
    late: u32,
}

impl Scene {
    pub fn new(plan: Plan) -> Self {
        let rng = &mut ChaCha12Rng::seed_from_u64(plan.seed ^ 1);
        let medium = Cell {
            nodes: NODES,
            insider: address(INSIDER),
            one_way: plan.one_way,
            loss: 0.0,
            most_delay: Duration::ZERO,
            dead: None,
            rng: ChaCha12Rng::seed_from_u64(plan.seed ^ 2),
            knowledge: Default::default(),
            heard: VecDeque::new(),
            lies: false,
        };
        let configs = configs(rng);
        let mut network = Network::new(Duration::ZERO, medium);
        for (index, config) in configs.iter().enumerate() {
            let node = Node::new(config.clone(), [index as u8; 32], Duration::ZERO).unwrap();
            network.join(address(index), node);
        }
        (0..NODES).for_each(|node| network.poll(node));
        let member =
            Member { forgery: plan.forgery, rate: 0, rng: ChaCha12Rng::seed_from_u64(plan.seed ^ 3) };
        let mut scene = Scene {
            network,
            insider: configs[INSIDER].clone(),
            member,
            plan,
            gateway: 0,
            boots: 100,
            restarts_at: None,
            rng: ChaCha12Rng::seed_from_u64(plan.seed ^ 4),
            on_their_way: BTreeMap::new(),
            contents: VecDeque::new(),
            sent: 0,
            late: 0,
        };
        scene.network.run(10 * SECOND);
        assert!(STATIONS.chain([INSIDER]).all(|station| scene.associated(station) == Some(0)), "{plan:?}");
        assert!(scene.network.medium.knowledge.key_ids().len() > 0, "the insider has the group's key");
        scene
    }

    /// The gateway that a station is associated with, in its own view.
    pub fn associated(&self, station: usize) -> Option<usize> {
        self.network.status(station).peers.iter().position(|peer| peer.associated == Some(true))
    }

    /// Sends more units under the group's key than a replay window remembers.
    pub fn fill_the_window(&mut self) {
        for number in 0..6000u32 {
            let packet = packet([10, 0, 0, 200], inner(STATIONS.start), &number.to_be_bytes());
            self.network.send(0, &packet);
            self.network.run(Duration::from_micros(500));
        }
        self.network.run(SECOND);
        self.network.discard();
    }

    pub fn begin(&mut self) {
        let Plan { loss, most_delay, rate, restarts_every, .. } = self.plan;
        let medium = &mut self.network.medium;
        (medium.loss, medium.most_delay) = (loss, most_delay);
        medium.lies = self.plan.forgery == Forgery::Words;
        self.member.rate = rate;
        self.restarts_at = restarts_every.map(|every| self.network.now() + every);
        self.network.discard();
    }

    /// Sends honest packets in both directions for this time, while the insider attacks.
    pub fn exchange(&mut self, time: Duration) {
        let end = self.network.now() + time;
        let mut send_at = self.network.now();
        while self.network.now() < end {
            if send_at <= self.network.now() {
                send_at += PAUSE;
                STATIONS.for_each(|station| self.send_both_ways(station));
            }
            self.slice();
        }
    }

    /// Lets the insider continue for this time, without honest packets.
    pub fn wait(&mut self, time: Duration) {
        let end = self.network.now() + time;
        while self.network.now() < end {
            self.slice();
        }
    }

    fn slice(&mut self) {
        self.network.run(SLICE);
        self.member.strike(&mut self.network, SLICE);
        let now = self.network.now();
        if self.restarts_at.is_some_and(|at| at <= now) {
            self.restarts_at = self.plan.restarts_every.map(|every| now + every);
            self.boots += 1;
            // A member that leaves must not read later units: the others get another key.
            self.network.node_mut(INSIDER).close();
            self.network.poll(INSIDER);
            let config = Config { handshakes_above: now.as_micros() as u64, ..self.insider.clone() };
            self.network.replace(INSIDER, Node::new(config, [self.boots; 32], now).unwrap());
        }
        for node in 0..INSIDER {
            for packet in self.network.take_delivered(node) {
                let since = self.on_their_way.remove(&packet);
                let since = since.unwrap_or_else(|| panic!("{:?}: nobody sent this", self.plan));
                self.late += u32::from(now > since + self.plan.patience() + SLICE);
            }
        }
    }

    /// Checks that the packets arrived in time, except those that the air may have lost more than once.
    pub fn all_has_arrived(&self) {
        let packets = f64::from(2 * self.sent);
        let lost = if self.plan.is_clean() { 0.0 } else { 4.0 + 1.5 * self.plan.loss * packets };
        let late = self.late + self.on_their_way.len() as u32;
        assert!(f64::from(late) <= lost, "{late} of {packets} are late or lost: {:?}", self.plan);
    }

    fn send_both_ways(&mut self, station: usize) {
        let mut content = vec![0; 600];
        self.rng.fill_bytes(&mut content);
        if self.plan.repeats && station == STATIONS.start {
            self.contents.push_back(content.clone());
        } else if self.contents.len() > 5 {
            content = self.contents.pop_front().unwrap_or_default();
        }
        content.extend(self.sent.to_be_bytes());
        self.sent += 1;
        let down = packet([10, 0, 0, 200], inner(station), &content);
        let up = packet(inner(station), [10, 0, 0, 200], &self.sent.to_be_bytes());
        self.on_their_way.insert(down.clone(), self.network.now());
        self.on_their_way.insert(up.clone(), self.network.now());
        self.network.send(self.gateway, &down);
        self.network.send(station, &up);
    }

    /// Checks that no honest node lost a session or moved.
    pub fn nothing_happened(&self) {
        let honest = |name: &str| name != format!("node {INSIDER}");
        for (at, node, event) in self.network.events().iter().filter(|(_, node, _)| *node != INSIDER) {
            let harm = match event {
                Event::SessionDown { peer } | Event::Unreachable { peer, .. } => honest(peer),
                Event::Roamed { peer, to, .. } => honest(peer) && !(0..NODES).any(|it| address(it) == *to),
                Event::Moved { .. } => true,
                _ => false,
            };
            assert!(!harm, "{at:?}: node {node}: {event:?}, {:?}", self.plan);
        }
    }
}

fn inner(index: usize) -> [u8; 4] {
    [10, 0, 0, index as u8 + 1]
}

fn packet(from: [u8; 4], to: [u8; 4], content: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    etherparse::PacketBuilder::ipv4(from, to, 64).udp(7, 7).write(&mut packet, content).unwrap();
    packet
}

fn configs(rng: &mut ChaCha12Rng) -> Vec<Config> {
    let network_key = NetworkKey::generate(rng);
    let keys: Vec<PrivateKey> = (0..NODES).map(|_| PrivateKey::generate(rng)).collect();
    let peer = |index: usize, keepalive: Option<Duration>, allowed: String| PeerConfig {
        name: format!("node {index}"),
        public_key: keys[index].public(),
        endpoint: keepalive.map(|_| address(index)),
        allowed_ips: vec![allowed.parse().unwrap()],
        keepalive,
        bits_a_second: None,
    };
    let host = |index: usize| format!("10.0.0.{}/32", index + 1);
    let config = |index: usize| {
        let (peers, gateways) = if index < GATEWAYS {
            let stations = (GATEWAYS..NODES).map(|at| peer(at, None, host(at)));
            let other = peer(1 - index, Some(25 * SECOND), host(1 - index));
            (stations.chain([other]).collect(), Gateways::Neighbours(vec![NODES - GATEWAYS]))
        } else {
            let peers = [0, 1].map(|at| peer(at, Some(2 * SECOND), "0.0.0.0/0".to_owned()));
            (peers.to_vec(), Gateways::Choice(vec![0, 1]))
        };
        let group = Some(Group { slot_bits: 14, ..Group::default() });
        Config { group, gateways, ..Config::new(keys[index].clone(), network_key.clone(), peers) }
    };
    (0..NODES).map(config).collect()
}
