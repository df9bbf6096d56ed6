//! What a cache is told.

use crate::destinations::Destinations;
use crate::icp::Neighbour;
use crate::site::Rewrites;
use crate::store::Limits;
use interception::Plan;
use ipnet::IpNet;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// A configuration that makes sense.
#[derive(Debug)]
pub struct Config {
    /// This router's name on the way of a request.
    pub name: String,
    /// Whom it serves.
    pub clients: Vec<IpNet>,
    /// Connections that one client may have at a time.
    pub connections_each: usize,
    /// How stale content may be when its origin cannot be reached.
    pub stale_if_unreachable: u32,
    /// Whether package repositories are known.
    pub packages: bool,
    /// What is kept.
    pub limits: Limits,
    /// What is taken on its way, and whether the rules are put in.
    pub transparent: Option<(Plan, bool)>,
    /// Whether Host must resolve to where a taken request was going.
    pub verify_host: bool,
    /// The forward proxy.
    pub forward: Option<SocketAddr>,
    /// Where clients may be led.
    pub destinations: Destinations,
    /// The reverse proxy.
    pub reverse: Option<(SocketAddr, Rewrites)>,
    /// The other routers.
    pub mesh: Option<Mesh>,
    /// Caches of other kinds.
    pub icp: Option<(SocketAddr, Vec<Neighbour>)>,
}

/// What is known of the other routers.
#[derive(Debug, Clone)]
pub struct Mesh {
    /// Where content is kept.
    pub architecture: Architecture,
    /// How copies are found.
    pub protocol: Protocol,
    /// Whether this router has the uplink.
    pub gateway: bool,
    /// This router's address.
    pub address: IpAddr,
    /// The port of all routers.
    pub port: u16,
    /// Their networks.
    pub networks: Vec<IpNet>,
    /// The key that all share.
    pub key: Vec<u8>,
    /// How long a search waits.
    pub search_timeout: Duration,
    /// Whether a search may end before that.
    pub search: Search,
    /// How many hops of the mesh the way from the gateway to the origins is worth.
    pub uplink_hops: f64,
    /// Where searches are broadcast (IPv4).
    pub broadcast: Vec<IpAddr>,
    /// Where searches are multicast (IPv6).
    pub interfaces: Vec<String>,
    /// Positions in metres.
    pub positions: BTreeMap<IpAddr, [f64; 2]>,
    /// The side of a square of the grid.
    pub grid_metres: f64,
    /// Where routes are learnt.
    pub routing: Option<Routing>,
}

/// Where routes are learnt.
#[derive(Debug, Clone)]
pub struct Routing {
    /// The source.
    pub source: routing::Settings,
    /// The routers with an uplink.
    pub gateways: Vec<IpAddr>,
}

/// Where content is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Architecture {
    /// A1: at the gateway only.
    Gateway,
    /// A2: at each client's access router.
    Access,
    /// A3: at every router on the way.
    #[default]
    HopByHop,
}

/// When a broadcast search ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Search {
    /// Ours. A router that has the content does not pass the search on. The searcher chooses when a neighbour
    /// has answered, because nobody that answers later is nearer.
    #[default]
    EndsEarly,
    /// As printed. Every router passes the search on once (MeshCache, section 4.2.2; section 7.3, step 11).
    /// The searcher collects answers until the search timeout, and then chooses (section 7.3, step 12).
    Whole,
}

/// How another router's copy is found: the paper's protocols, in the form that the architecture gives them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// The way to the gateway (THCP, PH-THCP).
    Tree,
    /// A search by broadcast (BCP, PH-BCP).
    Broadcast,
    /// Consistent hashing in a virtual grid (GHCP, PH-GHCP).
    Grid,
    /// A search where it pays, the way to the gateway elsewhere.
    #[default]
    Auto,
}
