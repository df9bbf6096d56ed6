//! Streams: TCP connections of hosts behind two nodes, whose bytes cross the hop by a transport of its own.

mod repetition;
mod status;

use crate::pair::{GATEWAY, Pair, Road, STATION};
use node::StreamBounds;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use re::Parameters;
use std::net::SocketAddr;
use std::time::Duration;
use streams::tcp::{Connection, Settings, State, is_takeable_syn, write_reset};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

fn settings(first_sequence: u32) -> Settings {
    Settings { mtu: 1400, receive_bytes: 256 << 10, send_bytes: 256 << 10, first_sequence }
}

/// The server of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Server {
    /// It answers a byte with this many, and ends.
    Answers(usize),
    /// It sends this many bytes unasked, and ends.
    Speaks(usize),
    /// It refuses.
    Refuses,
    /// It ends when the client does.
    Echoes,
}

/// A client behind the station, and a server at the gateway.
struct Hosts {
    pair: Pair,
    client: Connection,
    server: Option<Connection>,
    answers: Server,
    /// Bytes of the answer that are written.
    written: usize,
    content: Vec<u8>,
    received: Vec<u8>,
    seen: [usize; 2],
}

impl Hosts {
    fn new(seed: u64, road: Road, answers: Server) -> Self {
        Self::with(seed, road, answers, false)
    }

    fn with(seed: u64, road: Road, answers: Server, answers_early: bool) -> Self {
        let bounds = StreamBounds { memory_bytes: 64 << 20, most_streams: 100, answers_early };
        Self::of(seed, road, answers, [Some(bounds); 2])
    }

    /// Hosts of a gateway and a station with these streams, whose session stands.
    fn of(seed: u64, road: Road, answers: Server, streams: [Option<StreamBounds>; 2]) -> Self {
        let mut pair = Self::started(seed, road, streams);
        for _ in 0..60 {
            pair.run(SECOND);
            if [GATEWAY, STATION].iter().all(|&at| pair.status(at).peers[0].session_age_seconds.is_some()) {
                break;
            }
        }
        Self::behind(seed, pair, answers)
    }

    /// A gateway and a station that have just started.
    fn started(seed: u64, road: Road, streams: [Option<StreamBounds>; 2]) -> Pair {
        let mut pair = Pair::new(seed, road, &Parameters::default());
        pair.configs.iter_mut().zip(streams).for_each(|(config, streams)| config.streams = streams);
        pair.reboot(GATEWAY);
        pair.reboot(STATION);
        pair
    }

    /// A client and a server behind two nodes.
    fn behind(seed: u64, pair: Pair, answers: Server) -> Self {
        let content: Vec<u8> = ChaCha12Rng::seed_from_u64(seed).random_iter().take(3_000_000).collect();
        let ends: [SocketAddr; 2] = ["10.0.0.2:5000".parse().unwrap(), "10.0.0.1:80".parse().unwrap()];
        let client = Connection::connect(pair.now(), ends[0], ends[1], settings(1));
        let seen = [GATEWAY, STATION].map(|at| pair.delivered(at).len());
        Hosts { pair, client, server: None, answers, written: 0, content, received: Vec::new(), seen }
    }

    /// Hands packets on for a millisecond, and lets both hosts do what they do.
    fn step(&mut self) {
        self.pair.run(MS);
        let now = self.pair.now();
        let mut sent = [Vec::new(), Vec::new()];
        for at in [GATEWAY, STATION] {
            let packets = self.pair.delivered(at)[self.seen[at]..].to_vec();
            self.seen[at] += packets.len();
            for packet in packets {
                if at == STATION {
                    self.client.handle_packet(now, &packet);
                } else if self.answers == Server::Refuses {
                    let mut reset = Vec::new();
                    assert!(write_reset(&packet, &mut reset));
                    sent[at].push(reset);
                } else if let Some(server) = &mut self.server {
                    server.handle_packet(now, &packet);
                } else if is_takeable_syn(&packet) {
                    self.server = Connection::accept(now, &packet, settings(2));
                }
            }
        }
        self.client.read(|bytes| {
            self.received.extend_from_slice(bytes);
            bytes.len()
        });
        self.client.poll(now, &mut |packet: &[u8]| sent[STATION].push(packet.to_vec()));
        if let Some(server) = &mut self.server {
            let asked = server.readable() > 0 || self.written > 0;
            let speaks = matches!(self.answers, Server::Speaks(_));
            if let Server::Answers(bytes) | Server::Speaks(bytes) = self.answers
                && (asked || speaks)
            {
                server.read(|bytes| bytes.len());
                self.written += server.write(&self.content[self.written..bytes]);
                if self.written == bytes {
                    server.finish();
                }
            }
            if self.answers == Server::Echoes {
                let room = server.room();
                let mut echo = Vec::new();
                server.read(|bytes| {
                    echo.extend_from_slice(&bytes[..bytes.len().min(room)]);
                    echo.len()
                });
                assert_eq!(server.write(&echo), echo.len());
                if server.has_ended() {
                    server.finish();
                }
            }
            server.poll(now, &mut |packet: &[u8]| sent[GATEWAY].push(packet.to_vec()));
        }
        for at in [GATEWAY, STATION] {
            std::mem::take(&mut sent[at]).iter().for_each(|packet| self.pair.send(at, packet));
        }
    }

    /// Steps until something is so, at most for so long. How long it took.
    fn until(&mut self, most: Duration, is_so: impl Fn(&Self) -> bool) -> Duration {
        let start = self.pair.now();
        while !is_so(self) {
            self.step();
            let passed = self.pair.now() - start;
            assert!(
                passed < most,
                "after {passed:?}: {} bytes, {:?}, server {:?}, written {}",
                self.received.len(),
                self.client.state(),
                self.server.as_ref().map(Connection::state),
                self.written
            );
        }
        self.pair.now() - start
    }

