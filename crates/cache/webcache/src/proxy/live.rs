//! Settings that can change while the proxy serves.

use crate::destinations::Destinations;
use crate::site::Rewrites;
use ipnet::IpNet;
use std::net::IpAddr;

/// The settings. A request reads them once for each use.
#[derive(Debug, Clone, Default)]
pub struct Live {
    /// The networks of clients. A connection that is open stays when they change.
    pub clients: Vec<IpNet>,
    /// Whether the response to an intercepted request is stored only if its Host resolves to its destination.
    pub verify_host: bool,
    /// The longest staleness of a response whose origin is unreachable and gave no limit, in seconds.
    pub stale_if_unreachable: u32,
    /// Whether package repositories are recognized.
    pub packages: bool,
    /// The permitted destinations.
    pub destinations: Destinations,
    /// The upstreams of the reverse proxy.
    pub rewrites: Rewrites,
}

impl Live {
    /// Whether this client is served.
    #[must_use]
    pub fn serves(&self, client: IpAddr) -> bool {
        self.clients.iter().any(|network| network.contains(&client))
    }
}
