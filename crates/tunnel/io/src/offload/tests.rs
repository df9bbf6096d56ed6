use super::*;
use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TransportSlice};
use proptest::prelude::*;

/// Parameters of a packet.
#[derive(Debug, Clone, Copy, Default)]
struct Form {
    v6: bool,
    port: u16,
    id: u16,
    sequence: u32,
    acknowledgement: u32,
    push: bool,
    fin: bool,
    cwr: bool,
}

fn tcp(form: Form, payload: &[u8]) -> Vec<u8> {
    let ip = if form.v6 {
        PacketBuilder::ipv6([1; 16], [2; 16], 64)
    } else {
        let header = etherparse::Ipv4Header {
            identification: form.id,
            ..etherparse::Ipv4Header::new(0, 64, 6.into(), [10, 0, 0, 1], [10, 0, 0, 2]).unwrap()
        };
        PacketBuilder::ip(etherparse::IpHeaders::Ipv4(header, Default::default()))
    };
    let mut tcp = etherparse::TcpHeader::new(form.port, 80, form.sequence, 500);
    tcp.ack = true;
    tcp.acknowledgment_number = form.acknowledgement;
    (tcp.psh, tcp.fin, tcp.cwr) = (form.push, form.fin, form.cwr);
    tcp.set_options(&[etherparse::TcpOptionElement::Timestamp(7, 9)]).unwrap();
    let mut packet = Vec::new();
    ip.tcp_header(tcp).write(&mut packet, payload).unwrap();
    packet
}

fn udp(v6: bool, payload: &[u8]) -> Vec<u8> {
    datagram(Form { v6, port: 1, ..Form::default() }, true, payload)
}

/// A UDP datagram, which routers may fragment unless `is_atomic`.
fn datagram(form: Form, is_atomic: bool, payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    let ip = if form.v6 {
        PacketBuilder::ipv6([1; 16], [2; 16], 64)
    } else {
        let header = etherparse::Ipv4Header {
            identification: form.id,
            dont_fragment: is_atomic,
            ..etherparse::Ipv4Header::new(0, 64, 17.into(), [10, 0, 0, 1], [10, 0, 0, 2]).unwrap()
        };
        PacketBuilder::ip(etherparse::IpHeaders::Ipv4(header, Default::default()))
    };
    ip.udp(form.port, 2).write(&mut packet, payload).unwrap();
    packet
}

fn assert_checksums_are_right(packet: &[u8]) {
    let sliced = SlicedPacket::from_ip(packet).unwrap();
    match (sliced.net.unwrap(), sliced.transport.unwrap()) {
        (NetSlice::Ipv4(ip), transport) => {
            let ip = ip.header();
            assert_eq!(ip.to_header().calc_header_checksum(), ip.header_checksum());
            match transport {
                TransportSlice::Tcp(tcp) => {
                    let right = tcp.calc_checksum_ipv4(ip.source(), ip.destination()).unwrap();
                    assert_eq!(right, tcp.checksum());
                }
                TransportSlice::Udp(udp) => {
                    let header = udp.to_header();
                    let right = header.calc_checksum_ipv4(&ip.to_header(), udp.payload()).unwrap();
                    assert_eq!(right, udp.checksum());
                }
                _ => panic!("neither TCP nor UDP"),
            }
        }
        (NetSlice::Ipv6(ip), transport) => {
            let ip = ip.header();
            match transport {
                TransportSlice::Tcp(tcp) => {
                    let right = tcp.calc_checksum_ipv6(ip.source(), ip.destination()).unwrap();
                    assert_eq!(right, tcp.checksum());
                }
                TransportSlice::Udp(udp) => {
                    let header = udp.to_header();
                    let right = header.calc_checksum_ipv6(&ip.to_header(), udp.payload()).unwrap();
                    assert_eq!(right, udp.checksum());
                }
                _ => panic!("neither TCP nor UDP"),
            }
        }
        _ => panic!("no IP"),
    }
}

