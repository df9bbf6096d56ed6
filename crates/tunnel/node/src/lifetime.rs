//! For how long a packet is of use. What is older is not sent, not sent again, and not delivered.
//!
//! A call or a game has no use for what it should have had a second ago. Other programs over UDP ask again
//! after a few seconds. TCP waits longer.

use std::time::Duration;
use wire::inner::UDP;

/// Packets of real-time traffic.
const REAL_TIME: Duration = Duration::from_secs(1);
/// Other datagrams.
const DATAGRAM: Duration = Duration::from_secs(4);
/// All others.
const STREAM: Duration = Duration::from_secs(10);
/// No packet lives shorter.
pub const SHORTEST: Duration = REAL_TIME;
/// The longest UDP packet in bytes that counts as real-time traffic: voice, games, names.
const SMALL_BYTES: usize = 400;
/// The least DSCP of real-time traffic: class selector 4, for interactive video (RFC 4594).
const LEAST_DSCP: u8 = 32;

/// The time for which an IP packet is of use.
#[must_use]
pub fn lifetime(packet: &[u8]) -> Duration {
    let (protocol, class) = match packet {
        [first, class, _, _, _, _, _, _, _, protocol, ..] if first >> 4 == 4 => (*protocol, *class),
        [first, second, _, _, _, _, protocol, ..] if first >> 4 == 6 => (*protocol, first << 4 | second >> 4),
        _ => return STREAM,
    };
    let is_marked = (LEAST_DSCP..48).contains(&(class >> 2));
    match protocol {
        UDP if is_marked || packet.len() <= SMALL_BYTES => REAL_TIME,
        UDP => DATAGRAM,
        _ => STREAM,
    }
}

/// Whether an IP packet is of a call, a game, or the like: each moment that it waits harms.
#[must_use]
pub fn is_real_time(packet: &[u8]) -> bool {
    lifetime(packet) == REAL_TIME
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;

    fn udp(payload_bytes: usize, dscp: u8, v6: bool) -> Vec<u8> {
        let mut packet = Vec::new();
        let payload = vec![0; payload_bytes];
        if v6 {
            PacketBuilder::ipv6([1; 16], [2; 16], 9).udp(1, 2).write(&mut packet, &payload).unwrap();
            packet[0] = 0x60 | dscp >> 2;
            packet[1] = dscp << 6;
        } else {
            PacketBuilder::ipv4([1; 4], [2; 4], 9).udp(1, 2).write(&mut packet, &payload).unwrap();
            packet[1] = dscp << 2;
        }
        packet
    }

    #[test]
    fn what_is_small_or_marked_as_urgent_is_of_use_for_a_second() {
        for v6 in [false, true] {
            assert_eq!(lifetime(&udp(160, 0, v6)), REAL_TIME);
            assert_eq!(lifetime(&udp(1200, 46, v6)), REAL_TIME);
            assert_eq!(lifetime(&udp(1200, 8, v6)), DATAGRAM);
            assert_eq!(lifetime(&udp(1200, 0, v6)), DATAGRAM);
        }
        let mut packet = Vec::new();
        PacketBuilder::ipv4([1; 4], [2; 4], 9).tcp(1, 2, 3, 4).write(&mut packet, &[]).unwrap();
        assert_eq!(lifetime(&packet), STREAM);
        assert_eq!(lifetime(&[]), STREAM);
    }
}
