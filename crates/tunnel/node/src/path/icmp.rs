//! Messages to an inner host whose packet cannot go on: ICMP (RFC 792) and ICMPv6 (RFC 4443).
//!
//! The message seems to come from the packet's destination and not from this node. The kernel behind the TUN
//! takes a packet from outside with an address of its own for a forgery, and a firewall lets a message about
//! a known connection pass from wherever it comes; its receiver believes it for the packet that it quotes.

use etherparse::{Icmpv4Type, Icmpv6Type, PacketBuilder, icmpv4, icmpv6};
use std::net::IpAddr;
use wire::inner::Inner;

const ICMP: u8 = 1;
const ICMPV6: u8 = 58;
const HOPS: u8 = 64;
/// The longest message (RFC 1812, 4.3.2.3).
const MAX_BYTES_V4: usize = 576;
/// The longest message (RFC 4443, 2.4).
const MAX_BYTES_V6: usize = 1280;
/// ICMPv4's messages about errors: unreachable, source quench, redirect, time exceeded, parameter problem.
const ERRORS_V4: [u8; 5] = [3, 4, 5, 11, 12];
/// ICMPv6's messages below this are about errors.
const FIRST_NO_ERROR_V6: u8 = 128;

/// Why a packet cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// It is larger than what goes on, in bytes of inner packet (RFC 1191, RFC 8201).
    TooLarge(usize),
    /// Nobody is there to take it.
    Unreachable,
}

/// Appends the message for the sender of `packet`. `false`: nobody is to be told (RFC 1122, 3.2.2; RFC 4443,
/// 2.4).
#[must_use]
pub fn tell(packet: &[u8], inner: &Inner, reason: Reason, out: &mut Vec<u8>) -> bool {
    let (source, destination) = (inner.flow.source, inner.flow.destination);
    let kind = packet.get(inner.payload_offset).copied();
    let is_error = match inner.flow.protocol {
        ICMP => kind.is_none_or(|kind| ERRORS_V4.contains(&kind)),
        ICMPV6 => kind.is_none_or(|kind| kind < FIRST_NO_ERROR_V6),
        _ => false,
    };
    let nobody =
        |address: IpAddr| address.is_multicast() || address.is_unspecified() || address.is_loopback();
    if is_error || nobody(source) {
        return false;
    }
    match (source, destination) {
        (IpAddr::V4(to), IpAddr::V4(from)) => {
            if nobody(destination) || from.is_broadcast() || to.is_broadcast() || is_later_fragment(packet) {
                return false;
            }
            let kind = Icmpv4Type::DestinationUnreachable(match reason {
                Reason::TooLarge(bytes) => icmpv4::DestUnreachableHeader::FragmentationNeeded {
                    next_hop_mtu: u16::try_from(bytes).unwrap_or(u16::MAX),
                },
                Reason::Unreachable => icmpv4::DestUnreachableHeader::Host,
            });
            let quoted = &packet[..packet.len().min(MAX_BYTES_V4 - 28)];
            PacketBuilder::ipv4(from.octets(), to.octets(), HOPS).icmpv4(kind).write(out, quoted).is_ok()
        }
        (IpAddr::V6(to), IpAddr::V6(from)) => {
            let kind = match reason {
                Reason::TooLarge(bytes) => {
                    Icmpv6Type::PacketTooBig { mtu: u32::try_from(bytes).unwrap_or(u32::MAX) }
                }
                Reason::Unreachable if from.is_multicast() => return false,
                Reason::Unreachable => {
                    Icmpv6Type::DestinationUnreachable(icmpv6::DestUnreachableCode::Address)
                }
            };
            if from.is_multicast() {
                return false; // it would have to come from an address that nobody here knows
            }
            let quoted = &packet[..packet.len().min(MAX_BYTES_V6 - 48)];
            PacketBuilder::ipv6(from.octets(), to.octets(), HOPS).icmpv6(kind).write(out, quoted).is_ok()
        }
        _ => false,
    }
}

