//! Nodes of different versions: they meet, and speak what both speak, or a plain tunnel; never do they
//! refuse.

use crate::pair::{GATEWAY, Pair, Road, STATION, repetitive, tcp};
use published::policy::RETRIEVE_ON_MISS;
use re::{Parameters, Policy};
use std::ops::RangeInclusive;
use std::time::Duration;
use wire::frame::{self, Frames};
use wire::unit::{PLAIN, SEALED_HEADER_BYTES};

const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);

/// Two nodes that say they speak these versions.
fn pair(policy: Policy, road: Road, gateway: RangeInclusive<u8>, station: RangeInclusive<u8>) -> Pair {
    let parameters = Parameters { policy, store_bytes: 1 << 20, ..Parameters::default() };
    let mut pair = Pair::new(31, road, &parameters);
    pair.configs[GATEWAY].versions = gateway;
    pair.configs[STATION].versions = station;
    pair.reboot(GATEWAY);
    pair.reboot(STATION);
    pair.run(5 * SECOND);
    pair
}

/// The types of the frames that a node sends while packets go both ways.
fn spoken(pair: &mut Pair) -> Vec<u8> {
    pair.medium.plaintexts = Some(Vec::new());
    for (number, payload) in repetitive(7, 300).iter().enumerate() {
        pair.send(GATEWAY, &tcp(STATION, number as u32 * 1200, payload));
        pair.send(STATION, &tcp(GATEWAY, number as u32 * 1200, payload));
        pair.run(5 * MS);
    }
    pair.run(SECOND);
    let mut types: Vec<u8> = Vec::new();
    for mut plaintext in pair.medium.plaintexts.take().unwrap().iter().map(Vec::as_slice) {
        frame::parse_sequence(&mut plaintext).unwrap();
        types.extend(Frames::new(plaintext).map(|frame| frame.unwrap().frame_type.unwrap() as u8));
    }
    types.sort_unstable();
    types.dedup();
    types
}

#[test]
fn the_newest_version_that_both_speak_is_spoken_and_nothing_is_lost_by_a_newer_ones_offer() {
    for (gateway, station, spoken_version) in
        [(1..=2, 1..=3, 2), (0..=7, 1..=2, 2), (2..=2, 1..=255, 2), (1..=1, 1..=2, 1), (0..=7, 1..=1, 1)]
    {
        let mut pair = pair(Policy::Adaptive, Road::default(), gateway, station);
        spoken(&mut pair);
        for node in [GATEWAY, STATION] {
            let peer = &pair.status(node).peers[0];
            assert_eq!(peer.version, Some(spoken_version));
            assert!(peer.counters.removed_bytes > 0, "redundancy is removed: {:?}", peer.counters);
        }
    }
}

#[test]
fn two_nodes_that_compute_aes_seal_with_it_and_others_with_what_all_have() {
    for (gateway, station, versions, cipher) in [
        (true, true, 1..=2, "AES-256-GCM"),
        (true, true, 1..=1, "AES-256-GCM"),
        (true, false, 1..=2, "ChaCha20-Poly1305"),
        (false, true, 1..=2, "ChaCha20-Poly1305"),
        (false, false, 1..=2, "ChaCha20-Poly1305"),
        // without a version in common
        (true, true, 7..=7, "ChaCha20-Poly1305"),
    ] {
        let mut pair = pair(Policy::Adaptive, Road::default(), versions, 1..=2);
        pair.configs[GATEWAY].computes_aes = gateway;
        pair.configs[STATION].computes_aes = station;
        pair.reboot(GATEWAY);
        pair.reboot(STATION);
        pair.run(5 * SECOND);
        for number in 0..100 {
            pair.send(GATEWAY, &tcp(STATION, number * 7, b"content"));
            pair.send(STATION, &tcp(GATEWAY, number * 7, b"content"));
            pair.run(5 * MS);
        }
        pair.run(SECOND);
        for node in [GATEWAY, STATION] {
            assert_eq!(pair.status(node).peers[0].cipher.as_deref(), Some(cipher));
            assert_eq!(pair.delivered(node).len(), 100);
        }
    }
}

