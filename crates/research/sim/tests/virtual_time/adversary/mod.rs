//! An honest station connects despite an attacker on the path that drops at most three in ten honest
//! datagrams and delays each by at most a second.

pub mod attacker;
mod insiders;
mod member;
mod scene;

use attacker::{Attacker, Path, WEAPONS, Weapon};
use node::{Config, NetworkKey, Node, PeerConfig, PrivateKey};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use sim::network::Network;
use std::net::SocketAddr;
use std::time::Duration;

const GATEWAY: usize = 0;
const STATION: usize = 1;
const ADDRESSES: [&str; 2] = ["192.0.2.1:4780", "198.51.100.7:40000"];
const SLICE: Duration = Duration::from_millis(10);
const SECOND: Duration = Duration::from_secs(1);

/// A gateway and a known station, with an attacker on the path.
struct Siege {
    network: Network<Path>,
    configs: [Config; 2],
    attacker: Attacker,
    boots: u8,
}

/// An attack and its nodes.
#[derive(Debug, Clone, Copy)]
struct Plan {
    seed: u64,
    weapon: Weapon,
    rate: u32,
    one_way: Duration,
    drops: f64,
    most_delay: Duration,
    /// The station's clock was set back: its handshakes' numbers restart at each boot.
    clock_set_back: bool,
    versions: [u8; 2],
}

impl Plan {
    /// One of many plans; everything follows from the seed.
    fn of(seed: u64, weapon: Weapon) -> Self {
        let rng = &mut ChaCha12Rng::seed_from_u64(seed);
        // A member with 2500 a second delays one station in forty, because cookies are then too few.
        let most = if weapon == Weapon::Marked { 400 } else { 2500 };
        Plan {
            seed,
            weapon,
            rate: [40, 100, 400, 2500][rng.random_range(0..4)].min(most),
            one_way: Duration::from_millis([1, 20, 75, 300][rng.random_range(0..4)]),
            drops: [0.0, 0.1, 0.3][rng.random_range(0..3)],
            most_delay: Duration::from_millis([0, 50, 1000][rng.random_range(0..3)]),
            clock_set_back: rng.random_bool(0.3),
            versions: [2, 2],
        }
    }

    /// Five seconds, or three round trips where these are longer.
    fn patience(&self) -> Duration {
        (6 * (self.one_way + self.most_delay)).max(5 * SECOND)
    }
}

impl Siege {
    /// Sets up a station with several recorded boots.
    fn new(plan: &Plan) -> Self {
        let rng = &mut ChaCha12Rng::seed_from_u64(plan.seed);
        let network_key = NetworkKey::generate(rng);
        let keys = [PrivateKey::generate(rng), PrivateKey::generate(rng)];
        let config = |one: usize, nets: &[&str], endpoint, keepalive| {
            let peer = PeerConfig {
                name: ["gateway", "station"][1 - one].to_owned(),
                public_key: keys[1 - one].public(),
                endpoint,
                allowed_ips: nets.iter().map(|net| net.parse().unwrap()).collect(),
                keepalive,
                bits_a_second: None,
            };
            Config {
                versions: 1..=plan.versions[one],
                ..Config::new(keys[one].clone(), network_key.clone(), vec![peer])
            }
        };
        let gateway: SocketAddr = ADDRESSES[GATEWAY].parse().unwrap();
        let configs = [
            config(GATEWAY, &["10.0.0.2/32"], None, None),
            config(STATION, &["0.0.0.0/0"], Some(gateway), Some(25 * SECOND)),
        ];
        let path = Path {
            one_way: plan.one_way,
            drops: 0.0,
            most_delay: Duration::ZERO,
            rng: ChaCha12Rng::seed_from_u64(plan.seed ^ 1),
            captured: Vec::new(),
        };
        let mut network = Network::new(Duration::ZERO, path);
        for one in [GATEWAY, STATION] {
            let node = Node::new(configs[one].clone(), [one as u8; 32], Duration::ZERO).unwrap();
            network.join(ADDRESSES[one].parse().unwrap(), node);
        }
        let attacker = Attacker {
            weapon: plan.weapon,
            rate: 0,
            network_key,
            rng: ChaCha12Rng::seed_from_u64(plan.seed ^ 2),
            next: 0,
        };
        let mut siege = Siege { network, configs, attacker, boots: 2 };
        for _ in 0..12 {
            siege.boot(STATION, false);
            siege.network.run(2 * SECOND);
            assert!(siege.is_connected(), "without an attack");
        }
        siege.network.medium.drops = plan.drops;
        siege.network.medium.most_delay = plan.most_delay;
        siege.attacker.rate = plan.rate;
        siege
    }

