//! The structure of the configuration file. [`super::resolve`] determines the meaning of its values.

use serde::Deserialize;
use std::net::IpAddr;
use std::path::PathBuf;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// The node itself.
    pub node: Node,
    /// The TUN device of the node.
    pub tunnel: Tunnel,
    /// A node that this node talks to: one table for each.
    #[serde(default)]
    pub peer: Vec<Peer>,
    /// A gateway of the same operator: one table for each. A station uses the first one that answers. A
    /// gateway or a relay names the others.
    #[serde(default)]
    pub gateway: Vec<Gateway>,
    /// The source of the routes to the tables `[[destination]]`. Only a mesh with a routing protocol needs
    /// this table.
    pub routing: Option<Routing>,
    /// A node of the mesh that is not always a peer: one table for each. The routing protocol chooses the
    /// next hop.
    #[serde(default)]
    pub destination: Vec<Destination>,
    /// The hop to each peer: how the node meets its losses.
    #[serde(default)]
    pub link: Link,
    /// Redundancy elimination: how the node removes repeated bytes.
    #[serde(default)]
    pub reduce: Reduce,
    /// The memory of the node.
    #[serde(default)]
    pub memory: Memory,
    /// How the node makes headers and literals shorter.
    #[serde(default)]
    pub shorten: Shorten,
    /// Repair of TCP segments that the air lost, where the hop repairs nothing: under the policies `acked`
    /// and `off`, and in plain sessions. It includes the combinations of XBC. The value is `true` or a
    /// table. Without it, the node repairs no TCP segments. The old name is `recover`.
    #[serde(alias = "recover")]
    pub snoop: Option<Switched<Snoop>>,
    /// Streams: TCP connections end in the node at both ends of the hop, and their bytes cross the hop by a
    /// transport that fills long and lossy links. Only between two nodes that both have it; others get
    /// packets. The value is `true` or a table. Without it, the node takes no connections.
    pub streams: Option<Switched<Streams>>,
    /// Split TCP connections: the node ends a connection and begins another one in its place. The value is
    /// `true` or a table. Without it, the node splits no connections.
    pub split: Option<Switched<Split>>,
    /// Overhearing: stations use packets that they hear of each other. Without the table, nobody overhears.
    pub overhear: Option<Overhear>,
    /// A web page with the state of the node. The same port serves `/history.json`, `/status.json`,
    /// `/caches.json` and `/metrics`. Without the table, there is no page.
    pub dashboard: Option<Dashboard>,
    /// The program gives up rights, files and system calls that it does not need. Set `false` only to look
    /// for a fault in the program.
    #[serde(default = "yes")]
    pub sandbox: bool,
}

/// `[node]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// The role of the node. A gateway waits for stations. A station connects to its gateway. A relay
    /// forwards packets between its peers.
    pub role: Role,
    /// The file with the private key of the node, relative to this file.
    pub private_key_file: PathBuf,
    /// The file with the key that all nodes of the network share, relative to this file.
    pub network_key_file: PathBuf,
    /// The file with the previous key of the network, relative to this file. Use it while nodes change to a
    /// new key: see [keys](../keys.md).
    pub previous_network_key_file: Option<PathBuf>,
    /// The file with revoked keys, relative to this file. `overheard peer revoke` writes it: see
    /// [keys](../keys.md). Default: `/var/lib/overheard/INTERFACE.revoked`.
    pub revoked_file: Option<PathBuf>,
    /// The UDP address and port of the node. Default: `"[::]:4780"`; on a station any port.
    pub listen: Option<String>,
    /// The number of UDP ports that the node sends from: up to 16 in a row. The node spreads flows over these
    /// ports, towards peers with an `endpoint`. Default: `1`.
    pub source_ports: Option<i64>,
    /// The largest number of threads that share the peers, at most 64. A gateway that serves several peers at
    /// gigabits needs more than one. Default: `1`.
    pub threads: Option<i64>,
    /// The socket for `overheard status`, relative to this file. Default: `/run/overheard/INTERFACE.sock`.
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
    /// The name of the TUN device.
    pub interface: String,
    /// The inner addresses of the node with their prefix lengths, such as `"10.9.0.1/24"`.
    pub addresses: Vec<String>,
    /// The largest inner packet, in bytes. The node tells senders where a path carries less. Default: what
    /// fits the paths to the peers.
    pub mtu: Option<i64>,
    /// The node adds routes to the `allowed_ips` of its peers.
    #[serde(default = "yes")]
    pub routes: bool,
    /// What happens to packets for a peer that does not answer. `"closed"`: the node refuses them with ICMP
    /// (host unreachable). `"open"`: the node removes the routes to that peer, and packets take the path
    /// without the tunnel.
    #[serde(default)]
    pub when_down: WhenDown,
    /// The outer header has the DSCP of the packets inside.
    #[serde(default = "yes")]
    pub copy_dscp: bool,
    /// The node lowers the maximum segment size of TCP connections to a size that fits the tunnel.
    #[serde(default = "yes")]
    pub mss_clamp: bool,
    /// TCP senders on this host enlarge their congestion windows by the removed bytes: see [TCP over the
    /// link](../features/tcp.md).
    #[serde(default)]
    pub boost: bool,
    /// The congestion control that `boost` wraps: `"cubic"`, `"reno"`, `"vegas"`, `"veno"` or `"westwood"`.
    /// Default: the congestion control that this host uses.
    pub boost_control: Option<String>,
}

