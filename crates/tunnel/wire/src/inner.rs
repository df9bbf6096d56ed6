//! Facts of an inner IP packet that the node needs: addresses, flow, start of the payload.
//!
//! Parsing is lax: a packet whose transport header is cut short, fragmented or unknown is carried all the
//! same, with its payload starting behind the last header that was understood.

use crate::Malformed;
use etherparse::{LaxNetSlice, LaxSlicedPacket, TransportSlice};
use std::net::IpAddr;

/// IP protocol number of TCP.
pub const TCP: u8 = 6;
/// IP protocol number of UDP.
pub const UDP: u8 = 17;

/// A packet's addresses, protocol and ports; ports are 0 where there are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Flow {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// IP protocol number.
    pub protocol: u8,
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
}

impl Flow {
    /// The flow in the other direction.
    #[must_use]
    pub fn reversed(self) -> Self {
        Flow {
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
            ..self
        }
    }
}

/// Facts of one inner packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inner {
    /// Its flow.
    pub flow: Flow,
    /// TCP's sequence number of the first payload byte, for TCP.
    pub tcp_sequence: Option<u32>,
    /// Where the transport's payload starts, in bytes from the packet's start.
    pub payload_offset: usize,
    /// The packet's length by its IP header, at most the bytes given.
    pub total_bytes: usize,
    /// Traffic class: DSCP (6 bits) and ECN (2 bits).
    pub traffic_class: u8,
}

impl Inner {
    /// Reads the headers of an IP packet, version 4 or 6.
    pub fn parse(packet: &[u8]) -> Result<Self, Malformed> {
        let sliced = LaxSlicedPacket::from_ip(packet).map_err(|_| Malformed("IP header"))?;
        let (source, destination, protocol, traffic_class, ip_payload) = match &sliced.net {
            Some(LaxNetSlice::Ipv4(ip)) => {
                let header = ip.header();
                let class = header.dcp().value() << 2 | header.ecn().value();
                let payload = ip.payload();
                (
                    IpAddr::V4(header.source_addr()),
                    IpAddr::V4(header.destination_addr()),
                    payload.ip_number.0,
                    class,
                    payload.payload,
                )
            }
            Some(LaxNetSlice::Ipv6(ip)) => {
                let header = ip.header();
                let payload = ip.payload();
                (
                    IpAddr::V6(header.source_addr()),
                    IpAddr::V6(header.destination_addr()),
                    payload.ip_number.0,
                    header.traffic_class(),
                    payload.payload,
                )
            }
            _ => return Err(Malformed("IP header")),
        };
        let start = packet.as_ptr() as usize;
        let offset_of = |slice: &[u8]| (slice.as_ptr() as usize).saturating_sub(start).min(packet.len());
        let total_bytes = (offset_of(ip_payload) + ip_payload.len()).min(packet.len());
        let (ports, tcp_sequence, payload_offset) = match &sliced.transport {
            Some(TransportSlice::Tcp(tcp)) => (
                (tcp.source_port(), tcp.destination_port()),
                Some(tcp.sequence_number()),
                offset_of(tcp.payload()),
            ),
            Some(TransportSlice::Udp(udp)) => {
                ((udp.source_port(), udp.destination_port()), None, offset_of(udp.payload()))
            }
            _ => ((0, 0), None, offset_of(ip_payload)),
        };
        Ok(Inner {
            flow: Flow { source, destination, protocol, source_port: ports.0, destination_port: ports.1 },
            tcp_sequence,
            payload_offset: payload_offset.min(total_bytes),
            total_bytes,
            traffic_class,
        })
    }

    /// Bytes of transport payload.
    #[must_use]
    pub fn payload_bytes(&self) -> usize {
        self.total_bytes - self.payload_offset
    }
}

/// Whether an IP packet only acknowledges: TCP without payload, and with no other flag than ACK.
#[must_use]
pub fn is_pure_acknowledgment(packet: &[u8]) -> bool {
    let Ok(LaxSlicedPacket { transport: Some(TransportSlice::Tcp(tcp)), .. }) =
        LaxSlicedPacket::from_ip(packet)
    else {
        return false;
    };
    let other = tcp.syn() || tcp.fin() || tcp.rst() || tcp.psh() || tcp.urg();
    tcp.ack() && !other && tcp.payload().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{PacketBuilder, PacketBuilderStep, TcpHeader};
    type Tcp = PacketBuilderStep<TcpHeader>;
    use proptest::prelude::*;

    #[test]
    fn a_tcp_packet_over_ipv4_and_ipv6_is_understood() {
        let v4 = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64);
        let v6 = PacketBuilder::ipv6([1; 16], [2; 16], 64);
        for (builder, headers) in [(v4, 40), (v6, 60)] {
            let mut packet = Vec::new();
            builder.tcp(80, 4242, 77, 1000).write(&mut packet, b"payload").unwrap();
            let inner = Inner::parse(&packet).unwrap();
            assert_eq!(inner.flow.protocol, TCP);
            assert_eq!((inner.flow.source_port, inner.flow.destination_port), (80, 4242));
            assert_eq!(inner.tcp_sequence, Some(77));
            assert_eq!(&packet[inner.payload_offset..inner.total_bytes], b"payload");
            assert_eq!(headers, inner.payload_offset);
        }
    }

    #[test]
    fn a_pure_acknowledgment_has_no_payload_and_no_other_flag() {
        let written = |payload: &[u8], with: fn(Tcp) -> Tcp| {
            let mut packet = Vec::new();
            let tcp = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(80, 4242, 77, 1000);
            with(tcp).write(&mut packet, payload).unwrap();
            packet
        };
        assert!(is_pure_acknowledgment(&written(b"", |tcp| tcp.ack(1))));
        for (payload, with) in [
            (&b"x"[..], (|tcp| tcp.ack(1)) as fn(Tcp) -> Tcp),
            (b"", |tcp| tcp),
            (b"", |tcp| tcp.ack(1).fin()),
            (b"", |tcp| tcp.ack(1).rst()),
            (b"", |tcp| tcp.ack(1).syn()),
        ] {
            assert!(!is_pure_acknowledgment(&written(payload, with)));
        }
        assert!(!is_pure_acknowledgment(&[0x45; 8]));
    }

    proptest! {
        #[test]
        fn any_bytes_parse_or_are_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), v6: bool) {
            if let Some(first) = bytes.first_mut() {
                *first = if v6 { 0x60 } else { 0x45 };
            }
            if let Ok(inner) = Inner::parse(&bytes) {
                prop_assert!(inner.payload_offset <= inner.total_bytes);
                prop_assert!(inner.total_bytes <= bytes.len());
            }
        }
    }
}
