//! Frames that an ear hears: of every kind of link, with the datagrams in them.

use crate::Seed;
use etherparse::PacketBuilder;
use wire::link::{LinkType, Unpacker};
use wire::udp::Datagram;

/// The kinds of link that an ear listens on, by the first byte.
const LINKS: [LinkType; 3] = [LinkType::ETHERNET, LinkType::IEEE802_11_RADIOTAP, LinkType::IEEE802_11];

/// A datagram lies within its packet and a packet within its frame. Bytes behind a packet's own length change
/// nothing. A frame that was heard before gives the same result, or counts as a repetition.
pub fn check(bytes: &[u8]) -> bool {
    let Some((link, frame)) = bytes.split_first() else { return false };
    let link_type = LINKS[usize::from(*link) % LINKS.len()];
    let mut unpacker = Unpacker::default();
    let mut hear = || {
        let mut said: Vec<Vec<u8>> = Vec::new();
        let heard = unpacker.unpack(link_type, frame, &mut |packet| {
            assert!(frame.as_ptr_range().start <= packet.as_ptr_range().start);
            assert!(packet.as_ptr_range().end <= frame.as_ptr_range().end);
            let Ok(Some(datagram)) = Datagram::parse(packet) else { return };
            assert!(packet.as_ptr_range().start < datagram.payload.as_ptr_range().start);
            assert!(datagram.payload.as_ptr_range().end <= packet.as_ptr_range().end);
            assert_eq!(datagram.source.is_ipv4(), datagram.destination.is_ipv4());
            let padded = [packet, &[0xff; 9]].concat();
            assert_eq!(Datagram::parse(&padded), Ok(Some(datagram)));
            said.push(datagram.payload.to_vec());
        });
        (heard, said)
    };
    let (heard, said) = hear();
    let (again, repeated) = hear();
    assert!((again, &repeated) == (heard, &said) || repeated.is_empty());
    heard.is_ok() && !said.is_empty()
}

/// Both versions of IP behind every header.
pub fn seeds() -> Vec<Seed> {
    let written = "writing to a buffer does not fail";
    let (mut v4, mut v6) = (vec![0x08, 0x00], vec![0x86, 0xdd]);
    let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(4780, 5000);
    builder.write(&mut v4, b"said to others").expect(written);
    let builder = PacketBuilder::ipv6([0xfd; 16], [0xfc; 16], 64).udp(4780, 5000);
    builder.write(&mut v6, b"said to others").expect(written);
    let data = |control: u8, more: &[u8], packet: &[u8]| {
        [&[control, 2][..], &ADDRESSES, more, &SNAP, packet].concat()
    };
    let subframe = |packet: &[u8]| {
        let length = (SNAP.len() + packet.len()) as u16;
        let subframe = [&[4; 12][..], &length.to_be_bytes(), &SNAP, packet].concat();
        let padding = subframe.len().next_multiple_of(4) - subframe.len();
        [subframe, vec![0; padding]].concat()
    };
    let aggregate = [&[0x88, 2][..], &ADDRESSES, &[0x80, 0], &subframe(&v4), &subframe(&v6)].concat();
    let tapped = |frame: Vec<u8>| [vec![1, 0, 0, 9, 0, 2, 0, 0, 0, 0x10], frame, vec![7; 4]].concat();
    let ethernet = |tags: &[u8], packet: &[u8]| [&[0][..], &[2; 12], tags, packet].concat();
    [
        ("ethernet-ipv4", ethernet(&[], &v4)),
        ("ethernet-ipv6", ethernet(&[], &v6)),
        ("ethernet-two-tags", ethernet(&[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6], &v4)),
        ("radiotap-ipv4", tapped(data(0x08, &[], &v4))),
        ("radiotap-qos-ipv6", tapped(data(0x88, &[0, 0], &v6))),
        ("radiotap-mesh", tapped(data(0x88, &[0, 1, 0, 31, 0, 0, 0, 7], &v4))),
        ("radiotap-aggregate", tapped(aggregate)),
        ("without-radiotap", [vec![2], data(0x08, &[], &v6)].concat()),
    ]
    .map(|(name, bytes)| Seed { name, bytes })
    .to_vec()
}

/// Fields of an 802.11 frame from duration to sequence control: fragment 0.
const ADDRESSES: [u8; 22] = [0, 0, 4, 4, 4, 4, 4, 4, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 0x10, 0];
/// LLC and SNAP, up to the EtherType.
const SNAP: [u8; 6] = [0xaa, 0xaa, 3, 0, 0, 0];
