//! The configuration of a cache.

use crate::destinations::Destinations;
use crate::icp::Neighbour;
use crate::proxy::Live;
use crate::site::Rewrites;
use crate::store::Limits;
use interception::Plan;
use ipnet::IpNet;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// A valid configuration.
#[derive(Debug)]
pub struct Config {
    /// This router's name in a request's Via.
    pub name: String,
    /// The networks of its clients.
    pub clients: Vec<IpNet>,
    /// The most connections of one client at a time.
    pub connections_each: usize,
    /// The longest staleness of content whose origin is unreachable, in seconds.
    pub stale_if_unreachable: u32,
    /// Whether package repositories are recognized.
    pub packages: bool,
    /// Limits of the store.
    pub limits: Limits,
    /// The intercepted connections, and whether the rules are installed.
    pub transparent: Option<(Plan, bool)>,
    /// Whether Host must resolve to the intercepted request's destination.
    pub verify_host: bool,
    /// Address of the forward proxy.
    pub forward: Option<SocketAddr>,
    /// The permitted destinations.
    pub destinations: Destinations,
    /// Address and upstreams of the reverse proxy.
    pub reverse: Option<(SocketAddr, Rewrites)>,
    /// The other routers.
    pub mesh: Option<Mesh>,
    /// Address of the ICP socket, and caches of other kinds.
    pub icp: Option<(SocketAddr, Vec<Neighbour>)>,
}

impl Config {
    /// The settings that can change while the cache serves.
    #[must_use]
    pub fn live(&self) -> Live {
        Live {
            clients: self.clients.clone(),
            verify_host: self.verify_host,
            stale_if_unreachable: self.stale_if_unreachable,
            packages: self.packages,
            destinations: self.destinations.clone(),
            rewrites: self.reverse.as_ref().map(|(_, rewrites)| rewrites.clone()).unwrap_or_default(),
        }
    }
}

/// Configuration of the other routers.
#[derive(Debug, Clone)]
pub struct Mesh {
    /// Location of content.
    pub architecture: Architecture,
    /// Method of finding copies.
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
    /// Timeout of a search.
    pub search_timeout: Duration,
    /// Whether a search may end before that.
    pub search: Search,
    /// Cost of the path from the gateway to the origins, in hops of the mesh.
    pub uplink_hops: f64,
    /// Broadcast addresses of searches (IPv4).
    pub broadcast: Vec<IpAddr>,
    /// Interfaces for multicast searches (IPv6).
    pub interfaces: Vec<String>,
    /// Positions in metres.
    pub positions: BTreeMap<IpAddr, [f64; 2]>,
    /// The side of a square of the grid, in metres.
    pub grid_metres: f64,
    /// The source of routes.
    pub routing: Option<Routing>,
}

/// The source of routes.
#[derive(Debug, Clone)]
pub struct Routing {
    /// The source.
    pub source: routing::Settings,
    /// The routers with an uplink.
    pub gateways: Vec<IpAddr>,
}

/// Location of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Architecture {
    /// A1: at the gateway only.
    Gateway,
    /// A2: at each client's access router.
    Access,
    /// A3: at every router on the path.
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

/// Method of finding another router's copy: the paper's protocols, in the form for the architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// The path to the gateway (THCP, PH-THCP).
    Tree,
    /// A search by broadcast (BCP, PH-BCP).
    Broadcast,
    /// Consistent hashing in a virtual grid (GHCP, PH-GHCP).
    Grid,
    /// A search if it pays, otherwise the path to the gateway.
    #[default]
    Auto,
}
