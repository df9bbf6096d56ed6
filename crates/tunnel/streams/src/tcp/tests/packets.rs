//! Single packets: those that are taken, refused, and hostile ones.

use super::wire::{Pair, START, ends, read_all, settings};
use crate::tcp::segment::{Bare, Segment, flag};
use crate::tcp::{Connection, Settings, State, is_takeable_syn, write_reset};
use etherparse::{
    IpFragOffset, IpNumber, Ipv4Header, PacketBuilder, PacketBuilderStep, TcpHeader, TcpOptionElement,
};
use proptest::prelude::*;
use smoltcp::wire::TcpControl;
use std::net::SocketAddr;
use std::time::Duration;

type Tcp = PacketBuilderStep<TcpHeader>;

fn packet(is_v6: bool, payload: &[u8], with: impl FnOnce(Tcp) -> Tcp) -> Vec<u8> {
    let ip = if is_v6 {
        PacketBuilder::ipv6([0x20; 16], [0x21; 16], 64)
    } else {
        PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
    };
    let mut packet = Vec::new();
    with(ip.tcp(4000, 80, 1000, 65_000)).write(&mut packet, payload).unwrap();
    packet
}

#[test]
fn a_plain_syn_is_taken_and_no_other_packet() {
    for is_v6 in [false, true] {
        let syn = packet(is_v6, b"", |tcp| {
            let options = [
                TcpOptionElement::MaximumSegmentSize(1460),
                TcpOptionElement::SelectiveAcknowledgementPermitted,
                TcpOptionElement::Timestamp(1, 0),
                TcpOptionElement::Noop,
                TcpOptionElement::WindowScale(7),
            ];
            tcp.syn().options(&options).unwrap()
        });
        assert!(is_takeable_syn(&syn));
        assert!(is_takeable_syn(&packet(is_v6, b"", |tcp| tcp.syn().ece().cwr())));
        assert!(Connection::accept(START, &syn, settings(1)).is_some());
        for at in 0..syn.len() {
            assert!(!is_takeable_syn(&syn[..at]));
        }
        let mut damaged = syn.clone();
        damaged[syn.len() - 1] ^= 1;
        assert!(!is_takeable_syn(&damaged), "the checksum is wrong");
        assert!(!is_takeable_syn(&packet(is_v6, b"fast open", Tcp::syn)));
        let others: [fn(Tcp) -> Tcp; 5] = [
            |tcp| tcp,
            |tcp| tcp.syn().ack(1),
            |tcp| tcp.syn().fin(),
            |tcp| tcp.syn().rst(),
            |tcp| tcp.ack(1),
        ];
        for with in others {
            let other = packet(is_v6, b"", with);
            assert!(!is_takeable_syn(&other));
            assert!(Connection::accept(START, &other, settings(1)).is_none());
        }
        for options in [&[19, 18][..], &[29, 16], &[30, 12], &[2, 4, 0, 20], &[3, 40], &[254, 1]] {
            let mut raw = vec![0; 20];
            raw[..options.len()].copy_from_slice(options);
            let refused = packet(is_v6, b"", |tcp| tcp.syn().options_raw(&raw).unwrap());
            assert!(!is_takeable_syn(&refused), "{options:?}");
        }
        let fast_open = packet(is_v6, b"", |tcp| tcp.syn().options_raw(&[34, 2, 0, 0]).unwrap());
        assert!(is_takeable_syn(&fast_open), "a request for a cookie carries no bytes");
    }
}

#[test]
fn a_connection_begins_with_the_number_that_it_is_given() {
    for first_sequence in [0, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX, 0x0123_4567] {
        let mut sequences = Vec::new();
        for is_v6 in [false, true] {
            let mut note = |packet: &[u8]| {
                let segment = Segment::parse(packet).unwrap();
                assert!(segment.has(flag::SYN));
                sequences.push(segment.sequence);
            };
            let [source, destination] = ends(is_v6);
            Connection::connect(START, source, destination, settings(first_sequence)).poll(START, &mut note);
            let syn = packet(is_v6, b"", Tcp::syn);
            Connection::accept(START, &syn, settings(first_sequence)).unwrap().poll(START, &mut note);
        }
        assert_eq!(sequences, [first_sequence; 4]);
    }
}

