//! For any conditions and schedule: every frame is counted, every bound holds, and a repetition gives the
//! same result.

use std::time::Duration;

use crate::driver::{Log, deliver, ms, number, numbered, run, us};
use air::timing::Standard;
use air::{
    Bitrate, CapacityConfig, Link, LinkConfig, LossConfig, PolicerConfig, QueueDiscipline, RadioConfig,
    ReorderConfig,
};
use proptest::prelude::*;

fn loss() -> impl Strategy<Value = LossConfig> {
    let probability = 0.0..=1.0f64;
    let small = 0.0..0.001f64;
    prop_oneof![
        Just(LossConfig::None),
        probability.clone().prop_map(|probability| LossConfig::Bernoulli { probability }),
        (probability.clone(), probability.clone())
            .prop_map(|(good_to_bad, bad_to_good)| LossConfig::SimpleGilbert { good_to_bad, bad_to_good }),
        (small.clone(), probability.clone(), small.clone(), small.clone()).prop_map(
            |(good_error_rate, bad_error_rate, good_to_bad, bad_to_good)| LossConfig::GilbertElliott {
                good_error_rate,
                bad_error_rate,
                good_to_bad,
                bad_to_good
            }
        ),
        small.prop_map(|rate| LossConfig::BitErrors { rate }),
        "[01]{1,20}".prop_map(|bits| LossConfig::Trace { receptions: bits.parse().unwrap() }),
        (1u64..50_000, 1u64..50_000)
            .prop_map(|(good, bad)| LossConfig::TimedGilbert { good: us(good), bad: us(bad) }),
    ]
}

/// Every discipline, with times that schedules reach.
fn discipline() -> impl Strategy<Value = QueueDiscipline> {
    let codel = (0u64..5000, 5000u64..20_000)
        .prop_map(|(target, interval)| QueueDiscipline::Codel { target: us(target), interval: us(interval) });
    prop_oneof![Just(QueueDiscipline::DropTail), codel]
}

fn policer() -> impl Strategy<Value = Option<PolicerConfig>> {
    let policer = (100_000..100_000_000u64, 1usize..20_000).prop_map(|(bits, burst_bytes)| PolicerConfig {
        rate: Bitrate::from_bits_per_second(bits),
        burst_bytes,
    });
    proptest::option::of(policer)
}

/// Every kind of capacity.
fn capacity() -> impl Strategy<Value = LinkConfig> {
    let traced = proptest::collection::vec(1u32..30, 1..20).prop_map(|mut times| {
        times.sort_unstable();
        let trace = Some(CapacityConfig::OpportunitiesMs(times.try_into().unwrap()));
        LinkConfig { trace, ..LinkConfig::default() }
    });
    let radio =
        (prop_oneof![Just((Standard::B, 11)), Just((Standard::G, 54)), Just((Standard::A, 6))], 0u8..=15)
            .prop_map(|((standard, megabits), retry_limit)| {
                let rate = Bitrate::from_megabits_per_second(megabits);
                LinkConfig {
                    radio: Some(RadioConfig { standard, rate, retry_limit }),
                    ..LinkConfig::default()
                }
            });
    prop_oneof![
        Just(LinkConfig::default()),
        (100_000..100_000_000u64).prop_map(|bits| LinkConfig {
            rate: Some(Bitrate::from_bits_per_second(bits)),
            ..LinkConfig::default()
        }),
        traced,
        radio,
    ]
}

fn config() -> impl Strategy<Value = LinkConfig> {
    let reorder = proptest::option::of(
        (0.0..=1.0f64, 0u64..30)
            .prop_map(|(probability, extra)| ReorderConfig { probability, extra_delay: ms(extra) }),
    );
    let queue = (0usize..20_000, proptest::option::of(0usize..20), discipline(), policer());
    (capacity(), loss(), 0u64..50_000, queue, reorder, 0.0..0.5f64, 0.0..0.5f64, 0usize..100).prop_map(
        |(capacity, loss, delay_us, queue, reorder, duplicate, corrupt, overhead_bytes)| LinkConfig {
            loss,
            delay: us(delay_us),
            queue_bytes: queue.0,
            queue_frames: queue.1,
            queue_discipline: queue.2,
            policer: queue.3,
            reorder,
            duplicate,
            corrupt,
            overhead_bytes,
            ..capacity
        },
    )
}

/// Gaps in microseconds and lengths in bytes.
fn schedule() -> impl Strategy<Value = Vec<(Duration, Vec<u8>)>> {
    let gap = prop_oneof![3 => Just(0u64), 5 => 0..3000u64, 1 => 0..100_000u64];
    proptest::collection::vec((gap, 8usize..2000), 1..120).prop_map(|frames| {
        let mut now = Duration::ZERO;
        (0..)
            .zip(frames)
            .map(|(count, (gap, bytes))| {
                now += us(gap);
                (now, numbered(count, bytes))
            })
            .collect()
    })
}

#[track_caller]
fn check_conservation(link: &Link) {
    let (counters, held) = (link.counters(), link.held());
    assert_eq!(
        counters.offered.frames + counters.duplicated.frames,
        counters.queue_dropped.frames + counters.lost.frames + counters.delivered.frames + held.frames
    );
    assert_eq!(
        counters.offered.bytes + counters.duplicated.bytes,
        counters.queue_dropped.bytes + counters.lost.bytes + counters.delivered.bytes + held.bytes
    );
    assert!(counters.retried.frames <= counters.transmitted.frames);
    assert!(link.waiting_bytes() as u64 <= held.bytes);
}

