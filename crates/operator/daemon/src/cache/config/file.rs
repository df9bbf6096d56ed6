//! The file as it is written. Every key has a default but `clients`.

use routing::Source;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use webcache::config::{Architecture, Protocol};
use webcache::store::Policy;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// The router, and whom it serves.
    pub cache: Cache,
    /// What is kept.
    #[serde(default)]
    pub store: Store,
    /// Requests taken on their way.
    pub transparent: Option<Transparent>,
    /// An ordinary forward proxy.
    pub forward: Option<Forward>,
    /// A reverse proxy.
    pub reverse: Option<Reverse>,
    /// The other routers.
    pub peers: Option<Peers>,
    /// Where routes are learnt.
    pub routing: Option<Routing>,
    /// Caches of other kinds.
    pub icp: Option<Icp>,
    /// The page and the counters.
    pub management: Option<Management>,
    /// Whether the program gives up what it does not need; `false` is for whoever looks for a fault in it.
    #[serde(default = "yes")]
    pub sandbox: bool,
}

/// `[cache]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// This router's name on the way of a request; the host's by default. No two may be the same.
    pub name: Option<String>,
    /// The networks that are served; nobody else is.
    pub clients: Vec<String>,
    /// Connections that one client may have at a time.
    #[serde(default = "connections_each")]
    pub connections_each: usize,
    /// Where content is kept (the paper's A1, A2, A3).
    #[serde(default)]
    pub architecture: Architecture,
    /// How another router's copy is found.
    #[serde(default)]
    pub selection: Protocol,
    /// Whether this router has the uplink.
    #[serde(default)]
    pub gateway: bool,
    /// How stale content may be when its origin cannot be reached and did not say.
    pub stale_if_unreachable_seconds: Option<u32>,
    /// Ports of origins that clients may be led to by plain HTTP: numbers, and ranges such as "1025-65535".
    #[serde(default = "destination_ports")]
    pub destination_ports: Vec<toml::Value>,
    /// Networks, and addresses with a port, that clients may be led to though the cache leads nobody there.
    #[serde(default)]
    pub allow_destinations: Vec<String>,
    /// Whether indexes and packages of repositories are known.
    #[serde(default = "yes")]
    pub packages: bool,
}

/// `[store]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Store {
    /// Where content outlives the program; without it, memory is all. Relative to this file.
    pub directory: Option<PathBuf>,
    /// Contents in memory.
    pub memory_mib: u64,
    /// The directory.
    pub disk_mib: u64,
    /// The largest content.
    pub object_mib: u64,
    /// Responses.
    pub objects: usize,
    /// What goes first.
    pub policy: Policy,
}

impl Default for Store {
    fn default() -> Self {
        Store {
            directory: None,
            memory_mib: 64,
            disk_mib: 4096,
            object_mib: 16 << 10,
            objects: 200_000,
            policy: Policy::default(),
        }
    }
}

/// `[transparent]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transparent {
    /// The port of our own that connections are led to.
    #[serde(default = "transparent_port")]
    pub port: u16,
    /// The ports of origins that are taken.
    #[serde(default = "http_ports")]
    pub origin_ports: Vec<u16>,
    /// Through which interfaces; all by default.
    #[serde(default)]
    pub interfaces: Vec<String>,
    /// Whether what is kept must be from where its Host resolves to.
    #[serde(default = "yes")]
    pub verify_host: bool,
    /// Whether the rules are put in and taken out.
    #[serde(default = "yes")]
    pub rules: bool,
    /// The mark on what is taken.
    #[serde(default = "mark")]
    pub mark: u32,
    /// The routing table that delivers it here.
    #[serde(default = "table")]
    pub table: u32,
}

/// `[forward]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forward {
    /// Address and port.
    pub listen: SocketAddr,
    /// Ports that CONNECT may reach.
    #[serde(default = "connect_ports")]
    pub connect_ports: Vec<u16>,
}

/// `[reverse]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reverse {
    /// Address and port.
    pub listen: SocketAddr,
    /// What is served.
    pub upstream: Vec<Upstream>,
}

