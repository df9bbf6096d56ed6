//! The same packets are found in every file format and on every link type.

use crate::made::*;

const ETHERNET: u32 = 1;
const IEEE802_11: u32 = 105;
const RADIOTAP: u32 = 127;

fn packets() -> Vec<Vec<u8>> {
    vec![tcp_down(0, 1, &noise(1, 700)), udp_v6(5000, 53, &noise(2, 90)), tcp_up(0, 80, 1, &noise(3, 33))]
}

fn expected() -> Vec<Vec<u8>> {
    vec![noise(1, 700), noise(2, 90), noise(3, 33)]
}

/// Asserts that exactly the packets in these frames are found.
fn assert_found(link_type: u32, frames: &[Vec<u8>]) {
    let file = pcap(link_type, frames);
    let reading = read(&file).unwrap();
    assert_eq!(reading.payloads, expected(), "link type {link_type}");
    assert_eq!(reading.damage, None);
    assert_eq!(reading.dissector.frames().frames, frames.len() as u64);
}

fn framed(frame: impl Fn(&[u8]) -> Vec<u8>) -> Vec<Vec<u8>> {
    packets().iter().map(|packet| frame(packet)).collect()
}

fn ethernet_frames() -> Vec<Vec<u8>> {
    framed(|packet| ethernet(ether_type(packet), packet))
}

#[test]
fn both_byte_orders_and_both_time_units_of_pcap_are_read() {
    for order in [Order::Little, Order::Big] {
        for magic in [MICROSECONDS, NANOSECONDS] {
            let reading = read(&pcap_as(order, magic, ETHERNET, &ethernet_frames())).unwrap();
            assert_eq!(reading.payloads, expected(), "{order:?} {magic:x}");
        }
    }
}

#[test]
fn both_byte_orders_of_pcapng_are_read_and_a_section_may_follow_of_the_other() {
    let frames = ethernet_frames();
    for order in [Order::Little, Order::Big] {
        assert_eq!(read(&pcapng(order, 1, &frames)).unwrap().payloads, expected(), "{order:?}");
    }
    let file = [pcapng(Order::Little, 1, &frames[..1]), pcapng(Order::Big, 101, &packets()[1..])].concat();
    assert_eq!(read(&file).unwrap().payloads, expected());
}

#[test]
fn packed_captures_are_read_and_so_are_several_packed_pieces_in_one() {
    let file = pcap(ETHERNET, &ethernet_frames());
    let zstd = zstd::encode_all(&file[..], 1).unwrap();
    for packed in [gzip(&file), xz(&file), zstd] {
        assert_eq!(read(&packed).unwrap().payloads, expected());
    }
    let (front, back) = file.split_at(400);
    for pieces in [[gzip(front), gzip(back)], [xz(front), xz(back)]] {
        assert_eq!(read(&pieces.concat()).unwrap().payloads, expected());
    }
}

#[test]
fn ethernet_may_have_tags_labels_and_ppp() {
    assert_found(ETHERNET, &ethernet_frames());
    assert_found(
        ETHERNET,
        &framed(|p| ethernet(0x8100, &[&[0, 5][..], &ether_type(p).to_be_bytes(), p].concat())),
    );
    assert_found(
        ETHERNET,
        &framed(|p| {
            let inner = [&[0, 6][..], &ether_type(p).to_be_bytes(), p].concat();
            ethernet(0x88a8, &[&[0, 5, 0x81, 0][..], &inner].concat())
        }),
    );
    assert_found(ETHERNET, &framed(|p| ethernet(0x8847, &[&[0, 1, 0, 64, 0, 2, 1, 64][..], p].concat())));
    assert_found(
        ETHERNET,
        &framed(|p| {
            let protocol: u8 = if p[0] >> 4 == 4 { 0x21 } else { 0x57 };
            ethernet(0x8864, &[&[0x11, 0, 0, 9, 0, 0, 0, protocol][..], p].concat())
        }),
    );
}

#[test]
fn padding_behind_a_packet_is_not_payload() {
    assert_found(ETHERNET, &framed(|p| [ethernet(ether_type(p), p), vec![0; 40]].concat()));
}

#[test]
fn cooked_raw_and_loopback_captures_are_read() {
    let cooked_v1 = |p: &[u8]| {
        [&[0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0][..], &ether_type(p).to_be_bytes(), p].concat()
    };
    let cooked_v2 = |p: &[u8]| [&ether_type(p).to_be_bytes()[..], &[0; 18], p].concat();
    assert_found(113, &framed(cooked_v1));
    assert_found(276, &framed(cooked_v2));
    for raw in [12, 14, 101] {
        assert_found(raw, &packets());
    }
    assert_found(0, &framed(|p| [&[if p[0] >> 4 == 4 { 2 } else { 30 }, 0, 0, 0][..], p].concat()));
    assert_found(108, &framed(|p| [&[0, 0, 0, if p[0] >> 4 == 4 { 2 } else { 24 }][..], p].concat()));
}

/// Puts a packet into a frame with this sequence number.
type Shape<'a> = &'a dyn Fn(u16, &[u8]) -> Vec<u8>;