/// What happens to packets for a peer that does not answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WhenDown {
    /// The node refuses the packets: nothing leaves outside the tunnel.
    #[default]
    Closed,
    /// The packets take the path without the tunnel.
    Open,
}

/// `[[peer]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    /// The name of the peer in logs and in `overheard status`.
    pub name: String,
    /// The public key of the peer.
    pub public_key: String,
    /// The address or name of the peer, and its port. Leave it out where the peer connects to this node.
    pub endpoint: Option<String>,
    /// The inner addresses behind the peer. The node sends packets for these addresses to the peer, and
    /// accepts packets from them. The list may be empty only for a relay.
    #[serde(default)]
    pub allowed_ips: Vec<String>,
    /// The file with a key that only this node and the peer have, relative to this file. `overheard keygen
    /// --pair` makes it: see [keys](../keys.md).
    pub preshared_key_file: Option<PathBuf>,
    /// The peer is a relay: its packets may come from any node.
    #[serde(default)]
    pub relays: bool,
    /// The node sends a keepalive after this time without a packet. `0`: never. Default: `25` where the peer
    /// has an `endpoint`, otherwise never.
    pub keepalive_seconds: Option<u16>,
    /// The rate of the link to the peer, in place of the one in `[link]`.
    pub rate: Option<String>,
}

/// `[[gateway]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gateway {
    /// The name of the gateway in logs and in `overheard status`.
    pub name: String,
    /// The public key of the gateway.
    pub public_key: String,
    /// The address or name of the gateway, and its port. A gateway may leave it out where the other gateway
    /// connects to it.
    pub endpoint: Option<String>,
    /// The file with a key that only this node and the gateway have, relative to this file.
    pub preshared_key_file: Option<PathBuf>,
    /// On a station: the inner addresses behind the gateway. On a gateway: the addresses of the other gateway
    /// itself, and of hosts behind it alone. Default: on a station, those of the first gateway; on a gateway,
    /// none.
    pub allowed_ips: Option<Vec<String>>,
    /// The node sends a keepalive after this time without a packet. Default: `2` on a station, `5` on a
    /// gateway.
    pub keepalive_seconds: Option<u16>,
}

/// `[routing]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Routing {
    /// The source of the routes: a daemon (`"babeld"`, `"olsrv2"`), the kernel's table, or a file
    /// (`"static"`).
    pub source: routing::Source,
    /// The file for `source = "static"`, relative to this file. It has tables `[[route]]` with the keys `to`,
    /// `via` and `hops`.
    pub file: Option<PathBuf>,
    /// The control socket of the daemon. For babeld: the path or port of its option `-G` (or `-g`). For
    /// olsrd2: the port of its telnet interface.
    pub socket: Option<String>,
    /// The time between two questions to the source. Default: `1`.
    pub refresh_seconds: Option<u32>,
}

/// `[[destination]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Destination {
    /// The address of the node in the routing protocol.
    pub address: IpAddr,
    /// The inner addresses behind the node. A prefix that a peer has as well follows the route while there is
    /// one.
    pub allowed_ips: Vec<String>,
}

