//! The IP packets that are carried.

use crate::Seed;
use etherparse::PacketBuilder;
use wire::inner::{Inner, TCP};

/// Offsets lie within the packet, and bytes behind the packet's own length change nothing.
pub fn check(bytes: &[u8]) -> bool {
    let Ok(inner) = Inner::parse(bytes) else { return false };
    assert!(inner.payload_offset <= inner.total_bytes && inner.total_bytes <= bytes.len());
    assert_eq!(inner.payload_bytes(), inner.total_bytes - inner.payload_offset);
    assert!(inner.tcp_sequence.is_none() || inner.flow.protocol == TCP);
    assert_eq!(inner.flow.source.is_ipv4(), inner.flow.destination.is_ipv4());
    assert_eq!(Inner::parse(&bytes[..inner.total_bytes]), Ok(inner));
    true
}

/// TCP, UDP and ICMP over both versions of IP.
pub fn seeds() -> Vec<Seed> {
    let v4 = || PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64);
    let v6 = || PacketBuilder::ipv6([0xfd; 16], [0xfc; 16], 64);
    let payload = b"as it was sent";
    let written = "writing to a buffer does not fail";
    vec![
        Seed::of("tcp-over-ipv4", |out| v4().tcp(80, 4242, 7, 1000).write(out, payload).expect(written)),
        Seed::of("tcp-over-ipv6", |out| v6().tcp(80, 4242, 7, 1000).write(out, payload).expect(written)),
        Seed::of("udp-over-ipv4", |out| v4().udp(53, 4242).write(out, payload).expect(written)),
        Seed::of("udp-over-ipv6", |out| v6().udp(53, 4242).write(out, payload).expect(written)),
        Seed::of("icmp-over-ipv4", |out| v4().icmpv4_echo_request(1, 2).write(out, payload).expect(written)),
        Seed::of("icmp-over-ipv6", |out| v6().icmpv6_echo_request(1, 2).write(out, payload).expect(written)),
    ]
}
