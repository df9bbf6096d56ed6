//! Removal and insertion of a TAP's Ethernet header.

/// Octets of the header: two addresses and a type (IEEE 802.3).
pub(crate) const HEADER_BYTES: usize = 14;

const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
const ARP: [u8; 2] = [0x08, 0x06];

/// The packet in a frame; `None` for other protocols than IPv4, IPv6 and ARP.
pub(crate) fn packet_of(frame: &[u8]) -> Option<&[u8]> {
    let (header, packet) = frame.split_at_checked(HEADER_BYTES)?;
    let kind = [header[12], header[13]];
    [IPV4, IPV6, ARP].contains(&kind).then_some(packet)
}

/// Appends a frame around `packet`. The type follows from the packet's first four bits: the IP version, or 0
/// for ARP (the hardware type). A corrupted packet may get a wrong type; the receiver refuses it like a wrong
/// version.
pub(crate) fn frame_into(frame: &mut Vec<u8>, from: [u8; 6], to: [u8; 6], packet: &[u8]) {
    let kind = match packet.first().map(|first| first >> 4) {
        Some(6) => IPV6,
        Some(0) => ARP,
        _ => IPV4,
    };
    frame.extend_from_slice(&to);
    frame.extend_from_slice(&from);
    frame.extend_from_slice(&kind);
    frame.extend_from_slice(packet);
}

/// Whether an address is a group's: broadcast or multicast.
pub(crate) fn is_group(mac: [u8; 6]) -> bool {
    mac[0] & 1 == 1
}

/// The group that a packet is for, by its destination: RFC 2464 section 7 for IPv6, RFC 1112 section 6.4 for
/// IPv4, and broadcast for directed broadcasts (the last address of a places' /24) and ARP requests. `None`
/// for a unicast packet.
pub(crate) fn group_of(packet: &[u8]) -> Option<[u8; 6]> {
    const EVERYBODY: [u8; 6] = [0xff; 6];
    match packet.first()? >> 4 {
        6 => match packet.get(24..40)? {
            [0xff, .., a, b, c, d] => Some([0x33, 0x33, *a, *b, *c, *d]),
            _ => None,
        },
        4 => match packet.get(16..20)? {
            [224..=239, b, c, d] => Some([0x01, 0x00, 0x5e, b & 0x7f, *c, *d]),
            [_, _, _, 255] => Some(EVERYBODY),
            _ => None,
        },
        // The operation of an ARP packet: 1 is a question.
        _ => (packet.get(6..8)? == [0, 1]).then_some(EVERYBODY),
    }
}

/// Whether a packet comes from a link-local IPv6 address, as those of routing protocols and neighbour
/// discovery do.
pub(crate) fn is_link_local(packet: &[u8]) -> bool {
    matches!(packet, [version, _, _, _, _, _, _, _, 0xfe, 0x80..=0xbf, ..] if version >> 4 == 6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_packet_comes_out_of_the_frame_it_was_put_in(version in prop::sample::select(vec![0u8, 4, 6]),
                                                        rest: Vec<u8>) {
            let packet: Vec<u8> = std::iter::once(version << 4).chain(rest).collect();
            let mut frame = Vec::new();
            frame_into(&mut frame, [1; 6], [2; 6], &packet);
            prop_assert_eq!(packet_of(&frame), Some(&packet[..]));
            prop_assert_eq!(&frame[..12], &[2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1]);
        }

        #[test]
        fn any_octets_are_carried_or_refused(frame: Vec<u8>) {
            let _ = packet_of(&frame);
            let group = group_of(&frame);
            prop_assert!(group.is_none_or(is_group));
            let _ = is_link_local(&frame);
        }
    }

    #[test]
    fn groups_are_known_by_the_address_in_the_packet() {
        let ipv4 = |to: [u8; 4]| [&[0x45; 16][..], &to].concat();
        assert_eq!(group_of(&ipv4([10, 78, 0, 255])), Some([0xff; 6]));
        assert_eq!(group_of(&ipv4([224, 0, 0, 5])), Some([0x01, 0, 0x5e, 0, 0, 5]));
        assert_eq!(group_of(&ipv4([10, 78, 0, 5])), None);
        let mut ipv6 = [0; 40];
        ipv6[0] = 0x60;
        ipv6[8..10].copy_from_slice(&[0xfe, 0x80]);
        assert_eq!((group_of(&ipv6), is_link_local(&ipv6)), (None, true));
        ipv6[24] = 0xff;
        ipv6[36..].copy_from_slice(&[0, 1, 0, 6]);
        assert_eq!(group_of(&ipv6), Some([0x33, 0x33, 0, 1, 0, 6]));
        assert!(!is_link_local(&ipv4([10, 78, 0, 5])));
    }

    #[test]
    fn other_protocols_are_not_carried() {
        let mut frame = Vec::new();
        frame_into(&mut frame, [1; 6], [2; 6], &[0x45; 20]);
        frame[12..14].copy_from_slice(&[0x88, 0xcc]);
        assert_eq!(packet_of(&frame), None);
    }
}
