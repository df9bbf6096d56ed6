//! A UDP datagram in an IP packet that was sent to somebody else, as the node's socket would have handed it
//! over.
//!
//! Strict, where [`crate::inner`] is lax: a truncated packet or a fragment gives no datagram. Checksums are
//! not checked: the contents of a datagram authenticate themselves.

use crate::Malformed;
use crate::inner::UDP;
use etherparse::{Ipv4Slice, Ipv6Slice, UdpSlice};
use std::net::{IpAddr, SocketAddr};

/// A whole datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// Address of the sender; an IPv6 address without scope.
    pub source: SocketAddr,
    /// Address of the receiver; the same.
    pub destination: SocketAddr,
    /// The payload, as a part of the packet.
    pub payload: &'a [u8],
}

impl<'a> Datagram<'a> {
    /// Reads an IP packet (RFC 791, RFC 8200). `None`: another protocol, a fragment, or IPv6 with extension
    /// headers.
    pub fn parse(packet: &'a [u8]) -> Result<Option<Self>, Malformed> {
        let malformed = Malformed("IP header");
        let (source, destination, protocol, carried) = match packet.first().map(|first| first >> 4) {
            Some(4) => {
                let ip = Ipv4Slice::from_slice(packet).map_err(|_| malformed)?;
                let header = ip.header();
                let addresses: [IpAddr; 2] = [header.source_addr().into(), header.destination_addr().into()];
                (addresses[0], addresses[1], header.protocol(), ip.payload().clone())
            }
            Some(6) => {
                let ip = Ipv6Slice::from_slice(packet).map_err(|_| malformed)?;
                let header = ip.header();
                // of jumbograms (RFC 2675), which have an extension header: the packet would have no end
                if header.payload_length() == 0 {
                    return Ok(None);
                }
                let addresses: [IpAddr; 2] = [header.source_addr().into(), header.destination_addr().into()];
                (addresses[0], addresses[1], header.next_header(), ip.payload().clone())
            }
            _ => return Err(malformed),
        };
        if protocol.0 != UDP || carried.fragmented {
            return Ok(None);
        }
        let udp = UdpSlice::from_slice(carried.payload).map_err(|_| Malformed("UDP header"))?;
        Ok(Some(Datagram {
            source: (source, udp.source_port()).into(),
            destination: (destination, udp.destination_port()).into(),
            payload: udp.payload(),
        }))
    }

    /// Whether it comes from one of `ports`, or goes there.
    #[must_use]
    pub fn concerns(&self, ports: &[u16]) -> bool {
        ports.contains(&self.source.port()) || ports.contains(&self.destination.port())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{IpFragOffset, IpHeaders, Ipv4Header, PacketBuilder};
    use proptest::prelude::*;

    fn packet(v6: bool, payload: &[u8]) -> Vec<u8> {
        let mut packet = Vec::new();
        if v6 {
            let builder = PacketBuilder::ipv6([0xfd; 16], [0xfc; 16], 64).udp(4780, 5000);
            builder.write(&mut packet, payload).unwrap();
        } else {
            let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(4780, 5000);
            builder.write(&mut packet, payload).unwrap();
        }
        packet
    }

    #[test]
    fn a_fragment_is_no_datagram() {
        for (more_fragments, offset) in [(true, 0), (false, 8)] {
            let mut header = Ipv4Header::new(48, 64, UDP.into(), [10, 0, 0, 1], [10, 0, 0, 2]).unwrap();
            header.more_fragments = more_fragments;
            header.fragment_offset = IpFragOffset::try_new(offset).unwrap();
            let mut fragment = Vec::new();
            IpHeaders::Ipv4(header, Default::default()).write(&mut fragment).unwrap();
            fragment.extend([0; 48]);
            assert_eq!(Datagram::parse(&fragment), Ok(None), "{more_fragments} {offset}");
        }
    }

    #[test]
    fn tcp_is_no_datagram() {
        let mut segment = Vec::new();
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(4780, 5000, 1, 1);
        builder.write(&mut segment, b"segment").unwrap();
        assert_eq!(Datagram::parse(&segment), Ok(None));
    }

    proptest! {
        #[test]
        fn the_payload_comes_out_whole_whatever_follows_the_packet(v6: bool, payload: Vec<u8>, padding: Vec<u8>) {
            let padded = [packet(v6, &payload), padding].concat();
            let datagram = Datagram::parse(&padded).unwrap().unwrap();
            prop_assert_eq!(datagram.payload, payload);
            prop_assert_eq!((datagram.source.port(), datagram.destination.port()), (4780, 5000));
            prop_assert_eq!(datagram.source.is_ipv6(), v6);
            prop_assert!(datagram.concerns(&[4780]) && datagram.concerns(&[1, 5000]) && !datagram.concerns(&[1]));
        }

        #[test]
        fn a_packet_that_is_cut_short_is_malformed(v6: bool, payload: Vec<u8>, cut in any::<prop::sample::Index>()) {
            let packet = packet(v6, &payload);
            prop_assert!(Datagram::parse(&packet[..cut.index(packet.len())]).is_err());
        }

        #[test]
        fn any_bytes_parse_or_are_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..100), v6: bool) {
            if let Some(first) = bytes.first_mut() {
                *first = if v6 { 0x60 } else { 0x45 };
            }
            let _ = Datagram::parse(&bytes);
        }
    }
}
