//! A gateway, its stations, and what they overhear of each other.

use crate::mesh::{MS, Mesh, SECOND, address, random};
use crate::pair::{repetitive, tcp_between};
use node::{Config, Group, NetworkKey, PeerConfig, PrivateKey, Shortening};
use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha12Rng;
use re::Parameters;
use std::collections::BTreeSet;
use std::time::Duration;

const GATEWAY: usize = 0;

/// The share of datagrams that does not arrive: at whom they are for, and at who overhears.
#[derive(Clone, Copy)]
struct Air {
    loss: f64,
    unheard: f64,
}

/// A gateway with so many stations, of which those in `listening` become members.
fn cell(seed: u64, stations: usize, listening: &[usize], air: Air) -> Mesh {
    configured(seed, stations, listening, air, |_| {})
}

/// The same, each of whose nodes is configured further.
fn configured(
    seed: u64,
    stations: usize,
    listening: &[usize],
    air: Air,
    further: impl Fn(&mut Config),
) -> Mesh {
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    let network = NetworkKey::generate(&mut rng);
    let keys: Vec<PrivateKey> = (0..=stations).map(|_| PrivateKey::generate(&mut rng)).collect();
    let peer = |index: usize, endpoint: bool, allowed: String| PeerConfig {
        name: format!("node {index}"),
        public_key: keys[index].public(),
        endpoint: endpoint.then(|| address(index)),
        allowed_ips: vec![allowed.parse().unwrap()],
        keepalive: endpoint.then_some(Duration::from_secs(25)),
        bits_a_second: None,
    };
    let configs: Vec<Config> = (0..=stations)
        .map(|index| {
            let peers = match index {
                GATEWAY => (1..=stations).map(|at| peer(at, false, format!("10.0.0.{at}/32"))).collect(),
                _ => vec![peer(GATEWAY, true, "0.0.0.0/0".into())],
            };
            let group = (index == GATEWAY || listening.contains(&index)).then(Group::default);
            let config = Config { fec: false, ..Config::new(keys[index].clone(), network.clone(), peers) };
            let mut config = Config { group, shorten: Shortening::ALL, ..config };
            further(&mut config);
            config
        })
        .collect();
    Mesh::in_air(seed, &configs, (air.loss, air.unheard))
}

/// Sends these payloads to a station, one a millisecond; what they cost in bytes.
fn fetch(cell: &mut Mesh, station: usize, payloads: &[Vec<u8>]) -> (u64, BTreeSet<Vec<u8>>) {
    let before = cell.medium.sent_bytes((GATEWAY, station));
    let mut sent = BTreeSet::new();
    let mut sequence = 1u32;
    for (index, payload) in payloads.iter().enumerate() {
        let packet = tcp_between(200, station as u8, sequence, payload);
        sequence = sequence.wrapping_add(payload.len() as u32);
        cell.send(GATEWAY, &packet);
        sent.insert(packet);
        if index % 2 == 0 {
            cell.send(station, &tcp_between(station as u8, 200, 7, b""));
        }
        cell.run(MS);
    }
    cell.run(2 * SECOND);
    (cell.medium.sent_bytes((GATEWAY, station)) - before, sent)
}

#[test]
fn what_one_station_fetched_is_not_sent_to_another_that_overheard_it() {
    let mut cell = cell(1, 2, &[1, 2], Air { loss: 0.0, unheard: 0.0 });
    let payloads = random(1, 300);
    let (first, sent) = fetch(&mut cell, 1, &payloads);
    assert!(cell.got(1) == sent);
    let (second, sent) = fetch(&mut cell, 2, &payloads);
    assert!(cell.got(2) == sent);
    assert!(first > 300 * 1200, "{first}");
    assert!(second * 5 < first, "{second} after {first}");
    let counters = cell.status(GATEWAY).peers[1].counters;
    assert!(counters.overheard_removed_bytes > 300 * 1000, "{counters:?}");
    let at_24_mbit = counters.overheard_removed_bytes as f64 * 8.0 / 24e6;
    let spent = counters.air_spent_nanoseconds as f64 / 1e9;
    assert!((counters.air_saved_seconds() + spent - at_24_mbit).abs() < 1e-3, "{counters:?}");
    let station = cell.status(2).peers[0].counters;
    assert!(station.chunks_hit > 1000 && station.chunks_missed == 0, "{station:?}");
}

