//! Bytes, ends and failures between two connections.

use super::wire::{Channel, Fate, Pair, START, ends, read_all, settings};
use crate::tcp::{Connection, Settings, State, write_reset};
use proptest::prelude::*;
use std::time::Duration;

fn bytes(count: usize, salt: usize) -> Vec<u8> {
    (0..count).map(|index| (index * 31 + index / 251 + salt) as u8).collect()
}

/// One end's work: to write all its bytes and finish, and to read all that comes.
struct Work {
    out: Vec<u8>,
    written: usize,
    came: Vec<u8>,
    /// Finishes only once the other end has.
    waits: bool,
}

impl Work {
    fn new(out: Vec<u8>, waits: bool) -> Self {
        Work { out, written: 0, came: Vec::new(), waits }
    }

    fn go_on(&mut self, connection: &mut Connection) {
        read_all(connection, &mut self.came);
        self.written += connection.write(&self.out[self.written..]);
        if self.written == self.out.len() && (!self.waits || connection.has_ended()) {
            connection.finish();
        }
    }
}

fn carry(mut pair: Pair, mut works: [Work; 2], within: Duration) {
    let is_done = pair.run(within, |pair| {
        let [client, server] = &mut works;
        client.go_on(&mut pair.client);
        let Some(connection) = &mut pair.server else { return false };
        server.go_on(connection);
        pair.client.state() == State::Closed && connection.state() == State::Closed
    });
    let states = (pair.client.state(), pair.server().state());
    assert!(
        is_done,
        "{states:?} with {} and {} bytes at {:?}",
        works[0].came.len(),
        works[1].came.len(),
        pair.now
    );
    assert!(works[0].came == works[1].out && works[1].came == works[0].out);
    assert!(pair.client.is_drained() && pair.client.has_ended());
    assert!(pair.server().is_drained() && pair.server().has_ended());
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let fate = prop_oneof![
        6 => Just(Fate::Passes),
        2 => Just(Fate::IsLost),
        2 => (1u8..60).prop_map(Fate::IsLate),
        1 => Just(Fate::IsRepeated),
    ];
    proptest::collection::vec(fate, 0..150)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn bytes_arrive_both_ways_whatever_the_channel_does(
        to_server in fates(),
        to_client in fates(),
        is_v6: bool,
        counts in [0usize..120_000, 0usize..120_000],
        waits in [any::<bool>(), any::<bool>()],
        first_sequence: u32,
    ) {
        let channel = |fates| Channel::new(Duration::from_millis(10), fates);
        let pair = Pair::new(is_v6, settings(first_sequence), channel(to_server), channel(to_client));
        let works = [
            Work::new(bytes(counts[0], 1), waits[0]),
            Work::new(bytes(counts[1], 2), waits[1] && !waits[0]),
        ];
        carry(pair, works, Duration::from_secs(110));
    }
}

#[test]
fn a_finished_end_still_receives() {
    for is_v6 in [false, true] {
        for client_waits in [false, true] {
            let works =
                [Work::new(bytes(50_000, 3), client_waits), Work::new(bytes(70_000, 4), !client_waits)];
            carry(Pair::clean(is_v6), works, Duration::from_secs(5));
        }
    }
}

#[test]
fn an_end_may_send_long_after_the_other_finished() {
    let mut pair = Pair::clean(false);
    pair.open();
    pair.client.finish();
    assert!(pair.run(Duration::from_secs(1), |pair| pair.server().has_ended()));
    assert!(!pair.run(Duration::from_secs(90_000), |pair| pair.server().state() != State::Open));
    assert_eq!(pair.server().write(b"late"), 4);
    assert!(pair.run(Duration::from_secs(1), |pair| pair.client.readable() == 4));
    pair.server().finish();
    let is_closed =
        |pair: &mut Pair| pair.client.state() == State::Closed && pair.server().state() == State::Closed;
    assert!(pair.run(Duration::from_secs(1), is_closed));
    // The bytes wait for their reader, however long it takes.
    pair.run(Duration::from_secs(60), |_| false);
    let mut came = Vec::new();
    read_all(&mut pair.client, &mut came);
    assert_eq!(came, b"late");
    assert!(pair.client.has_ended());
    assert_eq!(pair.client.timeout(pair.now), None);
}