/// Data frames of every form, each with its own sequence number.
fn wireless_frames(around: impl Fn(Vec<u8>) -> Vec<u8>) -> Vec<Vec<Vec<u8>>> {
    const FROM_DS: u8 = 2;
    let shapes: [Shape<'_>; 6] = [
        &|number, p| ieee80211(0x08, FROM_DS, number, &snap(p)),
        &|number, p| ieee80211(0x88, FROM_DS, number, &[&[0, 0][..], &snap(p)].concat()),
        // QoS and HT control.
        &|number, p| ieee80211(0x88, 0x82, number, &[&[0; 6][..], &snap(p)].concat()),
        // Four addresses.
        &|number, p| ieee80211(0x08, 3, number, &[&[9; 6][..], &snap(p)].concat()),
        // Mesh: four addresses, QoS with mesh control of one more address.
        &|number, p| {
            ieee80211(
                0x88,
                3,
                number,
                &[&[9; 6][..], &[0, 1], &[1, 31, 0, 0, 0, 7, 8, 8, 8, 8, 8, 8], &snap(p)].concat(),
            )
        },
        // The bridge tunnel's SNAP.
        &|number, p| {
            let mut tunnelled = snap(p);
            tunnelled[5] = 0xf8;
            ieee80211(0x08, FROM_DS, number, &tunnelled)
        },
    ];
    let frames_of =
        |shape: Shape<'_>| (1..).zip(packets()).map(|(number, p)| around(shape(number, &p))).collect();
    shapes.into_iter().map(frames_of).collect()
}

#[test]
fn wireless_data_frames_of_every_shape_are_read() {
    for frames in wireless_frames(|frame| frame) {
        assert_found(IEEE802_11, &frames);
    }
}

#[test]
fn radiotap_headers_of_any_length_are_passed_over() {
    // Without fields; with a timestamp, flags with FCS, and a rate; with a second word of flags.
    let plain = |frame: Vec<u8>| [vec![0, 0, 8, 0, 0, 0, 0, 0], frame].concat();
    let fields = |frame: Vec<u8>| {
        [vec![0, 0, 18, 0, 7, 0, 0, 0], vec![1; 8], vec![0x10, 2], frame, vec![7; 4]].concat()
    };
    let long = |frame: Vec<u8>| {
        [vec![0, 0, 13, 0, 2, 0, 0, 0x80, 0, 0, 0, 0], vec![0x10], frame, vec![7; 4]].concat()
    };
    for frames in [wireless_frames(plain), wireless_frames(fields), wireless_frames(long)].concat() {
        assert_found(RADIOTAP, &frames);
    }
}

#[test]
fn padding_between_the_header_and_the_body_is_passed_over_when_radiotap_says_so() {
    let padded = |frame: Vec<u8>| [&[0, 0, 9, 0, 2, 0, 0, 0, 0x20][..], &frame].concat();
    let frames: Vec<_> = (1..)
        .zip(packets())
        .map(|(number, p)| padded(ieee80211(0x88, 2, number, &[&[0, 0, 0xee, 0xee][..], &snap(&p)].concat())))
        .collect();
    assert_found(RADIOTAP, &frames);
}

#[test]
fn an_aggregate_holds_several_packets() {
    let mut body = vec![0x80, 0];
    for packet in packets() {
        let start = body.len() - 2;
        let payload = snap(&packet);
        body.extend([4; 12]);
        body.extend((payload.len() as u16).to_be_bytes());
        body.extend(payload);
        body.resize(2 + start + (body.len() - 2 - start).next_multiple_of(4), 0);
    }
    let reading = read(&pcap(IEEE802_11, &[ieee80211(0x88, 2, 1, &body)])).unwrap();
    assert_eq!(reading.payloads, expected());
    assert_eq!(reading.dissector.frames().ip_packets, 3);
}

#[test]
fn what_the_radio_encrypted_is_counted_and_not_looked_into() {
    let protected = ieee80211(0x08, 0x42, 1, &snap(&packets()[0]));
    let beacon = vec![0x80, 0, 0, 0];
    let reading = read(&pcap(IEEE802_11, &[protected, beacon])).unwrap();
    assert!(reading.payloads.is_empty());
    assert_eq!(reading.dissector.frames().protected_frames, 1);
    assert_eq!(reading.dissector.frames().other_frames, 1);
}

#[test]
fn a_retry_of_the_frame_before_is_dropped_and_one_whose_first_was_not_heard_is_not() {
    const RETRY: u8 = 0x08;
    let body = |seed| snap(&udp_v6(5000, 53, &noise(seed, 50)));
    let frames = [
        ieee80211(0x08, 2, 1, &body(1)),
        ieee80211(0x08, 2 | RETRY, 1, &body(1)),
        ieee80211(0x08, 2 | RETRY, 2, &body(2)),
        ieee80211(0x08, 2, 3, &body(2)),
    ];
    let reading = read(&pcap(IEEE802_11, &frames)).unwrap();
    assert_eq!(reading.payloads, [noise(1, 50), noise(2, 50), noise(2, 50)]);
    assert_eq!(reading.dissector.frames().link_retries, 1);
}

#[test]
fn frames_that_are_not_ip_and_links_that_are_not_known_are_counted() {
    let arp = ethernet(0x0806, &[0; 28]);
    let bpdu = ethernet(38, &[0x42, 0x42, 3]);
    let runt = vec![1, 2, 3];
    let reading = read(&pcap(ETHERNET, &[arp, bpdu, runt])).unwrap();
    assert_eq!(reading.dissector.frames().other_frames, 2);
    assert_eq!(reading.dissector.frames().malformed_frames, 1);
    let reading = read(&pcap(195, &[vec![0; 40]])).unwrap();
    assert_eq!(reading.dissector.frames().unknown_link_frames, 1);
}
