//! Application packets: real headers with right checksums.

use super::Passage;
use crate::addresses::{inner_v4, inner_v6};
use etherparse::{
    IcmpEchoHeader, Icmpv4Type, Icmpv6Type, IpHeaders, Ipv4Header, Ipv6FlowLabel, Ipv6Header, PacketBuilder,
    PacketBuilderStep,
};

/// Which IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Family {
    /// Version 4.
    #[default]
    V4,
    /// Version 6.
    V6,
}

/// The two ends of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    from: usize,
    to: usize,
    family: Family,
    /// The port of the end that sends first; the other end has [`Ends::SERVICE`].
    port: u16,
}

impl Ends {
    /// The port of the end that is sent to first.
    pub const SERVICE: u16 = 4242;

    /// IPv4 from one host to another, numbers of hosts. Flows between the same hosts need different ports:
    /// [`Ends::with_port`].
    #[must_use]
    pub fn between(from: usize, to: usize) -> Self {
        Ends { from, to, family: Family::V4, port: 30_000 }
    }

    /// Sets the source port.
    #[must_use]
    pub fn with_port(self, port: u16) -> Self {
        Ends { port, ..self }
    }

    /// Sets the IP version.
    #[must_use]
    pub fn with_family(self, family: Family) -> Self {
        Ends { family, ..self }
    }

    /// The way of packets that go forwards.
    #[must_use]
    pub fn forwards(&self) -> Passage {
        Passage { from: self.from, to: self.to }
    }

    /// The way of packets that come back.
    #[must_use]
    pub fn backwards(&self) -> Passage {
        Passage { from: self.to, to: self.from }
    }

    fn ports(&self, passage: Passage) -> (u16, u16) {
        if passage == self.forwards() { (self.port, Self::SERVICE) } else { (Self::SERVICE, self.port) }
    }

    /// The IP header's fields. The low 16 bits of `identification` (20 with IPv6, as flow label) distinguish
    /// packets of equal content.
    fn ip(&self, passage: Passage, identification: u32) -> PacketBuilderStep<IpHeaders> {
        PacketBuilder::ip(match self.family {
            Family::V4 => {
                let header = Ipv4Header {
                    identification: identification as u16,
                    dont_fragment: true,
                    time_to_live: 64,
                    source: inner_v4(passage.from).octets(),
                    destination: inner_v4(passage.to).octets(),
                    ..Ipv4Header::default()
                };
                IpHeaders::Ipv4(header, Default::default())
            }
            Family::V6 => {
                let header = Ipv6Header {
                    flow_label: Ipv6FlowLabel::try_new(identification & 0xf_ffff).unwrap_or_default(),
                    hop_limit: 64,
                    source: inner_v6(passage.from).octets(),
                    destination: inner_v6(passage.to).octets(),
                    ..Ipv6Header::default()
                };
                IpHeaders::Ipv6(header, Default::default())
            }
        })
    }

    /// Appends a UDP packet.
    pub(super) fn udp(&self, passage: Passage, identification: u32, payload: &[u8], packet: &mut Vec<u8>) {
        let (source, destination) = self.ports(passage);
        let step = self.ip(passage, identification).udp(source, destination);
        step.write(packet, payload).expect("payloads are shorter than an IP packet can be");
    }

    /// Appends a packet in the form of a TCP segment.
    pub(super) fn tcp(
        &self,
        passage: Passage,
        identification: u32,
        sequence: u32,
        acknowledgement: u32,
        payload: &[u8],
        packet: &mut Vec<u8>,
    ) {
        let (source, destination) = self.ports(passage);
        let step =
            self.ip(passage, identification).tcp(source, destination, sequence, 0xffff).ack(acknowledgement);
        step.write(packet, payload).expect("payloads are shorter than an IP packet can be");
    }

    /// Appends an ICMP echo request, or a reply in the other direction.
    pub(super) fn echo(&self, passage: Passage, number: u32, payload: &[u8], packet: &mut Vec<u8>) {
        let header = IcmpEchoHeader { id: self.port, seq: number as u16 };
        let request = passage == self.forwards();
        let ip = self.ip(passage, number);
        let written = match (self.family, request) {
            (Family::V4, true) => ip.icmpv4(Icmpv4Type::EchoRequest(header)).write(packet, payload),
            (Family::V4, false) => ip.icmpv4(Icmpv4Type::EchoReply(header)).write(packet, payload),
            (Family::V6, true) => ip.icmpv6(Icmpv6Type::EchoRequest(header)).write(packet, payload),
            (Family::V6, false) => ip.icmpv6(Icmpv6Type::EchoReply(header)).write(packet, payload),
        };
        written.expect("payloads are shorter than an IP packet can be");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;
    use wire::inner::Inner;

    #[test]
    fn packets_are_read_as_what_they_are() {
        for family in [Family::V4, Family::V6] {
            let ends = Ends::between(0, 2).with_family(family).with_port(777);
            let mut packet = Vec::new();
            ends.tcp(ends.forwards(), 1, 0xdead_beef, 5, b"payload", &mut packet);
            let inner = Inner::parse(&packet).unwrap();
            assert_eq!(inner.tcp_sequence, Some(0xdead_beef));
            assert_eq!((inner.flow.source_port, inner.flow.destination_port), (777, Ends::SERVICE));
            let own = |host| match family {
                Family::V4 => IpAddr::from(inner_v4(host)),
                Family::V6 => IpAddr::from(inner_v6(host)),
            };
            assert_eq!((inner.flow.source, inner.flow.destination), (own(0), own(2)));
            assert_eq!(&packet[inner.payload_offset..], b"payload");
            packet.clear();
            ends.udp(ends.backwards(), 2, b"payload", &mut packet);
            let inner = Inner::parse(&packet).unwrap();
            assert_eq!((inner.flow.source_port, inner.flow.destination_port), (Ends::SERVICE, 777));
            let mut other = Vec::new();
            ends.udp(ends.backwards(), 3, b"payload", &mut other);
            assert_ne!(packet, other);
            packet.clear();
            ends.echo(ends.forwards(), 2, b"payload", &mut packet);
            let icmp = if family == Family::V4 { 1 } else { 58 };
            assert_eq!(Inner::parse(&packet).unwrap().flow.protocol, icmp);
            assert!(packet.ends_with(b"payload"));
        }
    }
}
