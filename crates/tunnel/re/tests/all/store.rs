//! The packet store against a simple model of its rule, and the two stores of a direction against each other.

use proptest::prelude::*;
use re::Keeping;
use re::store::{OVERHEAD_BYTES, PacketStore, SHORT_BYTES, receiver_bytes};
use std::collections::BTreeMap;

/// A packet whose bytes identify it.
fn packet(sequence: u64, length: usize) -> Vec<u8> {
    sequence.to_le_bytes().into_iter().cycle().take(length).collect()
}

/// Arrivals of several kinds: in order with gaps, slightly late, far away, duplicate.
fn arrivals(count: usize) -> impl Strategy<Value = Vec<(u64, usize)>> {
    prop::collection::vec(any::<u64>(), 0..count).prop_map(|numbers| {
        let mut at = 1000i64;
        let arrive = |number: u64| {
            let part = |shift: u32, below: u64| (number.rotate_right(shift) % below) as i64;
            at += match part(0, 25) {
                0 => part(10, 6000) - 3000,
                1..=4 => part(10, 80) - 40,
                _ => 1 + part(10, 2),
            };
            at = at.max(0);
            let longest = if part(30, 2) == 0 { 200 } else { 1600 };
            (at as u64, 1 + part(40, longest) as usize)
        };
        numbers.into_iter().map(arrive).collect()
    })
}

/// The sequences of the longest tail of `packets` that fits in `bound_bytes`.
fn longest_tail(packets: &BTreeMap<u64, usize>, bound_bytes: usize) -> Vec<u64> {
    let mut used = 0;
    let fits = |&(_, length): &(&u64, &usize)| {
        used += length + OVERHEAD_BYTES;
        used <= bound_bytes
    };
    packets.iter().rev().take_while(fits).map(|(&sequence, _)| sequence).collect()
}

/// Sequences stay within this span, so that the byte bound applies. Another test covers the tables' span.
const SPAN: u64 = 64;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_longest_tail_that_fits_is_held_byte_for_byte_and_never_more_than_the_bound(
        arrivals in arrivals(200),
        bound_bytes in 300usize..20_000,
    ) {
        let keeping = Keeping::Together;
        let mut store = PacketStore::new(bound_bytes, keeping);
        let mut model = BTreeMap::new();
        for (number, (sequence, length)) in arrivals.into_iter().enumerate() {
            store.insert(sequence, &packet(sequence, length), 0..length);
            if length + OVERHEAD_BYTES <= bound_bytes {
                model.entry(sequence).or_insert(length);
            }
            prop_assert!(store.used_bytes() <= bound_bytes);
            if number % 8 != 0 {
                continue;
            }
            let end = model.keys().next_back().map_or(0, |newest| newest + 1);
            for held in longest_tail(&model, bound_bytes) {
                if held + SPAN >= end {
                    prop_assert!(store.holds(held), "{} of the tail is missing", held);
                }
            }
            let mut used_bytes = 0;
            for held in store.sequences_by_arrival() {
                let stored = store.get(held).unwrap();
                prop_assert_eq!(stored.packet, &packet(held, stored.packet.len())[..]);
                prop_assert_eq!(stored.payload, 0..stored.packet.len());
                used_bytes += stored.packet.len() + OVERHEAD_BYTES;
            }
            prop_assert_eq!(used_bytes, store.used_bytes());
        }
    }

    #[test]
    fn whatever_the_sender_still_has_the_receiver_has_too_if_it_got_it(
        lengths in prop::collection::vec((1usize..1600, 0u64..20), 1..300),
        fates in prop::collection::vec((prop::bool::weighted(0.8), 0usize..5), 300),
        changes in prop::collection::vec(prop::option::weighted(0.05, (1usize..5, any::<bool>())), 300),
        store_bytes in 16_384usize..40_000,
        surplus in any::<bool>(),
        keeping in prop::sample::select(vec![Keeping::Together, Keeping::Apart]),
    ) {
        // the rule needs no surplus
        let kept = |store_bytes: usize| if surplus { receiver_bytes(store_bytes) } else { store_bytes };
        let mut sender = PacketStore::new(store_bytes, keeping);
        let mut receiver = PacketStore::new(kept(store_bytes), keeping);
        let (mut sequence, mut late, mut got) = (0, Vec::new(), Vec::new());
        for (((length, gap), (arrives, delay)), change) in lengths.into_iter().zip(fates).zip(changes) {
            match change {
                Some((part, true)) => {
                    sender.set_bound(store_bytes / part);
                    receiver.set_bound(kept(store_bytes / part));
                    receiver.count_short_again();
                }
                Some((1, false)) => sender.clear(),
                Some((2, false)) => {
                    receiver.clear();
                    receiver.count_short_again();
                    got.clear();
                }
                _ => {}
            }
            sequence += 1 + gap;
            sender.insert(sequence, &packet(sequence, length), 0..length);
            if arrives {
                late.push((delay, sequence, length));
            }
            late.retain_mut(|(delay, sequence, length)| {
                if *delay == 0 {
                    receiver.insert(*sequence, &packet(*sequence, *length), 0..*length);
                    got.push(*sequence);
                    return false;
                }
                *delay -= 1;
                true
            });
            for sequence in &got {
                prop_assert!(!sender.holds(*sequence) || receiver.holds(*sequence));
            }
        }
    }
}