/// The packets that `split` makes of a header and a packet.
fn cut(mut written: Vec<u8>) -> Vec<Vec<u8>> {
    let front = read_front(&written).unwrap();
    let mut packets = Vec::new();
    split(&front, &mut written[FRONT_BYTES..], |packet| packets.push(packet.to_vec())).unwrap();
    packets
}

/// The coalescer's output for these packets, and the packets after cutting it again.
fn through(packets: &[Vec<u8>]) -> (usize, Vec<Vec<u8>>) {
    let (mut coalescer, mut written) = (Coalescer::new(true), Vec::new());
    let mut keep = |bytes: &[u8]| {
        written.push(bytes.to_vec());
        Ok(())
    };
    for packet in packets {
        coalescer.add(packet, &mut keep).unwrap();
    }
    coalescer.flush(&mut keep).unwrap();
    (written.len(), written.into_iter().flat_map(cut).collect())
}

/// A connection's data in packets of `segment_bytes`.
fn stream(first: Form, data: &[u8], segment_bytes: usize) -> Vec<Vec<u8>> {
    let chunks = data.chunks(segment_bytes).enumerate();
    chunks
        .map(|(index, payload)| {
            let form = Form {
                id: first.id.wrapping_add(index as u16),
                sequence: first.sequence.wrapping_add((index * segment_bytes) as u32),
                push: first.push && (index + 1) * segment_bytes >= data.len(),
                ..first
            };
            tcp(form, payload)
        })
        .collect()
}

proptest! {
    #[test]
    fn a_stream_is_put_together_and_cut_into_the_same_packets(
        v6: bool, push: bool, id: u16, sequence: u32,
        data in prop::collection::vec(any::<u8>(), 1..60_000),
        segment_bytes in 500usize..1460,
    ) {
        let form = Form { v6, id, sequence, push, ..Form::default() };
        let packets = stream(form, &data, segment_bytes);
        let (written, cut) = through(&packets);
        prop_assert_eq!(written, 1);
        prop_assert_eq!(cut, packets);
    }

    #[test]
    fn datagrams_are_put_together_and_cut_into_the_same_datagrams(
        v6: bool, id: u16, count in 2usize..64, payload_bytes in 1usize..1000, last_bytes in 1usize..1000,
    ) {
        let datagrams: Vec<_> = (0..count)
            .map(|index| {
                let bytes = if index + 1 == count { last_bytes.min(payload_bytes) } else { payload_bytes };
                let form = Form { v6, id: id.wrapping_add(index as u16), port: 9, ..Form::default() };
                datagram(form, index % 2 == 0 && v6, &vec![index as u8; bytes])
            })
            .collect();
        let (written, cut) = through(&datagrams);
        prop_assert_eq!(written, 1);
        prop_assert_eq!(cut, datagrams);
    }

    #[test]
    fn what_is_put_together_of_several_connections_comes_out_in_order_within_each(
        picks in prop::collection::vec((0u16..12, 0usize..3, any::<bool>(), any::<bool>()), 1..80),
    ) {
        let mut next = [(0u16, 0u32); 12];
        let packets: Vec<_> = picks
            .into_iter()
            .map(|(port, size, push, fin)| {
                let payload = vec![port as u8; [0, 400, 1000][size]];
                let (id, sequence) = next[usize::from(port)];
                next[usize::from(port)] = (id + 1, sequence + payload.len() as u32);
                tcp(Form { port, id, sequence, push, fin, v6: port % 2 == 0, ..Form::default() }, &payload)
            })
            .collect();
        let (_, cut) = through(&packets);
        prop_assert_eq!(cut.len(), packets.len());
        for port in 0..12u16 {
            let of = |packets: &[Vec<u8>]| -> Vec<Vec<u8>> {
                let at = |packet: &[u8]| if packet[0] >> 4 == 4 { 20 } else { 40 };
                let is = |packet: &&Vec<u8>| packet[at(packet)..at(packet) + 2] == port.to_be_bytes();
                packets.iter().filter(is).cloned().collect()
            };
            prop_assert_eq!(of(&cut), of(&packets));
        }
    }

    #[test]
    fn whatever_the_front_says_nothing_panics_and_what_is_cut_is_no_longer_than_the_whole(
        front in any::<[u8; FRONT_BYTES]>(),
        gso_type in 0u8..6,
        v6: bool,
        mut tail in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        if let Some(first) = tail.first_mut() { *first = if v6 { 0x60 } else { 0x45 }; }
        let mut front = read_front(&front).unwrap();
        front.gso_type = gso_type;
        front.csum_start %= 100;
        let whole = tail.len();
        let _ = split(&front, &mut tail, |packet| assert!(packet.len() <= whole));
    }
}

