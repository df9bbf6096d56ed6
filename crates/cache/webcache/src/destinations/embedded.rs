//! IPv4 addresses inside IPv6 ones. A translator or tunnel on the path would lead to them past the rules for
//! IPv4.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Octets of an IPv6 address that contain an IPv4 address.
type Place = [usize; 4];

/// The last four octets: RFC 4291 section 2.5.5 (compatible and mapped), RFC 2765 (translated), RFC 6052
/// (a prefix of 96 bits).
const LAST: Place = [12, 13, 14, 15];
/// RFC 3056 section 2: 2002:V4::/16.
const SIX_TO_FOUR: Place = [2, 3, 4, 5];
/// RFC 4380 section 4: the server. The client is in the last four octets, inverted.
const TEREDO_SERVER: Place = [4, 5, 6, 7];
/// RFC 6052 section 2.2: after prefixes of 48, 56 and 64 bits, around octet 8, and of 96.
const AFTER_PREFIXES: [Place; 4] = [[6, 7, 9, 10], [7, 9, 10, 11], [9, 10, 11, 12], LAST];

/// The address itself, and all addresses inside it.
#[must_use]
pub fn meant_by(address: IpAddr) -> Vec<IpAddr> {
    let mut meant = vec![address];
    if let IpAddr::V6(address) = address {
        meant.extend(embedded_in(address).into_iter().map(IpAddr::from));
    }
    meant
}

fn embedded_in(address: Ipv6Addr) -> Vec<Ipv4Addr> {
    let octets = address.octets();
    let at = |place: Place| Ipv4Addr::from(place.map(|octet| octets.get(octet).copied().unwrap_or(0)));
    match address.segments() {
        // "::" and "::1" contain none.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => Vec::new(),
        [0, 0, 0, 0, 0, 0, ..] | [0, 0, 0, 0, 0, 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] => vec![at(LAST)],
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => vec![at(LAST)],
        // RFC 8215: only the translator knows the length of the network's own prefix. An address that begins
        // with zero is not one.
        [0x64, 0xff9b, 1, ..] => {
            let mut read = AFTER_PREFIXES.map(at).to_vec();
            read.retain(|address| address.octets()[0] != 0);
            if read.is_empty() { vec![Ipv4Addr::UNSPECIFIED] } else { read }
        }
        [0x2002, ..] => vec![at(SIX_TO_FOUR)],
        [0x2001, 0, ..] => vec![at(TEREDO_SERVER), Ipv4Addr::from_bits(!at(LAST).to_bits())],
        _ => Vec::new(),
    }
}