#[test]
fn sequences_far_apart_are_bounded_by_the_tables_span() {
    let mut store = PacketStore::new(1 << 20, Keeping::Together);
    assert!(store.insert(5, b"five", 0..4));
    assert!(store.insert(5 + 4095, b"within 4096", 0..4));
    assert!(store.holds(5));
    assert!(store.insert(5 + 4096, b"beyond", 0..4));
    assert!(!store.holds(5));
    assert!(!store.insert(5, b"five", 0..4), "too old to come back");
    assert!(store.insert(1 << 60, b"far", 0..3));
    assert_eq!(store.used_bytes(), 3 + OVERHEAD_BYTES);
    assert!(!store.insert(u64::MAX, b"no sequence follows it", 0..4));
    assert!(store.insert(u64::MAX - 1, b"the last one", 0..4));
    assert!(store.holds(u64::MAX - 1));
}

#[test]
fn marks_are_news_once_and_leave_with_the_packet() {
    let mut store = PacketStore::new(4096, Keeping::Together);
    assert!(!store.confirm(7), "it is not there yet");
    store.insert(7, b"packet", 0..6);
    assert!(store.confirm(7) && !store.confirm(7));
    assert!(store.report_lost(7) && !store.report_lost(7));
    let stored = store.get(7).unwrap();
    assert!(!stored.confirmed && stored.lost);
    assert!(store.confirm(7), "it was only late");
    let stored = store.get(7).unwrap();
    assert!(stored.confirmed && stored.lost);
    store.clear();
    assert!(store.get(7).is_none());
    store.insert(7, b"packet", 0..6);
    assert!(!store.get(7).unwrap().confirmed);
}

#[test]
fn a_packet_that_is_held_already_stays_as_it_is() {
    let mut store = PacketStore::new(4096, Keeping::Together);
    assert!(store.insert(7, b"first", 0..5));
    assert!(!store.insert(7, b"other", 0..5));
    assert_eq!(store.get(7).unwrap().packet, b"first");
}

/// The most bytes of long packets behind the newest one that a store of 1 MiB still holds, beside so many
/// short packets before each of them. `stored`: whether the short ones are long enough to be stored.
fn horizon_bytes(short_packets: u64, stored: bool) -> usize {
    let mut store = PacketStore::new(1 << 20, Keeping::Apart);
    let mut long = Vec::new();
    for _ in 0..4000 {
        let mut sequence = long.last().map_or(0, |last| last + 1);
        for _ in 0..short_packets {
            if stored {
                store.insert(sequence, &packet(sequence, 100), 28..100);
            }
            sequence += 1;
        }
        assert!(store.insert(sequence, &packet(sequence, 1400), 40..1400));
        long.push(sequence);
    }
    let held = long.iter().rev().take_while(|sequence| store.holds(**sequence)).count();
    assert_eq!(held, long.iter().filter(|sequence| store.holds(**sequence)).count(), "the newest are held");
    held * 1400
}

#[test]
fn telemetry_and_acknowledgments_push_no_bulk_out_of_the_store() {
    let alone = horizon_bytes(0, false);
    assert!(alone > (1 << 20) * 8 / 10, "{alone}");
    for (short_packets, stored) in [(2, false), (100, false), (1, true), (50, true)] {
        let beside = horizon_bytes(short_packets, stored);
        assert!(beside * 5 >= alone * 4, "{beside} beside {short_packets}, and {alone} alone");
    }
}

