//! The loss models match their formulas: frequencies against exact expectations, within four standard errors,
//! under fixed seeds.

use std::time::Duration;

use crate::driver::ms;
use air::LossConfig;
use air::loss::LossProcess;

fn outcomes(config: &LossConfig, seed: u64, count: u64, bytes: usize) -> Vec<bool> {
    let mut process = LossProcess::new(config, seed);
    (0..count).map(|index| process.lose(index, 0, bytes as u64 * 8)).collect()
}

fn share(outcomes: &[bool]) -> f64 {
    outcomes.iter().filter(|&&lost| lost).count() as f64 / outcomes.len() as f64
}

/// Lengths of the runs of `value`, without the first and the last run, which the ends cut.
fn runs(outcomes: &[bool], value: bool) -> Vec<usize> {
    let mut runs: Vec<(bool, usize)> = Vec::new();
    for &outcome in outcomes {
        match runs.last_mut() {
            Some((of, length)) if *of == outcome => *length += 1,
            _ => runs.push((outcome, 1)),
        }
    }
    let inner = runs.get(1..runs.len().max(2) - 1).unwrap_or_default();
    inner.iter().filter(|(of, _)| *of == value).map(|(_, length)| *length).collect()
}

fn mean(values: &[usize]) -> f64 {
    values.iter().sum::<usize>() as f64 / values.len() as f64
}

#[track_caller]
fn close(observed: f64, expected: f64, standard_error: f64) {
    assert!(
        (observed - expected).abs() < 4.0 * standard_error,
        "{observed} is not {expected} ± 4 × {standard_error}"
    );
}

#[test]
fn bernoulli_loses_its_share_independently() {
    const COUNT: u64 = 200_000;
    for (seed, probability) in [(1, 0.01), (2, 0.05), (3, 0.2), (4, 0.5)] {
        let outcomes = outcomes(&LossConfig::Bernoulli { probability }, seed, COUNT, 1000);
        let error = (probability * (1.0 - probability) / COUNT as f64).sqrt();
        close(share(&outcomes), probability, error);
        // Independent losses come in geometric runs of mean 1/(1 - p) and variance p/(1 - p)^2.
        let bursts = runs(&outcomes, true);
        let error = probability.sqrt() / (1.0 - probability) / (bursts.len() as f64).sqrt();
        close(mean(&bursts), 1.0 / (1.0 - probability), error);
    }
}

#[test]
fn certain_outcomes_are_certain() {
    assert_eq!(share(&outcomes(&LossConfig::None, 1, 10_000, 1500)), 0.0);
    for (probability, expected) in [(0.0, 0.0), (1.0, 1.0)] {
        assert_eq!(share(&outcomes(&LossConfig::Bernoulli { probability }, 1, 10_000, 1500)), expected);
        let rate = probability;
        assert_eq!(share(&outcomes(&LossConfig::BitErrors { rate }, 1, 10_000, 1500)), expected);
        let gilbert = LossConfig::SimpleGilbert { good_to_bad: probability, bad_to_good: 1.0 - probability };
        assert_eq!(share(&outcomes(&gilbert, 1, 10_000, 1500)), expected);
    }
}

#[test]
fn bit_errors_lose_by_length() {
    const COUNT: u64 = 100_000;
    for (seed, rate, bytes) in [(1, 1e-5, 40), (2, 1e-5, 1500), (3, 1e-4, 576), (4, 1e-6, 9000)] {
        let config = LossConfig::BitErrors { rate };
        let expected = 1.0 - (1.0 - rate).powf(bytes as f64 * 8.0);
        let error = (expected * (1.0 - expected) / COUNT as f64).sqrt();
        close(share(&outcomes(&config, seed, COUNT, bytes)), expected, error);
        assert!((config.mean_loss(bytes) - expected).abs() < 1e-9);
    }
}

