//! Capture files: pcap and pcapng, as they are and packed, and the frames in them.

use crate::{Seed, pair};
use capture::{Batch, CaptureReader, Dissector, LinkType, Source};
use std::io::{Cursor, Write};

/// The bytes that are counted are those of the packets that are handed on, and no share exceeds the whole.
pub fn check(bytes: &[u8]) -> bool {
    let stream = Cursor::new(bytes.to_vec());
    let Ok(source) = Source::from_stream(stream, Some(bytes.len() as u64)) else { return false };
    let Ok(mut reader) = CaptureReader::new(source) else { return false };
    let (mut dissector, mut batch) = (Dissector::default(), Batch::default());
    let (mut new_bytes, mut repeated_bytes) = (0, 0);
    while let Some(frame) = reader.next_frame() {
        assert!(frame.original_bytes >= frame.bytes.len());
        dissector.dissect(&frame, &mut batch);
        for packet in batch.packets() {
            let payload_bytes = packet.payload().len() as u64;
            assert!(payload_bytes > 0 && packet.inner.total_bytes == packet.bytes.len());
            *if packet.retransmitted { &mut repeated_bytes } else { &mut new_bytes } += payload_bytes;
        }
        batch.clear();
    }
    assert_eq!(reader.next_frame(), None, "the end is the end");
    let traffic = dissector.traffic();
    assert_eq!(traffic.payload_bytes, new_bytes);
    assert!(traffic.retransmitted_bytes >= repeated_bytes);
    assert!(traffic.encrypted_bytes() <= new_bytes && traffic.to_client_bytes <= new_bytes);
    reader.damage().is_none() && traffic.payload_packets > 0
}

/// Both formats and byte orders, every kind of link, a packed file, and a retransmission.
pub fn seeds() -> Vec<Seed> {
    let ethernet = |packet: &[u8]| [&[2; 12][..], &[8, 0], packet].concat();
    let frames = |wrap: &dyn Fn(&[u8]) -> Vec<u8>| -> Vec<Vec<u8>> {
        [0, 1, 1, 2].map(|number| wrap(&pair::packet(number))).to_vec()
    };
    let raw = frames(&<[u8]>::to_vec);
    let in_ethernet = frames(&ethernet);
    let in_vlan = frames(&|packet| [&[2; 12][..], &[0x81, 0, 0, 5, 8, 0], packet].concat());
    let in_cooked = frames(&|packet| [&[0; 14][..], &[8, 0], packet].concat());
    let in_cooked2 = frames(&|packet| [&[8, 0][..], &[0; 18], packet].concat());
    let in_radiotap = frames(&|packet| [&RADIOTAP[..], &DATA_FRAME, packet].concat());
    let compressed = {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        packer.write_all(&pcap(LinkType::ETHERNET, &in_ethernet)).expect("writing to memory does not fail");
        packer.finish().expect("writing to memory does not fail")
    };
    [
        ("raw", pcap(LinkType::RAW, &raw)),
        ("ethernet", pcap(LinkType::ETHERNET, &in_ethernet)),
        ("vlan", pcap(LinkType::ETHERNET, &in_vlan)),
        ("cooked", pcap(LinkType::LINUX_SLL, &in_cooked)),
        ("cooked-v2", pcap(LinkType::LINUX_SLL2, &in_cooked2)),
        ("radiotap", pcap(LinkType::IEEE802_11_RADIOTAP, &in_radiotap)),
        ("pcapng", pcapng(LinkType::ETHERNET, &in_ethernet)),
        ("gzip", compressed),
    ]
    .map(|(name, bytes)| Seed { name, bytes })
    .to_vec()
}

/// Version 0, 8 bytes, nothing present.
const RADIOTAP: [u8; 8] = [0, 0, 8, 0, 0, 0, 0, 0];
/// A data frame from an access point, and the SNAP header of IPv4.
const DATA_FRAME: [u8; 32] =
    [8, 2, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 0, 0, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0];

/// A pcap file in big-endian order.
fn pcap(link: LinkType, frames: &[Vec<u8>]) -> Vec<u8> {
    let header = [0xa1b2_c3d4, 0x0002_0004, 0, 0, 65_535, u32::from(link.0)];
    let mut file: Vec<u8> = header.iter().flat_map(|number| number.to_be_bytes()).collect();
    for (second, frame) in (0..).zip(frames) {
        let length = frame.len() as u32;
        file.extend([second, 0, length, length].iter().flat_map(|number: &u32| number.to_be_bytes()));
        file.extend_from_slice(frame);
    }
    file
}

/// A pcapng file in little-endian order: a section, an interface, enhanced packets.
fn pcapng(link: LinkType, frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut block = |kind: u32, body: &[u8]| {
        let padding = body.len().next_multiple_of(4) - body.len();
        let length = (12 + body.len() + padding) as u32;
        file.extend_from_slice(&[kind.to_le_bytes(), length.to_le_bytes()].concat());
        file.extend_from_slice(body);
        file.extend_from_slice(&[0; 4][..padding]);
        file.extend_from_slice(&length.to_le_bytes());
    };
    block(0x0a0d_0d0a, &[&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat());
    block(1, &[&link.0.to_le_bytes()[..], &[0; 6]].concat());
    for (second, frame) in (0..).zip(frames) {
        let length = frame.len() as u32;
        let fields = [0, 0, second, length, length];
        let fields: Vec<u8> = fields.iter().flat_map(|number: &u32| number.to_le_bytes()).collect();
        block(6, &[&fields[..], frame].concat());
    }
    file
}
