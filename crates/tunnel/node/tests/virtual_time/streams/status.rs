//! What the status of two nodes tells of the streams between them.

use super::{Hosts, MS, SECOND, Server, settings};
use crate::pair::{GATEWAY, Road, STATION};
use node::{PeerStatus, StreamBounds, StreamCounters, StreamsStatus};
use streams::tcp::{Connection, State};

const BYTES: usize = 300_000;
const BOUNDS: StreamBounds = StreamBounds { memory_bytes: 8 << 20, most_streams: 7, answers_early: false };

impl Hosts {
    /// The status of the station's peer and of the gateway's, in the order of their numbers.
    fn status(&self) -> [PeerStatus; 2] {
        [GATEWAY, STATION].map(|at| self.pair.status(at).peers.remove(0))
    }

    /// The counters of both nodes.
    fn counted(&self) -> [StreamCounters; 2] {
        self.status().map(|it| it.counters.streams)
    }

    /// Another client begins the next connection.
    fn connect_again(&mut self) {
        let ends = ["10.0.0.2:5001", "10.0.0.1:80"].map(|end| end.parse().expect("an address"));
        self.client = Connection::connect(self.pair.now(), ends[0], ends[1], settings(3));
        self.server = None;
        self.written = 0;
        self.received.clear();
    }

    /// The states of both nodes, which have streams.
    fn states(&self) -> [StreamsStatus; 2] {
        self.status().map(|it| it.streams.expect("streams are on"))
    }
}

#[test]
fn both_nodes_count_the_same_bytes_and_streams() {
    let road = Road { loss: 0.1, delay: 20 * MS, ..Road::default() };
    let mut hosts = Hosts::of(11, road, Server::Answers(BYTES), [Some(BOUNDS); 2]);
    let idle = StreamsStatus { most: 7, most_memory_bytes: 8 << 20, ..StreamsStatus::default() };
    assert_eq!(hosts.states(), [idle.clone(), idle.clone()]);

    hosts.until(20 * SECOND, |it| it.client.state() == State::Open);
    assert_eq!(hosts.client.write(b"?"), 1);
    hosts.until(20 * SECOND, |it| it.received.len() > BYTES / 3);
    for state in hosts.states() {
        assert_eq!((state.open, state.off), (1, None));
        assert!((1000..=8 << 20).contains(&state.memory_bytes), "{}", state.memory_bytes);
    }

    hosts.until(20 * SECOND, |it| it.received.len() == BYTES);
    hosts.client.finish();
    hosts.until(20 * SECOND, |it| it.client.state() == State::Closed);
    (0..6000).for_each(|_| hosts.step());
    assert_eq!(hosts.states(), [idle.clone(), idle]);
    let [gateway, station] = hosts.counted();
    let resent = (gateway.resent_bytes, station.resent_bytes);
    assert!((5000..BYTES as u64).contains(&resent.0), "a tenth of all datagrams is lost: {resent:?}");
    let bytes = BYTES as u64;
    let of_gateway = StreamCounters {
        accepted: 1,
        taken_bytes: bytes,
        sent_bytes: gateway.sent_bytes,
        resent_bytes: resent.0,
        received_bytes: 1,
        ..StreamCounters::default()
    };
    let of_station = StreamCounters {
        opened: 1,
        taken_bytes: 1,
        sent_bytes: station.sent_bytes,
        resent_bytes: resent.1,
        received_bytes: bytes,
        ..StreamCounters::default()
    };
    assert_eq!((gateway, station), (of_gateway, of_station));
    let around = bytes..bytes + bytes / 100;
    assert!(around.contains(&gateway.sent_bytes), "records add little: {}", gateway.sent_bytes);
    let [gateway, station] = hosts.status().map(|it| it.counters);
    assert_eq!(gateway.offered_bytes(), gateway.inner_sent_bytes + bytes);
    assert_eq!(station.delivered_bytes(), station.inner_received_bytes + bytes);
    assert!(gateway.outer_sent_bytes > gateway.offered_bytes() + resent.0);
}

#[test]
fn both_nodes_count_a_refusal_and_the_node_that_stays_counts_a_reset() {
    let mut hosts = Hosts::of(12, Road::default(), Server::Refuses, [Some(BOUNDS); 2]);
    hosts.until(5 * SECOND, |it| it.client.state() == State::Refused);
    let refused = StreamCounters { refused: 1, ..StreamCounters::default() };
    let [gateway, station] = hosts.counted();
    assert_eq!(gateway, StreamCounters { accepted: 1, ..refused });
    assert_eq!(station, StreamCounters { opened: 1, ..refused });

    let mut hosts = Hosts::of(13, Road::default(), Server::Echoes, [Some(BOUNDS); 2]);
    hosts.until(5 * SECOND, |it| it.client.state() == State::Open);
    hosts.pair.reboot(GATEWAY);
    hosts.until(60 * SECOND, |it| it.client.state() == State::Reset);
    let [gateway, station] = hosts.counted();
    assert_eq!(gateway, StreamCounters::default());
    assert_eq!(station, StreamCounters { opened: 1, aborted: 1, ..StreamCounters::default() });

    let mut hosts = Hosts::of(14, Road::default(), Server::Echoes, [Some(BOUNDS); 2]);
    hosts.until(5 * SECOND, |it| it.client.state() == State::Open);
    hosts.client.abort();
    (0..200).for_each(|_| hosts.step());
    assert_eq!(hosts.counted().map(|it| (it.opened + it.accepted, it.aborted)), [(1, 1); 2]);
}

#[test]
fn connections_that_go_in_packets_are_told_with_their_reason() {
    // the one stream of a node is not free before its connection is over for some seconds
    let one = StreamBounds { most_streams: 1, ..BOUNDS };
    for (bounds, opened) in [([one, BOUNDS], 2), ([BOUNDS, one], 1)] {
        let mut hosts = Hosts::of(15, Road::default(), Server::Answers(BYTES), bounds.map(Some));
        hosts.fetch(BYTES);
        hosts.connect_again();
        hosts.fetch(BYTES);
        let [gateway, station] = hosts.counted();
        assert_eq!((gateway.accepted, gateway.passed, gateway.aborted), (1, 0, 0));
        assert_eq!((station.opened, station.passed, station.aborted), (opened, 1, 0));
        assert_eq!(station.received_bytes, BYTES as u64, "the second download is in packets");
    }

    let mut hosts = Hosts::of(17, Road::default(), Server::Answers(BYTES), [None, Some(BOUNDS)]);
    hosts.fetch(BYTES);
    let [gateway, station] = hosts.status();
    assert_eq!(gateway.streams, None);
    assert_eq!(station.streams.expect("they are on here").off.as_deref(), Some("at the peer"));
    assert_eq!(station.counters.streams, StreamCounters::default());
    hosts.pair.reboot(STATION);
    let [_, station] = hosts.status();
    assert_eq!(station.streams.expect("they are on here").off.as_deref(), Some("no session"));
}