#[test]
fn simple_gilbert_has_its_share_and_its_bursts_and_its_gaps() {
    const COUNT: u64 = 400_000;
    for (seed, p, r) in [(1, 0.01, 1.0), (2, 0.01, 0.6), (3, 0.05, 0.25), (4, 0.1, 0.3)] {
        let config = LossConfig::SimpleGilbert { good_to_bad: p, bad_to_good: r };
        let outcomes = outcomes(&config, seed, COUNT, 1000);
        // A mean over a chain with memory λ = 1 - p - r has (1 + λ)/(1 - λ) times the independent variance.
        let (expected, memory) = (p / (p + r), 1.0 - p - r);
        let inflation = (1.0 + memory) / (1.0 - memory);
        let error = (expected * (1.0 - expected) * inflation / COUNT as f64).sqrt();
        close(share(&outcomes), expected, error);
        assert!((config.mean_loss(1000) - expected).abs() < 1e-12);

        // Runs are geometric: mean 1/q, standard deviation sqrt(1 - q)/q.
        for (value, leave) in [(true, r), (false, p)] {
            let lengths = runs(&outcomes, value);
            let error = (1.0f64 - leave).sqrt() / leave / (lengths.len() as f64).sqrt();
            close(mean(&lengths), 1.0 / leave, error.max(1e-12));
        }
        let bursts = runs(&outcomes, true);
        let single = bursts.iter().filter(|&&length| length == 1).count() as f64 / bursts.len() as f64;
        close(single, r, (r * (1.0 - r) / bursts.len() as f64).sqrt().max(1e-12));
    }
}

/// Gilbert-Elliott by its definition, bit by bit: the probabilities, over two consecutive frames of `bits`,
/// that neither, only the first, only the second, or both are lost.
fn two_frames_by_the_bit(good_error: f64, bad_error: f64, p: f64, r: f64, bits: usize) -> [f64; 4] {
    let bad = p / (p + r);
    // weight[lost pattern][state], the state entered before each bit.
    let mut weight = [[0.0f64; 2]; 4];
    weight[0] = [1.0 - bad, bad];
    for frame in [1, 2] {
        for _ in 0..bits {
            let mut next = [[0.0; 2]; 4];
            for pattern in 0..4 {
                let [good, bad] = weight[pattern];
                let entered = [good * (1.0 - p) + bad * r, good * p + bad * (1.0 - r)];
                for (state, error) in [(0, good_error), (1, bad_error)] {
                    next[pattern | frame][state] += entered[state] * error;
                    next[pattern][state] += entered[state] * (1.0 - error);
                }
            }
            weight = next;
        }
    }
    weight.map(|[good, bad]| good + bad)
}

#[test]
fn gilbert_elliott_loses_pairs_of_frames_as_its_bits_would() {
    const PAIRS: u64 = 60_000;
    for (seed, good_error, bad_error, p, r, bytes) in [
        // Long bad states with many errors: losses come together.
        (1, 0.0, 1e-2, 2e-5, 2e-4, 100),
        // Short ones: nearly independent frames.
        (2, 1e-6, 5e-3, 1e-4, 1e-2, 200),
        // Errors in the good state only.
        (3, 2e-4, 0.0, 1e-3, 1e-3, 125),
        (4, 0.0, 1.0, 1e-5, 1e-3, 300),
    ] {
        let config = LossConfig::GilbertElliott {
            good_error_rate: good_error,
            bad_error_rate: bad_error,
            good_to_bad: p,
            bad_to_good: r,
        };
        let expected = two_frames_by_the_bit(good_error, bad_error, p, r, bytes * 8);
        assert!((config.mean_loss(bytes) - expected[1] - expected[3]).abs() < 1e-9);
        assert!((config.mean_loss(bytes) - expected[2] - expected[3]).abs() < 1e-9);

        // Pairs under seeds of their own are independent, so that the error is the plain one.
        let mut observed = [0u64; 4];
        for pair in 0..PAIRS {
            let mut process = LossProcess::new(&config, seed << 32 | pair);
            let [first, second] = [0, 1].map(|index| process.lose(index, 0, bytes as u64 * 8));
            observed[usize::from(first) | usize::from(second) << 1] += 1;
        }
        for (count, probability) in observed.iter().zip(expected) {
            let error = (probability * (1.0 - probability) / PAIRS as f64).sqrt();
            close(*count as f64 / PAIRS as f64, probability, error.max(1e-9));
        }
    }
}

