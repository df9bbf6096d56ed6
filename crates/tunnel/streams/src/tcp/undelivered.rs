//! Messages of ICMP that a segment did not reach a host.

use smoltcp::wire::{Icmpv4Packet, Icmpv6Packet, IpProtocol};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const IPV4_HEADER_BYTES: usize = 20;
const IPV6_HEADER_BYTES: usize = 40;
/// Before the packet that the message is about.
const ICMP_HEADER_BYTES: usize = 8;

/// The reason why a segment did not reach its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// A link of the path takes packets of this many bytes.
    Narrow(usize),
    /// No way leads to the host, or its port is closed, or a filter forbids it.
    Unreachable,
}

/// A message of a router or a host about a segment of ours (RFC 792, RFC 4443).
#[derive(Debug, Clone, Copy)]
pub struct Undelivered {
    /// The segment's source.
    pub ours: SocketAddr,
    /// The segment's destination.
    pub host: SocketAddr,
    pub(super) sequence: u32,
    pub(super) obstacle: Obstacle,
}

impl Undelivered {
    /// Reads an IP packet with such a message, whose checksum is right.
    #[must_use]
    pub fn parse(packet: &[u8]) -> Option<Self> {
        let (obstacle, about) = match packet.first()? >> 4 {
            4 => obstacle_v4(packet)?,
            6 => obstacle_v6(packet)?,
            _ => return None,
        };
        let (ours, host, tcp): (IpAddr, IpAddr, &[u8]) = match about.first()? >> 4 {
            4 => {
                let header = about.first_chunk::<IPV4_HEADER_BYTES>()?;
                let is_later_fragment = u16::from_be_bytes([header[6], header[7]]) & 0x1fff != 0;
                if is_later_fragment || header[9] != u8::from(IpProtocol::Tcp) {
                    return None;
                }
                let [ours, host] = [12, 16]
                    .map(|at| Ipv4Addr::new(header[at], header[at + 1], header[at + 2], header[at + 3]));
                (ours.into(), host.into(), about.get(usize::from(header[0] & 0x0f) * 4..)?)
            }
            6 => {
                let header = about.first_chunk::<IPV6_HEADER_BYTES>()?;
                if header[6] != u8::from(IpProtocol::Tcp) {
                    return None;
                }
                let ours: [u8; 16] = header[8..24].try_into().ok()?;
                let host: [u8; 16] = header[24..40].try_into().ok()?;
                (Ipv6Addr::from(ours).into(), Ipv6Addr::from(host).into(), &about[header.len()..])
            }
            _ => return None,
        };
        // RFC 792: no more of the segment may be there.
        let tcp = tcp.first_chunk::<8>()?;
        let [our_port, host_port] = [0, 2].map(|at| u16::from_be_bytes([tcp[at], tcp[at + 1]]));
        Some(Undelivered {
            ours: SocketAddr::new(ours, our_port),
            host: SocketAddr::new(host, host_port),
            sequence: u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]),
            obstacle,
        })
    }
}

fn obstacle_v4(packet: &[u8]) -> Option<(Obstacle, &[u8])> {
    const UNREACHABLE: u8 = 3;
    const TOO_LONG: u8 = 4;
    let header = packet.first_chunk::<IPV4_HEADER_BYTES>()?;
    let header_bytes = usize::from(header[0] & 0x0f) * 4;
    let is_fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0;
    let icmp = packet.get(header_bytes..usize::from(u16::from_be_bytes([header[2], header[3]])))?;
    let front = icmp.first_chunk::<ICMP_HEADER_BYTES>()?;
    let is_message = header[9] == u8::from(IpProtocol::Icmp) && !is_fragment && front[0] == UNREACHABLE;
    if !is_message || !Icmpv4Packet::new_unchecked(icmp).verify_checksum() {
        return None;
    }
    let obstacle = match front[1] {
        TOO_LONG => Obstacle::Narrow(u16::from_be_bytes([front[6], front[7]]).into()),
        _ => Obstacle::Unreachable,
    };
    Some((obstacle, &icmp[front.len()..]))
}

fn obstacle_v6(packet: &[u8]) -> Option<(Obstacle, &[u8])> {
    const UNREACHABLE: u8 = 1;
    const TOO_LONG: u8 = 2;
    let header = packet.first_chunk::<IPV6_HEADER_BYTES>()?;
    let end = header.len() + usize::from(u16::from_be_bytes([header[4], header[5]]));
    let icmp = packet.get(header.len()..end)?;
    let front = icmp.first_chunk::<ICMP_HEADER_BYTES>()?;
    let obstacle = match front[0] {
        TOO_LONG => {
            let most = u32::from_be_bytes([front[4], front[5], front[6], front[7]]);
            Obstacle::Narrow(usize::try_from(most).ok()?)
        }
        UNREACHABLE => Obstacle::Unreachable,
        _ => return None,
    };
    let source: [u8; 16] = header[8..24].try_into().ok()?;
    let destination: [u8; 16] = header[24..40].try_into().ok()?;
    let is_message = header[6] == u8::from(IpProtocol::Icmpv6)
        && Icmpv6Packet::new_unchecked(icmp).verify_checksum(&source.into(), &destination.into());
    is_message.then_some((obstacle, &icmp[front.len()..]))
}
