//! The structure of the file. Every key except `clients` has a default.

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
    /// The router and its clients.
    pub cache: Cache,
    /// The stored content.
    #[serde(default)]
    pub store: Store,
    /// Interception of plain HTTP: the router takes connections of clients on their way. Clients need no
    /// settings.
    pub transparent: Option<Transparent>,
    /// An ordinary forward proxy, with CONNECT for HTTPS.
    pub forward: Option<Forward>,
    /// A reverse proxy: a mirror of chosen servers.
    pub reverse: Option<Reverse>,
    /// The other routers of the mesh.
    pub peers: Option<Peers>,
    /// The source of the routes of the mesh.
    pub routing: Option<Routing>,
    /// Caches of other makes that speak ICP, such as Squid.
    pub icp: Option<Icp>,
    /// A web page with the last hour. The same port serves `/history.json`, `/status.json` and `/metrics`.
    /// Without the table, there is no page.
    pub management: Option<Management>,
    /// The program gives up rights, files and system calls that it does not need. Set `false` only to look
    /// for a fault in the program.
    #[serde(default = "yes")]
    pub sandbox: bool,
}

/// `[cache]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// The name of this router in requests. No two routers may have the same name. Default: the name of the
    /// host.
    pub name: Option<String>,
    /// The networks of the clients, the mesh's own networks among them. The router serves nobody else.
    pub clients: Vec<String>,
    /// The largest number of connections of one client at a time. An IPv6 network of 64 bits counts as one
    /// client.
    #[serde(default = "connections_each")]
    pub connections_each: usize,
    /// Where the mesh keeps content: at the `"gateway"`, at each client's `"access"` router, or at every
    /// router of the path.
    #[serde(default)]
    pub architecture: Architecture,
    /// How a router finds another router's copy. `"tree"`, `"broadcast"` and `"grid"` are the MeshCache
    /// paper's PH-THCP, PH-BCP and PH-GHCP. `"auto"`: a search where it pays, otherwise the path to the
    /// gateway.
    #[serde(default)]
    pub selection: Protocol,
    /// This router has the uplink.
    #[serde(default)]
    pub gateway: bool,
    /// How old stale content may be when the uplink is down and its origin set no limit. Default: `86400`.
    pub stale_if_unreachable_seconds: Option<u32>,
    /// The ports of origins that clients of `[forward]` and other routers may reach by plain HTTP: numbers,
    /// and ranges such as `"1025-65535"`.
    #[serde(default = "destination_ports")]
    pub destination_ports: Vec<toml::Value>,
    /// Networks (`"127.0.0.0/8"`) and servers (`"10.0.0.1:8080"`) that clients may reach although the cache
    /// refuses them. The cache refuses this machine's own addresses, loopback, link-local, multicast and
    /// reserved addresses, and the metadata of a cloud.
    #[serde(default)]
    pub allow_destinations: Vec<String>,
    /// The cache knows package repositories: it always validates their indexes, and keeps packages long.
    #[serde(default = "yes")]
    pub packages: bool,
}

/// `[store]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Store {
    /// The directory for content, relative to this file. Without it, the cache keeps content in memory only.
    pub directory: Option<PathBuf>,
    /// The memory for content.
    pub memory_mib: u64,
    /// The disk space for content.
    pub disk_mib: u64,
    /// The size of the largest content.
    pub object_mib: u64,
    /// The largest number of responses.
    pub objects: usize,
    /// The order of eviction. `"s3-fifo"`: content with one request goes early. `"lru"`: the content with the
    /// oldest request goes first.
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
    /// The local port of the intercepted connections.
    #[serde(default = "transparent_port")]
    pub port: u16,
    /// The destination ports of the connections that the router takes.
    #[serde(default = "http_ports")]
    pub origin_ports: Vec<u16>,
    /// The interfaces of the connections that the router takes. An empty list means all.
    #[serde(default)]
    pub interfaces: Vec<String>,
    /// The cache keeps a response only if the address of its origin belongs to the name in Host.
    #[serde(default = "yes")]
    pub verify_host: bool,
    /// The program adds the firewall rules, and removes them at its end. Set `false` for rules of your own:
    /// `--print-nft` prints them.
    #[serde(default = "yes")]
    pub rules: bool,
    /// The firewall mark of the packets for that port.
    #[serde(default = "mark")]
    pub mark: u32,
    /// The routing table for packets with that mark.
    #[serde(default = "table")]
    pub table: u32,
}