#[test]
fn a_packet_with_a_wrong_checksum_goes_alone_and_as_it_is() {
    for damaged in 0..3 {
        let mut packets = stream(Form::default(), &[7; 3000], 1000);
        packets[damaged][60] ^= 1;
        let (written, cut) = through(&packets);
        assert_eq!(cut, packets);
        assert_eq!(written, [2, 3, 2][damaged]);
    }
}

#[test]
fn what_differs_in_more_than_place_is_not_put_together() {
    let form = Form { sequence: 1000, id: 1, ..Form::default() };
    let first = tcp(Form { sequence: 0, id: 0, ..form }, &[1; 1000]);
    for (why, second) in [
        ("another acknowledgement", Form { acknowledgement: 1, ..form }),
        ("a gap", Form { sequence: 1001, ..form }),
        ("another identification", Form { id: 9, ..form }),
        ("the end of the connection", Form { fin: true, ..form }),
        ("a reduced window", Form { cwr: true, ..form }),
        ("another connection", Form { port: 5, ..form }),
    ] {
        let packets = [first.clone(), tcp(second, &[2; 1000])];
        let (written, cut) = through(&packets);
        assert_eq!((written, &cut[..]), (2, &packets[..]), "{why}");
    }
    let mut other_class = tcp(form, &[2; 1000]);
    other_class[1] = 0b11; // CE: the IP header's checksum is wrong now, as after a careless router
    assert_eq!(through(&[first, other_class]).0, 2);
}

/// Packets of one identification are put together, and differ in nothing else after it.
fn assert_only_the_identification_changes(all: Vec<Vec<u8>>) {
    let (written, cut) = through(&all);
    assert_eq!((written, cut.len()), (1, 5));
    for (index, (mut was, is)) in all.into_iter().zip(cut).enumerate() {
        assert_checksums_are_right(&is);
        assert_eq!(usize::from(u16_at(&is, 4).unwrap()), index);
        was[4..6].copy_from_slice(&is[4..6]);
        was[10..12].copy_from_slice(&is[10..12]);
        assert_eq!(was, is);
    }
}

#[test]
fn segments_of_one_identification_keep_all_but_this() {
    let segment = |index: u8| {
        let form = Form { id: 0, sequence: u32::from(index) * 700, ..Form::default() };
        tcp(form, &[index; 700])
    };
    assert_only_the_identification_changes((0..5).map(segment).collect());
}

#[test]
fn datagrams_of_an_unconnected_socket_keep_all_but_their_meaningless_identification() {
    assert_only_the_identification_changes((0..5).map(|content| udp(false, &[content; 700])).collect());
    // A router may cut them: their pieces need different identifications.
    let fragile = [0, 1].map(|content| datagram(Form::default(), false, &[content; 700]));
    assert_eq!(through(&fragile), (2, fragile.to_vec()));
}