proptest! {
    #[test]
    fn every_frame_is_accounted_for_at_any_time(config in config(), seed: u64, schedule in schedule()) {
        let mut link = Link::new(&config, seed).unwrap();
        let mut log = Log::new();
        for (time, frame) in schedule {
            deliver(&mut link, time, &mut log);
            link.send(time, frame);
            check_conservation(&link);
            prop_assert!(link.waiting_bytes() <= config.queue_bytes);
        }
        deliver(&mut link, Duration::MAX, &mut log);
        check_conservation(&link);
        prop_assert_eq!(link.held().frames, 0);
        prop_assert_eq!(link.poll_timeout(), None);
        let counters = link.counters();
        prop_assert!(counters.longest_queue_bytes <= config.queue_bytes);
        prop_assert_eq!(counters.delivered.frames, log.len() as u64);
        prop_assert_eq!(
            counters.transmitted.frames - counters.retried.frames,
            counters.offered.frames - counters.queue_dropped.frames
        );
    }

    #[test]
    fn the_same_seed_and_schedule_give_the_same_log(config in config(), seed: u64, schedule in schedule()) {
        let mut links = [Link::new(&config, seed).unwrap(), Link::new(&config, seed).unwrap()];
        let logs = links.each_mut().map(|link| run(link, schedule.clone()));
        prop_assert_eq!(&logs[0], &logs[1]);
        prop_assert_eq!(links[0].counters(), links[1].counters());
    }

    /// A driver that polls too often or too late gets the same frames in the same order, and none too early.
    #[test]
    fn what_arrives_does_not_depend_on_when_one_looks(
        config in config(), seed: u64, schedule in schedule(), step_us in 1u64..20_000,
    ) {
        let mut punctual = Link::new(&config, seed).unwrap();
        let expected = run(&mut punctual, schedule.clone());

        let mut link = Link::new(&config, seed).unwrap();
        let mut log = Log::new();
        let mut now = Duration::ZERO;
        let mut schedule = schedule.into_iter().peekable();
        while schedule.peek().is_some() || link.poll_timeout().is_some() {
            // Frames are offered in time; arrivals are polled in steps only.
            while let Some((time, frame)) = schedule.next_if(|(time, _)| *time <= now) {
                link.send(time, frame);
            }
            while let Some(frame) = link.poll_deliver(now) {
                log.push((now, frame));
            }
            now += us(step_us);
        }
        prop_assert_eq!(log.len(), expected.len());
        for ((late, frame), (time, expected)) in log.iter().zip(&expected) {
            prop_assert_eq!(frame, expected);
            prop_assert!(time <= late && *late < *time + us(step_us));
        }
        prop_assert_eq!(link.counters(), punctual.counters());
    }

    #[test]
    fn frames_stay_in_order_and_intact_where_nothing_else_is_asked(
        config in config(), later in config(), seed: u64, schedule in schedule(),
    ) {
        let calm = |config: LinkConfig| LinkConfig { reorder: None, duplicate: 0.0, corrupt: 0.0, ..config };
        let mut link = Link::new(&calm(config), seed).unwrap();
        let half = schedule.len() / 2;
        let mut log = Log::new();
        for (count, (time, frame)) in schedule.iter().cloned().enumerate() {
            deliver(&mut link, time, &mut log);
            if count == half {
                // Another delay and capacity do not let frames overtake either.
                link.set_config(&calm(later.clone())).unwrap();
            }
            link.send(time, frame);
            check_conservation(&link);
        }
        deliver(&mut link, Duration::MAX, &mut log);
        prop_assert!(log.windows(2).all(|pair| number(&pair[0].1) < number(&pair[1].1)));
        for (time, frame) in &log {
            let (offered, original) = &schedule[number(frame) as usize];
            prop_assert!(frame == original && time >= offered);
        }
        prop_assert_eq!(link.counters().reordered.frames, 0);
        prop_assert_eq!(link.held().frames, 0);
    }

    #[test]
    fn at_most_one_bit_of_a_frame_changes(config in config(), seed: u64, schedule in schedule()) {
        let config = LinkConfig { reorder: None, duplicate: 0.0, loss: LossConfig::None, ..config };
        let config = LinkConfig {
            queue_bytes: usize::MAX,
            queue_frames: None,
            queue_discipline: QueueDiscipline::DropTail,
            policer: None,
            ..config
        };
        let mut link = Link::new(&config, seed).unwrap();
        let log = run(&mut link, schedule.clone());
        let mut changed = 0;
        for ((_, arrived), (_, sent)) in log.iter().zip(&schedule) {
            prop_assert_eq!(arrived.len(), sent.len());
            let bits: u32 = arrived.iter().zip(sent).map(|(a, b)| (a ^ b).count_ones()).sum();
            prop_assert!(bits <= 1);
            changed += u64::from(bits);
        }
        prop_assert_eq!(log.len(), schedule.len());
        prop_assert_eq!(changed, link.counters().corrupted.frames);
    }
}

#[test]
fn empty_frames_do_not_fill_the_memory_without_bound() {
    let config = LinkConfig { delay: ms(1000), ..LinkConfig::default() };
    let mut link = Link::new(&config, 1).unwrap();
    let most = Link::MOST_HELD_BYTES / 64;
    for _ in 0..most + 10 {
        link.send(Duration::ZERO, Vec::new());
    }
    assert_eq!(link.held().frames, most);
    assert_eq!(link.counters().queue_dropped.frames, 10);
}