#[test]
fn gilbert_elliott_keeps_its_share_over_a_long_run_of_mixed_lengths() {
    const COUNT: u64 = 300_000;
    let config = LossConfig::GilbertElliott {
        good_error_rate: 1e-7,
        bad_error_rate: 1e-3,
        good_to_bad: 1e-6,
        bad_to_good: 1e-4,
    };
    let mut process = LossProcess::new(&config, 11);
    let sizes = [60usize, 1500, 576];
    let mut lost = [0u64; 3];
    for index in 0..COUNT {
        let kind = (index % 3) as usize;
        lost[kind] += u64::from(process.lose(index, 0, sizes[kind] as u64 * 8));
    }
    for (kind, &bytes) in sizes.iter().enumerate() {
        let expected = config.mean_loss(bytes);
        // Mean stay in the bad state: 10^4 bits, less than two rounds of the three frames (17088 bits); three
        // times the independent variance is more than the memory can add.
        let error = (expected * (1.0 - expected) * 3.0 / (COUNT as f64 / 3.0)).sqrt();
        close(lost[kind] as f64 / (COUNT as f64 / 3.0), expected, error);
    }
}

#[test]
fn a_recording_is_replayed_bit_by_bit() {
    let config = LossConfig::Trace { receptions: "110100".parse().unwrap() };
    let lost: Vec<bool> = outcomes(&config, 9, 12, 1500);
    let expected: Vec<bool> = "110100110100".chars().map(|bit| bit == '0').collect();
    assert_eq!(lost, expected);
    assert_eq!(config.mean_loss(1500), 0.5);
}

#[test]
fn timed_gilbert_has_its_share_and_its_bursts_at_the_same_times_whatever_is_sent() {
    const COUNT: u32 = 2_000_000;
    let config = LossConfig::TimedGilbert { good: ms(1900), bad: ms(100) };
    assert!((config.mean_loss(1500) - 0.05).abs() < 1e-12);
    let every = |milliseconds: u32| {
        let mut process = LossProcess::new(&config, 5);
        let lost = (0..COUNT / milliseconds).map(|index| {
            process.advance(ms(1) * (index * milliseconds));
            process.lose(u64::from(index), 0, 8)
        });
        lost.collect::<Vec<_>>()
    };
    let each = every(1);
    // The chain forgets at the rates of both states together: its memory is 1/(1/1900 + 1/100) = 95 ms.
    let error = (0.05 * 0.95 * 2.0 * 95.0 / f64::from(COUNT)).sqrt();
    close(share(&each), 0.05, error);
    let bursts = runs(&each, true);
    close(mean(&bursts), 100.5, 100.0 / (bursts.len() as f64).sqrt());
    let tenth: Vec<bool> = each.iter().copied().step_by(10).collect();
    assert_eq!(every(10), tenth);
}

#[test]
fn timed_gilbert_goes_over_a_long_silence_at_once() {
    let nanosecond = Duration::from_nanos(1);
    let config = LossConfig::TimedGilbert { good: nanosecond, bad: nanosecond };
    let mut process = LossProcess::new(&config, 5);
    let lost = (1..=4000).filter(|&day| {
        process.advance(ms(86_400_000) * day);
        process.lose(day.into(), 0, 8)
    });
    close(lost.count() as f64 / 4000.0, 0.5, (0.25f64 / 4000.0).sqrt());
    process.advance(Duration::ZERO);
}
