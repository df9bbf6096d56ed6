//! Packets that wait together leave together.

use crate::pair::{GATEWAY, Pair, Road, STATION, repetitive, tcp};
use re::{Parameters, Policy};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

fn adaptive(seed: u64) -> Pair {
    let parameters = Parameters { policy: Policy::Adaptive, ..Parameters::default() };
    let mut pair = Pair::new(seed, Road::default(), &parameters);
    pair.run(SECOND);
    pair.medium.recording = Some(Vec::new());
    pair
}

fn datagrams_from(pair: &Pair, from: usize) -> Vec<usize> {
    let recording = pair.medium.recording.iter().flatten();
    recording.filter(|(node, _)| *node == from).map(|(_, datagram)| datagram.len()).collect()
}

#[test]
fn small_packets_that_wait_share_a_datagram() {
    let mut pair = adaptive(1);
    let sent: Vec<_> = (0..10).map(|index| tcp(STATION, index * 40, &[index as u8; 40])).collect();
    for packet in &sent {
        pair.offer_packet(GATEWAY, packet);
    }
    pair.poll(GATEWAY);
    assert_eq!(datagrams_from(&pair, GATEWAY).len(), 1);
    pair.run(SECOND);
    assert_eq!(pair.delivered(STATION), sent);
}

#[test]
fn a_packet_that_turns_out_too_long_opens_the_next_datagram() {
    let mut pair = adaptive(2);
    let mut sent = Vec::new();
    for payloads in repetitive(2, 600).chunks(6) {
        for payload in payloads {
            let packet = tcp(STATION, sent.len() as u32 * 1200, payload);
            pair.offer_packet(GATEWAY, &packet);
            sent.push(packet);
        }
        pair.poll(GATEWAY);
        pair.run(5 * MS);
    }
    pair.run(SECOND);
    assert_eq!(pair.delivered(STATION), sent);
    let datagrams = datagrams_from(&pair, GATEWAY);
    let full = datagrams.iter().filter(|&&bytes| bytes > 1300).count();
    assert!(datagrams.iter().all(|&bytes| bytes <= 1452), "{datagrams:?}");
    assert!(full > 10 && datagrams.len() < 200, "{full} of {} for 600 packets", datagrams.len());
}

#[test]
fn keys_may_change_while_a_packet_waits_for_the_next_datagram() {
    let mut pair = adaptive(3);
    pair.run(118 * SECOND);
    let sessions = pair.status(GATEWAY).peers[0].counters.sessions;
    let payloads = repetitive(3, 12);
    let mut sent = Vec::new();
    for _ in 0..2000 {
        for payload in &payloads[sent.len() % 10..][..2] {
            let packet = tcp(STATION, sent.len() as u32 * 1200, payload);
            pair.offer_packet(GATEWAY, &packet);
            sent.push(packet);
        }
        // one datagram leaves; what did not fit waits until something else happens
        pair.transmit(GATEWAY);
        pair.run(MS);
    }
    pair.poll(GATEWAY);
    pair.run(SECOND);
    assert!(pair.status(GATEWAY).peers[0].counters.sessions > sessions, "the keys changed");
    assert_eq!(pair.delivered(STATION), sent);
    assert_eq!(pair.status(STATION).peers[0].counters.missed, 0);
}

#[test]
fn datagrams_of_a_backlog_are_of_one_length() {
    let mut pair = adaptive(4);
    let mut sent = Vec::new();
    let mut count = [0, 0];
    for payloads in repetitive(4, 600).chunks(60) {
        for payload in payloads {
            let packet = tcp(STATION, sent.len() as u32 * 1200, payload);
            pair.offer_packet(GATEWAY, &packet);
            sent.push(packet);
        }
        pair.medium.recording = Some(Vec::new());
        pair.poll(GATEWAY);
        let datagrams = datagrams_from(&pair, GATEWAY);
        let (last, others) = datagrams.split_last().unwrap();
        assert!(others.iter().all(|bytes| (1449..=1452).contains(bytes)) && *last <= 1452, "{datagrams:?}");
        assert!(datagrams.len() > 4, "several for {} packets", payloads.len());
        count[0] += others.len();
        count[1] += others.iter().filter(|&&bytes| bytes < 1452).count();
        pair.run(5 * MS);
    }
    pair.run(SECOND);
    assert_eq!(pair.delivered(STATION), sent);
    assert_eq!(
        pair.status(GATEWAY).peers[0].counters.recovered,
        0,
        "half a packet is not taken for a lost one"
    );
}

#[test]
fn packets_that_lost_one_half_are_sent_again_and_nothing_is_cut_while_the_air_loses_much() {
    let mut pair = adaptive(5);
    let mut sent = Vec::new();
    let mut burst = |pair: &mut Pair, loss: f64| {
        pair.medium.road.loss = loss;
        for payload in repetitive(sent.len() as u64, 30) {
            let packet = tcp(STATION, sent.len() as u32 * 1200, &payload);
            pair.offer_packet(GATEWAY, &packet);
            sent.push(packet);
        }
        pair.medium.recording = Some(Vec::new());
        pair.poll(GATEWAY);
        let mut datagrams = datagrams_from(pair, GATEWAY);
        datagrams.pop();
        pair.run(50 * MS);
        datagrams.iter().filter(|&&bytes| bytes != 1452).count()
    };
    for _ in 0..20 {
        burst(&mut pair, 0.0);
    }
    assert_eq!(burst(&mut pair, 0.3), 0, "all are full");
    let short: usize = (0..40).map(|_| burst(&mut pair, 0.1)).sum();
    assert!(short > 20, "{short} datagrams end with a packet");
    pair.medium.road.loss = 0.0;
    pair.run(5 * SECOND);
    let mut delivered = pair.take_delivered(STATION);
    delivered.sort_unstable();
    sent.sort_unstable();
    assert_eq!(delivered, sent);
}
