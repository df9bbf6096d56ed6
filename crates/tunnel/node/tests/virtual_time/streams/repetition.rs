//! Bytes of a stream that an earlier one had do not cross the hop again.

use super::{Hosts, MS, SECOND, Server, settings};
use crate::pair::{GATEWAY, Road, STATION};
use node::{Memory, StreamBounds, StreamCounters};
use re::Policy;
use std::net::SocketAddr;
use streams::tcp::Connection;

const BYTES: usize = 1_000_000;

impl Hosts {
    fn sent(&self) -> StreamCounters {
        self.pair.status(GATEWAY).peers[0].counters.streams
    }

    /// The client asks from another port, and gets the whole answer. How much of it left again.
    fn ask_from(&mut self, port: u16) -> u64 {
        let before = self.sent();
        let ends: [SocketAddr; 2] = [([10, 0, 0, 2], port).into(), ([10, 0, 0, 1], 80).into()];
        self.client = Connection::connect(self.pair.now(), ends[0], ends[1], settings(port.into()));
        (self.server, self.written) = (None, 0);
        self.received.clear();
        self.until(20 * SECOND, |it| it.client.room() > 0);
        assert_eq!(self.client.write(b"?"), 1);
        self.until(60 * SECOND, |it| it.received.len() == BYTES);
        assert!(self.received == self.content[..BYTES]);
        (0..200).for_each(|_| self.step());
        let now = self.sent();
        assert_eq!((now.taken_bytes - before.taken_bytes, now.unrestored), (BYTES as u64, 0));
        now.sent_bytes - before.sent_bytes
    }
}

#[test]
fn what_an_earlier_stream_had_is_not_sent_again_whatever_is_lost() {
    for loss in [0.0, 0.1] {
        let road = Road { loss, delay: 50 * MS, ..Road::default() };
        let mut hosts = Hosts::new(21, road, Server::Answers(BYTES));
        let first = hosts.ask_from(5001);
        assert!((BYTES as u64..BYTES as u64 * 101 / 100).contains(&first), "{first}");
        let second = hosts.ask_from(5002);
        assert!(second < BYTES as u64 / 20, "{loss}: {second} bytes left again");
    }
}

#[test]
fn text_is_compressed_and_nothing_is_where_reduction_and_compression_are_off() {
    let mut hosts = Hosts::new(22, Road::default(), Server::Answers(BYTES));
    let words = ["gateway", "station", "router", "packet", "stream", "byte", "loss", "delay"];
    let text =
        hosts.content.iter().flat_map(|byte| [words[usize::from(byte % 8)], " "].concat().into_bytes());
    hosts.content = text.take(BYTES).collect();
    let text = hosts.ask_from(5001);
    assert!(text < BYTES as u64 / 2, "{text} bytes of text left");

    let mut hosts = Hosts::new(23, Road::default(), Server::Answers(BYTES));
    hosts.pair.configs.iter_mut().for_each(|config| config.reduce.policy = Policy::Off);
    [0, 1].into_iter().for_each(|at| hosts.pair.reboot(at));
    (0..5000).for_each(|_| hosts.step());
    for port in [5001, 5002] {
        assert!(hosts.ask_from(port) >= BYTES as u64);
    }
}

#[test]
fn no_change_of_bounds_resets_a_stream() {
    for loss in [0.0, 0.1] {
        let road = Road { loss, reorder: 0.1, delay: 50 * MS, ..Road::default() };
        let bounds = StreamBounds { memory_bytes: 64 << 20, most_streams: 100, answers_early: false };
        let mut pair = Hosts::started(31, road, [Some(bounds); 2]);
        for at in [GATEWAY, STATION] {
            pair.configs[at].memory = Some(Memory { bytes: 16 << 20, nodes: 1 });
            pair.configs[at].reduce.store_bytes = 1 << 30;
            pair.reboot(at);
        }
        pair.run(5 * SECOND);
        let mut hosts = Hosts::behind(31, pair, Server::Answers(BYTES));
        let mut left = Vec::new();
        for (turn, mib) in [[16, 16], [16, 16], [16, 3], [6, 12], [16, 2], [3, 16]].into_iter().enumerate() {
            let now = hosts.pair.now();
            for at in [GATEWAY, STATION] {
                hosts.pair.node_mut(at).set_memory_bytes(now, mib[at] << 20);
            }
            left.push(hosts.ask_from(5001 + turn as u16));
            (0..2000).for_each(|_| hosts.step());
            let peer = &hosts.pair.status(STATION).peers[0];
            let (it, stores) = (peer.counters.streams, peer.stores.unwrap());
            assert_eq!(
                (it.unrestored, it.aborted, it.received_bytes),
                (0, 0, (turn as u64 + 1) * BYTES as u64)
            );
            let sent = hosts.pair.status(GATEWAY).peers[0].stores.unwrap();
            assert!(
                sent.sent_records_bound_bytes <= stores.received_records_bound_bytes,
                "{sent:?} {stores:?}"
            );
        }
        assert!(left[0] > BYTES as u64 * 9 / 10 && left[1] < BYTES as u64 / 4, "{left:?}");
    }
}
