//! The packet store against a simple model of its rule, and the two stores of a direction against each other.

use crate::link::{pseudo_random, tcp_packet};
use proptest::prelude::*;
use re::store::{OVERHEAD_BYTES, PacketStore, lasting_bytes, lasts, receiver_bytes};
use re::{Decoder, Encoder, Parameters, Policy};
use std::collections::BTreeMap;
use wire::inner::Inner;

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
        let mut store = PacketStore::new(bound_bytes);
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
            for held in store.sequences() {
                let stored = store.get(held).unwrap();
                prop_assert_eq!(stored.packet, &packet(held, stored.packet.len())[..]);
                prop_assert_eq!(stored.payload, 0..stored.packet.len());
                used_bytes += stored.packet.len() + OVERHEAD_BYTES;
            }
            prop_assert_eq!(used_bytes, store.used_bytes());
        }
    }

    /// The bounds of both ends change as those of daemons do: the receiver's grows first, and the sender's
    /// shrinks first.
    #[test]
    fn whatever_the_sender_still_has_the_receiver_has_too_if_it_got_it(
        lengths in prop::collection::vec((1usize..1600, 0u64..20), 1..300),
        fates in prop::collection::vec((prop::bool::weighted(0.8), 0usize..5), 300),
        store_bytes in 4096usize..40_000,
        changes in prop::collection::vec((1usize..60, 4096usize..40_000), 0..6),
        lasts: bool,
    ) {
        let make = if lasts { PacketStore::lasting } else { PacketStore::new };
        let (mut sender, mut receiver) = (make(store_bytes), make(receiver_bytes(store_bytes)));
        let (mut sequence, mut late, mut got) = (0, Vec::new(), Vec::new());
        let (mut bound, mut changes, mut until_change) = (store_bytes, changes.into_iter(), 0);
        let mut wanted = bound;
        for ((length, gap), (arrives, delay)) in lengths.into_iter().zip(fates) {
            until_change -= 1i64;
            if until_change < 0 {
                // what was under way has arrived since the change
                receiver.set_bound(receiver_bytes(wanted));
                bound = wanted;
                if let Some((packets, next)) = changes.next() {
                    (until_change, wanted) = (packets as i64 + 6, next);
                    receiver.set_bound(receiver_bytes(bound.max(wanted)));
                    sender.set_bound(wanted);
                } else {
                    until_change = i64::MAX;
                }
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_lasting_store_holds_what_it_says_byte_for_byte_and_never_more_than_the_bound(
        arrivals in arrivals(400),
        bounds in prop::collection::vec(600usize..40_000, 1..4),
    ) {
        let mut store = PacketStore::lasting(bounds[0]);
        let mut bound_bytes = bounds[0];
        for (number, (sequence, length)) in arrivals.into_iter().enumerate() {
            if let Some(next) = bounds.get(number / 100).filter(|_| number % 100 == 0) {
                bound_bytes = *next;
                store.set_bound(bound_bytes);
            }
            store.insert(sequence, &packet(sequence, length), 0..length);
            prop_assert!(store.used_bytes() <= bound_bytes);
            let mut used_bytes = 0;
            for held in store.sequences() {
                let stored = store.get(held).unwrap();
                prop_assert_eq!(stored.packet, &packet(held, stored.packet.len())[..]);
                used_bytes += stored.packet.len() + OVERHEAD_BYTES;
                prop_assert!(held >= store.recent_from() || lasts(held));
            }
            prop_assert_eq!(used_bytes, store.used_bytes());
        }
    }
}

/// Bytes of memory of a store that is full, by its bound; packets have this length.
fn memory_of_full_store(lasts: bool, bound_bytes: usize, length: usize) -> f64 {
    let mut store = if lasts { PacketStore::lasting(bound_bytes) } else { PacketStore::new(bound_bytes) };
    let mut most = 0;
    for sequence in 0..(bound_bytes * 6 / length) as u64 {
        store.insert(sequence, &packet(sequence, length), 0..length);
        most = most.max(store.memory_bytes());
    }
    most as f64 / bound_bytes as f64
}

#[test]
fn a_full_store_takes_little_more_memory_than_its_bound() {
    for lasts in [true, false] {
        for (bound_bytes, length, most) in [
            (1 << 20, 1400, 1.16),
            (16 << 20, 1400, 1.05),
            (16 << 20, 140, 1.0),
            (64 << 20, 1400, 1.03),
            (64 << 20, 16_000, 1.08),
        ] {
            let share = memory_of_full_store(lasts, bound_bytes, length);
            assert!(share <= most, "{share:.3} with {length} bytes in {bound_bytes}, lasting: {lasts}");
        }
    }
}

#[test]
fn memory_is_taken_as_packets_come_and_given_back_as_the_bound_falls() {
    let mut store = PacketStore::lasting(64 << 20);
    assert_eq!(store.memory_bytes(), 0);
    for sequence in 0..200_000 {
        store.insert(sequence, &packet(sequence, 1400), 0..1400);
        if sequence == 100 {
            assert!(store.memory_bytes() < 3 << 20);
        }
    }
    assert!(store.memory_bytes() > 50 << 20, "{}", store.memory_bytes());
    store.set_bound(4 << 20);
    assert!(store.memory_bytes() < 7 << 20, "{}", store.memory_bytes());
    assert!(store.holds(199_999));
}

#[test]
fn a_lasting_store_has_all_that_is_recent_and_18_5_percent_of_what_is_older() {
    let bound_bytes = 40 << 20;
    let mut store = PacketStore::lasting(bound_bytes);
    let count = 100_000;
    for sequence in 0..count {
        store.insert(sequence, &packet(sequence, 1400), 0..1400);
    }
    let held = |ages: std::ops::Range<f64>| {
        let age = |sequence: u64| ((count - 1 - sequence) * 1464) as f64 / bound_bytes as f64;
        let of_age: Vec<_> = (0..count).filter(|sequence| ages.contains(&age(*sequence))).collect();
        of_age.iter().filter(|sequence| store.holds(**sequence)).count() as f64 / of_age.len() as f64
    };
    assert_eq!(held(0.0..0.58), 1.0);
    assert!((0.17..0.2).contains(&held(0.6..2.6)), "{}", held(0.6..2.6));
    assert_eq!(held(2.9..3.4), 0.0);
}

proptest! {
    #[test]
    fn neither_generation_shrinks_as_the_bound_grows(bound in 0usize..100 << 20, more in 0usize..2 << 20) {
        let (one, other) = (lasting_bytes(bound), lasting_bytes(bound + more));
        prop_assert!(one <= other && bound - one <= bound + more - other);
    }
}

#[test]
fn packets_without_a_place_in_the_store_push_nothing_out() {
    let mut store = PacketStore::lasting(16 << 20);
    // one stored packet in sixteen: the others are acknowledgments
    for number in 0..5_000 {
        store.insert(number * 16, &packet(number, 1400), 0..1400);
    }
    assert_eq!(store.sequences().count(), 5_000);
    assert!(store.memory_bytes() < 5_000 * 1464 + (3 << 20));
}

#[test]
fn hostile_orders_of_sequences_take_at_most_twice_the_memory() {
    let mut store = PacketStore::lasting(4 << 20);
    let mut most = 0;
    for round in 0..40u64 {
        for number in 0..2000 {
            // a few high ones between many low ones, so that each segment keeps something
            let sequence =
                if number % 50 == 0 { 90_000 + round * 40 + number / 50 } else { round * 2000 + number };
            store.insert(sequence, &packet(sequence, 1400), 0..1400);
            most = most.max(store.memory_bytes());
        }
    }
    assert!(most < 9 << 20, "{most}");
}

#[test]
fn sequences_far_apart_are_bounded_by_the_tables_span() {
    let mut store = PacketStore::new(1 << 20);
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
    let mut store = PacketStore::new(4096);
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
    let mut store = PacketStore::new(4096);
    assert!(store.insert(7, b"first", 0..5));
    assert!(!store.insert(7, b"other", 0..5));
    assert_eq!(store.get(7).unwrap().packet, b"first");
}

/// Memory of a full encoder and of its decoder, in bytes.
fn full(store_bytes: usize) -> (usize, usize) {
    let parameters = Parameters { store_bytes, policy: Policy::Acked, ..Parameters::default() };
    let mut encoder = Encoder::new(&parameters).with_lasting_store();
    let mut decoder = Decoder::new(16, 4, store_bytes).with_lasting_store();
    let (mut encoder_bytes, mut decoder_bytes, mut out) = (0, 0, Vec::new());
    for sequence in 0..(receiver_bytes(store_bytes) / 1400 * 4 + 100) as u64 {
        let packet = tcp_packet(80, sequence as u32 * 1360, &pseudo_random(sequence, 1360));
        let inner = Inner::parse(&packet).unwrap();
        out.clear();
        encoder.encode(sequence, &packet, &inner, &mut out);
        decoder.store(sequence, &packet, &inner);
        if let Some(earlier) = sequence.checked_sub(100) {
            encoder.confirm(earlier);
        }
        encoder_bytes = encoder_bytes.max(encoder.memory_bytes());
        decoder_bytes = decoder_bytes.max(decoder.memory_bytes());
    }
    (encoder_bytes, decoder_bytes)
}

/// A full encoder or decoder takes at most 1.3 bytes of memory for each byte of packets that it keeps.
#[test]
fn a_full_encoder_and_decoder_take_at_most_1_3_bytes_for_each_byte_kept() {
    for store_bytes in [16 << 20, 24 << 20, 64 << 20] {
        let (encoder_bytes, decoder_bytes) = full(store_bytes);
        let kept = |bound: usize| bound as f64 * 1400.0 / (1400 + OVERHEAD_BYTES) as f64;
        let shares = (
            encoder_bytes as f64 / kept(store_bytes),
            decoder_bytes as f64 / kept(receiver_bytes(store_bytes)),
        );
        println!("store of {store_bytes}: encoder {:.3}, decoder {:.3}", shares.0, shares.1);
        assert!(shares.0 <= 1.3 && shares.1 <= 1.3, "{shares:?} of {store_bytes}");
    }
}

#[test]
fn no_encoder_or_decoder_takes_more_memory_than_its_size_allows() {
    for store_bytes in [4 << 10, 8 << 10, 30_000, 64 << 10, 200 << 10, 1 << 20, 3 << 20, 16 << 20, 24 << 20] {
        let (encoder, decoder) = full(store_bytes);
        let most = (Encoder::most_memory_bytes(store_bytes), Decoder::most_memory_bytes(store_bytes));
        println!("{store_bytes}: encoder {encoder} of {}, decoder {decoder} of {}", most.0, most.1);
        assert!(encoder <= most.0 && decoder <= most.1, "{store_bytes}: {encoder} {decoder} of {most:?}");
    }
}

/// Packets of random bytes in passes over `contents`, each of a flow of its own. Returns the payload bytes,
/// those that were removed and those that came too late, by pass.
fn passes(store_bytes: usize, contents: &[Vec<u64>]) -> Vec<(f64, f64, f64)> {
    let parameters = Parameters { store_bytes, ..Parameters::default() };
    let mut encoder = Encoder::new(&parameters).with_lasting_store();
    let (mut out, mut sequence) = (Vec::new(), 0);
    let mut pass = |contents: &Vec<u64>| {
        let (mut sent, before) = (0, *encoder.statistics());
        for content in contents {
            let payload = pseudo_random(content + 1, 1200);
            sent += payload.len();
            let packet = tcp_packet(sequence as u16, 0, &payload);
            out.clear();
            encoder.encode(sequence, &packet, &Inner::parse(&packet).unwrap(), &mut out);
            encoder.confirm(sequence);
            sequence += 1;
        }
        let after = encoder.statistics();
        let removed = after.removed_bytes - before.removed_bytes;
        (sent as f64, removed as f64, (after.departed_bytes - before.departed_bytes) as f64)
    };
    contents.iter().map(&mut pass).collect()
}

#[test]
fn packets_that_repeat_alone_and_in_any_order_are_found() {
    let contents: Vec<u64> = (0..3800).collect();
    let mut shuffled = contents.clone();
    shuffled.sort_by_key(|content| content.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let passes = passes(16 << 20, &[contents.clone(), shuffled, contents]);
    for (sent, removed, _) in &passes[1..] {
        assert!(*removed > 0.8 * sent, "{removed} of {sent}");
    }
}

#[test]
fn what_repeats_after_it_left_the_store_is_counted() {
    let contents: Vec<u64> = (0..4400).collect();
    let too_late = |store_bytes, second: Vec<u64>| {
        let (sent, removed, too_late) = passes(store_bytes, &[contents.clone(), second])[1];
        (removed / sent, too_late / sent)
    };
    let (removed, departed) = too_late(4 << 20, contents.clone());
    assert!(removed + departed > 0.4 && removed + departed < 1.1, "{removed} {departed}");
    let (removed, departed) = too_late(16 << 20, contents.clone());
    assert!(removed > 0.8 && departed < 0.05, "{removed} {departed}");
    let (_, departed) = too_late(4 << 20, (5000..9400).collect());
    assert!(departed < 0.01, "nothing repeats: {departed}");
}
