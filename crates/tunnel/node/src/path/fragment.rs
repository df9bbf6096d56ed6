//! IPv4 packets that allow it are fragmented where they are too large for the path to the peer (RFC 791, 2.3
//! and 3.2).
//!
//! Before they enter the queue, as a router does before a narrower link: each fragment is a packet of its own
//! from then on, and the receiving host puts them together.

use etherparse::checksum::Sum16BitWords;

const HEADER_BYTES: usize = 20;
const DO_NOT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const OFFSET: u16 = 0x1fff;
/// An option with this bit goes into every fragment; the others stay in the first.
const OPTION_COPIED: u8 = 0x80;

/// Hands the fragments of `packet` to `each`, none longer than `limit` bytes. `false`: it must not be
/// fragmented, or is no whole IPv4 packet.
#[must_use]
pub fn fragment(packet: &[u8], limit: usize, mut each: impl FnMut(&[u8])) -> bool {
    let Some(first) = packet.first_chunk::<HEADER_BYTES>() else { return false };
    let header_bytes = usize::from(first[0] & 0x0f) * 4;
    let total_bytes = usize::from(u16::from_be_bytes([first[2], first[3]]));
    let field = u16::from_be_bytes([first[6], first[7]]);
    let whole = first[0] >> 4 == 4
        && (HEADER_BYTES..total_bytes).contains(&header_bytes)
        && total_bytes <= packet.len()
        && limit >= header_bytes + 8;
    if !whole || field & DO_NOT_FRAGMENT != 0 {
        return false;
    }
    let (header, mut rest) = packet[..total_bytes].split_at(header_bytes);
    let later = later_header(header);
    let mut header = header.to_vec();
    let mut offset = field & OFFSET;
    let mut fragment = Vec::with_capacity(limit);
    while !rest.is_empty() {
        let room = limit - header.len();
        let (part, behind) = rest.split_at(if rest.len() <= room { rest.len() } else { room & !7 });
        let more = if behind.is_empty() { field & MORE_FRAGMENTS } else { MORE_FRAGMENTS };
        // No longer than the packet, which has 16 bits for it.
        let length = (header.len() + part.len()) as u16;
        header[2..4].copy_from_slice(&length.to_be_bytes());
        header[6..8].copy_from_slice(&(more | offset & OFFSET).to_be_bytes());
        header[10..12].fill(0);
        let checksum = Sum16BitWords::new().add_slice(&header).ones_complement().to_be();
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
        fragment.clear();
        fragment.extend_from_slice(&header);
        fragment.extend_from_slice(part);
        each(&fragment);
        offset = offset.wrapping_add((part.len() / 8) as u16);
        rest = behind;
        header.clone_from(&later);
    }
    true
}

/// The header of every fragment but the first: with the options that are to be copied.
fn later_header(header: &[u8]) -> Vec<u8> {
    let (fixed, mut options) = header.split_at(HEADER_BYTES);
    let mut later = fixed.to_vec();
    while let [kind, rest @ ..] = options {
        let bytes = match (kind, rest) {
            (0, _) => break,
            (1, _) => 1,
            (_, [length, ..]) if (2..=options.len()).contains(&usize::from(*length)) => usize::from(*length),
            _ => break,
        };
        if kind & OPTION_COPIED != 0 {
            later.extend_from_slice(&options[..bytes]);
        }
        options = &options[bytes..];
    }
    later.resize(later.len().next_multiple_of(4), 0);
    later[0] = 0x40 | (later.len() / 4) as u8;
    later
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{IpFragOffset, IpNumber, Ipv4Header, Ipv4Options};
    use proptest::prelude::*;

    fn packet(payload: &[u8], options: &[u8], offset: u16, more: bool) -> Vec<u8> {
        let mut header =
            Ipv4Header::new(payload.len() as u16, 64, IpNumber::UDP, [10, 0, 0, 1], [10, 0, 0, 2]).unwrap();
        header.options = Ipv4Options::try_from(options).unwrap();
        header.set_payload_len(payload.len()).unwrap();
        (header.dont_fragment, header.more_fragments) = (false, more);
        header.fragment_offset = IpFragOffset::try_new(offset).unwrap();
        header.header_checksum = header.calc_header_checksum();
        let mut packet = header.to_bytes().to_vec();
        packet.extend_from_slice(payload);
        packet
    }

    #[test]
    fn what_must_not_be_fragmented_is_not() {
        let mut whole = packet(&[1; 900], &[], 0, false);
        whole[6] |= 0x40;
        assert!(!fragment(&whole, 576, |_| panic!("DF")));
    }

    proptest! {
        /// Put together again, the fragments are the packet; none is too long; each has a right checksum, and
        /// only the last says that none follows.
        #[test]
        fn fragments_make_up_the_packet(
            payload in proptest::collection::vec(any::<u8>(), 1..4000), limit in 100usize..1500,
            offset in 0u16..1000, more: bool, copied: bool, options in 0usize..3,
        ) {
            let option = [if copied { 0x94 } else { 0x44 }, 8, 1, 2, 3, 4, 5, 6];
            let payload = if more { &payload[..payload.len() & !7] } else { &payload[..] };
            prop_assume!(!payload.is_empty());
            let whole = packet(payload, &option.repeat(options), offset, more);
            let mut parts = Vec::new();
            prop_assert!(fragment(&whole, limit, |part| parts.push(part.to_vec())));
            let mut together = vec![0; payload.len()];
            for (at, part) in parts.iter().enumerate() {
                prop_assert!(part.len() <= limit);
                let (header, rest) = Ipv4Header::from_slice(part).unwrap();
                prop_assert_eq!(header.header_checksum, header.calc_header_checksum());
                prop_assert_eq!(usize::from(header.total_len), part.len());
                prop_assert_eq!(header.more_fragments, more || at + 1 < parts.len());
                prop_assert_eq!(header.options.len(), if at == 0 || copied { 8 * options } else { 0 });
                let start = usize::from(header.fragment_offset.value() - offset) * 8;
                together[start..start + rest.len()].copy_from_slice(rest);
            }
            prop_assert_eq!(&together[..], payload);
        }

        #[test]
        fn any_bytes_are_fragmented_or_refused(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..200), limit in 0usize..200,
        ) {
            if let Some(first) = bytes.first_mut() {
                *first = 0x40 | *first & 0x0f;
            }
            let _ = fragment(&bytes, limit, |part| assert!(part.len() <= limit));
        }
    }
}
