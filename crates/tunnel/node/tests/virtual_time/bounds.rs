//! Bounds of stores that change while packets go on.

use crate::pair::{GATEWAY, Pair, Road, STATION, repetitive, tcp};
use node::{Memory, StoresStatus};
use re::{Parameters, Policy};
use std::collections::BTreeSet;
use std::time::Duration;
use wire::frame::{self, FrameType, Frames};

const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);
const MIB: usize = 1 << 20;

/// Two nodes with these budgets, whose session stands.
fn pair(seed: u64, policy: Policy, road: Road, budgets: [Option<usize>; 2]) -> Pair {
    let parameters = Parameters { policy, store_bytes: 1 << 30, ..Parameters::default() };
    let mut pair = Pair::new(seed, road, &parameters);
    for (at, bytes) in budgets.into_iter().enumerate() {
        pair.configs[at].memory = bytes.map(|bytes| Memory { bytes, nodes: 1 });
        if bytes.is_none() {
            pair.configs[at].reduce.store_bytes = MIB;
        }
        pair.reboot(at);
    }
    for _ in 0..60 {
        pair.run(SECOND);
        if [GATEWAY, STATION].iter().all(|&at| pair.status(at).peers[0].session_age_seconds.is_some()) {
            return pair;
        }
    }
    panic!("no session");
}

fn stores(pair: &Pair, at: usize) -> StoresStatus {
    pair.status(at).peers[0].stores.unwrap()
}

/// Each receiver keeps at least what its sender uses, and no node holds more than its budget.
fn holds(pair: &Pair) {
    let (gateway, station) = (stores(pair, GATEWAY), stores(pair, STATION));
    assert!(gateway.sent_bound_bytes <= station.received_bound_bytes, "{gateway:?} {station:?}");
    assert!(station.sent_bound_bytes <= gateway.received_bound_bytes, "{gateway:?} {station:?}");
}

/// Sends packets both ways, one of each a few milliseconds. The budgets change as `change` says by the time.
fn carry(pair: &mut Pair, seed: u64, count: usize, mut change: impl FnMut(&mut Pair, usize)) {
    let payloads = repetitive(seed, count);
    for (number, payload) in payloads.iter().enumerate() {
        change(pair, number);
        pair.send(GATEWAY, &tcp(STATION, number as u32 * 1200, payload));
        if number % 3 == 0 {
            pair.send(STATION, &tcp(GATEWAY, number as u32 * 1200, payload));
        }
        pair.run(3 * MS);
        if number % 16 == 0 {
            holds(pair);
        }
    }
    pair.run(8 * SECOND);
}

fn set_budget(pair: &mut Pair, at: usize, bytes: usize) {
    let now = pair.now();
    pair.node_mut(at).set_memory_bytes(now, bytes);
}

#[test]
fn no_change_of_bounds_brings_wrong_bytes_and_acked_misses_nothing() {
    let roads = [
        Road { delay: 30 * MS, ..Road::default() },
        Road { delay: 30 * MS, loss: 0.05, reorder: 0.2, duplicate: 0.02, ..Road::default() },
    ];
    for (policy, road) in
        [Policy::Acked, Policy::Adaptive].into_iter().flat_map(|it| roads.map(|road| (it, road)))
    {
        let mut pair = pair(41, policy, road, [Some(16 * MIB); 2]);
        let budgets = [16 * MIB, 3 * MIB, 12 * MIB, 2 * MIB, 4 * MIB];
        carry(&mut pair, 5, 6000, |pair, number| {
            if number % 700 == 0 {
                let turn = number / 700;
                set_budget(pair, STATION, budgets[turn % budgets.len()]);
                set_budget(pair, GATEWAY, budgets[(turn * 2 + 1) % budgets.len()]);
            }
        });
        let sent: BTreeSet<Vec<u8>> = repetitive(5, 6000)
            .iter()
            .enumerate()
            .flat_map(|(number, payload)| [STATION, GATEWAY].map(|to| tcp(to, number as u32 * 1200, payload)))
            .collect();
        for at in [GATEWAY, STATION] {
            // marks of congestion change a byte of the header
            let is_wrong = |packet: &&Vec<u8>| !sent.contains(&packet[..]) && packet[1] & 3 == 0;
            assert_eq!(pair.delivered(at).iter().find(is_wrong), None);
            let counters = pair.status(at).peers[0].counters;
            assert!(counters.removed_bytes > 500_000 || at == STATION, "{policy}: {counters:?}");
            assert_eq!(counters.missed_wrong_bytes, 0);
            if policy == Policy::Acked {
                assert_eq!(counters.missed, 0, "{policy} {road:?} at {at}");
            }
        }
    }
}

