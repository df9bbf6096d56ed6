//! Messages that come late, again or never, and streams that they must not leave behind.

use crate::streams::{Settings, Streams};
use crate::tcp::{self, Connection};
use std::net::SocketAddr;
use std::time::Duration;
use wire::frame::{FrameType, Frames};
use wire::inner::Inner;
use wire::stream::{Abort, Cause, Name, Open};

const NOW: Duration = Duration::from_secs(1);

fn streams(most_streams: usize) -> Streams {
    Streams::new(Settings {
        mtu: 1400,
        memory_bytes: 1 << 20,
        most_streams,
        answers_early: false,
        sequence_key: [1; 4],
    })
}

fn ends(number: u16) -> (SocketAddr, SocketAddr) {
    (SocketAddr::from(([10, 0, 0, 2], 4000 + number)), SocketAddr::from(([10, 0, 0, 1], 80)))
}

/// The far end opens a stream.
fn open(streams: &mut Streams, number: u16) {
    let (source, destination) = ends(number);
    let mut body = Vec::new();
    let name = Name { number: number.into(), is_own: true };
    Open { name, source, destination }.emit(&mut body);
    assert!(streams.take_frame(NOW, FrameType::StreamOpen, &body, true, &mut |_| ()));
}

fn abort(streams: &mut Streams, number: u32) {
    let mut body = Vec::new();
    Abort { name: Name { number, is_own: true }, cause: Cause::Reset }.emit(&mut body);
    assert!(streams.take_frame(NOW, FrameType::StreamAbort, &body, true, &mut |_| ()));
}

/// The causes of the aborts that leave in a datagram.
fn causes(streams: &mut Streams, sequence: u64) -> Vec<Cause> {
    let mut out = Vec::new();
    streams.handle_timeout(NOW, &mut |_| ());
    streams.write(sequence, true, 1300, &mut out);
    let aborts = Frames::new(&out).flatten().filter(|frame| frame.frame_type == Some(FrameType::StreamAbort));
    aborts.map(|frame| Abort::parse(frame.body).unwrap().cause).collect()
}

#[test]
fn an_abort_that_is_lost_keeps_its_cause() {
    let mut streams = streams(1);
    open(&mut streams, 0);
    open(&mut streams, 1);
    for sequence in 0..3 {
        assert_eq!(causes(&mut streams, sequence), [Cause::Full]);
        streams.settle(NOW, sequence, false, &mut |_| ());
    }
}

#[test]
fn an_open_that_comes_after_its_abort_begins_nothing() {
    let mut streams = streams(8);
    abort(&mut streams, 0);
    open(&mut streams, 0);
    assert_eq!((streams.open_streams(), streams.memory_bytes()), (0, 0));
    open(&mut streams, 1);
    assert_eq!(streams.open_streams(), 1);
}

#[test]
fn an_open_that_nobody_remembers_is_not_taken_when_it_comes_again() {
    let mut streams = streams(1);
    (0..3).for_each(|number| open(&mut streams, number));
    for sequence in 0..2 {
        abort(&mut streams, 0);
        causes(&mut streams, sequence);
        streams.settle(NOW, sequence, true, &mut |_| ());
    }
    streams.handle_timeout(NOW + Duration::from_secs(10), &mut |_| ());
    (0..3).for_each(|number| open(&mut streams, number));
    assert_eq!(streams.open_streams(), 0, "bytes that came with the first open are gone");
    open(&mut streams, 3);
    assert_eq!(streams.open_streams(), 1);
}

#[test]
fn a_far_end_that_never_answers_gets_the_connection_in_packets() {
    let mut streams = streams(8);
    let (source, destination) = ends(0);
    let settings = tcp::Settings { mtu: 1400, receive_bytes: 9000, send_bytes: 9000, first_sequence: 1 };
    let mut syn = Vec::new();
    Connection::connect(NOW, source, destination, settings)
        .poll(NOW, &mut |packet: &[u8]| syn.extend_from_slice(packet));
    let inner = Inner::parse(&syn).unwrap();
    assert!(streams.take_packet(NOW, &syn, &inner, &mut |_| ()));
    assert_eq!(causes(&mut streams, 0), []);
    streams.settle(NOW, 0, true, &mut |_| ());
    while let Some(at) = streams.timeout()
        && streams.open_streams() > 0
    {
        streams.handle_timeout(at, &mut |_| panic!("the host is told nothing"));
    }
    assert_eq!((streams.open_streams(), streams.memory_bytes()), (0, 0));
    assert_eq!(causes(&mut streams, 1), [Cause::Reset]);
    assert!(!streams.take_packet(NOW, &syn, &inner, &mut |_| ()));
}

#[test]
fn a_flood_of_opens_is_remembered_within_bounds() {
    let mut streams = streams(8);
    (0..50_000).for_each(|number| open(&mut streams, number));
    assert_eq!(streams.open_streams(), 8);
    assert!(streams.streams.len() <= 16 && streams.memory_bytes() <= 1 << 20);
    assert_eq!(streams.counters().accepted, 8);
}

#[test]
fn an_open_that_names_a_stream_of_this_end_begins_nothing() {
    let mut streams = streams(8);
    let (source, destination) = ends(0);
    let mut body = Vec::new();
    Open { name: Name { number: 0, is_own: false }, source, destination }.emit(&mut body);
    assert!(streams.take_frame(NOW, FrameType::StreamOpen, &body, true, &mut |_| ()));
    assert_eq!((streams.open_streams(), streams.memory_bytes()), (0, 0));
}
