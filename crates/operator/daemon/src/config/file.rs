//! The configuration file as it is written. What its values mean is settled in [`super::resolve`].

use serde::Deserialize;
use std::net::IpAddr;
use std::path::PathBuf;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// The node itself.
    pub node: Node,
    /// Its TUN device.
    pub tunnel: Tunnel,
    /// The nodes it talks to.
    #[serde(default)]
    pub peer: Vec<Peer>,
    /// Gateways of one operator: on a station those among which it chooses, the first one first; on a
    /// gateway, or a relay, the others.
    #[serde(default)]
    pub gateway: Vec<Gateway>,
    /// Where the ways to `destination`s are learnt.
    pub routing: Option<Routing>,
    /// Nodes of the mesh that are not peers, or not always.
    #[serde(default)]
    pub destination: Vec<Destination>,
    /// How repeated bytes are removed.
    #[serde(default)]
    pub reduce: Reduce,
    /// How headers and literals are made shorter.
    #[serde(default)]
    pub shorten: Shorten,
    /// How TCP segments that the air lost are repaired from here: `true`, or a table; left out: they are not.
    #[serde(alias = "recover")]
    pub snoop: Option<Switched<Snoop>>,
    /// Which TCP connections are split here: `true`, or a table; left out: none.
    pub split: Option<Switched<Split>>,
    /// What stations overhear of each other; left out: nothing.
    pub overhear: Option<Overhear>,
    /// The page for whoever looks after the node; left out: none.
    pub dashboard: Option<Dashboard>,
    /// Whether the program gives up what it does not need; `false` is for whoever looks for a fault in it.
    #[serde(default = "yes")]
    pub sandbox: bool,
}

/// `[node]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// `"gateway"`, which waits for stations, `"station"`, which seeks its gateway, or `"relay"`, which
    /// passes on what comes for others.
    pub role: Role,
    /// The node's private key; relative to this file.
    pub private_key_file: PathBuf,
    /// The key that all nodes of the network share; relative to this file.
    pub network_key_file: PathBuf,
    /// The key that the network had before, while nodes are given another one; relative to this file.
    pub previous_network_key_file: Option<PathBuf>,
    /// Where keys are kept that were revoked: `/var/lib/overheard/INTERFACE.revoked` by default; relative to
    /// this file.
    pub revoked_file: Option<PathBuf>,
    /// Address and port to listen on: `"[::]:4780"` by default, on a station any port.
    pub listen: Option<String>,
    /// From how many ports datagrams leave to peers whose endpoint is known: 1 by default.
    pub source_ports: Option<i64>,
    /// How many threads share the peers out among them, at most: 1 by default.
    pub threads: Option<i64>,
    /// Where `overheard status` asks: `/run/overheard/INTERFACE.sock` by default; relative to this file.
    pub status_socket: Option<PathBuf>,
}

/// A node's part in the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Waits for stations.
    Gateway,
    /// Seeks its gateway.
    Station,
    /// Passes on what comes for others.
    Relay,
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Role::Gateway => "gateway",
            Role::Station => "station",
            Role::Relay => "relay",
        })
    }
}

/// `[tunnel]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tunnel {
    /// The device's name.
    pub interface: String,
    /// Its addresses with their prefix lengths, such as `"10.9.0.1/24"`.
    pub addresses: Vec<String>,
    /// The largest inner packet in bytes; by default what fits the way to the peers.
    pub mtu: Option<i64>,
    /// Whether routes to the peers' `allowed_ips` are put in.
    #[serde(default = "yes")]
    pub routes: bool,
    /// What becomes of packets for a peer that is not reachable.
    #[serde(default)]
    pub when_down: WhenDown,
    /// Whether the outer header has the DSCP of the packets inside.
    #[serde(default = "yes")]
    pub copy_dscp: bool,
    /// Whether the maximum segment size of TCP connections through the tunnel is lowered to what fits.
    #[serde(default = "yes")]
    pub mss_clamp: bool,
    /// Whether TCP senders on this host make their congestion windows larger by what is removed.
    #[serde(default)]
    pub boost: bool,
    /// Which congestion control is wrapped for that; by default the one in use here.
    pub boost_control: Option<String>,
}

/// What becomes of packets for a peer that is not reachable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WhenDown {
    /// They are refused: nothing goes another way than through the tunnel.
    #[default]
    Closed,
    /// They go the way they would go without the tunnel.
    Open,
}

/// `[[peer]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    /// What it is called in logs and in `overheard status`.
    pub name: String,
    /// Its public key.
    pub public_key: String,
    /// Its address or name, and its port; left out where it comes to us.
    pub endpoint: Option<String>,
    /// Which inner addresses are reached through it, and may come from it; a relay may be the way to none.
    #[serde(default)]
    pub allowed_ips: Vec<String>,
    /// A key that this node and the peer alone have, beside the network's; relative to this file.
    pub preshared_key_file: Option<PathBuf>,
    /// Whether it is a relay: what comes from it may have begun anywhere.
    #[serde(default)]
    pub relays: bool,
    /// How long to be silent before a keepalive: 25 by default where there is an endpoint; 0: never.
    pub keepalive_seconds: Option<u16>,
}

/// `[[gateway]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gateway {
    /// What it is called in logs and in `overheard status`.
    pub name: String,
    /// Its public key.
    pub public_key: String,
    /// Its address or name, and its port; on a gateway left out where the other one comes to us.
    pub endpoint: Option<String>,
    /// A key that this node and the gateway alone have, beside the network's; relative to this file.
    pub preshared_key_file: Option<PathBuf>,
    /// On a station, which inner addresses are reached through it, by default as through the first one. On a
    /// gateway, those of the other one itself and of what is behind it alone; none by default.
    pub allowed_ips: Option<Vec<String>>,
    /// How long to be silent before a keepalive: 2 by default on a station, 5 on a gateway.
    pub keepalive_seconds: Option<u16>,
}