fn assert_refused(source: SocketAddr, destination: SocketAddr) {
    let mut connection = Connection::connect(START, source, destination, settings(1));
    assert_eq!((connection.state(), connection.timeout(START)), (State::Refused, None));
    connection.poll(START, &mut |packet: &[u8]| panic!("{packet:?}"));
}

#[test]
fn a_fragment_an_extension_and_an_odd_address_are_not_taken() {
    let syn = packet(false, b"", Tcp::syn);
    let changed = |change: fn(&mut Ipv4Header)| {
        let (mut header, tcp) = Ipv4Header::from_slice(&syn).unwrap();
        change(&mut header);
        let mut packet = Vec::new();
        header.write(&mut packet).unwrap();
        packet.extend_from_slice(tcp);
        packet
    };
    assert!(is_takeable_syn(&changed(|_| ())));
    assert!(!is_takeable_syn(&changed(|header| header.more_fragments = true)));
    assert!(!is_takeable_syn(&changed(|header| header.fragment_offset = IpFragOffset::try_new(3).unwrap())));
    assert!(!is_takeable_syn(&changed(|header| header.protocol = IpNumber::UDP)));
    let mut extended = packet(true, b"", Tcp::syn);
    extended[6] = 0;
    extended.splice(40..40, [6, 0, 1, 4, 0, 0, 0, 0]);
    extended[5] += 8;
    assert!(!is_takeable_syn(&extended));
    for source in ["0.0.0.0:5", "255.255.255.255:5", "224.0.0.1:5", "10.0.0.1:0"] {
        let [_, destination] = ends(false);
        let source = source.parse().unwrap();
        let mut odd = Vec::new();
        let control = TcpControl::Syn;
        Bare { source, destination, control, sequence: 1, acknowledgment: None, window: 9 }.write(&mut odd);
        assert!(Segment::parse(&odd).is_some() && !is_takeable_syn(&odd), "{source}");
        assert_refused(source, destination);
    }
    assert_refused(ends(true)[0], ends(false)[1]);
}

#[test]
fn a_reset_has_the_numbers_of_rfc_9293() {
    for is_v6 in [false, true] {
        let cases = [
            (packet(is_v6, b"", Tcp::syn), 0, Some(1001)),
            (packet(is_v6, b"abc", Tcp::fin), 0, Some(1004)),
            (packet(is_v6, b"abc", |tcp| tcp.ack(77)), 77, None),
            (packet(is_v6, b"", |tcp| tcp.syn().ack(78)), 78, None),
        ];
        for (refused, sequence, acknowledgment) in cases {
            let mut reset = vec![9];
            assert!(write_reset(&refused, &mut reset));
            let segment = Segment::parse(&reset[1..]).unwrap();
            assert_eq!((segment.sequence, segment.acknowledgment), (sequence, acknowledgment));
            assert!(segment.has(flag::RST) && !segment.has(flag::SYN) && segment.payload.is_empty());
            assert_eq!((segment.source.port(), segment.destination.port()), (80, 4000));
        }
        let mut out = Vec::new();
        assert!(!write_reset(&packet(is_v6, b"", Tcp::rst), &mut out) && out.is_empty());
        assert!(!write_reset(b"noise", &mut out) && out.is_empty());
    }
}

/// What a connection answers to one segment of its host.
fn answer(pair: &mut Pair, control: TcpControl, sequence: u32, acknowledgment: Option<u32>) -> Vec<Vec<u8>> {
    let [source, destination] = ends(false);
    let mut packet = Vec::new();
    Bare { source, destination, control, sequence, acknowledgment, window: 500 }.write(&mut packet);
    let now = pair.now;
    pair.server().handle_packet(now, &packet);
    let mut answers = Vec::new();
    pair.server().poll(now, &mut |packet: &[u8]| answers.push(packet.to_vec()));
    answers
}

#[test]
fn a_new_syn_and_an_inexact_reset_are_challenged() {
    let mut pair = Pair::clean(false);
    pair.open();
    let expected = pair.server().expected().unwrap();
    for (control, sequence) in
        [(TcpControl::Syn, expected.wrapping_add(0x4000_0000)), (TcpControl::Rst, expected.wrapping_add(9))]
    {
        let answers = answer(&mut pair, control, sequence, None);
        let [challenge] = &answers[..] else { panic!("{answers:?}") };
        let challenge = Segment::parse(challenge).unwrap();
        assert_eq!((challenge.flags, challenge.acknowledgment), (flag::ACK, Some(expected)));
        assert_eq!(pair.server().state(), State::Open);
    }
    assert!(answer(&mut pair, TcpControl::Rst, expected.wrapping_sub(9), None).is_empty());
    assert_eq!(pair.server().state(), State::Open);
    assert!(answer(&mut pair, TcpControl::Rst, expected, None).is_empty());
    assert_eq!(pair.server().state(), State::Reset);
}