#[test]
fn what_was_not_overheard_is_sent() {
    let mut cell = cell(2, 2, &[1, 2], Air { loss: 0.0, unheard: 1.0 });
    let payloads = random(2, 200);
    let (first, _) = fetch(&mut cell, 1, &payloads);
    let (second, sent) = fetch(&mut cell, 2, &payloads);
    assert!(cell.got(2) == sent);
    assert!(second * 100 > first * 99, "{second} after {first}");
    assert_eq!(cell.status(2).peers[0].counters.chunk_requests, 0);
}

/// A cell with a small cache, of which a trial fills it with few packets.
fn small_cell(seed: u64, unheard: f64) -> Mesh {
    configured(seed, 2, &[1, 2], Air { loss: 0.0, unheard }, |config| {
        config.group.iter_mut().for_each(|group| group.slot_bits = 14);
    })
}

fn is_paused(cell: &Mesh) -> bool {
    cell.status(GATEWAY).sharing.unwrap().paused
}

#[test]
fn sharing_that_does_not_pay_pauses_and_returns_when_it_pays() {
    let mut cell = small_cell(30, 1.0);
    fetch(&mut cell, 1, &random(30, 1100));
    assert!(!is_paused(&cell), "a trial lasts a minute");
    cell.run(60 * SECOND);
    assert!(is_paused(&cell), "{:?}", cell.status(GATEWAY).sharing);
    let shared = |cell: &Mesh| cell.status(GATEWAY).peers[0].counters.shared_packets;
    let before = shared(&cell);
    let (_, sent) = fetch(&mut cell, 1, &random(31, 200));
    assert!(sent.is_subset(&cell.got(1)));
    assert_eq!(shared(&cell), before, "packets go under the pairwise key");

    cell.medium.unheard = 0.0;
    cell.run(600 * SECOND);
    assert!(!is_paused(&cell), "it is tried again");
    let payloads = random(32, 600);
    let (first, _) = fetch(&mut cell, 1, &payloads[..100]);
    let (second, sent) = fetch(&mut cell, 2, &payloads[..100]);
    assert!(sent.is_subset(&cell.got(2)));
    assert!(second * 3 < first, "{second} after {first}");
    assert!(shared(&cell) > before);
}

#[test]
fn sharing_that_pays_goes_on() {
    let mut cell = small_cell(33, 0.0);
    for piece in random(33, 600).chunks(100) {
        fetch(&mut cell, 1, piece);
        fetch(&mut cell, 2, piece);
    }
    cell.run(120 * SECOND);
    let sharing = cell.status(GATEWAY).sharing.unwrap();
    assert!(!sharing.paused && sharing.resumes_in_seconds.is_none(), "{sharing:?}");
    assert!(cell.status(GATEWAY).peers[1].counters.overheard_removed_bytes > 300 * 1000);
}

#[test]
fn receipts_ride_with_what_is_shared() {
    let mut cell = cell(8, 2, &[1, 2], Air { loss: 0.0, unheard: 0.0 });
    let counters = |cell: &Mesh| cell.status(GATEWAY).peers[0].counters;
    let before = counters(&cell);
    let (_, sent) = fetch(&mut cell, 1, &random(8, 400));
    assert!(cell.got(1) == sent);
    let after = counters(&cell);
    let receipts = after.receipts_sent - before.receipts_sent;
    let datagrams = after.outer_sent_datagrams - before.outer_sent_datagrams;
    let alone = datagrams - (after.inner_sent_packets - before.inner_sent_packets);
    assert!(after.shared_packets > 390 && receipts > 10, "{after:?}");
    assert!(alone * 2 < receipts, "{alone} datagrams without a packet, {receipts} receipts");
    assert_eq!(cell.status(1).peers[0].counters.bad_frames, 0);
}

