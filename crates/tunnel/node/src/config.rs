//! Configuration of a node, checked as a whole before its start.

use crate::elimination::compress::Shortening;
use crate::keys::{NetworkKey, PresharedKey, PrivateKey, PublicKey};
use crate::path::lanes::MAX_LANES;
use ipnet::IpNet;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::ops::RangeInclusive;
use std::time::Duration;
use wire::unit::VERSION;

/// A node's configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// The node's own key.
    pub private_key: PrivateKey,
    /// The network's key.
    pub network_key: NetworkKey,
    /// The network's previous key. The node answers handshakes under it, and tries it with peers that do not
    /// answer under the new one.
    pub previous_network_key: Option<NetworkKey>,
    /// Keys that this node shares with one peer beside the network's key, by the peer's public key.
    pub preshared_keys: BTreeMap<PublicKey, PresharedKey>,
    /// Peers whose handshakes are refused, and which are sent nothing.
    pub revoked: BTreeSet<PublicKey>,
    /// Its peers.
    pub peers: Vec<PeerConfig>,
    /// How repeated bytes are removed on the way out, and how much is stored for each direction.
    pub reduce: re::Parameters,
    /// Whether packets go past redundancy elimination while they wait for the processor and not for the link.
    pub spares_processor: bool,
    /// The memory of the node. `None`: each store has the bound in `reduce`, whatever all of them take.
    pub memory: Option<Memory>,
    /// Whether repairs leave for what the air loses, where the peer restores units by them.
    pub fec: bool,
    /// Whether few bytes are kept under way where the path's queue is deep.
    pub controls_queue: bool,
    /// How TCP connections cross the hop as streams, where the peer takes them; `None`: they do not.
    pub streams: Option<StreamBounds>,
    /// Savings beside repeated bytes.
    pub shorten: Shortening,
    /// Bytes of packets that may wait for one peer; beyond, the longest flow's oldest are dropped.
    pub queue_bytes: usize,
    /// The largest datagram (UDP payload), in bytes, until the path to a peer turns out to carry less.
    pub max_datagram_bytes: usize,
    /// Up to which size a path is asked whether it carries more, in bytes of datagram.
    pub largest_datagram_bytes: usize,
    /// How many source ports are used towards a peer whose endpoint is configured.
    pub source_ports: usize,
    /// Whether a datagram's outer header has the DSCP of the packets inside.
    pub copies_dscp: bool,
    /// The versions of the formats that the node says it speaks. It says the truth unless one wants to see
    /// how nodes of other versions get on with it.
    pub versions: RangeInclusive<u8>,
    /// Whether the processor has instructions for AES. Sessions with peers that have them as well are sealed
    /// with AES-256-GCM, and all others with ChaCha20-Poly1305.
    pub computes_aes: bool,
    /// Handshakes have higher numbers than this, which should rise from boot to boot (microseconds since 1970
    /// do). Where it does not, the first handshake with a peer costs a round trip more.
    pub handshakes_above: u64,
    /// How TCP segments that the air lost are repaired from here; `None`: they are not.
    pub snoop: Option<recovery::Settings>,
    /// Whether it becomes a member of groups, and has one of its own where it has several peers.
    pub group: Option<Group>,
    /// The peers that are gateways of one operator.
    pub gateways: Gateways,
    /// Its part in a mesh.
    pub mesh: Mesh,
    /// Whether the senders of TCP segments make their windows larger by what is removed: packets then wait to
    /// fill datagrams, are cut also where the air loses much, and [`crate::Event::Ratio`] is told.
    pub boost: bool,
    /// Whether [`crate::Event::Sent`] and [`crate::Event::Arrived`] are told, one for every packet.
    pub trace: bool,
}