#[test]
fn without_a_version_in_common_the_tunnel_is_plain_and_carries_everything_as_it_is() {
    for (gateway, station) in
        [(2..=3, 1..=1), (1..=1, 2..=2), (9..=200, 3..=5), (RangeInclusive::new(5, 4), 1..=1), (3..=3, 2..=2)]
    {
        for policy in [Policy::Acked, RETRIEVE_ON_MISS, Policy::Adaptive] {
            let mut pair = pair(policy, Road::default(), gateway.clone(), station.clone());
            let types = spoken(&mut pair);
            for node in [GATEWAY, STATION] {
                let peer = &pair.status(node).peers[0];
                assert_eq!(peer.version, Some(PLAIN), "{gateway:?} {station:?}");
                assert_eq!((peer.counters.reduced_packets, peer.counters.receipts_sent), (0, 0));
                assert_eq!((peer.counters.missed, peer.counters.bad_frames), (0, 0));
                assert_eq!(pair.delivered(node).len(), 300);
            }
            assert!(types.iter().all(|known| frame::FrameType::from_number(*known).unwrap().is_plain()));
        }
    }
}

#[test]
fn a_plain_tunnel_renews_its_keys_finds_its_path_and_ends_with_a_goodbye() {
    let road = Road { carries: 1301, loss: 0.05, ..Road::default() };
    let mut pair = pair(Policy::Adaptive, road, 1..=1, 2..=2);
    let end = pair.now() + 400 * SECOND;
    let mut number = 0u32;
    while pair.now() < end {
        pair.send(GATEWAY, &tcp(STATION, number, &[7; 1380]));
        number += 1;
        pair.run(100 * MS);
    }
    let peer = pair.status(GATEWAY).peers[0].clone();
    assert!(peer.counters.sessions >= 3, "{:?}", peer.counters);
    assert_eq!(peer.version, Some(PLAIN));
    let limit = peer.path_mtu_bytes.unwrap() - 28;
    assert!((1293..=1301).contains(&limit), "{limit} {:?}", peer.counters);
    assert!(peer.counters.path_probes < 150, "{:?}", peer.counters);
    pair.node_mut(STATION).close();
    pair.medium.road.loss = 0.0;
    pair.poll(STATION);
    pair.run(SECOND);
    assert_eq!(pair.status(GATEWAY).peers[0].version, None);
}

#[test]
fn a_frame_of_a_type_that_is_not_known_is_passed_over_and_what_stands_beside_it_is_taken() {
    for versions in [1..=1, 1..=2, 3..=3] {
        let mut pair = pair(Policy::Acked, Road::default(), 1..=1, versions);
        let packet = tcp(STATION, 5, b"beside something new");
        let mut datagram = Vec::new();
        pair.offer_packet(GATEWAY, &packet);
        let transmit = pair.poll_transmit(GATEWAY, &mut datagram).unwrap();
        let new = [100, 5, 1, 2, 3, 4, 5, 127, 0];
        let at = SEALED_HEADER_BYTES + frame::SEQUENCE_BYTES;
        datagram.splice(at..at, new);
        transmit.seal(&mut datagram);
        let from = pair.address(GATEWAY);
        pair.inject(STATION, from, 0, &datagram);
        assert_eq!(pair.delivered(STATION), [packet]);
        assert_eq!(pair.status(STATION).peers[0].counters.bad_frames, 0);
    }
}

#[test]
fn a_unit_of_another_version_than_the_sessions_is_refused() {
    let mut pair = pair(Policy::Acked, Road::default(), 1..=1, 1..=1);
    let mut datagram = Vec::new();
    pair.offer_packet(GATEWAY, &tcp(STATION, 5, b"downgraded on the way"));
    let transmit = pair.poll_transmit(GATEWAY, &mut datagram).unwrap();
    transmit.seal(&mut datagram);
    datagram[0] &= 0x0f;
    let before = pair.status(STATION).refused.other_version;
    let from = pair.address(GATEWAY);
    pair.inject(STATION, from, 0, &datagram);
    assert!(pair.delivered(STATION).is_empty());
    assert_eq!(pair.status(STATION).refused.other_version, before + 1);
}

#[test]
fn both_ends_show_the_smaller_store_and_none_before_a_session() {
    let parameters = Parameters { store_bytes: 1 << 20, ..Parameters::default() };
    let mut pair = Pair::new(33, Road::default(), &parameters);
    let stores = |pair: &mut Pair| [GATEWAY, STATION].map(|at| pair.status(at).peers[0].store_bytes);
    assert_eq!(stores(&mut pair), [None, None]);
    pair.configs[STATION].reduce.store_bytes = 1 << 18;
    pair.reboot(STATION);
    pair.run(5 * SECOND);
    assert_eq!(stores(&mut pair), [Some(1 << 18); 2]);
    pair.configs[STATION].versions = 2..=2;
    pair.configs[GATEWAY].versions = 1..=1;
    pair.reboot(GATEWAY);
    pair.reboot(STATION);
    pair.run(5 * SECOND);
    assert_eq!(stores(&mut pair), [Some(0); 2], "a plain tunnel");
}
