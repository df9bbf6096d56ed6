//! A station, and arbitrary packets from its own machine, each behind its length in two bytes.

use crate::Seed;
use crate::pair::{GATEWAY, GATEWAY_INSIDE, Pair, STATION, STATION_INSIDE, push_record, records};
use etherparse::{IpNumber, Ipv4Header};
use std::time::Duration;
use wire::inner::Inner;

/// More would only take time.
const MAX_PACKETS: usize = 64;
/// The largest datagram by default.
const DATAGRAM_BYTES: usize = 1452;

/// No datagram is larger than the path is thought to carry; who sent too much is answered with a message that
/// is short, and addressed to it; every fragment arrives and fits.
pub fn check(bytes: &[u8]) -> bool {
    let mut pair = Pair::met();
    for packet in records(bytes).take(MAX_PACKETS) {
        pair.network.offer_packet(STATION, packet);
        for message in pair.deliveries(STATION) {
            let (message, packet) = (message.as_slice(), Inner::parse(packet).expect("it was answered"));
            assert!(message.len() <= 1280, "a long message");
            let told = Inner::parse(message).expect("a message is a packet").flow;
            assert_eq!((told.source, told.destination), (packet.flow.destination, packet.flow.source));
        }
        pair.network.advance(Duration::from_millis(1));
        pair.network.hand_over(STATION);
        let longest_bytes = pair.network.medium.longest_bytes;
        assert!(longest_bytes <= DATAGRAM_BYTES, "{longest_bytes} bytes");
        for part in pair.deliveries(GATEWAY) {
            assert!(part.len() <= DATAGRAM_BYTES - node::AROUND_PACKET);
        }
    }
    let counters = pair.network.status(STATION).peers[0].counters;
    assert!(counters.fragmented + counters.icmp_sent <= counters.too_large);
    counters.fragmented + counters.icmp_sent > 0
}

/// A packet that is too large, and may be fragmented or not.
fn large(whole: bool) -> Vec<u8> {
    let payload = [0x5a; 3000];
    let (source, destination) = (STATION_INSIDE.octets(), GATEWAY_INSIDE.octets());
    let mut header = Ipv4Header::new(payload.len() as u16, 64, IpNumber::UDP, source, destination)
        .expect("it is short enough");
    header.dont_fragment = whole;
    header.header_checksum = header.calc_header_checksum();
    [&header.to_bytes(), &payload[..]].concat()
}

/// One of each.
pub fn seeds() -> Vec<Seed> {
    vec![
        Seed::of("answered", |out| push_record(&large(true), out)),
        Seed::of("fragmented", |out| push_record(&large(false), out)),
    ]
}
