//! Speed of forward error correction: sources of 1,400 bytes, windows of 64 and 128 of them.
//!
//! `cargo bench -p overheard-recovery`. The result is bytes of sources a second, of a stream that loses 1, 5
//! and 20% of its sources and has twice as many repairs. Encoding takes each source and writes the repairs
//! that are due; decoding takes what arrives, and restores the rest.

// A benchmark fails by panicking.
#![allow(clippy::unwrap_used)]

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use recovery::sliding::{Decoder, Encoder};
use std::hint::black_box;
use std::time::Duration;

const SOURCE_BYTES: usize = 1400;
const SOURCES: u64 = 2000;

/// What arrives: a source, or a repair by its key and the numbers it covers.
enum Arrival {
    Source(u64),
    Repair(u64, Vec<u64>, Vec<u8>),
}

fn source(number: u64) -> Vec<u8> {
    let mut rng = ChaCha8Rng::seed_from_u64(number);
    (0..SOURCE_BYTES).map(|_| rng.random()).collect()
}

/// Passes each repair that is due to `take`: its key, the numbers it covers, and its sum.
fn encode(sources: &[Vec<u8>], loss: f64, window: usize, mut take: impl FnMut(u64, &Encoder, &[u8])) {
    let (mut encoder, mut owed, mut sum) = (Encoder::default(), 0.0, Vec::with_capacity(2 * SOURCE_BYTES));
    for (number, source) in (0..).zip(sources) {
        encoder.push(Duration::ZERO, number, source);
        encoder.forget_before((number + 1).saturating_sub(window as u64));
        owed += 2.0 * loss;
        while owed >= 1.0 {
            owed -= 1.0;
            sum.clear();
            let key = 1_000_000 + number;
            encoder.write_sum(key, window, &mut sum);
            take(key, &encoder, &sum);
        }
    }
}

fn arrivals(sources: &[Vec<u8>], loss: f64, window: usize) -> Vec<Arrival> {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut repairs = Vec::new();
    encode(sources, loss, window, |key, encoder, sum| {
        let numbers: Vec<u64> = encoder.numbers(window).collect();
        repairs.push((numbers[0], Arrival::Repair(key, numbers, sum.to_vec())));
    });
    let mut repairs = repairs.into_iter().peekable();
    let mut arrivals = Vec::new();
    for number in 0..sources.len() as u64 {
        if rng.random::<f64>() >= loss {
            arrivals.push(Arrival::Source(number));
        }
        while let Some((_, repair)) = repairs.next_if(|(newest, _)| *newest <= number) {
            if rng.random::<f64>() >= loss {
                arrivals.push(repair);
            }
        }
    }
    arrivals
}

fn decode(sources: &[Vec<u8>], arrivals: &[Arrival]) -> usize {
    let (mut decoder, mut restored) = (Decoder::default(), 0);
    for arrival in arrivals {
        match arrival {
            Arrival::Source(number) => {
                black_box(decoder.take_source(*number, &sources[*number as usize]));
            }
            Arrival::Repair(key, numbers, sum) => {
                black_box(decoder.take_repair(*key, numbers.iter().copied(), sum));
            }
        }
        while let Some(it) = decoder.poll_restored() {
            assert_eq!(it.bytes, sources[it.number as usize]);
            restored += 1;
        }
    }
    restored
}

fn speeds(criterion: &mut Criterion) {
    let sources: Vec<Vec<u8>> = (0..SOURCES).map(source).collect();
    let mut group = criterion.benchmark_group("sliding");
    group.throughput(Throughput::Bytes(SOURCES * SOURCE_BYTES as u64)).sample_size(10);
    for window in [64, 128] {
        for loss in [1, 5, 20] {
            let share = f64::from(loss) / 100.0;
            group.bench_function(format!("encode, window {window}, loss {loss}%"), |bencher| {
                bencher.iter(|| {
                    encode(&sources, share, window, |_, _, sum| {
                        black_box(sum);
                    })
                });
            });
            let arrivals = arrivals(&sources, share, window);
            let lost = sources.len() - arrivals.iter().filter(|it| matches!(it, Arrival::Source(_))).count();
            assert!(decode(&sources, &arrivals) * 2 >= lost, "most are restored");
            group.bench_function(format!("decode, window {window}, loss {loss}%"), |bencher| {
                bencher.iter_batched(
                    || (),
                    |()| black_box(decode(&sources, &arrivals)),
                    BatchSize::PerIteration,
                );
            });
        }
    }
    group.finish();
}

criterion_group!(benches, speeds);
criterion_main!(benches);
