//! The outer IPv4 and UDP headers of a datagram: conversion of a node's datagram into a frame for a link, and
//! back.
//!
//! The UDP checksum covers only the headers, as UDP-Lite's may (RFC 3828). The host drops damaged headers;
//! damage behind them reaches the node, which must detect it.

use etherparse::checksum::Sum16BitWords;
use etherparse::{IpDscp, IpEcn, IpNumber, Ipv4Header, UdpHeader};
use std::net::{Ipv4Addr, SocketAddrV4};

/// Bytes of both headers.
pub(crate) const OUTER_BYTES: usize = Ipv4Header::MIN_LEN + UdpHeader::LEN;

const TIME_TO_LIVE: u8 = 64;

/// Replaces the contents of `frame` by `datagram` with these addresses and traffic class. Returns `false` if
/// it exceeds a UDP datagram's maximum.
pub(crate) fn wrap(
    from: SocketAddrV4,
    to: SocketAddrV4,
    class: u8,
    datagram: &[u8],
    frame: &mut Vec<u8>,
) -> bool {
    let Ok(udp) = UdpHeader::without_ipv4_checksum(from.port(), to.port(), datagram.len()) else {
        return false;
    };
    let ip = Ipv4Header::new(udp.length, TIME_TO_LIVE, IpNumber::UDP, from.ip().octets(), to.ip().octets());
    let (Ok(mut ip), mut udp) = (ip, udp) else { return false };
    (ip.dscp, ip.ecn) =
        (IpDscp::try_new(class >> 2).unwrap_or_default(), IpEcn::try_new(class & 3).unwrap_or_default());
    ip.header_checksum = ip.calc_header_checksum();
    udp.checksum = headers_checksum(&ip, &udp);
    frame.clear();
    frame.extend_from_slice(&ip.to_bytes());
    frame.extend_from_slice(&udp.to_bytes());
    frame.extend_from_slice(datagram);
    true
}

/// The checksum over pseudo-header and UDP header, whose own checksum counts as zero.
fn headers_checksum(ip: &Ipv4Header, udp: &UdpHeader) -> u16 {
    let unsummed = UdpHeader { checksum: 0, ..udp.clone() };
    Sum16BitWords::new()
        .add_slice(&ip.source)
        .add_slice(&ip.destination)
        .add_2bytes([0, ip.protocol.0])
        .add_2bytes(udp.length.to_be_bytes())
        .add_slice(&unsummed.to_bytes())
        .ones_complement()
        .to_be()
}

/// The sender's address, the ECN codepoint and the datagram of a frame at host `own`. `None` if the headers
/// are damaged or it is for another address or port.
pub(crate) fn unwrap(own: SocketAddrV4, frame: &mut [u8]) -> Option<(SocketAddrV4, u8, &mut [u8])> {
    let (ip, rest) = Ipv4Header::from_slice(frame).ok()?;
    let (udp, _) = UdpHeader::from_slice(rest).ok()?;
    // the sum over a header with its checksum is all ones (RFC 1071)
    let checksum = Sum16BitWords::new().add_slice(&frame[..ip.header_len()]).ones_complement();
    let whole = checksum == 0
        && ip.header_len() == Ipv4Header::MIN_LEN
        && usize::from(ip.total_len) == frame.len()
        && udp.checksum == headers_checksum(&ip, &udp)
        && usize::from(udp.length) == frame.len() - Ipv4Header::MIN_LEN;
    let ours = ip.protocol == IpNumber::UDP
        && (ip.destination, udp.destination_port) == (own.ip().octets(), own.port());
    let from = SocketAddrV4::new(Ipv4Addr::from(ip.source), udp.source_port);
    (whole && ours).then(|| (from, ip.ecn.value(), &mut frame[OUTER_BYTES..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_taken_at_its_address_and_every_damaged_header_is_noticed() {
        let (from, to) = ("192.0.2.1:4780".parse().unwrap(), "198.51.100.1:4780".parse().unwrap());
        let mut frame = Vec::new();
        assert!(wrap(from, to, 0xba, b"datagram", &mut frame));
        assert_eq!(frame.len(), OUTER_BYTES + 8);
        assert_eq!(unwrap(to, &mut frame.clone()), Some((from, 0b10, &mut b"datagram".to_owned()[..])));
        assert_eq!(unwrap(from, &mut frame.clone()), None);
        for bit in 0..OUTER_BYTES * 8 {
            let mut damaged = frame.clone();
            damaged[bit / 8] ^= 0x80 >> (bit % 8);
            assert_eq!(unwrap(to, &mut damaged), None, "bit {bit}");
        }
        assert!(!wrap(from, to, 0, &[0; 65_536], &mut frame));
    }
}