/// `[routing]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Routing {
    /// Which source.
    pub source: routing::Source,
    /// The file of `source = "static"`; relative to this file.
    pub file: Option<PathBuf>,
    /// babeld's local socket, the path or the port of its `-G`; or the port of olsrd2's telnet.
    pub socket: Option<String>,
    /// How often the source is asked: 1 by default.
    pub refresh_seconds: Option<u32>,
}

/// `[[destination]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Destination {
    /// Where its radio is, in the routing protocol's words.
    pub address: IpAddr,
    /// Which inner addresses are reached through it.
    pub allowed_ips: Vec<String>,
}

/// `[reduce]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reduce {
    /// Which packets may be referred to.
    pub policy: Option<String>,
    /// k of `k-distance`; in experiments only.
    pub k: Option<u32>,
    /// How references are written: `"compact"`.
    pub form: Option<String>,
    /// To which flows' packets references reach: `"flow"`, `"host"` or `"station"`, the default.
    pub sharing: Option<String>,
    /// The window of the fingerprints in bytes.
    pub window_bytes: Option<usize>,
    /// How many bits of a fingerprint have to be zero for it to be kept.
    pub sample_bits: Option<u32>,
    /// How much is stored for each direction of each peer, in MiB.
    pub store_mib: Option<usize>,
}

/// `[shorten]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shorten {
    /// Whether headers are written as what differs from confirmed ones; by default where the policy is
    /// `adaptive`.
    pub headers: Option<bool>,
    /// Whether literals are compressed; by default where the policy is `adaptive`.
    pub literals: Option<bool>,
    /// Whether packets that wait share a datagram; by default where the policy is `adaptive`.
    pub packing: Option<bool>,
}

/// `true`, `false`, or a table, which is on.
#[derive(Debug)]
pub enum Switched<T> {
    /// On with the defaults, or off.
    Switch(bool),
    /// On.
    Table(T),
}

impl<T: Default> Switched<T> {
    /// The table, if it is on.
    pub fn table(switched: Option<Self>) -> Option<T> {
        match switched {
            None | Some(Switched::Switch(false)) => None,
            Some(Switched::Switch(true)) => Some(T::default()),
            Some(Switched::Table(table)) => Some(table),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Switched<T> {
    /// Not by serde's own way for either of two, whose errors name neither the key nor the mend.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> serde::de::Visitor<'de> for Either<T> {
            type Value = Switched<T>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("true, false, or a table")
            }

            fn visit_bool<E: serde::de::Error>(self, on: bool) -> Result<Switched<T>, E> {
                Ok(Switched::Switch(on))
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Switched<T>, A::Error> {
                let table = serde::de::value::MapAccessDeserializer::new(map);
                T::deserialize(table).map(Switched::Table)
            }
        }
        deserializer.deserialize_any(Either(std::marker::PhantomData))
    }
}

/// `[snoop]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snoop {
    /// How many packets, coded or not, are kept for each flow: 8 by default.
    pub buffer_packets: Option<usize>,
    /// What becomes of a packet for which there is no room: `"none"` by default, or `"lru"`.
    pub replacement: Option<ReplacementName>,
    /// How many packets are coded together; 1: none.
    pub degree: Option<u8>,
    /// How far they are apart.
    pub distance: Option<u8>,
    /// Whether degree and distance follow the link: by default where neither is said.
    pub adaptive: Option<bool>,
    /// Whether packets are kept as rows of Reed-Solomon's code only.
    pub reed_solomon: Option<bool>,
}

/// What becomes of a packet for which there is no room.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReplacementName {
    /// It is not kept.
    None,
    /// The oldest one goes.
    Lru,
}

/// `[split]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Split {
    /// Connections to which ports: all by default.
    pub ports: Option<Vec<u16>>,
    /// How many at a time: 4096 by default.
    pub connections: Option<usize>,
    /// After how long without a byte one ends: 7440 by default, as NATs have it (RFC 5382).
    pub idle_seconds: Option<u64>,
    /// The TCP port to which they are led: 4783 by default.
    pub port: Option<u16>,
    /// The mark on what is led there.
    pub mark: Option<u32>,
    /// The routing table that delivers it.
    pub table: Option<u32>,
    /// Whether the rules for that are put in: by default they are.
    pub rules: Option<bool>,
}

/// `[overhear]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overhear {
    /// The interface that is listened on: a Wi-Fi one in monitor mode, or one like Ethernet on a shared
    /// medium; without it nothing is overheard here.
    pub interface: Option<String>,
    /// The cache has two to this many slots: 18 by default.
    pub slot_bits: Option<u8>,
    /// At which rate the gateway's radio sends, in Mbit/s: 24 by default.
    pub rate_mbps: Option<f64>,
    /// Whether a relay sends packets for several peers as one, and who has a relay takes them apart: by
    /// default they do.
    #[serde(default = "yes", alias = "code")]
    pub network_coding: bool,
}

/// `[dashboard]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dashboard {
    /// Address and port: `"127.0.0.1:4785"` by default.
    pub listen: Option<String>,
    /// A file with the token that whoever asks has to bear; needed where others can ask. Relative to this
    /// file.
    pub token_file: Option<PathBuf>,
}

fn yes() -> bool {
    true
}