#[test]
fn long_packets_have_the_room_of_short_ones_until_these_come() {
    let mut store = PacketStore::new(64 << 10, Keeping::Apart);
    let cost = 1000 + OVERHEAD_BYTES;
    let long = |store: &mut PacketStore, from: u64| {
        for sequence in from..from + 100 {
            store.insert(sequence, &packet(sequence, 1000), 0..1000);
        }
        (0..=from + 100).filter(|sequence| store.holds(*sequence)).count()
    };
    assert_eq!(long(&mut store, 0), (64 << 10) / cost);
    assert!(store.insert(200, &packet(200, 200), 0..200));
    assert_eq!(long(&mut store, 300), (65_536 - 264) / cost + 1);
    for sequence in 400..500 {
        assert!(store.insert(sequence, &packet(sequence, 200), 0..200));
        assert!(store.used_bytes() <= 64 << 10);
    }
    assert!(store.used_bytes() > 62 << 10);
    store.clear();
    assert_eq!(long(&mut store, 500), (56 << 10) / cost, "their room stays theirs");
}

#[test]
fn short_packets_have_a_share_of_the_bound_to_themselves() {
    let mut store = PacketStore::new(64 << 10, Keeping::Apart);
    assert!(store.insert(0, &packet(0, 1400), 40..1400));
    for sequence in 1..10_000 {
        let length = SHORT_BYTES - 1;
        assert!(store.insert(sequence, &packet(sequence, length), 0..length));
        assert!(store.used_bytes() <= 1400 + OVERHEAD_BYTES + (64 << 10) / 8);
    }
    assert!(store.holds(0) && store.holds(9_999) && !store.holds(9_900));
}

#[test]
fn a_store_without_packets_has_little_memory_and_a_shrunk_one_returns_it() {
    let mut store = PacketStore::new(64 << 20, Keeping::Apart);
    assert!(store.size_bytes() < 16 << 10);
    for sequence in 0..20_000 {
        store.insert(sequence, &packet(sequence, 1000), 40..1000);
    }
    let (full, held) = (store.size_bytes(), store.used_bytes());
    assert!(full > held && full < held * 13 / 10, "{full} for {held}");
    store.set_bound(4 << 20);
    let newest: Vec<u64> = (0..20_000).filter(|sequence| store.holds(*sequence)).collect();
    assert_eq!(newest.first(), Some(&(20_000 - newest.len() as u64)));
    assert!(store.used_bytes() <= 4 << 20 && store.used_bytes() > 3 << 20);
    assert!(store.size_bytes() < 10 << 20, "{}", store.size_bytes());
    for &sequence in &newest {
        assert_eq!(store.get(sequence).unwrap().packet, packet(sequence, 1000));
    }
    store.set_bound(64 << 20);
    assert!((20_000..40_000).all(|sequence| store.insert(sequence, &packet(sequence, 1000), 40..1000)));
    assert!(newest.iter().all(|sequence| store.holds(*sequence)));
    store.set_bound(1 << 20);
    let held: Vec<u64> = (0..40_000).filter(|sequence| store.holds(*sequence)).collect();
    assert!(held.len() > 700 && held.last() == Some(&39_999));
    assert!(held.iter().all(|sequence| store.get(*sequence).unwrap().packet == packet(*sequence, 1000)));
    assert!(store.size_bytes() < 2 << 20, "{}", store.size_bytes());
    store.set_bound(0);
    assert!(store.size_bytes() < 16 << 10);
}

#[test]
fn packets_far_ahead_that_stay_do_not_keep_the_memory_of_those_around_them() {
    let mut store = PacketStore::new(4 << 20, Keeping::Apart);
    let mut most = 0;
    for sequence in 0..40_000u64 {
        store.insert(sequence, &packet(sequence, 1000), 0..1000);
        if sequence % 100 == 0 {
            store.insert(sequence + 100_000, &packet(sequence + 100_000, 1000), 0..1000);
        }
        most = most.max(store.size_bytes());
    }
    assert!((100_000..139_900).step_by(100).all(|sequence| store.holds(sequence)));
    assert!(most < 6 << 20, "{most}");
}
