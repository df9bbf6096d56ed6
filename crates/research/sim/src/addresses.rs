//! Addresses of hosts: hosts are numbered, the gateway is 0 and stations count from 1.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4};

/// The gateway's number among the hosts.
pub const GATEWAY: usize = 0;
/// How many stations one gateway may have.
pub const MOST_STATIONS: usize = 200;
/// The UDP port of every node.
const PORT: u16 = 4780;

/// Initial outer address of a host: the gateway in TEST-NET-1, the stations in TEST-NET-2 (RFC 5737).
pub(crate) fn outer(host: usize) -> SocketAddrV4 {
    let ip = match host {
        GATEWAY => Ipv4Addr::new(192, 0, 2, 1),
        station => Ipv4Addr::new(198, 51, 100, number(station)),
    };
    SocketAddrV4::new(ip, PORT)
}

/// A host's own address for IPv4 packets inside.
pub(crate) fn inner_v4(host: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, 0, number(host) + 1)
}

/// A host's own address for IPv6 packets inside.
pub(crate) fn inner_v6(host: usize) -> Ipv6Addr {
    Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, u16::from(number(host)) + 1)
}

fn number(host: usize) -> u8 {
    debug_assert!(host <= MOST_STATIONS);
    host as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_host_has_its_own_addresses() {
        let hosts = 0..=MOST_STATIONS;
        assert_eq!(hosts.clone().map(outer).collect::<BTreeSet<_>>().len(), MOST_STATIONS + 1);
        assert_eq!(hosts.clone().map(inner_v4).collect::<BTreeSet<_>>().len(), MOST_STATIONS + 1);
        assert_eq!(hosts.map(inner_v6).collect::<BTreeSet<_>>().len(), MOST_STATIONS + 1);
    }
}
