//! Clamps the maximum segment size in TCP's SYN to the tunnel's MTU.
//!
//! A host with its TCP connection on the tunnel's interface knows the interface's MTU. A host behind it
//! learns it by ICMP, which is often lost, but every host respects the option in the SYN. Each node clamps
//! the SYNs that enter the tunnel on its side, which is one in each direction of a connection. (RFC 9293,
//! section 3.7.1.)

const TCP: u8 = 6;
const TCP_HEADER_BYTES: usize = 20;
const SYN: u8 = 0x02;
const OPTION_END: u8 = 0;
const OPTION_NOP: u8 = 1;
const OPTION_MSS: u8 = 2;
/// The most IPv6 extension headers before TCP. An ordinary SYN has no more.
const EXTENSION_HEADERS: usize = 4;

/// Lowers the MSS option of a TCP SYN over IPv4 or IPv6 so that a full segment fits `mtu`. The checksum is
/// updated. Returns whether the packet changed.
pub fn clamp(packet: &mut [u8], mtu: u16) -> bool {
    let Some((ip_header_bytes, tcp)) = tcp_of(packet) else { return false };
    let largest = mtu.saturating_sub(ip_header_bytes + TCP_HEADER_BYTES as u16);
    let Some(tcp) = packet.get_mut(tcp..) else { return false };
    let Some(at) = mss_option(tcp) else { return false };
    let announced = u16::from_be_bytes([tcp[at], tcp[at + 1]]);
    if announced <= largest {
        return false;
    }
    tcp[at..at + 2].copy_from_slice(&largest.to_be_bytes());
    let checksum = u16::from_be_bytes([tcp[16], tcp[17]]);
    // An option at an odd offset spreads over two words of the sum, with swapped bytes.
    let (old, new) =
        if at % 2 == 0 { (announced, largest) } else { (announced.swap_bytes(), largest.swap_bytes()) };
    tcp[16..18].copy_from_slice(&updated_checksum(checksum, old, new).to_be_bytes());
    true
}

/// Start of TCP in a packet that is not a later fragment, and the length of the connection's usual IP header
/// (without extension headers and options).
fn tcp_of(packet: &[u8]) -> Option<(u16, usize)> {
    match packet.first()? >> 4 {
        4 => {
            let header = usize::from(packet[0] & 0x0f) * 4;
            let fragment_offset = u16::from_be_bytes([*packet.get(6)?, *packet.get(7)?]) & 0x1fff;
            (header >= 20 && *packet.get(9)? == TCP && fragment_offset == 0).then_some((20, header))
        }
        6 => {
            let (mut next, mut at) = (*packet.get(6)?, 40);
            for _ in 0..EXTENSION_HEADERS {
                match next {
                    TCP => return Some((40, at)),
                    // Hop-by-hop options, routing, destination options.
                    0 | 43 | 60 => {
                        next = *packet.get(at)?;
                        at += (usize::from(*packet.get(at + 1)?) + 1) * 8;
                    }
                    _ => return None,
                }
            }
            None
        }
        _ => None,
    }
}

/// Offset of the MSS option's two bytes in a SYN.
fn mss_option(tcp: &[u8]) -> Option<usize> {
    let header = usize::from(tcp.get(12)? >> 4) * 4;
    if tcp.get(13)? & SYN == 0 || header < TCP_HEADER_BYTES {
        return None;
    }
    let header = tcp.get(..header)?;
    let mut at = TCP_HEADER_BYTES;
    loop {
        match *header.get(at)? {
            OPTION_END => return None,
            OPTION_NOP => at += 1,
            kind => {
                let length = usize::from(*header.get(at + 1)?);
                if kind == OPTION_MSS && length == 4 && at + 4 <= header.len() {
                    return Some(at + 2);
                }
                if length < 2 {
                    return None;
                }
                at += length;
            }
        }
    }
}

