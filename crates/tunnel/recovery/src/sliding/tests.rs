use super::*;
use proptest::prelude::*;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use std::collections::BTreeMap;
use std::time::Duration;

/// A source, or a repair of the window before it.
#[derive(Clone)]
enum Sent {
    Source(u64, Vec<u8>),
    Repair(u64, Vec<u64>, Vec<u8>),
}

/// Sends sources, and a repair after every so many of them.
fn sent(seed: u64, sources: usize, every: usize, window: usize) -> (BTreeMap<u64, Vec<u8>>, Vec<Sent>) {
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    let (mut encoder, mut originals, mut sent) = (Encoder::default(), BTreeMap::new(), Vec::new());
    let mut number = rng.random_range(0..1u64 << 30);
    for at in 0..sources {
        number += rng.random_range(1..3);
        let bytes: Vec<u8> = (0..rng.random_range(0..60)).map(|_| rng.random_range(0..3)).collect();
        encoder.push(Duration::ZERO, number, &bytes);
        sent.push(Sent::Source(number, bytes.clone()));
        originals.insert(number, bytes);
        if at % every == every - 1 {
            let mut sum = Vec::new();
            encoder.write_sum(at as u64, window, &mut sum);
            sent.push(Sent::Repair(at as u64, encoder.numbers(window).collect(), sum));
        }
    }
    (originals, sent)
}

fn take(decoder: &mut Decoder, sent: &Sent) -> Vec<Restored> {
    match sent {
        Sent::Source(number, bytes) => drop(decoder.take_source(*number, bytes)),
        Sent::Repair(key, numbers, sum) => {
            decoder.take_repair(*key, numbers.iter().copied(), sum);
        }
    }
    std::iter::from_fn(|| decoder.poll_restored()).collect()
}

proptest! {
    /// For any losses and any order within a window, what is restored is what was sent, once.
    #[test]
    fn whatever_is_restored_was_sent_and_lost(
        seed: u64, every in 1usize..8, window in 1usize..32, loss in 0.0f64..0.5, disorder in 1usize..12,
    ) {
        let (originals, mut sent) = sent(seed, 120, every, window);
        let mut rng = ChaCha12Rng::seed_from_u64(seed ^ 1);
        sent.chunks_mut(disorder).for_each(|chunk| chunk.shuffle(&mut rng));
        let mut decoder = Decoder::default();
        let mut arrived = BTreeMap::new();
        let mut restored = BTreeMap::new();
        for it in &sent {
            if rng.random_bool(loss) { continue; }
            if let Sent::Source(number, _) = it { arrived.insert(*number, restored.contains_key(number)); }
            for Restored { number, bytes } in take(&mut decoder, it) {
                prop_assert_eq!(&bytes, &originals[&number]);
                prop_assert!(!arrived.contains_key(&number), "it was here");
                prop_assert!(restored.insert(number, ()).is_none(), "once");
            }
        }
    }

    /// As many repairs as losses restore all but one time in a hundred, whichever they are.
    #[test]
    fn any_repairs_beyond_the_losses_restore_all(seed: u64, lost in 1usize..12) {
        let (originals, sent) = sent(seed, 16, 1, 16);
        let mut rng = ChaCha12Rng::seed_from_u64(seed ^ 2);
        let mut sources: Vec<Sent> = sent.into_iter().filter(|it| matches!(it, Sent::Source(..))).collect();
        // only repairs of all sources are sure to cover every loss
        let (mut encoder, mut whole) = (Encoder::default(), Vec::new());
        for (&number, bytes) in &originals { encoder.push(Duration::ZERO, number, bytes); }
        for key in 1000..1000 + lost as u64 + 2 {
            let mut sum = Vec::new();
            encoder.write_sum(key, 16, &mut sum);
            whole.push(Sent::Repair(key, encoder.numbers(16).collect(), sum));
        }
        sources.shuffle(&mut rng);
        let mut all: Vec<Sent> = sources.into_iter().skip(lost).chain(whole).collect();
        all.shuffle(&mut rng);
        let mut decoder = Decoder::default();
        let restored: usize = all.iter().map(|it| take(&mut decoder, it).len()).sum();
        let arrived = decoder.len();
        prop_assert_eq!(arrived, originals.len(), "{} restored", restored);
    }

    /// Sums of a liar, and any numbers, neither panic nor grow without a bound.
    /// Lost sources that are covered are restored by the arrival of the others, and by no fewer.
    #[test]
    fn covered_sources_need_no_repairs(seed: u64, every in 1usize..8, window in 1usize..32, loss in 0.0f64..0.5) {
        let (originals, sent) = sent(seed, 60, every, window);
        let mut rng = ChaCha12Rng::seed_from_u64(seed ^ 1);
        let mut decoder = Decoder::default();
        let mut missing = originals.clone();
        for it in sent.iter().filter(|_| !rng.random_bool(loss)) {
            if let Sent::Source(number, _) = it { missing.remove(number); }
            take(&mut decoder, it).iter().for_each(|restored| _ = missing.remove(&restored.number));
        }
        let mut covered: Vec<u64> = decoder.covered().collect();
        covered.sort_unstable();
        prop_assert!(covered.iter().all(|number| missing.contains_key(number)));
        let others: Vec<u64> = missing.keys().copied().filter(|number| !covered.contains(number)).collect();
        for number in others {
            let source = Sent::Source(number, missing.remove(&number).unwrap());
            take(&mut decoder, &source).iter().for_each(|restored| _ = missing.remove(&restored.number));
        }
        prop_assert!(missing.is_empty(), "{:?}", missing.keys());
    }

    #[test]
    fn any_repairs_are_taken(
        steps in proptest::collection::vec(
            (any::<bool>(), 0u64..600, proptest::collection::btree_set(0u64..128, 1..40),
             proptest::collection::vec(any::<u8>(), 0..30)),
            1..120,
        ),
    ) {
        let mut decoder = Decoder::default();
        for (is_source, number, back, bytes) in steps {
            if is_source {
                decoder.take_source(number, &bytes);
            } else {
                let numbers: Vec<u64> = back.iter().map(|back| number.saturating_sub(*back)).collect();
                decoder.take_repair(number, numbers.iter().copied(), &bytes);
            }
            while decoder.poll_restored().is_some() {}
            prop_assert!(decoder.bytes() < 1 << 17);
        }
    }
}