impl Config {
    /// A configuration with the defaults for everything but keys and peers.
    #[must_use]
    pub fn new(private_key: PrivateKey, network_key: NetworkKey, peers: Vec<PeerConfig>) -> Self {
        Config {
            private_key,
            network_key,
            previous_network_key: None,
            preshared_keys: BTreeMap::new(),
            revoked: BTreeSet::new(),
            peers,
            reduce: re::Parameters::default(),
            memory: None,
            spares_processor: true,
            fec: true,
            controls_queue: true,
            streams: None,
            shorten: Shortening::NONE,
            queue_bytes: 1 << 20,
            max_datagram_bytes: 1452,
            largest_datagram_bytes: 1452,
            source_ports: 1,
            copies_dscp: true,
            versions: 1..=VERSION,
            computes_aes: false,
            handshakes_above: 0,
            snoop: None,
            group: None,
            gateways: Gateways::default(),
            mesh: Mesh::default(),
            boost: false,
            trace: false,
        }
    }
}

/// The budget of memory: [`crate::memory`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Bytes of stores, tables, queues and buffers.
    pub bytes: usize,
    /// Nodes that share them: the shards of a process.
    pub nodes: usize,
}

impl Memory {
    /// The part of each of so many peers of a node, in bytes.
    #[must_use]
    pub fn part_bytes(&self, peers: usize) -> usize {
        self.bytes / peers.max(1).saturating_mul(self.nodes.max(1))
    }
}

/// Bounds of the streams of one peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamBounds {
    /// Bytes of streams that are kept, of both directions together.
    pub memory_bytes: usize,
    /// Streams at once.
    pub most_streams: usize,
    /// Whether a host is answered before the far end's connection stands.
    pub answers_early: bool,
}

/// A node's part in a mesh, where some nodes do not hear each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mesh {
    /// It is a relay: packets for another peer go there, by the peers' addresses.
    pub forwards: bool,
    /// Indices of the peers that are relays: their packets may have any source.
    pub relays: Vec<usize>,
    /// Natives for several peers leave as one frame, where it is a relay; and it takes such frames apart.
    /// Only where it has a group.
    pub codes: bool,
    /// Nodes of the mesh to which the way changes: [`Node::set_next_hop`](crate::Node::set_next_hop) says
    /// which peer it is.
    pub destinations: Vec<Destination>,
}

/// A node of the mesh that is not a peer, or not always.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// Its name, for people.
    pub name: String,
    /// Inner addresses that are reached through it.
    pub allowed_ips: Vec<IpNet>,
}

impl Mesh {
    /// Whether the node is in one.
    #[must_use]
    pub fn is_one(&self) -> bool {
        self.forwards || !self.relays.is_empty()
    }
}

/// Indices of the peers that are gateways of one operator.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Gateways {
    /// The only peer, or nothing is made of it.
    #[default]
    One,
    /// This node is a station, associated with one of these at a time. All of them reach the same addresses.
    Choice(Vec<usize>),
    /// This node is a gateway, and these are others, through which stations that have moved are reached.
    Neighbours(Vec<usize>),
}

impl Gateways {
    /// The indices.
    #[must_use]
    pub fn peers(&self) -> &[usize] {
        match self {
            Gateways::One => &[],
            Gateways::Choice(peers) | Gateways::Neighbours(peers) => peers,
        }
    }
}

/// Settings for traffic that the node's peers could overhear.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    /// Its caches have two to this many slots, each of 256 bytes of address space and as much memory as is
    /// used.
    pub slot_bits: u8,
    /// Rate of its radio in bits a second, for the cost of a request for missing chunks.
    pub rate_bits_per_second: u64,
}

impl Default for Group {
    fn default() -> Self {
        Group { slot_bits: 18, rate_bits_per_second: 24_000_000 }
    }
}

impl Group {
    /// The codec's settings in a network with this key.
    pub(crate) fn settings(&self, address_key: [u8; 32]) -> overhear::Settings {
        overhear::Settings { slot_bits: self.slot_bits, ..overhear::Settings::new(address_key) }
    }

    /// Says what is wrong, if anything is.
    pub fn validate(&self) -> Result<(), overhear::SettingsError> {
        self.settings([0; 32]).validate()
    }
}