/// `[[reverse.upstream]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Upstream {
    /// The host that clients name; any by default.
    pub host: Option<String>,
    /// The beginning of the path.
    #[serde(default = "root")]
    pub path: String,
    /// What takes its place, `"http://deb.debian.org/debian/"`.
    pub url: String,
}

/// `[peers]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peers {
    /// This router's address in the mesh, by which the others reach it.
    pub address: IpAddr,
    /// Port of requests (TCP) and of searches (UDP), the same on all routers.
    #[serde(default = "peers_port")]
    pub port: u16,
    /// The networks of the other routers.
    pub networks: Vec<String>,
    /// The key that the caches of all routers share, or for one more release the network's, from which it
    /// follows; relative to this file.
    #[serde(alias = "network_key_file")]
    pub cache_key_file: PathBuf,
    /// How long a search waits for answers.
    #[serde(default = "search_timeout")]
    pub search_timeout_milliseconds: u64,
    /// How many hops of the mesh the way from the gateway to the origins is worth.
    #[serde(default = "uplink_hops")]
    pub uplink_hops: f64,
    /// Where searches are broadcast; the directed broadcast addresses of the mesh's interfaces.
    #[serde(default)]
    pub broadcast: Vec<IpAddr>,
    /// The mesh's interfaces, where `address` is IPv6: searches are multicast there.
    #[serde(default)]
    pub interfaces: Vec<String>,
    /// Positions of the routers in metres, for `selection = "grid"`.
    #[serde(default)]
    pub positions: BTreeMap<IpAddr, [f64; 2]>,
    /// The side of a square of the virtual grid in metres.
    #[serde(default = "grid_metres")]
    pub grid_metres: f64,
}

/// `[routing]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Routing {
    /// Which source.
    pub source: Source,
    /// The routers with an uplink.
    #[serde(default)]
    pub gateways: Vec<IpAddr>,
    /// The file of `source = "static"`; relative to this file.
    pub file: Option<PathBuf>,
    /// babeld's local socket, the path or the port of its `-G`; or the port of olsrd2's telnet.
    pub socket: Option<String>,
    /// How often the source is asked.
    #[serde(default = "refresh_seconds")]
    pub refresh_seconds: u32,
}

/// `[icp]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Icp {
    /// Address and port.
    pub listen: SocketAddr,
    /// Who is asked, and answered.
    pub neighbour: Vec<IcpNeighbour>,
}

/// `[[icp.neighbour]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IcpNeighbour {
    /// Its address.
    pub address: IpAddr,
    /// Where it is asked.
    #[serde(default = "icp_port")]
    pub icp_port: u16,
    /// Where it serves.
    #[serde(default = "squid_port")]
    pub http_port: u16,
    /// Whether it fetches for us what it lacks.
    #[serde(default)]
    pub parent: bool,
}

/// `[management]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Management {
    /// Address and port.
    #[serde(default = "management_address")]
    pub listen: SocketAddr,
    /// A file with the token that questions bear; needed where the address is not loopback. Relative to this
    /// file.
    pub token_file: Option<PathBuf>,
}

const fn yes() -> bool {
    true
}
const fn connections_each() -> usize {
    256
}
const fn transparent_port() -> u16 {
    4782
}
const fn peers_port() -> u16 {
    4783
}
const fn mark() -> u32 {
    0x4f48
}
const fn table() -> u32 {
    4782
}
const fn search_timeout() -> u64 {
    25
}
const fn uplink_hops() -> f64 {
    1.0
}
const fn refresh_seconds() -> u32 {
    1
}
const fn grid_metres() -> f64 {
    500.0
}
const fn icp_port() -> u16 {
    3130
}
const fn squid_port() -> u16 {
    3128
}
fn http_ports() -> Vec<u16> {
    vec![80]
}
/// Squid's safe ports that are HTTP's: the well-known one, and what no other protocol has registered.
fn destination_ports() -> Vec<toml::Value> {
    vec![80.into(), "1025-65535".into()]
}
fn connect_ports() -> Vec<u16> {
    vec![443]
}
fn root() -> String {
    "/".to_owned()
}
fn management_address() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 4784))
}
