//! Destinations whose answers do not come back over the hop.

use crate::streams::{Settings, Streams};
use etherparse::{PacketBuilder, PacketBuilderStep, TcpHeader};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use wire::frame::{FrameType, Frames};
use wire::inner::Inner;
use wire::stream::{Abort, Cause, Name};

const NOW: Duration = Duration::from_secs(1);
/// The host's initial sequence number.
const FIRST: u32 = 7_000;
const HOST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

type Tcp = PacketBuilderStep<TcpHeader>;

fn streams(answers_early: bool) -> Streams {
    Streams::new(Settings {
        mtu: 1400,
        memory_bytes: 1 << 20,
        most_streams: 1024,
        answers_early,
        sequence_key: [1; 4],
    })
}

/// A server by its number.
fn server(number: u16) -> SocketAddr {
    let [high, low] = number.to_be_bytes();
    SocketAddr::from(([198, 51, high, low], 80))
}

/// A packet of the host's port to a server, with this sequence number.
fn packet(port: u16, to: SocketAddr, sequence: u32, with: impl FnOnce(Tcp) -> Tcp) -> Vec<u8> {
    let SocketAddr::V4(to) = to else { unreachable!("servers have IPv4") };
    let ip = PacketBuilder::ipv4(HOST.octets(), to.ip().octets(), 64);
    let mut packet = Vec::new();
    with(ip.tcp(port, to.port(), sequence, 60_000)).write(&mut packet, b"").unwrap();
    packet
}

/// Whether a stream takes a packet of the host.
fn takes(streams: &mut Streams, now: Duration, packet: &[u8]) -> bool {
    streams.take_packet(now, packet, &Inner::parse(packet).unwrap(), &mut |_| ())
}

fn takes_syn(streams: &mut Streams, now: Duration, port: u16, to: SocketAddr) -> bool {
    takes(streams, now, &packet(port, to, FIRST, Tcp::syn))
}

/// Frames of a datagram that leaves.
fn leaving(streams: &mut Streams, now: Duration, sequence: u64) -> Vec<FrameType> {
    let mut out = Vec::new();
    streams.handle_timeout(now, &mut |_| ());
    streams.write(sequence, true, 1300, &mut out);
    Frames::new(&out).flatten().filter_map(|frame| frame.frame_type).collect()
}

/// The far end gives this node's stream up.
fn abort(streams: &mut Streams, number: u32, cause: Cause) {
    let mut body = Vec::new();
    Abort { name: Name { number, is_own: false }, cause }.emit(&mut body);
    assert!(streams.take_frame(NOW, FrameType::StreamAbort, &body, true, &mut |_| ()));
}

#[test]
fn an_answer_by_another_way_lets_the_destination_go_in_packets_for_ten_minutes() {
    let (mut streams, to) = (streams(false), server(1));
    assert!(takes_syn(&mut streams, NOW, 4000, to));
    leaving(&mut streams, NOW, 0);
    let reset = packet(4000, to, 99_000, Tcp::rst);
    assert!(!takes(&mut streams, NOW, &reset), "the server gets it, and forgets the far end's connection");
    let found = streams.take_no_way_back().unwrap();
    assert_eq!((found.destination, found.is_answered), (to, true));
    assert_eq!(streams.take_no_way_back(), None);
    assert_eq!(leaving(&mut streams, NOW, 1), [FrameType::StreamAbort]);
    assert_eq!((streams.open_streams(), streams.memory_bytes()), (0, 0));
    assert_eq!(streams.counters().no_way_back, 1);

    assert!(!takes_syn(&mut streams, NOW, 4000, to), "the host asks again, in packets");
    assert!(!takes(&mut streams, NOW, &packet(4000, to, FIRST + 1, |tcp| tcp.ack(5))));
    assert_eq!(streams.counters().no_way_back, 1, "it is the same connection");
    assert!(!takes_syn(&mut streams, NOW, 4001, to));
    assert!(!takes_syn(&mut streams, NOW, 4001, to));
    assert_eq!(streams.counters().no_way_back, 2);
    assert!(takes_syn(&mut streams, NOW, 4002, server(2)), "others are not concerned");
    let other_port = SocketAddr::new(to.ip(), 443);
    assert!(takes_syn(&mut streams, NOW, 4003, other_port));
    let before = NOW + Duration::from_secs(599);
    assert!(!takes_syn(&mut streams, before, 4004, to));
    assert!(takes_syn(&mut streams, NOW + Duration::from_secs(600), 4005, to));
    assert_eq!(streams.counters().passed, 0, "streams were free");
}