#[test]
fn losses_on_every_way_cost_savings_and_never_bytes() {
    for (seed, loss, unheard) in [(3, 0.1, 0.3), (4, 0.2, 0.5), (5, 0.05, 0.9)] {
        let mut cell = cell(seed, 3, &[1, 2, 3], Air { loss, unheard });
        cell.run(10 * SECOND);
        let payloads = random(seed, 200);
        let mut costs = Vec::new();
        for station in [1, 2, 3] {
            let (cost, sent) = fetch(&mut cell, station, &payloads);
            costs.push(cost);
            let counters = cell.status(station).peers[0].counters;
            let got = cell.got(station);
            let at = |packet: &&Vec<u8>| payloads.iter().position(|payload| packet.ends_with(payload));
            let missing: Vec<Option<usize>> = sent.difference(&got).map(|packet| at(&packet)).collect();
            // the first ones are not repaired: nobody knows the round trip yet
            let are_first = missing.iter().all(|at| at.is_some_and(|at| at < 12));
            assert!(are_first, "{missing:?} of 200, {loss} {unheard} {station}: {counters:?}");
            assert!(cell.got(station).is_subset(&sent));
        }
        assert!(costs[2] < costs[0], "{costs:?}");
        assert!(unheard > 0.5 || costs[2] * 10 < costs[0] * 8, "{costs:?}");
    }
}

#[test]
fn a_station_that_does_not_listen_gets_what_it_always_got() {
    let mut cell = cell(6, 2, &[1], Air { loss: 0.0, unheard: 0.0 });
    let payloads = random(6, 100);
    fetch(&mut cell, 1, &payloads);
    let (_, sent) = fetch(&mut cell, 2, &payloads);
    assert!(cell.got(2) == sent);
    let peers = cell.status(GATEWAY).peers;
    assert!(peers[0].counters.shared_packets > 90, "{:?}", peers[0].counters);
    assert_eq!(peers[1].counters.shared_packets, 0);
}

#[test]
fn members_that_restart_or_leave_begin_with_empty_caches_and_the_others_get_another_key() {
    let mut cell = cell(7, 2, &[1, 2], Air { loss: 0.0, unheard: 0.0 });
    let payloads = random(7, 200);
    fetch(&mut cell, 1, &payloads);
    cell.restart(2);
    cell.run(30 * SECOND); // it notices when it has something to say
    let (after_restart, sent) = fetch(&mut cell, 2, &payloads);
    assert!(cell.got(2) == sent);
    assert!(after_restart > 200 * 1200, "it has nothing any more: {after_restart}");
    // the key's change leaves the caches as they are
    cell.run(700 * SECOND);
    let (again, _) = fetch(&mut cell, 1, &payloads);
    assert!(again < 200 * 600, "{again}");
    let before = cell.status(GATEWAY).peers[1].counters.shared_packets;
    cell.node_mut(1).close();
    cell.poll(1);
    cell.run(SECOND);
    let (_, sent) = fetch(&mut cell, 2, &random(8, 50));
    assert!(sent.is_subset(&cell.got(2)));
    let after = cell.status(GATEWAY).peers[1].counters.shared_packets;
    assert!(after > before, "under the new key");
}

#[test]
fn a_gateway_that_restarts_shares_anew() {
    let mut cell = cell(9, 2, &[1, 2], Air { loss: 0.0, unheard: 0.0 });
    let payloads = random(9, 100);
    fetch(&mut cell, 1, &payloads);
    cell.restart(GATEWAY);
    cell.run(30 * SECOND); // a station notices when it has something to say
    fetch(&mut cell, 1, &payloads);
    let (cost, sent) = fetch(&mut cell, 2, &payloads);
    assert!(cell.got(2) == sent);
    assert!(cost < 100 * 400, "{cost}");
}

#[test]
fn text_that_repeats_within_a_station_is_removed_as_without_a_group() {
    let mut costs = Vec::new();
    for listening in [&[][..], &[1, 2]] {
        let mut cell = cell(10, 2, listening, Air { loss: 0.0, unheard: 0.0 });
        let (cost, sent) = fetch(&mut cell, 1, &repetitive(10, 400));
        assert!(cell.got(1) == sent);
        costs.push(cost);
    }
    assert!(costs[1] < costs[0] * 13 / 10, "{costs:?}");
}

