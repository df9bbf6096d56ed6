//! The order of a name's addresses: RFC 6724 section 6, by the rules that apply to addresses of one host.
//! Reachable ones come first, then those that match the source address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// The discard port (RFC 863); nothing is sent to it.
const NOWHERE: u16 = 9;

/// Sorts addresses; equal ones keep the server's order.
pub(super) fn in_order(mut addresses: Vec<IpAddr>) -> Vec<IpAddr> {
    addresses.sort_by_cached_key(|address| rank(*address, source_to(*address)));
    addresses
}

/// Rules 1 (avoid unusable destinations), 5 (prefer matching label) and 6 (prefer higher precedence); lower
/// is better.
fn rank(address: IpAddr, source: Option<IpAddr>) -> (bool, bool, u8) {
    let (precedence, label) = policy(address);
    let suits = source.is_some_and(|source| policy(source).1 == label);
    (source.is_none(), !suits, u8::MAX - precedence)
}

/// Precedence and label of an address: the table of RFC 6724 section 2.1.
fn policy(address: IpAddr) -> (u8, u8) {
    let IpAddr::V6(address) = address else { return (35, 4) };
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 1] => (50, 0),
        [0, 0, 0, 0, 0, 0xffff, ..] => (35, 4),
        [0, 0, 0, 0, 0, 0, ..] => (1, 3),
        [0x2002, ..] => (30, 2),
        [0x2001, 0, ..] => (5, 5),
        [0xfc00..=0xfdff, ..] => (3, 13),
        [0xfec0..=0xfeff, ..] => (1, 11),
        [0x3ffe, ..] => (1, 12),
        _ => (40, 1),
    }
}

/// This machine's source address towards a destination; `None` if there is no route.
fn source_to(address: IpAddr) -> Option<IpAddr> {
    let any = match address {
        IpAddr::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect(SocketAddr::new(address, NOWHERE)).ok()?;
    socket.local_addr().ok().map(|source| source.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn what_can_be_reached_comes_first_and_ipv6_before_ipv4_where_both_suit() {
        let of = |to: &str, from: Option<&str>| rank(address(to), from.map(address));
        let global = of("2001:db8::1", Some("2001:db8::2"));
        let old = of("192.0.2.1", Some("192.0.2.2"));
        assert!(global < old);
        assert!(old < of("2001:db8::1", None), "there is no route");
        assert!(old < of("2001:db8::1", Some("fd00::1")), "a local source does not suit a global address");
        assert!(old < of("fd00::1", Some("fd00::2")), "RFC 6724 section 10.6");
    }

    #[test]
    fn addresses_that_are_alike_stay_in_the_servers_order() {
        let told = ["127.0.0.3", "127.0.0.1", "127.0.0.2"].map(address).to_vec();
        assert_eq!(in_order(told.clone()), told);
    }
}