/// `[link]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The kind of the link: a preset of defaults. Each key that the file sets wins over it. The log tells at
    /// the start which keys the kind sets: see [presets](../features/presets.md). Default: none.
    pub kind: Option<Kind>,
    /// Forward error correction: repairs leave before a loss is known. `"auto"`: where the air loses packets,
    /// about twice as many repairs as losses, and none where nothing is lost. `"off"`: none, for those who
    /// pay by the byte; the node then retransmits losses a round trip later. Only with the policy
    /// `adaptive`. Default: `"auto"`.
    #[serde(default)]
    pub fec: Correction,
    /// Control of what is under way. `"auto"`: where packets wait for more than about 80 ms in a queue of the
    /// path, the node keeps so few bytes under way that they wait in its own queue, where a new flow passes
    /// them. It lets go where others fill that queue. `"off"`: the end hosts alone decide. Not where stations
    /// overhear. Default: `"auto"`.
    #[serde(default)]
    pub control: Control,
    /// The rate at which the link carries what this node sends to a peer, such as `"20 Mbit/s"`. Packets
    /// then wait in the queue of the node, where a new flow passes them. Where the link turns out to be
    /// faster, the node sends faster; a rate that is too high has no effect. Each end has its own. Not with
    /// `control = "off"`, and not where stations overhear. Default: none.
    pub rate: Option<String>,
}

/// A kind of link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A satellite far above the ground: a round trip takes about 600 ms.
    Satellite,
    /// A cellular network.
    Lte,
    /// Nodes that forward for each other, or overhear each other.
    Mesh,
    /// One Wi-Fi link between two nodes.
    Wifi,
}

/// Whether repairs leave.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Correction {
    /// Where the air loses packets.
    #[default]
    Auto,
    /// Never.
    Off,
}

/// Whether the node bounds what is under way.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Control {
    /// Where the path's queue is deep.
    #[default]
    Auto,
    /// Never.
    Off,
}

/// `[reduce]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reduce {
    /// Which packets a reference may point to. `"adaptive"`: confirmed packets, and packets in flight where
    /// the hop repairs its losses. `"acked"`: only confirmed packets, and the hop repairs no losses. `"off"`:
    /// a plain tunnel. Default: `"adaptive"`.
    pub policy: Option<String>,
    /// The distance of the policy `k-distance`, which only experiments run.
    pub k: Option<u32>,
    /// The format of references: `"compact"` is the only one outside experiments. Default: `"compact"`.
    pub form: Option<String>,
    /// The flows that references may reach. `"station"`: all flows; references to other flows cover whole
    /// pieces only, so that sizes disclose no secret (see the [threat model](../threat-model.md)). `"host"`:
    /// flows between the same two addresses. `"flow"`: the same flow. Default: `"station"`.
    pub sharing: Option<String>,
    /// The window of a fingerprint, 8 to 128 bytes. Default: `16`.
    pub window_bytes: Option<usize>,
    /// The node keeps a fingerprint if this many of its low bits are zero, at most 12. Default: `4`.
    pub sample_bits: Option<u32>,
    /// The most that the store of one direction of one peer keeps, 1 to 1024. Both ends use the smaller of
    /// their two values. Default: none, and `[memory] mib` alone decides.
    pub store_mib: Option<usize>,
    /// While packets wait for the processor and not for the link, they go past redundancy elimination.
    /// `false`: what repeats is removed at any cost in speed, for links that cost by the byte. Default:
    /// `true`.
    pub spare_processor: Option<bool>,
}

/// `[memory]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// The memory for the stores, tables, queues and buffers of all peers together, 4 to 65536. Peers in use
    /// get more of it, and idle ones give it back: see [capacity and
    /// memory](../operations.md#capacity-and-memory). A reload changes it, and sessions stay. Default: a
    /// sixteenth of the machine's memory, or of the limit of the process's group, at least `16` and at most
    /// `256`.
    pub mib: Option<usize>,
}