/// Frames that a member of the group would like to put into another's mouth.
fn any_forgery() -> impl Strategy<Value = Vec<u8>> {
    let frame = (0u8..32, proptest::collection::vec(any::<u8>(), 0..80));
    let frames = proptest::collection::vec(frame, 0..4);
    let forged =
        (0u8..3, any::<[u8; 8]>(), any::<[u8; 3]>(), frames).prop_map(|(member, mac, sequence, frames)| {
            let mut plaintext = vec![member];
            plaintext.extend_from_slice(&mac);
            plaintext.extend_from_slice(&sequence);
            for (number, body) in frames {
                plaintext.push(number);
                plaintext.push(body.len() as u8);
                plaintext.extend_from_slice(&body);
            }
            plaintext
        });
    prop_oneof![3 => forged, 1 => proptest::collection::vec(any::<u8>(), 0..200)]
}

#[test]
fn a_member_that_makes_up_numbers_spoils_no_packet_of_anothers() {
    let mut cell = cell(12, 2, &[1, 2], Air { loss: 0.0, unheard: 0.0 });
    let payloads = random(12, 40);
    fetch(&mut cell, 1, &payloads[..10]);
    // chunks that are said to have been sent eight million packets later
    let forged = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 27, 6, 0x80, 0, 4, 0, 0, 0];
    let mut datagram = Vec::new();
    cell.offer_packet(GATEWAY, &tcp_between(200, 1, 90_000, b"taken from its sender"));
    while let Some(transmit) = cell.poll_transmit(GATEWAY, &mut datagram) {
        if datagram[0] & 7 == 4 {
            datagram.truncate(wire::unit::SEALED_HEADER_BYTES);
            datagram.extend_from_slice(&forged);
            transmit.seal(&mut datagram);
            let now = cell.now();
            cell.node_mut(2).handle_overheard(now, address(GATEWAY), &mut datagram);
        }
    }
    cell.poll(1);
    fetch(&mut cell, 1, &payloads[10..]);
    let (cost, sent) = fetch(&mut cell, 2, &payloads[10..]);
    assert!(sent.is_subset(&cell.got(2)));
    assert!(cost < 30 * 600, "it is still believed what it hears: {cost}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Who has the group's key can write units that everybody opens; what is in them is believed by nobody.
    #[test]
    fn a_member_can_forge_nothing(forgeries in proptest::collection::vec(any_forgery(), 1..8)) {
        let mut cell = cell(11, 2, &[1, 2], Air { loss: 0.0, unheard: 0.0 });
        let payloads = random(11, 12);
        fetch(&mut cell, 1, &payloads[..4]);
        let before = cell.delivered(1).len();
        let mut datagram = Vec::new();
        for (index, forgery) in forgeries.iter().enumerate() {
            // the gateway's own unit gives the header and the seal
            let packet = tcp_between(200, 1, 90_000 + index as u32, b"taken from its sender");
            cell.offer_packet(GATEWAY, &packet);
            while let Some(transmit) = cell.poll_transmit(GATEWAY, &mut datagram) {
                if datagram[0] & 7 != 4 {
                    continue;
                }
                datagram.truncate(wire::unit::SEALED_HEADER_BYTES);
                datagram.extend_from_slice(forgery);
                transmit.seal(&mut datagram);
                cell.offer_datagram(1, address(GATEWAY), 0, &datagram);
                let now = cell.now();
                cell.node_mut(2).handle_overheard(now, address(GATEWAY), &mut datagram);
            }
        }
        cell.poll(1);
        prop_assert_eq!(cell.delivered(1).len(), before, "something was believed");
        for station in [1, 2] {
            let (_, sent) = fetch(&mut cell, station, &payloads[4..]);
            prop_assert!(sent.is_subset(&cell.got(station)));
        }
    }
}

/// Where only overhearing removes, for the stores of redundancy elimination are too small: nothing else hides
/// what a station is taken to have.
fn without_elimination(seed: u64, slot_bits: u8, air: Air) -> Mesh {
    configured(seed, 2, &[1, 2], air, |config| {
        config.reduce.store_bytes = *Parameters::STORE_BYTES.start();
        config.group.iter_mut().for_each(|group| group.slot_bits = slot_bits);
    })
}