/// `[forward]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forward {
    /// The address and port of the proxy.
    pub listen: SocketAddr,
    /// The ports that CONNECT may reach.
    #[serde(default = "connect_ports")]
    pub connect_ports: Vec<u16>,
}

/// `[reverse]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reverse {
    /// The address and port of the proxy.
    pub listen: SocketAddr,
    /// A server behind the proxy: one table for each.
    pub upstream: Vec<Upstream>,
}

/// `[[reverse.upstream]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Upstream {
    /// The host in the request of the client. Without it, any host matches.
    pub host: Option<String>,
    /// The beginning of the path in the request.
    #[serde(default = "root")]
    pub path: String,
    /// The address that replaces `path`, such as `"http://deb.debian.org/debian/"`.
    pub url: String,
}

/// `[peers]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peers {
    /// The address of this router in the mesh. Other routers reach it by this address.
    pub address: IpAddr,
    /// The port of requests (TCP) and of searches (UDP), the same on all routers.
    #[serde(default = "peers_port")]
    pub port: u16,
    /// The networks of the other routers.
    pub networks: Vec<String>,
    /// The file with the key that the caches of all routers share, relative to this file. `overheard keygen
    /// --cache-key` makes it. The old name is `network_key_file`; it may hold the key of the network for one
    /// more release.
    #[serde(alias = "network_key_file")]
    pub cache_key_file: PathBuf,
    /// How long a search waits for answers.
    #[serde(default = "search_timeout")]
    pub search_timeout_milliseconds: u64,
    /// The cost of the path from the gateway to the origins, in hops of the mesh. The cache fetches a copy
    /// although it is farther than the gateway, up to this many hops.
    #[serde(default = "uplink_hops")]
    pub uplink_hops: f64,
    /// The directed broadcast addresses of the mesh's interfaces, for searches.
    #[serde(default)]
    pub broadcast: Vec<IpAddr>,
    /// The interfaces of the mesh where `address` is IPv6. Searches are multicast there; `broadcast` is not
    /// needed.
    #[serde(default)]
    pub interfaces: Vec<String>,
    /// The positions of the routers in metres, for `selection = "grid"`.
    #[serde(default)]
    pub positions: BTreeMap<IpAddr, [f64; 2]>,
    /// The side of a square of the virtual grid.
    #[serde(default = "grid_metres")]
    pub grid_metres: f64,
}

/// `[routing]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Routing {
    /// The source of the routes: a daemon (`"babeld"`, `"olsrv2"`), the kernel's table, or a file
    /// (`"static"`).
    pub source: Source,
    /// The routers with an uplink.
    #[serde(default)]
    pub gateways: Vec<IpAddr>,
    /// The file for `source = "static"`, relative to this file. It has tables `[[route]]` with the keys `to`,
    /// `via` and `hops`.
    pub file: Option<PathBuf>,
    /// The control socket of the daemon. For babeld: the path or port of its option `-G`. For olsrd2: the
    /// port of its telnet interface.
    pub socket: Option<String>,
    /// The time between two questions to the source. Raise it for a babeld with many routes.
    #[serde(default = "refresh_seconds")]
    pub refresh_seconds: u32,
}

/// `[icp]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Icp {
    /// The address and port for ICP.
    pub listen: SocketAddr,
    /// A cache that this router asks and answers: one table for each.
    pub neighbour: Vec<IcpNeighbour>,
}

/// `[[icp.neighbour]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IcpNeighbour {
    /// The address of the neighbour.
    pub address: IpAddr,
    /// The neighbour's port for ICP.
    #[serde(default = "icp_port")]
    pub icp_port: u16,
    /// The neighbour's port for HTTP.
    #[serde(default = "squid_port")]
    pub http_port: u16,
    /// The neighbour fetches content for us that it lacks.
    #[serde(default)]
    pub parent: bool,
}

/// `[management]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Management {
    /// The address and port of the page. Default: `"127.0.0.1:4784"`.
    #[serde(default = "management_address")]
    pub listen: SocketAddr,
    /// The file with a token of 16 characters or more, relative to this file. Clients send the token. It is
    /// required where the address is not loopback.
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
/// Squid's safe ports for HTTP: the well-known one, and those without another registered protocol.
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
