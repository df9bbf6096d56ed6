//! The configuration of a simulation.

use crate::addresses::{GATEWAY, MOST_STATIONS, inner_v4, inner_v6, outer};
use air::LinkConfig;
use ipnet::IpNet;
use node::{Config, NetworkKey, PeerConfig, PrivateKey};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use std::net::IpAddr;
use std::time::Duration;

/// One gateway, its stations, and their links.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Seed of all randomness: keys, boots, and the air.
    pub seed: u64,
    /// The stations.
    pub stations: Vec<Station>,
    /// The tunnel; `None` for the bare baseline.
    pub tunnel: Option<Tunnel>,
}

/// The links of one station.
#[derive(Debug, Clone)]
pub struct Station {
    /// From the gateway.
    pub down: LinkConfig,
    /// To the gateway.
    pub up: LinkConfig,
}

/// How the nodes of a tunnel are configured.
#[derive(Debug, Clone, PartialEq)]
pub struct Tunnel {
    /// How repeated bytes are removed, in both directions.
    pub reduce: re::Parameters,
    /// Whether repairs leave for what the air loses.
    pub fec: bool,
    /// Bytes of packets that may wait for a session.
    pub queue_bytes: usize,
    /// The largest datagram, in bytes.
    pub max_datagram_bytes: usize,
    /// Idle time after which a station sends a keepalive.
    pub keepalive: Duration,
    /// The memory of each node. `None`: its stores have the bound in `reduce`.
    pub memory: Option<node::Memory>,
    /// Whether the processors have instructions for AES.
    pub computes_aes: bool,
}

impl From<re::Parameters> for Tunnel {
    /// The usual tunnel with this redundancy elimination.
    fn from(reduce: re::Parameters) -> Self {
        Tunnel {
            reduce,
            fec: true,
            queue_bytes: 1 << 20,
            max_datagram_bytes: 1452,
            keepalive: Duration::from_secs(25),
            memory: None,
            computes_aes: false,
        }
    }
}

impl From<re::Policy> for Tunnel {
    /// The usual tunnel with this policy.
    fn from(policy: re::Policy) -> Self {
        re::Parameters { policy, ..re::Parameters::default() }.into()
    }
}

impl Default for Tunnel {
    fn default() -> Self {
        re::Parameters::default().into()
    }
}

/// An invalid setup.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SetupError {
    /// No stations, or too many.
    #[error("{0} stations: there may be 1 to {MOST_STATIONS}")]
    Stations(usize),
    /// The links.
    #[error(transparent)]
    Link(#[from] air::ConfigError),
    /// The nodes.
    #[error(transparent)]
    Node(#[from] node::ConfigError),
}

impl Setup {
    /// A gateway and one station, with the default tunnel between them.
    #[must_use]
    pub fn pair(seed: u64, down: LinkConfig, up: LinkConfig) -> Self {
        Setup { seed, stations: vec![Station { down, up }], tunnel: Some(Tunnel::default()) }
    }

    pub(crate) fn validate(&self) -> Result<(), SetupError> {
        if !(1..=MOST_STATIONS).contains(&self.stations.len()) {
            return Err(SetupError::Stations(self.stations.len()));
        }
        for station in &self.stations {
            station.down.validate()?;
            station.up.validate()?;
        }
        Ok(())
    }

    /// A random generator for one purpose.
    pub(crate) fn rng(&self, purpose: Purpose) -> ChaCha12Rng {
        let mut rng = ChaCha12Rng::seed_from_u64(self.seed);
        rng.set_stream(match purpose {
            Purpose::Keys => 0,
            Purpose::Link(index) => 1 << 32 | index as u64,
            Purpose::Boots(host) => 2 << 32 | host as u64,
        });
        rng
    }

    /// The seed of a link. It does not depend on the traffic, so that runs can be paired.
    pub(crate) fn link_seed(&self, index: usize) -> u64 {
        self.rng(Purpose::Link(index)).next_u64()
    }

    /// The key of the nodes' network, for an attacking member.
    #[must_use]
    pub fn network_key(&self) -> NetworkKey {
        NetworkKey::generate(&mut self.rng(Purpose::Keys))
    }

    /// The configurations of the nodes, gateway first.
    pub(crate) fn configs(&self, tunnel: &Tunnel) -> Vec<Config> {
        let mut rng = self.rng(Purpose::Keys);
        let network = NetworkKey::generate(&mut rng);
        let keys: Vec<PrivateKey> =
            (0..=self.stations.len()).map(|_| PrivateKey::generate(&mut rng)).collect();
        let config = |key: &PrivateKey, peers| Config {
            reduce: tunnel.reduce,
            fec: tunnel.fec,
            queue_bytes: tunnel.queue_bytes,
            max_datagram_bytes: tunnel.max_datagram_bytes,
            memory: tunnel.memory,
            computes_aes: tunnel.computes_aes,
            trace: true,
            ..Config::new(key.clone(), network.clone(), peers)
        };
        let single = |address: IpAddr| IpNet::from(address);
        let stations = (1..keys.len()).map(|host| PeerConfig {
            name: host_name(host),
            public_key: keys[host].public(),
            endpoint: None,
            allowed_ips: vec![single(inner_v4(host).into()), single(inner_v6(host).into())],
            keepalive: None,
            bits_a_second: None,
        });
        let gateway = PeerConfig {
            name: host_name(GATEWAY),
            public_key: keys[GATEWAY].public(),
            endpoint: Some(outer(GATEWAY).into()),
            allowed_ips: vec![single(inner_v4(GATEWAY).into()), single(inner_v6(GATEWAY).into())],
            keepalive: Some(tunnel.keepalive),
            bits_a_second: None,
        };
        let mut configs = vec![config(&keys[GATEWAY], stations.collect())];
        configs.extend(keys[1..].iter().map(|key| config(key, vec![gateway.clone()])));
        configs
    }
}

/// What randomness is for.
pub(crate) enum Purpose {
    Keys,
    Link(usize),
    Boots(usize),
}

/// What a host is called.
pub(crate) fn host_name(host: usize) -> String {
    if host == GATEWAY { "gateway".to_owned() } else { format!("station-{host}") }
}