#[test]
fn datagrams_that_differ_in_more_than_content_go_alone() {
    let form = Form { port: 9, id: 1, ..Form::default() };
    let first = datagram(Form { id: 0, ..form }, true, &[1; 700]);
    let without_checksum = {
        let mut packet = datagram(form, true, &[2; 700]);
        put_u16(&mut packet, 26, 0);
        packet
    };
    let damaged = {
        let mut packet = datagram(form, true, &[2; 700]);
        packet[100] ^= 1;
        packet
    };
    for (why, second) in [
        ("longer than the first", datagram(form, true, &[2; 701])),
        ("empty", datagram(form, true, &[])),
        ("another port", datagram(Form { port: 8, ..form }, true, &[2; 700])),
        ("another identification", datagram(Form { id: 7, ..form }, true, &[2; 700])),
        ("no checksum", without_checksum),
        ("a wrong checksum", damaged),
        ("another protocol", tcp(form, &[2; 700])),
    ] {
        let packets = [first.clone(), second];
        assert_eq!(through(&packets), (2, packets.to_vec()), "{why}");
    }
    let (mut coalescer, mut written) = (Coalescer::default(), 0);
    let mut count = |_: &[u8]| {
        written += 1;
        Ok(())
    };
    for id in 0..3 {
        coalescer.add(&datagram(Form { id, ..form }, true, &[1; 700]), &mut count).unwrap();
    }
    coalescer.flush(&mut count).unwrap();
    assert_eq!(written, 3, "an older kernel takes each alone");
}

#[test]
fn fin_and_psh_are_the_last_packets_and_cwr_the_firsts() {
    let mut whole = vec![0; FRONT_BYTES];
    whole.extend(tcp(Form { push: true, fin: true, cwr: true, ..Form::default() }, &[3; 2500]));
    let front = Front {
        flags: NEEDS_CHECKSUM,
        gso_type: TCP_V4 | ECN,
        hdr_len: 0,
        gso_size: 1000,
        csum_start: 20,
        csum_offset: 16,
    };
    write_front(front, &mut whole).unwrap();
    let packets = cut(whole);
    let flags: Vec<u8> = packets.iter().map(|packet| packet[33]).collect();
    assert_eq!(flags, [ACK | CWR, ACK, ACK | PSH | FIN]);
    packets.iter().for_each(|packet| assert_checksums_are_right(packet));
}

#[test]
fn datagrams_of_one_size_are_cut_with_lengths_and_checksums_of_their_own() {
    for v6 in [false, true] {
        let mut whole = vec![0; FRONT_BYTES];
        whole.extend(udp(v6, &[5; 2500]));
        let front = Front {
            flags: NEEDS_CHECKSUM,
            gso_type: UDP_BOTH,
            gso_size: 1200,
            csum_start: if v6 { 40 } else { 20 },
            csum_offset: 6,
            hdr_len: 0,
        };
        write_front(front, &mut whole).unwrap();
        let packets = cut(whole);
        assert_eq!(packets.len(), 3);
        assert_eq!(packets[2].len(), if v6 { 148 } else { 128 });
        packets.iter().for_each(|packet| assert_checksums_are_right(packet));
    }
}

#[test]
fn a_checksum_that_the_kernel_left_to_the_device_is_completed() {
    for v6 in [false, true] {
        let ip_header_bytes = if v6 { 40 } else { 20 };
        // One of the payloads has a zero checksum, which UDP sends as ones.
        for value in 0..=u16::MAX {
            let mut packet = udp(v6, &value.to_be_bytes());
            let right = packet.clone();
            let sum = pseudo_header_sum(&packet, UDP, packet.len() - ip_header_bytes);
            put_u16(&mut packet, ip_header_bytes + 6, tun_rs::checksum(&[], sum));
            let front = Front {
                flags: NEEDS_CHECKSUM,
                csum_start: ip_header_bytes as u16,
                csum_offset: 6,
                ..Front::default()
            };
            split(&front, &mut packet, |packet| assert_eq!(packet, right)).unwrap();
        }
    }
}
