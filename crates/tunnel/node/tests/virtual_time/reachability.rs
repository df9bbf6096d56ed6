//! Peers that are not there, go away and come back: packets for them are refused with a word, and not lost.

use crate::pair::{GATEWAY, Pair, Road, STATION, tcp};
use etherparse::{Icmpv4Type, SlicedPacket, TransportSlice, icmpv4::DestUnreachableHeader};
use node::Event;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);

fn pair() -> Pair {
    Pair::new(41, Road::default(), &re::Parameters::default())
}

/// How many messages a node gave to its own side that say that nobody is there.
fn refusals(pair: &mut Pair, node: usize) -> usize {
    let is_refusal = |packet: &Vec<u8>| match SlicedPacket::from_ip(packet).unwrap().transport {
        Some(TransportSlice::Icmpv4(icmp)) => {
            icmp.icmp_type() == Icmpv4Type::DestinationUnreachable(DestUnreachableHeader::Host)
        }
        _ => false,
    };
    pair.take_delivered(node).into_iter().filter(is_refusal).count()
}

/// When a node said so first since `since`.
fn told(pair: &Pair, node: usize, up: bool, since: Duration) -> Option<Duration> {
    let says = |event: &Event| match event {
        Event::Reachable { .. } => up,
        Event::Unreachable { .. } => !up,
        _ => false,
    };
    let mut events =
        pair.events().iter().filter(|(at, who, event)| *at >= since && *who == node && says(event));
    events.next().map(|(at, ..)| *at)
}

/// Both send ten packets a second for so long.
fn talk(pair: &mut Pair, time: Duration) {
    let end = pair.now() + time;
    while pair.now() < end {
        for from in [GATEWAY, STATION] {
            pair.send(from, &tcp(1 - from, 1, b"anyone there?"));
        }
        pair.run(100 * MS);
    }
}

#[test]
fn packets_for_a_peer_that_never_came_are_held_for_a_while_and_then_refused() {
    let mut pair = pair();
    pair.medium.cut = true;
    for node in [GATEWAY, STATION] {
        pair.send(node, &tcp(1 - node, 1, b"held"));
    }
    pair.run(4 * SECOND);
    assert_eq!([refusals(&mut pair, GATEWAY), refusals(&mut pair, STATION)], [0, 0]);
    pair.run(2 * SECOND);
    assert_eq!([refusals(&mut pair, GATEWAY), refusals(&mut pair, STATION)], [1, 1], "what was held");
    for node in [GATEWAY, STATION] {
        pair.send(node, &tcp(1 - node, 1, b"refused at once"));
        assert_eq!(refusals(&mut pair, node), 1);
        assert!(!pair.status(node).peers[0].reachable);
    }
    pair.medium.cut = false;
    pair.run(10 * SECOND);
    assert!(pair.status(STATION).peers[0].reachable && pair.status(GATEWAY).peers[0].reachable);
    let packet = tcp(GATEWAY, 2, b"and now it is there");
    pair.send(STATION, &packet);
    pair.run(SECOND);
    assert_eq!(pair.delivered(GATEWAY), [packet]);
}

#[test]
fn a_peer_that_goes_silent_is_noticed_within_fifteen_seconds_and_its_return_at_once() {
    let mut pair = pair();
    talk(&mut pair, 3 * SECOND);
    let cut = pair.now();
    pair.medium.cut = true;
    talk(&mut pair, 20 * SECOND);
    for node in [GATEWAY, STATION] {
        let after = told(&pair, node, false, cut).unwrap() - cut;
        assert!((10 * SECOND..16 * SECOND).contains(&after), "{after:?}");
        assert!(refusals(&mut pair, node) > 10);
        assert_eq!(pair.status(node).peers[0].queue_bytes, 0, "nothing is held for it");
    }
    let back = pair.now();
    pair.medium.cut = false;
    talk(&mut pair, 12 * SECOND);
    for node in [GATEWAY, STATION] {
        assert!(told(&pair, node, true, back).unwrap() - back < 9 * SECOND, "the next try of the handshake");
    }
}

#[test]
fn a_mended_link_carries_packets_at_once_while_the_keys_hold() {
    let mut pair = pair();
    talk(&mut pair, 3 * SECOND);
    pair.medium.cut = true;
    talk(&mut pair, 25 * SECOND);
    let sent = pair.status(STATION).peers[0].counters.outer_sent_datagrams;
    for _ in 0..200 {
        pair.send(STATION, &tcp(GATEWAY, 1, b"anyone there?"));
        pair.run(5 * MS);
    }
    let asked = pair.status(STATION).peers[0].counters.outer_sent_datagrams - sent;
    assert!((20..=110).contains(&asked), "{asked} datagrams in a second");
    pair.medium.cut = false;
    let back = pair.now();
    for _ in 0..40 {
        pair.send(STATION, &tcp(GATEWAY, 1, b"anyone there?"));
        pair.run(5 * MS);
    }
    let after = told(&pair, STATION, true, back).unwrap() - back;
    assert!(after < 50 * MS, "{after:?}");
    assert!(!pair.delivered(GATEWAY).is_empty());
}

#[test]
fn an_idle_peer_that_goes_silent_is_noticed_by_the_keepalive_and_a_goodbye_is_noticed_at_once() {
    let mut pair = pair();
    pair.run(60 * SECOND);
    let cut = pair.now();
    pair.medium.cut = true;
    pair.run(45 * SECOND);
    let after = told(&pair, STATION, false, cut).unwrap() - cut;
    assert!(after < 41 * SECOND, "{after:?}");
    pair.medium.cut = false;
    pair.run(20 * SECOND);
    assert!(pair.status(GATEWAY).peers[0].reachable && pair.status(STATION).peers[0].reachable);
    let goodbye = pair.now();
    pair.node_mut(STATION).close();
    pair.poll(STATION);
    pair.run(SECOND);
    assert!(told(&pair, GATEWAY, false, goodbye).unwrap() - goodbye < 50 * MS);
}

#[test]
fn a_lossy_path_is_no_dead_one() {
    for seed in 0..20 {
        let road = Road { loss: 0.2, ..Road::default() };
        let mut pair = Pair::new(seed, road, &re::Parameters::default());
        pair.run(60 * SECOND);
        let since = pair.now();
        pair.run(600 * SECOND);
        talk(&mut pair, 60 * SECOND);
        for node in [GATEWAY, STATION] {
            assert_eq!(told(&pair, node, false, since), None, "{seed}");
        }
    }
}
