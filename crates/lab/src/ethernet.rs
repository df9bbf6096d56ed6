//! The Ethernet header of a TAP: taken off, and put on again.

/// Octets of the header: two addresses and a type (IEEE 802.3).
pub(crate) const HEADER_BYTES: usize = 14;

const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
const ARP: [u8; 2] = [0x08, 0x06];

/// The packet in a frame. `None` for what this lab does not carry: anything but IPv4, IPv6 and ARP.
pub(crate) fn packet_of(frame: &[u8]) -> Option<&[u8]> {
    let (header, packet) = frame.split_at_checked(HEADER_BYTES)?;
    let kind = [header[12], header[13]];
    [IPV4, IPV6, ARP].contains(&kind).then_some(packet)
}

/// Appends a frame around `packet`. Its type follows from the packet's first four bits, which are the version of
/// IP and 0 in ARP (the hardware type); a corrupted packet may thus get a wrong type, and is then refused by the
/// receiver as a wrong version would be.
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
        }
    }

    #[test]
    fn other_protocols_are_not_carried() {
        let mut frame = Vec::new();
        frame_into(&mut frame, [1; 6], [2; 6], &[0x45; 20]);
        frame[12..14].copy_from_slice(&[0x88, 0xcc]);
        assert_eq!(packet_of(&frame), None);
    }
}