#[test]
fn a_source_that_arrives_after_its_restoration_is_not_new() {
    let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
    encoder.push(Duration::ZERO, 1, b"one");
    encoder.push(Duration::ZERO, 2, b"two");
    let mut sum = Vec::new();
    encoder.write_sum(9, 2, &mut sum);
    assert!(decoder.take_source(1, b"one") && !decoder.take_source(1, b"one"));
    assert!(decoder.take_repair(9, encoder.numbers(2), &sum));
    assert_eq!(decoder.poll_restored(), Some(Restored { number: 2, bytes: b"two".to_vec() }));
    assert!(!decoder.take_source(2, b"two"));
    assert!(!decoder.take_repair(9, encoder.numbers(2), &sum), "nothing is missing");
}

#[test]
fn factors_of_all_numbers_are_used_alike() {
    let mut counts = [0u32; 256];
    (0..255_000u64).for_each(|at| counts[usize::from(factor(at / 500, at % 500))] += 1);
    assert_eq!(counts[0], 0);
    assert!(counts[1..].iter().all(|count| (850..1150).contains(count)));
}

/// Restored sources of those lost, where some arrive late.
fn share_restored(loss: f64, late: f64, window: usize) -> f64 {
    let mut rng = ChaCha12Rng::seed_from_u64(5);
    let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
    let mut arriving: BTreeMap<u64, Vec<Sent>> = BTreeMap::new();
    let (mut lost, mut restored, mut owed) = (0, 0, 0.0);
    let share = loss * 1.85 + 0.008;
    for at in 0..2000u64 {
        let mut leaving = vec![Sent::Source(at, at.to_be_bytes().to_vec())];
        encoder.push(Duration::ZERO, at, &at.to_be_bytes());
        owed += share;
        if owed >= 1.0 {
            owed -= 1.0;
            let mut sum = Vec::new();
            encoder.write_sum(at, window, &mut sum);
            leaving.push(Sent::Repair(at, encoder.numbers(window).collect(), sum));
        }
        for it in leaving {
            if rng.random_bool(loss) {
                lost += u64::from(matches!(it, Sent::Source(..)));
                continue;
            }
            let after = if rng.random_bool(late) { rng.random_range(1..40) } else { 0 };
            arriving.entry(at + after).or_default().push(it);
        }
        for it in arriving.remove(&at).unwrap_or_default() {
            restored += take(&mut decoder, &it).len() as u64;
        }
    }
    restored as f64 / lost as f64
}

#[test]
fn nearly_all_losses_are_restored_in_spite_of_late_sources() {
    for (loss, late) in [(0.05, 0.0), (0.1, 0.0), (0.2, 0.0), (0.1, 0.2), (0.2, 0.2), (0.3, 0.05)] {
        let share = share_restored(loss, late, 120);
        assert!(share > 0.9, "{loss} {late}: {share}");
    }
}