/// `[shorten]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shorten {
    /// The node sends a header as the difference from confirmed headers. Default: `true` where the policy is
    /// `adaptive`, otherwise `false`.
    pub headers: Option<bool>,
    /// The node compresses the rest of each packet. Default: `true` where the policy is `adaptive`, otherwise
    /// `false`.
    pub literals: Option<bool>,
    /// Packets that wait share one datagram. Default: `true` where the policy is `adaptive` or with `boost`,
    /// otherwise `false`.
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
    /// Custom, because serde's errors for an untagged enum name neither the key nor the remedy.
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
    /// The number of packets that the node keeps for each flow, coded or not. Default: `8`.
    pub buffer_packets: Option<usize>,
    /// What happens to a packet when the buffer is full. `"none"`: the node does not keep it. `"lru"`: the
    /// oldest packet goes. Default: `"none"`.
    pub replacement: Option<ReplacementName>,
    /// The number of packets in each combination (XBC's coding degree). `1`: no combinations.
    pub degree: Option<u8>,
    /// The distance between the packets of a combination (XBC's coding distance). Default: `1`.
    pub distance: Option<u8>,
    /// Degree and distance follow the link. The node combines only packets that do not fit, and packets that
    /// are least likely lost together. Default: `true` without `degree` and `distance`, otherwise `false`.
    pub adaptive: Option<bool>,
    /// The node keeps packets that do not fit as rows of a Reed-Solomon code only. `adaptive` chooses these
    /// rows where they are better. Default: `false`.
    pub reed_solomon: Option<bool>,
}

/// What happens to a packet when the buffer is full.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReplacementName {
    /// The node does not keep it.
    None,
    /// The oldest packet goes.
    Lru,
}

/// `[split]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Split {
    /// The destination ports of the connections. Default: all.
    pub ports: Option<Vec<u16>>,
    /// The largest number of connections at a time. The node resets others. One takes 32 KiB and the kernel's
    /// buffers. Default: `4096`.
    pub connections: Option<usize>,
    /// The node resets a connection after this time without a byte (RFC 5382). Default: `7440`.
    pub idle_seconds: Option<u64>,
    /// The local TCP port of the split connections. Default: `4783`.
    pub port: Option<u16>,
    /// The firewall mark of the packets for that port. Default: `0x4f53`.
    pub mark: Option<u32>,
    /// The routing table for packets with that mark. Default: `4783`.
    pub table: Option<u32>,
    /// The node adds the firewall rules, and removes them at its end. Set `false` for rules of your own.
    /// Default: `true`.
    pub rules: Option<bool>,
}

/// `[streams]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Streams {
    /// The most memory for the bytes of all streams of one peer. Together they take at most half of `[memory]
    /// mib`. Default: `64`.
    pub memory_mib: Option<usize>,
    /// The node answers a client before the server does. This saves each connection a round trip. A server
    /// that refuses then looks like one that accepts and resets. Default: `false`.
    pub answer_early: Option<bool>,
    /// The largest number of streams with one peer at a time. Further connections cross the hop in packets.
    /// Default: `1024`.
    pub connections: Option<usize>,
}

/// `[overhear]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overhear {
    /// The interface that hears packets for others: a Wi-Fi interface in monitor mode, or an Ethernet-like
    /// interface on a shared medium. Without it, this node overhears nothing.
    pub interface: Option<String>,
    /// The cache has 2 to this power slots of up to 256 bytes each, 14 to 24. A slot holds one
    /// chunk, and chunks of one slot replace each other: [operations](../operations.md#capacity-and-memory)
    /// has the content that fits. A station may have fewer slots than its gateway. A full cache counts
    /// against `[memory] mib`. Default: `18`, or less if a full cache would be more than half of that.
    pub slot_bits: Option<u8>,
    /// The bitrate of the gateway's radio. The gateway computes from it whether a guess pays. Default: `24`.
    pub rate_mbps: Option<f64>,
    /// A relay sends packets for several peers as one frame. A node with a relay decodes such frames. The old
    /// name is `code`.
    #[serde(default = "yes", alias = "code")]
    pub network_coding: bool,
}

/// `[dashboard]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dashboard {
    /// The address and port of the page. Default: `"127.0.0.1:4785"`.
    pub listen: Option<String>,
    /// The file with a token of 16 characters or more, relative to this file. Clients send the token. It is
    /// required where the address is not loopback.
    pub token_file: Option<PathBuf>,
}

fn yes() -> bool {
    true
}