#[test]
fn the_only_peer_gets_nearly_all_and_the_busy_direction_most() {
    let mut pair = pair(42, Policy::Adaptive, Road::default(), [Some(64 * MIB), Some(32 * MIB)]);
    let start = stores(&pair, GATEWAY);
    let third = (32 * MIB - MIB / 4) / 3 / (16 << 10) * (16 << 10);
    assert_eq!(start.sent_bound_bytes, third, "of the smaller budget: {start:?}");
    carry(&mut pair, 6, 9000, |pair, _| {
        for at in [GATEWAY, STATION] {
            let memory = pair.status(at).memory.unwrap();
            assert!(memory.held_bytes + memory.other_bytes <= memory.budget_bytes, "{memory:?}");
        }
    });
    let (gateway, station) = (stores(&pair, GATEWAY), stores(&pair, STATION));
    assert!(station.received_bound_bytes > 12 * MIB, "{station:?}");
    assert!(gateway.sent_bound_bytes > 12 * MIB, "{gateway:?}");
    let memory = pair.status(STATION).memory.unwrap();
    assert!(memory.held_bytes > 25 * MIB, "{memory:?}");
}

#[test]
fn a_smaller_budget_is_kept_to_within_seconds() {
    let mut pair = pair(43, Policy::Adaptive, Road::default(), [Some(64 * MIB); 2]);
    carry(&mut pair, 7, 1500, |_, _| {});
    set_budget(&mut pair, STATION, 4 * MIB);
    pair.run(6 * SECOND);
    let memory = pair.status(STATION).memory.unwrap();
    assert!(memory.held_bytes + memory.other_bytes <= 4 * MIB, "{memory:?}");
    holds(&pair);
    carry(&mut pair, 8, 300, |_, _| {});
}

/// The types of the frames of these plaintexts.
fn types(plaintexts: &[Vec<u8>]) -> BTreeSet<u8> {
    let mut types = BTreeSet::new();
    for mut plaintext in plaintexts.iter().map(Vec::as_slice) {
        frame::parse_sequence(&mut plaintext).unwrap();
        types.extend(Frames::new(plaintext).map(|frame| frame.unwrap().frame_type.unwrap() as u8));
    }
    types
}

#[test]
fn with_a_peer_that_has_no_budget_the_bounds_stay() {
    for budgets in [[Some(64 * MIB), None], [None, Some(64 * MIB)], [Some(MIB), None]] {
        let mut pair = pair(44, Policy::Adaptive, Road::default(), budgets);
        pair.medium.plaintexts = Some(Vec::new());
        let before = [GATEWAY, STATION].map(|at| stores(&pair, at));
        carry(&mut pair, 9, 600, |_, _| {});
        for at in [GATEWAY, STATION] {
            let now = stores(&pair, at);
            assert_eq!(now.sent_bound_bytes, before[at].sent_bound_bytes);
            assert_eq!(now.received_bound_bytes, before[at].received_bound_bytes);
            assert_eq!(pair.status(at).peers[0].counters.bad_frames, 0);
        }
        let said = types(&pair.medium.plaintexts.take().unwrap());
        assert!(!said.contains(&(FrameType::StoreBounds as u8)), "{said:?}");
        assert!(pair.status(GATEWAY).peers[0].counters.removed_bytes > 100_000);
    }
}