#[test]
fn a_destination_that_never_answers_the_far_end_goes_in_packets() {
    for answers_early in [false, true] {
        let (mut streams, to) = (streams(answers_early), server(1));
        assert!(takes_syn(&mut streams, NOW, 4000, to));
        abort(&mut streams, 0, Cause::Silent);
        assert!(streams.take_no_way_back().is_some_and(|found| !found.is_answered));
        for port in [4000, 4001] {
            assert!(!takes_syn(&mut streams, NOW, port, to));
            let later = packet(port, to, FIRST + 1, |tcp| tcp.ack(5));
            assert!(!takes(&mut streams, NOW, &later), "nothing resets it");
        }
        assert_eq!(streams.counters().no_way_back, 2);
    }
}

#[test]
fn a_connection_that_begins_before_streams_can_cross_stays_in_packets() {
    let (mut streams, to) = (streams(false), server(1));
    let syn = packet(4000, to, FIRST, Tcp::syn);
    for other in [syn.clone(), syn.clone(), packet(4001, to, FIRST + 1, |tcp| tcp.ack(5))] {
        streams.note_left_out(&other, &Inner::parse(&other).unwrap());
    }
    // a session begins
    streams.reset(NOW, &mut |_| ());
    assert!(!takes(&mut streams, NOW, &syn), "the host asks again");
    assert!(takes_syn(&mut streams, NOW, 4001, to), "this is a new connection");
    assert_eq!((streams.counters().passed, streams.counters().no_way_back), (0, 0));
}

#[test]
fn no_other_end_of_a_connection_tells_of_another_way() {
    let (mut streams, to) = (streams(false), server(1));
    assert!(takes_syn(&mut streams, NOW, 4000, to));
    let own = packet(4000, to, FIRST + 1, Tcp::rst);
    let acknowledges = packet(4000, to, 99_000, |tcp| tcp.rst().ack(5));
    let ends = packet(4000, to, 99_000, Tcp::fin);
    for other in [own, acknowledges, ends] {
        assert!(takes(&mut streams, NOW, &other));
    }
    for (number, cause) in [Cause::Reset, Cause::Refused, Cause::Full, Cause::Forbidden].iter().enumerate() {
        abort(&mut streams, number as u32, *cause);
        assert!(takes_syn(&mut streams, NOW, 5000 + number as u16, to), "{cause:?}");
    }
    assert_eq!(streams.take_no_way_back(), None);
}

#[test]
fn a_host_that_resets_everything_is_remembered_within_bounds() {
    let (mut streams, mut now) = (streams(false), NOW);
    for number in 0..2_000 {
        assert!(takes_syn(&mut streams, now, 4000, server(number)));
        assert!(!takes(&mut streams, now, &packet(4000, server(number), 99_000, Tcp::rst)));
        leaving(&mut streams, now, u64::from(number));
        streams.settle(now, u64::from(number), true, &mut |_| ());
        now += Duration::from_millis(50);
        streams.handle_timeout(now, &mut |_| ());
    }
    let before = streams.counters().no_way_back;
    (0..2_000).for_each(|number| _ = takes_syn(&mut streams, now, 9000, server(number)));
    assert_eq!(streams.counters().no_way_back - before, 256);
}
