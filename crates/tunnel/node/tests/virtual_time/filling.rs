//! Datagrams of boosted senders wait to be full, and lose nothing by it.

use crate::pair::{GATEWAY, Pair, Road, STATION, repetitive, tcp};
use node::{Event, Shortening};
use re::{Parameters, Policy};
use std::collections::BTreeSet;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const FULL_BYTES: usize = 1452;

/// A gateway whose senders are boosted, 50 ms from its station.
fn boosted(seed: u64, policy: Policy, road: Road) -> Pair {
    let parameters = Parameters { policy, ..Parameters::default() };
    let mut pair = Pair::new(seed, Road { delay: 50 * MS, ..road }, &parameters);
    let config = &mut pair.configs[GATEWAY];
    config.boost = true;
    config.shorten = Shortening { packing: true, ..config.shorten };
    pair.reboot(GATEWAY);
    pair.run(SECOND);
    pair.medium.recording = Some(Vec::new());
    pair
}

/// Hands the gateway packets, one a millisecond, each of which could leave alone.
fn carry(pair: &mut Pair, payloads: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut sent = Vec::new();
    for payload in payloads {
        let packet = tcp(STATION, sent.len() as u32 * 1200, payload);
        pair.send(GATEWAY, &packet);
        pair.send(STATION, &tcp(GATEWAY, 7, b""));
        sent.push(packet);
        pair.run(MS);
    }
    pair.run(SECOND);
    sent
}

fn datagrams(pair: &Pair) -> Vec<usize> {
    let recording = pair.medium.recording.iter().flatten();
    recording.filter(|(node, _)| *node == GATEWAY).map(|(_, datagram)| datagram.len()).collect()
}

#[test]
fn datagrams_are_full_and_their_ratio_is_told() {
    let mut pair = boosted(1, Policy::Acked, Road::default());
    let payloads = repetitive(1, 600);
    let (first, rest) = payloads.split_at(300);
    let mut sent = carry(&mut pair, first);
    // until the first are confirmed nothing is removed
    pair.medium.recording = Some(Vec::new());
    sent.extend(carry(&mut pair, rest));
    assert_eq!(pair.delivered(STATION), sent);
    let datagrams = datagrams(&pair);
    let bytes: usize = datagrams.iter().sum();
    let needed = bytes.div_ceil(FULL_BYTES);
    assert!(datagrams.len() * 10 < needed * 12, "{} datagrams where {needed} do", datagrams.len());
    let ratios: Vec<f64> = pair
        .events()
        .iter()
        .filter_map(|(_, _, event)| match event {
            Event::Ratio { ratio, .. } => Some(*ratio),
            _ => None,
        })
        .collect();
    let last = ratios.last().copied().unwrap_or(0.0);
    let packets_a_datagram = rest.len() as f64 / datagrams.len() as f64;
    assert!((last - packets_a_datagram).abs() < 0.3 * last, "{last} told, {packets_a_datagram} carried");
    let told = pair.status(GATEWAY).peers[0].boosted_flows;
    assert_eq!(told, 1);
}

#[test]
fn whatever_the_road_does_what_arrives_is_what_was_sent() {
    for (seed, policy) in (0..6).flat_map(|seed| [(seed, Policy::Acked), (seed, Policy::Adaptive)]) {
        let road = Road { loss: 0.03, reorder: 0.02, duplicate: 0.01, ..Road::default() };
        let mut pair = boosted(seed, policy, road);
        let sent: BTreeSet<Vec<u8>> = carry(&mut pair, &repetitive(seed, 400)).into_iter().collect();
        let arrived: BTreeSet<Vec<u8>> = pair.delivered(STATION).iter().cloned().collect();
        assert!(arrived.is_subset(&sent));
        assert!(arrived.len() * 100 > sent.len() * 80, "{} of {}", arrived.len(), sent.len());
        let counters = pair.status(STATION).peers[0].counters;
        // references reach no further than to what is there, and the two ends count alike
        assert_eq!(counters.missed_wrong_bytes, 0, "{policy}");
        if policy == Policy::Acked {
            assert_eq!(counters.missed, 0);
        }
    }
}

#[test]
fn what_is_no_bulk_neither_waits_nor_lets_others_wait() {
    let mut pair = boosted(2, Policy::Acked, Road::default());
    carry(&mut pair, &repetitive(2, 50));
    let before = pair.delivered(STATION).len();
    pair.send(GATEWAY, &tcp(STATION, 1, &[7; 1000]));
    pair.run(MS);
    pair.send(GATEWAY, &tcp(STATION, 1001, &[8; 10]));
    pair.run(50 * MS);
    assert_eq!(pair.delivered(STATION).len(), before + 2, "they are one way from here, and no more");
}

#[test]
fn keys_may_change_and_sessions_end_while_a_datagram_waits() {
    let mut pair = boosted(3, Policy::Acked, Road::default());
    pair.run(118 * SECOND);
    let sessions = pair.status(GATEWAY).peers[0].counters.sessions;
    let sent = carry(&mut pair, &repetitive(3, 2000));
    assert!(pair.status(GATEWAY).peers[0].counters.sessions > sessions, "keys have changed");
    assert_eq!(pair.delivered(STATION), sent);
    pair.send(GATEWAY, &tcp(STATION, 1, &[7; 1000]));
    pair.node_mut(GATEWAY).close();
    pair.poll(GATEWAY);
    pair.run(SECOND);
    assert_eq!(pair.delivered(STATION).len(), sent.len() + 1, "it leaves before the goodbye");
}

#[test]
fn without_boost_nothing_waits() {
    let parameters = Parameters { policy: Policy::Acked, ..Parameters::default() };
    let mut pair = Pair::new(4, Road { delay: 50 * MS, ..Road::default() }, &parameters);
    pair.run(SECOND);
    let sent = carry(&mut pair, &repetitive(4, 100));
    assert_eq!(pair.delivered(STATION), sent);
    assert!(!pair.events().iter().any(|(_, _, event)| matches!(event, Event::Ratio { .. })));
}