/// One peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerConfig {
    /// Its name, for people.
    pub name: String,
    /// Its key.
    pub public_key: PublicKey,
    /// Where it is; `None`: it will come to us.
    pub endpoint: Option<SocketAddr>,
    /// Inner addresses that are reached through it, and its permitted sources.
    pub allowed_ips: Vec<IpNet>,
    /// How long nothing is sent before a keepalive goes out; `None`: never.
    pub keepalive: Option<Duration>,
    /// The rate of the link to it in bits a second, if the user knows it.
    pub bits_a_second: Option<NonZeroU64>,
}

/// A mistake in a configuration, with its correction.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// The same key twice.
    #[error("peers {0:?} and {1:?} have the same public key; give each peer its own")]
    SamePublicKey(String, String),
    /// A peer has this node's own key.
    #[error("peer {0:?} has this node's own public key; put the other node's key there")]
    OwnPublicKey(String),
    /// Two peers claim the same addresses.
    #[error("peers {0:?} and {1:?} both have {2} in allowed_ips; an address can lead to one peer only")]
    SameAddresses(String, String, IpNet),
    /// A datagram too small for the tunnel.
    #[error("max_datagram_bytes is {0}; it must be between 576 and 65000")]
    DatagramSize(usize),
    /// Too few or too many ports.
    #[error("source_ports is {0}; it must be between 1 and {MAX_LANES}")]
    SourcePorts(usize),
    /// A queue that holds not even one packet.
    #[error("queue_bytes is {0}; it must be at least 65536")]
    QueueSize(usize),
    /// The redundancy elimination's parameters.
    #[error(transparent)]
    Reduce(#[from] re::ParameterError),
    /// The repair of TCP segments.
    #[error(transparent)]
    Snoop(#[from] recovery::SettingsError),
    /// The sharing with a group.
    #[error(transparent)]
    Group(#[from] overhear::SettingsError),
}

impl PeerConfig {
    /// The rate of the link to it in bytes a second, if the user knows it.
    pub(crate) fn bytes_a_second(&self) -> Option<f64> {
        self.bits_a_second.map(|bits| bits.get() as f64 / 8.0)
    }
}

impl Config {
    /// The group's settings, if the node has several peers for it. Stations of other gateways count, other
    /// gateways do not.
    #[must_use]
    pub fn sharing(&self) -> Option<Group> {
        let others = self.gateways.peers().len();
        let stations = self.peers.len().saturating_sub(others);
        self.group.filter(|_| stations > 1 || stations == 1 && others > 0)
    }

    /// Whether natives of several may share a frame here, sent or received.
    #[must_use]
    pub fn codes(&self) -> bool {
        self.mesh.codes && self.mesh.is_one() && self.group.is_some()
    }

    /// Says what is wrong, if anything is.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let mut keys = BTreeMap::from([(self.private_key.public(), None)]);
        let mut addresses = BTreeMap::<IpNet, &str>::new();
        for peer in &self.peers {
            match keys.insert(peer.public_key, Some(&peer.name)) {
                None => {}
                Some(None) => return Err(ConfigError::OwnPublicKey(peer.name.clone())),
                Some(Some(other)) => {
                    return Err(ConfigError::SamePublicKey(other.clone(), peer.name.clone()));
                }
            }
            for net in &peer.allowed_ips {
                if let Some(other) = addresses.insert(net.trunc(), &peer.name)
                    && other != peer.name
                    && !matches!(self.gateways, Gateways::Choice(_))
                {
                    return Err(ConfigError::SameAddresses(other.to_string(), peer.name.clone(), *net));
                }
            }
        }
        if !(576..=65_000).contains(&self.max_datagram_bytes) {
            return Err(ConfigError::DatagramSize(self.max_datagram_bytes));
        }
        if !(1..=MAX_LANES).contains(&self.source_ports) {
            return Err(ConfigError::SourcePorts(self.source_ports));
        }
        if self.queue_bytes < 65_536 {
            return Err(ConfigError::QueueSize(self.queue_bytes));
        }
        if let Some(snoop) = &self.snoop {
            snoop.validate()?;
        }
        if let Some(group) = &self.group {
            group.validate()?;
        }
        Ok(self.reduce.validate()?)
    }
}