/// A connection that a host begins with this sequence number, and window scaling.
fn accept_from(sequence: u32, receive_bytes: usize, first_sequence: u32) -> Connection {
    let mut syn = Vec::new();
    let options = [TcpOptionElement::WindowScale(3), TcpOptionElement::SelectiveAcknowledgementPermitted];
    let tcp = PacketBuilder::ipv4([10, 0, 0, 1], [192, 0, 2, 9], 64).tcp(5000, 80, sequence, 60_000);
    tcp.syn().options(&options).unwrap().write(&mut syn, b"").unwrap();
    Connection::accept(START, &syn, Settings { receive_bytes, ..settings(first_sequence) }).unwrap()
}

#[test]
fn bytes_beyond_the_window_are_cut() {
    for finishes in [false, true] {
        cut_beyond_the_window(finishes);
    }
}

fn cut_beyond_the_window(finishes: bool) {
    // The window field counts in steps of two bytes. The last one is withheld; an odd byte is in none.
    let (capacity, withheld) = (70_003, 3);
    let mut connection = accept_from(9, capacity, 4);
    let mut now = START;
    let mut next = 0;
    let mut poll = |connection: &mut Connection, now| {
        connection.poll(now, &mut |packet: &[u8]| next = Segment::parse(packet).unwrap().end());
        next
    };
    let acknowledgment = poll(&mut connection, now);
    let segment = |from: usize, count: usize| {
        let mut packet = Vec::new();
        let tcp = PacketBuilder::ipv4([10, 0, 0, 1], [192, 0, 2, 9], 64).tcp(5000, 80, 10 + from as u32, 500);
        let tcp = tcp.ack(acknowledgment);
        let tcp = if finishes && from + count == capacity { tcp.fin() } else { tcp };
        tcp.write(&mut packet, &vec![1; count]).unwrap();
        packet
    };
    connection.handle_packet(now, &segment(0, 1000));
    now += Duration::from_secs(1);
    poll(&mut connection, now);
    for from in (1000..capacity).step_by(1000) {
        connection.handle_packet(now, &segment(from, 1000.min(capacity - from)));
    }
    poll(&mut connection, now);
    assert_eq!((connection.state(), connection.readable()), (State::Open, capacity - withheld));
    read_all(&mut connection, &mut Vec::new());
    assert!(!connection.has_ended(), "the FIN was beyond the window as well");
    poll(&mut connection, now);
    connection.handle_packet(now, &segment(capacity - withheld, withheld));
    assert_eq!(connection.readable(), withheld);
    read_all(&mut connection, &mut Vec::new());
    assert_eq!(connection.has_ended(), finishes);
}

#[test]
fn bytes_up_to_the_furthest_edge_that_was_told_are_taken() {
    const WINDOW: usize = 256 << 10;
    for bytes in [1001, 1400, 8, 13] {
        let mut connection = accept_from(9, WINDOW, 0x8000_0000);
        let (mut now, mut acknowledgment, mut came) = (START, 0, Vec::new());
        let (mut edge, mut goes_back, mut sent) = (0_usize, 0, 0);
        for round in 1..=2 {
            loop {
                now += Duration::from_secs(1);
                connection.poll(now, &mut |packet: &[u8]| {
                    let segment = Segment::parse(packet).expect("its checksum is right");
                    acknowledgment = segment.end();
                    let shift = if segment.has(flag::SYN) { 0 } else { 3 };
                    let told = segment.acknowledgment.unwrap() as usize - 10;
                    let told = told + (usize::from(segment.window) << shift);
                    goes_back = goes_back.max(edge.saturating_sub(told));
                    edge = edge.max(told);
                });
                // bytes that wait for an acknowledgment have smoltcp ask for its window
                connection.write(b"x");
                let count = bytes.min(edge - sent);
                if count == 0 {
                    break;
                }
                let mut packet = Vec::new();
                let tcp = PacketBuilder::ipv4([10, 0, 0, 1], [192, 0, 2, 9], 64);
                let tcp = tcp.tcp(5000, 80, 10 + sent as u32, 500).ack(acknowledgment);
                tcp.write(&mut packet, &vec![1; count]).unwrap();
                connection.handle_packet(now, &packet);
                assert!(connection.timeout(now).is_some());
                sent += count;
            }
            let full = came.len() + WINDOW;
            assert!((full - 16..full).contains(&sent), "{sent} of {full} in round {round}");
            read_all(&mut connection, &mut came);
            assert_eq!(came.len(), sent, "all that was sent came");
        }
        assert_eq!(
            goes_back > 0,
            bytes % 8 != 0,
            "{bytes} bytes a segment: the edge goes back by {goes_back}"
        );
        assert!(goes_back < 8);
    }
}

