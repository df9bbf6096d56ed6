//! Explicit congestion notification (RFC 3168): a congested queue marks a packet instead of dropping it, if
//! the packet's sender says that it will understand.
//!
//! The two lowest bits of the traffic class say so: `00` knows nothing of it, `10` (ECT(0)) and `01` (ECT(1))
//! do, and `11` (CE) is the mark. A packet that came with the mark already carries the message, and is left
//! as it is (section 5). IPv4's header checksum is updated and not computed anew (RFC 1624): a header that
//! came damaged leaves damaged, so that the receiver notices.

/// Knows nothing of ECN.
pub const NOT_ECT: u8 = 0b00;
/// Understands ECN; what says so may be marked.
pub const ECT_1: u8 = 0b01;
/// As [`ECT_1`].
pub const ECT_0: u8 = 0b10;
/// The codepoint that is the mark, and the bits that hold the codepoint.
pub const CE: u8 = 0b11;

/// Marks an IP packet. Whether it bears the mark now; if not, its sender would not understand, and it is as
/// it was.
#[must_use]
pub fn mark(packet: &mut [u8]) -> bool {
    codepoint(packet) != NOT_ECT && set_codepoint(packet, CE)
}

/// The codepoint of an IP packet: of what is none, that which nothing is done to.
#[must_use]
pub fn codepoint(packet: &[u8]) -> u8 {
    traffic_class(packet) & CE
}

/// The traffic class of an IP packet, DSCP and codepoint; 0 of what is none.
#[must_use]
pub fn traffic_class(packet: &[u8]) -> u8 {
    match packet {
        [first, second, ..] if first >> 4 == 4 => *second,
        [first, second, ..] if first >> 4 == 6 => first << 4 | second >> 4,
        _ => 0,
    }
}

/// Gives an IP packet this codepoint. `false`: it has no whole header, and is as it was.
#[must_use]
pub fn set_codepoint(packet: &mut [u8], codepoint: u8) -> bool {
    match packet.first().map(|first| first >> 4) {
        Some(4) => set_ipv4(packet, codepoint),
        Some(6) => set_ipv6(packet, codepoint),
        _ => false,
    }
}

/// The codepoint is in the second byte, after the DSCP (RFC 791, RFC 2474).
fn set_ipv4(packet: &mut [u8], codepoint: u8) -> bool {
    let Some(header) = packet.first_chunk_mut::<20>() else { return false };
    let before = u16::from_be_bytes([header[0], header[1]]);
    header[1] = header[1] & !CE | codepoint;
    let after = u16::from_be_bytes([header[0], header[1]]);
    if after != before {
        let checksum = u16::from_be_bytes([header[10], header[11]]);
        [header[10], header[11]] = updated(checksum, before, after).to_be_bytes();
    }
    true
}

/// The codepoint is in the second byte's upper half: version, traffic class and flow label share the first
/// four (RFC 8200, 3). There is no header checksum, and TCP's and UDP's do not cover the traffic class.
fn set_ipv6(packet: &mut [u8], codepoint: u8) -> bool {
    let Some(header) = packet.first_chunk_mut::<40>() else { return false };
    header[1] = header[1] & !(CE << 4) | codepoint << 4;
    true
}

/// The internet checksum after one 16-bit word changed: RFC 1624, equation 3.
pub fn updated(checksum: u16, before: u16, after: u16) -> u16 {
    let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{IpDscp, IpEcn, Ipv4Header, Ipv6FlowLabel, Ipv6Header, Ipv6HeaderSlice};
    use proptest::prelude::*;

    fn ipv4(ecn: u8, dscp: u8, identification: u16, addresses: [[u8; 4]; 2]) -> Vec<u8> {
        let mut header =
            Ipv4Header::new(4, 64, etherparse::IpNumber::UDP, addresses[0], addresses[1]).unwrap();
        header.ecn = IpEcn::try_new(ecn).unwrap();
        header.dscp = IpDscp::try_new(dscp).unwrap();
        header.identification = identification;
        header.header_checksum = header.calc_header_checksum();
        let mut packet = Vec::new();
        header.write(&mut packet).unwrap();
        packet.extend_from_slice(b"data");
        packet
    }

    #[test]
    fn only_senders_that_understand_are_told() {
        for ecn in 0..4 {
            let mut v4 = ipv4(ecn, 46, 1, [[10, 0, 0, 1], [10, 0, 0, 2]]);
            let before = v4.clone();
            assert_eq!(mark(&mut v4), ecn != 0);
            assert_eq!(v4[1] & CE, if ecn == 0 { 0 } else { CE });
            assert_eq!(v4 == before, ecn == 0 || ecn == CE);
        }
    }

    #[test]
    fn ipv6_is_marked_and_nothing_else_of_it_changes() {
        for class in 0..=255u8 {
            let flow_label = Ipv6FlowLabel::try_new(0xf_fff0).unwrap();
            let header = Ipv6Header { traffic_class: class, flow_label, ..Ipv6Header::default() };
            let mut packet = header.to_bytes().to_vec();
            let marked = mark(&mut packet);
            assert_eq!(marked, class & CE != 0);
            let after = Ipv6HeaderSlice::from_slice(&packet).unwrap().to_header();
            let expected = if marked { class | CE } else { class };
            assert_eq!(after, Ipv6Header { traffic_class: expected, ..header });
        }
    }

    #[test]
    fn what_is_no_whole_header_is_left_alone() {
        for length in 0..40 {
            for first in 0..=255 {
                let mut packet = vec![0xff; length];
                packet.iter_mut().take(1).for_each(|byte| *byte = first);
                let whole = (first >> 4 == 4 && length >= 20) || (first >> 4 == 6 && length >= 40);
                assert_eq!(mark(&mut packet), whole);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn the_checksum_stays_right(
            ecn in 1u8..4, dscp in 0u8..64, identification: u16, addresses: [[u8; 4]; 2],
        ) {
            let mut packet = ipv4(ecn, dscp, identification, addresses);
            prop_assert!(mark(&mut packet));
            let (header, _) = Ipv4Header::from_slice(&packet).unwrap();
            prop_assert_eq!(header.ecn.value(), CE);
            prop_assert_eq!(header.dscp.value(), dscp);
            prop_assert_eq!(header.header_checksum, header.calc_header_checksum());
        }

        #[test]
        fn a_wrong_checksum_stays_wrong(addresses: [[u8; 4]; 2], flipped in 1u16..0xffff) {
            let mut packet = ipv4(1, 0, 7, addresses);
            packet[10] ^= (flipped >> 8) as u8;
            packet[11] ^= flipped as u8;
            let (header, _) = Ipv4Header::from_slice(&packet).unwrap();
            let was_right = header.header_checksum == header.calc_header_checksum();
            prop_assert!(mark(&mut packet));
            let (header, _) = Ipv4Header::from_slice(&packet).unwrap();
            prop_assert_eq!(header.header_checksum == header.calc_header_checksum(), was_right);
        }
    }
}
