//! Clients, as far as limits distinguish them.

use std::net::{IpAddr, Ipv6Addr};

/// Octets of an IPv6 address that identify a client's network, because a client may use all addresses of it
/// (RFC 7934).
const NETWORK_OCTETS: usize = 8;

/// A client's address, or its network.
pub(crate) fn network_of(client: IpAddr) -> IpAddr {
    match client {
        IpAddr::V6(client) if !client.is_loopback() => {
            let mut octets = client.octets();
            octets[NETWORK_OCTETS..].fill(0);
            Ipv6Addr::from(octets).into()
        }
        client => client,
    }
}
