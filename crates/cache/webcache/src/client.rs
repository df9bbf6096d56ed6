//! Clients as they are told apart where each has a share.

use std::net::{IpAddr, Ipv6Addr};

/// Octets of an IPv6 address that name a client's network: it has every address in it (RFC 7934).
const NETWORK_OCTETS: usize = 8;

/// A client's address, or the network of it.
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