/// Whether an IPv4 packet is a fragment, and not the first.
fn is_later_fragment(packet: &[u8]) -> bool {
    packet.get(6..8).is_none_or(|field| u16::from_be_bytes([field[0], field[1]]) & 0x1fff != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{NetSlice, SlicedPacket, TransportSlice};
    use proptest::prelude::*;

    fn told(packet: &[u8], reason: Reason) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        tell(packet, &Inner::parse(packet).unwrap(), reason, &mut out).then_some(out)
    }

    fn udp(v6: bool, bytes: usize) -> Vec<u8> {
        let mut packet = Vec::new();
        let builder = if v6 {
            PacketBuilder::ipv6([1; 16], [2; 16], 64)
        } else {
            PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        };
        builder.udp(7, 8).write(&mut packet, &vec![5; bytes]).unwrap();
        packet
    }

    #[test]
    fn the_sender_is_told_what_fits_and_shown_its_packet() {
        let packet = udp(false, 1400);
        let message = told(&packet, Reason::TooLarge(1269)).unwrap();
        let sliced = SlicedPacket::from_ip(&message).unwrap();
        let (Some(NetSlice::Ipv4(ip)), Some(TransportSlice::Icmpv4(icmp))) = (sliced.net, sliced.transport)
        else {
            panic!("ICMP")
        };
        assert_eq!((ip.header().source(), ip.header().destination()), ([10, 0, 0, 2], [10, 0, 0, 1]));
        let needed = icmpv4::DestUnreachableHeader::FragmentationNeeded { next_hop_mtu: 1269 };
        assert_eq!(icmp.icmp_type(), Icmpv4Type::DestinationUnreachable(needed));
        assert_eq!(icmp.payload(), &packet[..548]);
        let packet = udp(true, 1400);
        let message = told(&packet, Reason::TooLarge(1300)).unwrap();
        assert_eq!(message.len(), 1280);
        let sliced = SlicedPacket::from_ip(&message).unwrap();
        let Some(TransportSlice::Icmpv6(icmp)) = sliced.transport else { panic!("ICMPv6") };
        assert_eq!(icmp.icmp_type(), Icmpv6Type::PacketTooBig { mtu: 1300 });
        assert!(icmp.is_checksum_valid([2; 16], [1; 16]));
    }

    #[test]
    fn messages_about_errors_groups_and_later_fragments_are_not_answered() {
        let message = told(&udp(false, 10), Reason::Unreachable).unwrap();
        assert_eq!(told(&message, Reason::Unreachable), None);
        let message = told(&udp(true, 10), Reason::Unreachable).unwrap();
        assert_eq!(told(&message, Reason::Unreachable), None);
        let mut fragment = udp(false, 10);
        fragment[7] = 3;
        assert_eq!(told(&fragment, Reason::Unreachable), None);
        let mut to_all = udp(false, 10);
        to_all[16..20].fill(255);
        assert_eq!(told(&to_all, Reason::Unreachable), None);
        let mut to_group = udp(true, 10);
        to_group[24] = 0xff;
        assert_eq!(told(&to_group, Reason::Unreachable), None);
    }

    proptest! {
        #[test]
        fn any_packet_is_answered_with_a_shorter_one_or_not_at_all(
            mut packet in proptest::collection::vec(any::<u8>(), 1..2000), v6: bool, mtu: usize,
        ) {
            packet[0] = if v6 { 0x60 } else { 0x45 };
            if let Ok(inner) = Inner::parse(&packet) {
                let mut out = Vec::new();
                if tell(&packet, &inner, Reason::TooLarge(mtu), &mut out) {
                    prop_assert!(out.len() <= packet.len() + 48 && out.len() <= 1280);
                    prop_assert_eq!(Inner::parse(&out).unwrap().flow.destination, inner.flow.source);
                }
            }
        }
    }
}
