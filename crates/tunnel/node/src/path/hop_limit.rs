//! A relay's change of a forwarded packet: one hop fewer (RFC 1812, 5.3.1; RFC 8200, 3).

use crate::path::ecn::updated;

/// Takes one hop off. `false`: none is left, or it is no packet; it is as it was.
#[must_use]
pub fn decrement(packet: &mut [u8]) -> bool {
    match packet.first().map(|first| first >> 4) {
        Some(4) => decrement_ipv4(packet),
        Some(6) => match packet.get_mut(7) {
            Some(limit) if *limit > 1 => {
                *limit -= 1;
                true
            }
            _ => false,
        },
        _ => false,
    }
}

/// The checksum is updated and not computed anew: a header that came damaged leaves damaged.
fn decrement_ipv4(packet: &mut [u8]) -> bool {
    let Some(header) = packet.first_chunk_mut::<20>() else { return false };
    if header[8] <= 1 {
        return false;
    }
    let before = u16::from_be_bytes([header[8], header[9]]);
    header[8] -= 1;
    let after = u16::from_be_bytes([header[8], header[9]]);
    let checksum = u16::from_be_bytes([header[10], header[11]]);
    [header[10], header[11]] = updated(checksum, before, after).to_be_bytes();
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{Ipv4HeaderSlice, PacketBuilder};

    #[test]
    fn one_hop_fewer_is_left_and_the_checksum_is_right() {
        for limit in 2..=255 {
            let mut packet = Vec::new();
            let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, limit], limit).udp(1, 2);
            builder.write(&mut packet, b"what it carries").unwrap();
            assert!(decrement(&mut packet));
            let header = Ipv4HeaderSlice::from_slice(&packet).unwrap();
            assert_eq!(header.ttl(), limit - 1);
            assert_eq!(header.header_checksum(), header.to_header().calc_header_checksum());
        }
        let mut packet = Vec::new();
        PacketBuilder::ipv6([1; 16], [2; 16], 7).udp(1, 2).write(&mut packet, b"the same").unwrap();
        assert!(decrement(&mut packet));
        assert_eq!(packet[7], 6);
    }

    #[test]
    fn where_no_hop_is_left_nothing_changes() {
        for limit in [0, 1] {
            let mut packet = Vec::new();
            PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], limit)
                .udp(1, 2)
                .write(&mut packet, b"")
                .unwrap();
            let before = packet.clone();
            assert!(!decrement(&mut packet));
            assert_eq!(packet, before);
        }
        for nonsense in [&mut [][..], &mut [0x45, 0][..], &mut [0x60; 7][..], &mut [0xff; 40][..]] {
            assert!(!decrement(nonsense));
        }
    }
}