    fn boot(&mut self, one: usize, clock_set_back: bool) {
        self.boots += 1;
        let now = self.network.now();
        let handshakes_above = if clock_set_back { 0 } else { now.as_micros() as u64 };
        let config = Config { handshakes_above, ..self.configs[one].clone() };
        self.network.replace(one, Node::new(config, [self.boots; 32], now).unwrap());
    }

    fn run(&mut self, time: Duration) {
        let end = self.network.now() + time;
        while self.network.now() < end {
            self.network.run(SLICE);
            self.attacker.strike(&mut self.network, SLICE);
        }
    }

    /// Whether both ends have a session of the same boots.
    fn is_connected(&self) -> bool {
        let [gateway, station] = [GATEWAY, STATION].map(|one| self.network.status(one));
        let has_session = |status: &node::Status| status.peers[0].session_age_seconds.is_some();
        has_session(&gateway) && has_session(&station)
    }

    /// Time until both ends have a session and the station's packet arrives at the gateway.
    fn connect(&mut self, patience: Duration) -> Option<Duration> {
        let start = self.network.now();
        self.network.take_delivered(GATEWAY);
        while self.network.now() <= start + patience {
            self.network.send(STATION, &packet([10, 0, 0, 2], [10, 0, 0, 1]));
            self.run(5 * SLICE);
            if self.is_connected() && !self.network.delivered(GATEWAY).is_empty() {
                return Some(self.network.now() - start);
            }
        }
        None
    }
}

fn packet(from: [u8; 4], to: [u8; 4]) -> Vec<u8> {
    let mut packet = Vec::new();
    etherparse::PacketBuilder::ipv4(from, to, 64).udp(7, 7).write(&mut packet, b"here").unwrap();
    packet
}

#[test]
fn a_station_that_starts_is_connected_in_time_whatever_an_attacker_on_the_path_does() {
    let mut late = Vec::new();
    for plan in WEAPONS.into_iter().flat_map(|weapon| (0..40).map(move |seed| Plan::of(seed, weapon))) {
        let mut siege = Siege::new(&plan);
        siege.boot(STATION, plan.clock_set_back);
        if siege.connect(plan.patience()).is_none() {
            late.push((plan, siege.network.status(GATEWAY).refused));
        }
    }
    assert!(late.is_empty(), "{} are late: {late:#?}", late.len());
}

#[test]
fn a_station_is_connected_in_time_to_a_gateway_that_has_forgotten_everything() {
    let mut late = Vec::new();
    for plan in WEAPONS.into_iter().flat_map(|weapon| (100..130).map(move |seed| Plan::of(seed, weapon))) {
        let mut siege = Siege::new(&plan);
        siege.boot(GATEWAY, false);
        siege.run(SECOND);
        siege.boot(STATION, plan.clock_set_back);
        if siege.connect(plan.patience()).is_none() {
            late.push((plan, siege.network.status(GATEWAY).refused));
        }
    }
    assert!(late.is_empty(), "{} are late: {late:#?}", late.len());
}

#[test]
fn an_established_session_outlives_its_keys_under_attack() {
    for plan in WEAPONS.into_iter().flat_map(|weapon| (200..204).map(move |seed| Plan::of(seed, weapon))) {
        let mut siege = Siege::new(&Plan { rate: plan.rate.min(100), ..plan });
        siege.network.discard();
        for _ in 0..80 {
            siege.network.send(STATION, &packet([10, 0, 0, 2], [10, 0, 0, 1]));
            siege.network.send(GATEWAY, &packet([10, 0, 0, 1], [10, 0, 0, 2]));
            siege.run(5 * SECOND);
            assert!(siege.is_connected(), "{plan:?} at {:?}", siege.network.now());
        }
        let down = |event: &node::Event| matches!(event, node::Event::SessionDown { .. });
        let lost = siege.network.events().iter().filter(|(_, _, event)| down(event)).count();
        assert_eq!(lost, 0, "{plan:?}");
    }
}