#[test]
fn a_refused_syn_ends_a_connection() {
    for is_v6 in [false, true] {
        let [source, destination] = ends(is_v6);
        let mut client = Connection::connect(START, source, destination, settings(1));
        let mut reset = Vec::new();
        client.poll(START, &mut |syn: &[u8]| assert!(write_reset(syn, &mut reset)));
        assert_eq!(client.state(), State::Opening);
        client.handle_packet(START, &reset);
        assert_eq!(client.state(), State::Refused);
        assert_eq!(client.timeout(START), None);
        assert!(!write_reset(&reset, &mut Vec::new()), "no RST answers a RST");
    }
}

#[test]
fn an_abort_resets_the_other_end_after_the_bytes_that_came() {
    let mut pair = Pair::clean(true);
    pair.open();
    pair.client.write(b"before");
    assert!(pair.run(Duration::from_secs(1), |pair| pair.server().readable() == 6));
    pair.client.abort();
    assert!(pair.run(Duration::from_secs(1), |pair| pair.server().state() == State::Reset));
    assert_eq!(pair.client.state(), State::Reset);
    let mut came = Vec::new();
    read_all(pair.server(), &mut came);
    assert_eq!(came, b"before");
    assert!(!pair.server().has_ended());
}

#[test]
fn an_abort_before_the_first_poll_refuses_the_host() {
    let mut pair = Pair::clean(false);
    assert!(pair.run(Duration::from_secs(1), |pair| pair.server.is_some()));
    pair.server().abort();
    assert!(pair.run(Duration::from_secs(1), |pair| pair.client.state() == State::Refused));
}

#[test]
fn the_whole_window_is_used_over_a_long_delay() {
    let window = 256 * 1024;
    let settings = Settings { mtu: 1500, receive_bytes: window, send_bytes: window, first_sequence: 5 };
    let channel = || Channel::new(Duration::from_millis(50), Vec::new());
    let mut pair = Pair::new(false, settings, channel(), channel());
    pair.open();
    let out = bytes(16 * window, 6);
    let mut work = Work::new(out, false);
    let mut came = Vec::new();
    let began = pair.now;
    assert!(pair.run(Duration::from_secs(60), |pair| {
        work.go_on(&mut pair.client);
        read_all(pair.server(), &mut came);
        came.len() == 16 * window
    }));
    assert!(came == work.out);
    let taken = (pair.now - began).as_secs_f64();
    // A window for each 100 ms would take 1.6 s; the first ones are smaller.
    assert!(taken < 3.0, "{taken} s");
}

#[test]
fn a_reader_that_stops_stops_the_writer_and_nothing_is_lost() {
    let mut pair = Pair::clean(false);
    pair.open();
    let mut work = Work::new(bytes(200_000, 7), false);
    assert!(!pair.run(Duration::from_secs(600), |pair| {
        work.go_on(&mut pair.client);
        pair.client.state() != State::Open || pair.server().state() != State::Open
    }));
    assert!(pair.server().readable() > 19_000 && work.written < 41_000);
    let mut came = Vec::new();
    assert!(pair.run(Duration::from_secs(60), |pair| {
        work.go_on(&mut pair.client);
        read_all(pair.server(), &mut came);
        pair.server().has_ended()
    }));
    assert!(came == work.out);
}

#[test]
fn an_idle_connection_lives_and_a_vanished_host_is_given_up() {
    let mut pair = Pair::clean(false);
    pair.open();
    pair.run(Duration::from_secs(300_000), |_| false);
    assert_eq!(pair.client.state(), State::Open);
    assert_eq!(pair.client.timeout(pair.now), None, "an idle connection has no timer");
    let mut alone = pair.client;
    let mut now = pair.now;
    alone.write(b"anyone?");
    alone.finish();
    while alone.state() == State::Open {
        alone.poll(now, &mut |_: &[u8]| ());
        now = alone.timeout(now).unwrap_or(now);
    }
    assert_eq!(alone.state(), State::Reset);
    let waited = (now - pair.now).as_secs();
    assert!((100..140).contains(&waited), "{waited} s");
}

#[test]
fn an_unanswered_syn_is_given_up() {
    let [source, destination] = ends(true);
    let mut client = Connection::connect(START, source, destination, settings(1));
    let (mut now, mut syns) = (START, 0);
    while client.state() == State::Opening {
        client.poll(now, &mut |_: &[u8]| syns += 1);
        now = client.timeout(now).unwrap_or(now);
    }
    assert_eq!(client.state(), State::Reset);
    assert_eq!((now - START).as_secs(), 30);
    assert!((3..60).contains(&syns), "{syns}");
}