/// A segment of a hostile host, and the other end's doing after it.
#[derive(Debug, Clone, Copy)]
struct Arbitrary {
    /// How far its sequence number is ahead of the expected one.
    ahead: i32,
    /// How far its acknowledgment number is ahead of the bytes emitted.
    acknowledged: i32,
    flags: u8,
    window: u16,
    bytes: usize,
    /// In milliseconds, before it.
    wait: u64,
    doing: u8,
}

fn arbitrary() -> impl Strategy<Value = Arbitrary> {
    let near = -70_000i32..70_000;
    let numbers = (near.clone(), near, 0usize..1400, 0u64..3000);
    (numbers, any::<(u8, u16, u8)>()).prop_map(
        |((ahead, acknowledged, bytes, wait), (flags, window, doing))| Arbitrary {
            ahead,
            acknowledged,
            flags,
            window,
            bytes,
            wait,
            doing,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_bytes_are_survived(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..120),
        version in 0u8..3,
    ) {
        if let (Some(first), 1..) = (bytes.first_mut(), version) {
            *first = if version == 1 { 0x45 } else { 0x60 };
        }
        let mut pair = Pair::clean(version == 2);
        pair.open();
        pair.client.handle_packet(START, &bytes);
        prop_assert!(!is_takeable_syn(&bytes));
        write_reset(&bytes, &mut Vec::new());
    }

    /// A host that speaks TCP, with any numbers near those of the connection.
    #[test]
    fn any_segments_are_survived(
        segments in proptest::collection::vec(arbitrary(), 1..40),
        numbers: [u32; 2],
        near_wrap: bool,
    ) {
        let mut first = if near_wrap { 0u32.wrapping_sub(30_000) } else { numbers[0] };
        let mut now = START;
        let mut connection = accept_from(first, 70_003, numbers[1]);
        let mut next = 0;
        connection.poll(now, &mut |packet: &[u8]| next = Segment::parse(packet).unwrap().end());
        first = first.wrapping_add(1);
        for (index, segment) in segments.into_iter().enumerate() {
            let Arbitrary { ahead, acknowledged, flags, window, bytes, wait, doing } = segment;
            // Half of the segments are what a host would say, so that the connection comes far.
            let (ahead, acknowledged) = if doing & 1 == 0 { (0, 0) } else { (ahead, acknowledged) };
            let sequence = connection.expected().unwrap_or(first).wrapping_add_signed(ahead);
            let header = PacketBuilder::ipv4([10, 0, 0, 1], [192, 0, 2, 9], 64);
            let header = header.tcp(5000, 80, sequence, window);
            let mut header = header.ack(next.wrapping_add_signed(acknowledged));
            if index > 0 && doing & 1 == 1 {
                header = if flags & 0x11 == 0x11 { header.fin() } else { header };
                header = if flags & 0x2e == 0x2e { header.syn() } else { header };
                header = if flags & 0x7c == 0x7c { header.rst() } else { header };
            }
            let mut packet = Vec::new();
            header.write(&mut packet, &vec![1; bytes]).unwrap();
            now += Duration::from_millis(wait);
            connection.handle_packet(now, &packet);
            match doing >> 5 {
                0 => connection.finish(),
                1 | 2 => drop(connection.write(&[7; 9000])),
                3 => drop(connection.read(|bytes| bytes.len() / 2)),
                4 | 5 => drop(connection.read(|bytes| bytes.len())),
                _ => (),
            }
            if doing & 2 == 0 {
                connection.poll(now, &mut |packet: &[u8]| next = Segment::parse(packet).unwrap().end());
                connection.timeout(now);
            }
        }
    }
}