/// Updates a checksum by RFC 1624, equation 3.
fn updated_checksum(checksum: u16, old: u16, new: u16) -> u16 {
    let mut sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{PacketBuilder, SlicedPacket, TcpOptionElement, TransportSlice};
    use proptest::prelude::*;

    fn syn(v6: bool, options: &[TcpOptionElement]) -> Vec<u8> {
        let mut packet = Vec::new();
        let ip = if v6 {
            PacketBuilder::ipv6([1; 16], [2; 16], 64)
        } else {
            PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        };
        ip.tcp(1, 2, 3, 4).syn().options(options).unwrap().write(&mut packet, &[]).unwrap();
        packet
    }

    fn announced(packet: &[u8]) -> u16 {
        let sliced = SlicedPacket::from_ip(packet).unwrap();
        let Some(TransportSlice::Tcp(tcp)) = sliced.transport else { panic!("no TCP") };
        let checksum = match &sliced.net {
            Some(etherparse::NetSlice::Ipv4(ip)) => {
                tcp.calc_checksum_ipv4(ip.header().source(), ip.header().destination())
            }
            Some(etherparse::NetSlice::Ipv6(ip)) => {
                tcp.calc_checksum_ipv6(ip.header().source(), ip.header().destination())
            }
            _ => panic!("no IP"),
        };
        assert_eq!(checksum.unwrap(), tcp.checksum(), "the checksum follows");
        let mss = tcp.options_iterator().find_map(|option| match option {
            Ok(TcpOptionElement::MaximumSegmentSize(mss)) => Some(mss),
            _ => None,
        });
        mss.unwrap()
    }

    #[test]
    fn a_syn_is_clamped_to_what_fits_in_both_families() {
        use TcpOptionElement::{MaximumSegmentSize, Noop, WindowScale};
        for (v6, largest) in [(false, 1360), (true, 1340)] {
            for options in [
                vec![MaximumSegmentSize(1460)],
                vec![Noop, MaximumSegmentSize(1460), WindowScale(7)],
                vec![WindowScale(7), MaximumSegmentSize(65535)],
            ] {
                let mut packet = syn(v6, &options);
                assert!(clamp(&mut packet, 1400));
                assert_eq!(announced(&packet), largest);
            }
        }
    }

    #[test]
    fn a_smaller_announcement_stays() {
        let mut packet = syn(false, &[TcpOptionElement::MaximumSegmentSize(536)]);
        let before = packet.clone();
        assert!(!clamp(&mut packet, 1400));
        assert_eq!(packet, before);
    }

    #[test]
    fn only_a_syn_is_touched() {
        let mut packet = Vec::new();
        PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
            .tcp(1, 2, 3, 4)
            .ack(9)
            .options(&[TcpOptionElement::MaximumSegmentSize(1460)])
            .unwrap()
            .write(&mut packet, &[0; 10])
            .unwrap();
        assert!(!clamp(&mut packet, 1400));
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic_or_change_the_length(
            mut packet in prop::collection::vec(any::<u8>(), 0..120),
            head in prop::sample::select(vec![0x45u8, 0x4f, 0x60, 0x00]),
            mtu in any::<u16>(),
        ) {
            if let Some(first) = packet.first_mut() { *first = head; }
            if let Some(protocol) = packet.get_mut(9) { *protocol = TCP; }
            clamp(&mut packet, mtu);
        }

        #[test]
        fn a_damaged_syn_changes_by_at_most_the_option_and_the_checksum(
            v6 in any::<bool>(), at in 0usize..60, value in any::<u8>(), mtu in 68u16..1500,
        ) {
            let mut packet = syn(v6, &[TcpOptionElement::Noop, TcpOptionElement::MaximumSegmentSize(1460)]);
            let length = packet.len();
            packet[at % length] = value;
            let before = packet.clone();
            clamp(&mut packet, mtu);
            let changed = before.iter().zip(&packet).filter(|(old, new)| old != new).count();
            prop_assert!(changed <= 4);
        }
    }
}