#[test]
fn what_was_lost_and_sent_again_apart_is_not_taken_for_learnt() {
    let mut cell = without_elimination(20, 18, Air { loss: 0.1, unheard: 0.0 });
    let payloads = random(20, 300);
    fetch(&mut cell, 1, &payloads);
    let recovered = cell.status(GATEWAY).peers[0].counters.recovered;
    assert!(recovered > 20, "{recovered}");
    cell.medium.loss = 0.0;
    let (again, sent) = fetch(&mut cell, 1, &payloads);
    assert!(sent.is_subset(&cell.got(1)));
    let station = cell.status(1).peers[0].counters;
    assert_eq!(station.chunk_requests, 0, "{station:?}");
    assert!(again < 300 * 400, "what did arrive is removed: {again}");
}

#[test]
fn a_packet_whose_chunks_are_gone_at_both_ends_comes_again_without_waiting() {
    let mut cell = without_elimination(21, 16, Air { loss: 0.0, unheard: 0.1 });
    cell.medium.late = 20 * MS;
    let payloads = random(21, 100);
    fetch(&mut cell, 1, &payloads);
    fetch(&mut cell, 2, &random(23, 30)); // from now on it is known how long a round trip takes
    // what overtakes a packet takes the place of chunks that it refers to, here and there
    let others = random(22, 100 * 100);
    let mut slowest = Duration::ZERO;
    for (index, (known, overtaking)) in payloads.iter().zip(others.chunks(100)).enumerate() {
        let packet = tcp_between(200, 2, index as u32 * 1200, known);
        cell.offer_packet(GATEWAY, &packet);
        for (behind, payload) in overtaking.iter().enumerate() {
            let sequence = (index * 100 + behind) as u32 * 1200;
            cell.offer_packet(GATEWAY, &tcp_between(200, 1, sequence, payload));
        }
        let sent_at = cell.now();
        cell.poll(GATEWAY);
        let came = |cell: &Mesh| cell.delivered(2).contains(&packet);
        while !came(&cell) && cell.now() < sent_at + SECOND {
            cell.run(5 * MS);
        }
        slowest = slowest.max(cell.now() - sent_at);
    }
    let station = cell.status(2).peers[0].counters;
    let recovered = cell.status(GATEWAY).peers[1].counters.recovered;
    assert!(station.chunk_requests > 0 && recovered > 0, "{recovered}, {station:?}");
    assert!(slowest < 100 * MS, "{slowest:?}, {recovered} again, {station:?}");
}

#[test]
fn a_shared_packet_that_is_cut_is_learnt_from_as_any_other() {
    let mut cell = cell(23, 2, &[1, 2], Air { loss: 0.0, unheard: 0.0 });
    let payloads: Vec<Vec<u8>> = random(23, 300).into_iter().map(|payload| payload[..500].to_vec()).collect();
    for station in [1, 2] {
        let sent_so_far = |cell: &Mesh| cell.medium.sent[&(GATEWAY, station)];
        let (before, mut sent) = (sent_so_far(&cell), BTreeSet::new());
        for (index, payload) in payloads.iter().enumerate() {
            let packet = tcp_between(200, station as u8, index as u32 * 500, payload);
            cell.offer_packet(GATEWAY, &packet);
            sent.insert(packet);
            if index % 10 == 9 {
                cell.poll(GATEWAY);
                cell.run(20 * MS);
            }
        }
        cell.run(SECOND);
        let after = sent_so_far(&cell);
        let (datagrams, bytes) = (after.0 - before.0, after.1 - before.1);
        // ten packets of 540 bytes are four full datagrams; uncut they would be five
        assert!(station == 2 || datagrams < 30 * 5, "{datagrams} datagrams");
        assert!(station == 1 || bytes < 300 * 200, "{bytes} bytes of what was overheard");
        assert!(sent.is_subset(&cell.got(station)));
        let counters = cell.status(station).peers[0].counters;
        assert_eq!((counters.bad_frames, counters.chunk_requests), (0, 0), "{counters:?}");
    }
}