    /// Fetches so many bytes. How long it takes.
    fn fetch(&mut self, bytes: usize) -> Duration {
        let connected = self.until(20 * SECOND, |it| it.client.state() == State::Open);
        assert_eq!(self.client.write(b"?"), 1);
        let took = self.until(120 * SECOND, |it| it.received.len() == bytes);
        assert!(self.received == self.content[..bytes]);
        connected + took
    }
}

#[test]
fn a_download_arrives_whatever_the_air_loses() {
    for (loss, delay, most) in [(0.0, 50, 4), (0.1, 10, 4), (0.1, 50, 6), (0.2, 300, 12)] {
        let road = Road { loss, delay: delay * MS, ..Road::default() };
        let mut hosts = Hosts::new(7, road, Server::Answers(3_000_000));
        let took = hosts.fetch(3_000_000);
        assert!(took < most * SECOND, "{loss}, {delay} ms: {took:?}");
        hosts.client.finish();
        hosts.until(20 * SECOND, |it| it.client.state() == State::Closed);
    }
}

#[test]
fn a_refusal_stays_a_refusal() {
    let mut hosts = Hosts::new(8, Road { loss: 0.1, ..Road::default() }, Server::Refuses);
    let took = hosts.until(5 * SECOND, |it| it.client.state() != State::Opening);
    assert_eq!(hosts.client.state(), State::Refused);
    assert!(took >= 20 * MS, "it is not answered before the server is: {took:?}");
}

#[test]
fn an_early_answer_saves_a_round_trip_and_a_refusal_becomes_a_reset() {
    let road = Road { delay: 100 * MS, ..Road::default() };
    let [late, early] = [false, true].map(|early| {
        let mut hosts = Hosts::with(3, road, Server::Answers(2000), early);
        hosts.fetch(2000)
    });
    assert!(late - early >= 180 * MS && early < 240 * MS, "{late:?}, {early:?}");
    for seed in 0..30 {
        let road = Road { loss: 0.3, ..road };
        let took = Hosts::with(seed, road, Server::Answers(20_000), true).fetch(20_000);
        assert!(took < 10 * SECOND, "{seed}: {took:?}");
    }
    let mut hosts = Hosts::with(8, road, Server::Refuses, true);
    hosts.until(5 * SECOND, |it| it.client.state() == State::Reset);
}

#[test]
fn a_server_that_speaks_first_is_heard_after_one_round_trip() {
    let road = Road { delay: 300 * MS, ..Road::default() };
    let mut hosts = Hosts::new(4, road, Server::Speaks(2000));
    let took = hosts.until(5 * SECOND, |it| it.received.len() == 2000);
    assert!(took < 640 * MS, "{took:?}");
    for seed in 0..40 {
        let road = Road { loss: 0.2, reorder: 0.3, delay: 10 * MS, ..Road::default() };
        let mut hosts = Hosts::new(seed, road, Server::Speaks(100_000));
        hosts.until(20 * SECOND, |it| it.received.len() == 100_000 && it.client.has_ended());
        assert!(hosts.received == hosts.content[..100_000], "{seed}");
    }
}

#[test]
fn a_connection_that_begins_before_the_session_is_one_connection() {
    for delay in [10, 280, 400] {
        let road = Road { delay: delay * MS, ..Road::default() };
        let bounds = StreamBounds { memory_bytes: 64 << 20, most_streams: 100, answers_early: false };
        let pair = Hosts::started(12, road, [Some(bounds); 2]);
        let mut hosts = Hosts::behind(12, pair, Server::Answers(20_000));
        hosts.fetch(20_000);
        let counters = hosts.pair.status(STATION).peers[0].counters.streams;
        assert_eq!((counters.opened, counters.aborted), (0, 0), "{delay} ms");
    }
}

#[test]
fn each_direction_ends_on_its_own() {
    let mut hosts = Hosts::new(9, Road { loss: 0.05, ..Road::default() }, Server::Echoes);
    hosts.until(5 * SECOND, |it| it.client.state() == State::Open);
    let sent = hosts.content[..100_000].to_vec();
    assert_eq!(hosts.client.write(&sent), sent.len());
    hosts.client.finish();
    hosts.until(20 * SECOND, |it| it.received.len() == sent.len() && it.client.has_ended());
    assert!(hosts.received == sent);
    hosts.until(20 * SECOND, |it| it.client.state() == State::Closed);
}

#[test]
fn a_node_that_starts_anew_resets_its_streams() {
    let mut hosts = Hosts::new(10, Road::default(), Server::Answers(3_000_000));
    hosts.until(5 * SECOND, |it| it.client.state() == State::Open);
    assert_eq!(hosts.client.write(b"?"), 1);
    hosts.until(20 * SECOND, |it| it.received.len() > 100_000);
    hosts.pair.reboot(GATEWAY);
    hosts.until(60 * SECOND, |it| it.client.state() == State::Reset);
    assert!(hosts.received.len() < 3_000_000 && !hosts.client.has_ended());
}

#[test]
fn a_short_answer_comes_soon_whatever_is_lost() {
    for seed in 0..60 {
        let road = Road { loss: 0.2, delay: 10 * MS, ..Road::default() };
        let mut hosts = Hosts::new(seed, road, Server::Answers(2000));
        let took = hosts.fetch(2000);
        assert!(took < 3 * SECOND, "{seed}: {took:?}");
    }
}
