//! Repairs of forward error correction, and what they restore.

use crate::Seed;
use recovery::sliding::{Decoder, Encoder, MAX_SPAN, Restored, factor};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use wire::repair::Repair;

/// The number before the first: numbers are a byte in the input.
const BEFORE: u64 = 1 << 33;
/// What a decoder keeps at most: as many sources, equations and spare buffers as it has room for, of 255
/// bytes and the byte behind them.
const MOST_BYTES: usize = 512 * 256 * 2;

/// One arrival in the input: its number, its kind (even: a source), its length, and its bytes.
fn arrivals(mut rest: &[u8]) -> impl Iterator<Item = (u64, bool, &[u8])> {
    std::iter::from_fn(move || {
        let &[number, kind, length, ref behind @ ..] = rest else { return None };
        let (bytes, behind) = behind.split_at_checked(usize::from(length))?;
        rest = behind;
        Some((BEFORE + u64::from(number), kind % 2 == 0, bytes))
    })
}

/// Whether the sources give the sum of this repair.
fn agrees(key: u64, numbers: &[u64], sources: &BTreeMap<u64, Vec<u8>>, sum: &[u8]) -> bool {
    let mut total = Vec::new();
    for number in numbers {
        let Some(source) = sources.get(number) else { return false };
        recovery::field::add_scaled(&mut total, source, factor(key, *number));
    }
    let is_zero = |bytes: &[u8]| bytes.iter().all(|&byte| byte == 0);
    let both = total.len().min(sum.len());
    total[..both] == sum[..both] && is_zero(&total[both..]) && is_zero(&sum[both..])
}

/// A parsed and emitted repair parses equally. A source is restored once, never one that arrived, and the
/// first repair that lacks one source alone is the sum of it and the others.
pub fn check(bytes: &[u8]) -> bool {
    let (mut decoder, mut sources) = (Decoder::default(), BTreeMap::new());
    let mut restored: BTreeSet<u64> = BTreeSet::new();
    let mut is_accepted = false;
    for (key, (newest, is_source, bytes)) in (0..).zip(arrivals(bytes)) {
        let mut alone = None;
        if is_source {
            if decoder.take_source(newest, bytes) {
                let with_end = bytes.iter().copied().chain([recovery::sliding::END]);
                sources.entry(newest).or_insert_with(|| with_end.collect());
            }
        } else {
            let Ok(repair) = Repair::parse(bytes) else { continue };
            let numbers: Vec<u64> = repair.numbers(newest).collect();
            let mut again = Vec::new();
            Repair::emit_front(numbers.iter().copied(), &mut again);
            again.extend_from_slice(repair.sum);
            let read = Repair::parse(&again).expect("it was written");
            assert!(read.numbers(newest).eq(numbers.iter().copied()) && read.sum == repair.sum);
            assert!(numbers[0] == newest && numbers.iter().all(|number| number + MAX_SPAN > newest));
            let is_alone = numbers.iter().filter(|number| !sources.contains_key(number)).count() == 1;
            let is_new = decoder.take_repair(key, numbers.iter().copied(), repair.sum);
            is_accepted |= is_new;
            alone = (is_new && is_alone).then_some((numbers, repair.sum));
        }
        while let Some(Restored { number, bytes }) = decoder.poll_restored() {
            assert!(restored.insert(number), "{number} is restored once");
            let with_end = bytes.into_iter().chain([recovery::sliding::END]).collect();
            assert!(sources.insert(number, with_end).is_none(), "{number} was here");
            if let Some((numbers, sum)) = alone.take().filter(|(numbers, _)| numbers.contains(&number)) {
                assert!(agrees(key, &numbers, &sources, sum));
            }
        }
        assert!(decoder.bytes() <= MOST_BYTES, "{} bytes", decoder.bytes());
    }
    is_accepted
}

/// Sources and repairs of them: one is lost, two are lost, two arrive late, and a sum is of nothing.
pub fn seeds() -> Vec<Seed> {
    let arrival = |out: &mut Vec<u8>, number: u8, kind: u8, bytes: &[u8]| {
        out.extend_from_slice(&[number, kind, bytes.len() as u8]);
        out.extend_from_slice(bytes);
    };
    let source = |number: u8| vec![number; usize::from(number % 5) * 10];
    // `lost` do not arrive before the repairs, `late` after them
    let stream = |lost: &'static [u8], late: &'static [u8], repairs: usize| {
        move |out: &mut Vec<u8>| {
            let mut encoder = Encoder::default();
            let numbers = [1, 2, 4, 7, 8];
            for number in numbers {
                encoder.push(Duration::ZERO, BEFORE + u64::from(number), &source(number));
                if !lost.contains(&number) {
                    arrival(out, number, 0, &source(number));
                }
            }
            for at in 0..repairs {
                let key = (numbers.len() - lost.len() + at) as u64;
                let mut body = Vec::new();
                Repair::emit_front(encoder.numbers(5), &mut body);
                encoder.write_sum(key, 5, &mut body);
                arrival(out, 8, 1, &body);
            }
            late.iter().for_each(|&number| arrival(out, number, 0, &source(number)));
        }
    };
    let nothing = move |out: &mut Vec<u8>| {
        arrival(out, 1, 0, &[7; 20]);
        arrival(out, 2, 1, &[1]);
        arrival(out, 200, 1, &[0xff, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80]);
    };
    vec![
        Seed::of("one-lost", stream(&[4], &[], 1)),
        Seed::of("two-lost", stream(&[2, 7], &[], 2)),
        Seed::of("late", stream(&[1, 2, 7], &[7, 2], 2)),
        Seed::of("nothing", nothing),
    ]
}
