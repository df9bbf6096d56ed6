//! Rate, delay, queue and each impairment on its own, to the nanosecond where required.

use std::time::Duration;

use crate::driver::{Log, deliver, ms, number, numbered, run, us};
use air::timing::{ETHERNET_TO_MPDU_BYTES, Standard, Timing};
use air::{
    Bitrate, CapacityConfig, Link, LinkConfig, LossConfig, PolicerConfig, QueueDiscipline, RadioConfig,
    ReorderConfig,
};

const MEGABYTE: Option<Bitrate> = Some(Bitrate::from_bytes_per_second(1_000_000));

fn times(log: &Log) -> Vec<Duration> {
    log.iter().map(|(time, _)| *time).collect()
}

fn numbers(log: &Log) -> Vec<u64> {
    log.iter().map(|(_, frame)| number(frame)).collect()
}

#[test]
fn frames_leave_at_the_rate_and_arrive_after_the_delay() {
    let config = LinkConfig { rate: MEGABYTE, delay: ms(10), ..LinkConfig::default() };
    let mut link = Link::new(&config, 1).unwrap();
    let log = run(
        &mut link,
        [
            (ms(0), numbered(0, 1500)),
            (ms(0), numbered(1, 500)),
            (ms(1), numbered(2, 1000)),
            (ms(20), numbered(3, 1)),
        ],
    );
    // 1.5 ms; then 0.5 ms; then 1 ms, having waited; then, idle in between, 8 bytes.
    assert_eq!(times(&log), [us(11_500), us(12_000), us(13_000), us(30_008)]);
    assert_eq!(link.counters().air_time, us(3_008));
}

#[test]
fn overhead_takes_time_but_is_not_counted_as_bytes() {
    let config = LinkConfig { rate: MEGABYTE, overhead_bytes: 500, ..LinkConfig::default() };
    let mut link = Link::new(&config, 1).unwrap();
    assert_eq!(times(&run(&mut link, [(ms(0), numbered(0, 1500))])), [ms(2)]);
    assert_eq!((link.counters().air_time, link.counters().transmitted.bytes), (ms(2), 1500));
}

#[test]
fn a_link_without_a_rate_has_no_queue() {
    let config = LinkConfig { delay: ms(3), queue_bytes: 0, ..LinkConfig::default() };
    let mut link = Link::new(&config, 1).unwrap();
    let log = run(&mut link, (0..100).map(|count| (ms(1), numbered(count, 1500))));
    assert_eq!(numbers(&log), (0..100).collect::<Vec<_>>());
    assert!(times(&log).iter().all(|&time| time == ms(4)));
    assert_eq!(link.counters().longest_queue_bytes, 0);
}

#[test]
fn the_full_queue_drops_its_tail_and_nothing_else() {
    let config = LinkConfig { rate: MEGABYTE, queue_bytes: 3000, ..LinkConfig::default() };
    let mut link = Link::new(&config, 1).unwrap();
    // On the air: 0. Waiting: 1, 2 (2900 bytes). 3 does not fit, 4 does, exactly.
    let sizes = [1500, 1500, 1400, 101, 100, 8];
    let log = run(&mut link, (0..).zip(sizes).map(|(count, bytes)| (ms(0), numbered(count, bytes))));
    assert_eq!(numbers(&log), [0, 1, 2, 4]);
    let counters = link.counters();
    assert_eq!((counters.queue_dropped.frames, counters.queue_dropped.bytes), (2, 109));
    assert_eq!((counters.longest_queue_bytes, counters.lost.frames), (3000, 0));
}

#[test]
fn a_queue_of_frames_is_full_whatever_their_length() {
    let config = LinkConfig { rate: MEGABYTE, queue_frames: Some(2), ..LinkConfig::default() };
    let mut link = Link::new(&config, 1).unwrap();
    // On the air: 0. Waiting: 1, 2. After 1500 us, 1 leaves the queue.
    let sizes = [1500, 20, 20, 20];
    let log = run(&mut link, (0..).zip(sizes).map(|(count, bytes)| (ms(0), numbered(count, bytes))));
    assert_eq!(numbers(&log), [0, 1, 2]);
    assert_eq!(link.counters().queue_dropped.frames, 1);
    let bytes = LinkConfig { queue_bytes: 30, ..config };
    let mut link = Link::new(&bytes, 1).unwrap();
    let log = run(&mut link, (0..).zip(sizes).map(|(count, bytes)| (ms(0), numbered(count, bytes))));
    assert_eq!(numbers(&log), [0, 1], "the bound on bytes holds, too");
}

/// A twentieth more than the rate is offered for 19 s, to a queue with room for 200 ms.
#[test]
fn codel_drops_from_the_head_and_shortens_a_standing_queue() {
    let offered = || (0..20_000).map(|count| (us(950 * count), numbered(count, 1000)));
    let config = LinkConfig { rate: MEGABYTE, queue_bytes: 200_000, ..LinkConfig::default() };
    let longest_wait = |log: &Log| {
        let later = log.iter().skip(log.len() / 2);
        later.map(|(time, frame)| *time - us(950 * number(frame))).max().unwrap()
    };
    let mut tail = Link::new(&config, 1).unwrap();
    let log = run(&mut tail, offered());
    assert!((ms(200)..=ms(201)).contains(&longest_wait(&log)), "{:?}", longest_wait(&log));
    let mut codel = Link::new(&LinkConfig { queue_discipline: QueueDiscipline::CODEL, ..config }, 1).unwrap();
    let log = run(&mut codel, offered());
    assert!(longest_wait(&log) < ms(60), "{:?}", longest_wait(&log));
    // A wait of 5 ms comes after 100 ms, and the first drop an interval later: at the head.
    let sent = numbers(&log);
    let first = sent.iter().zip(0..).find(|(number, place)| **number != *place).unwrap().1;
    assert!((195..=210).contains(&first), "{first}");
    assert_eq!(sent[first as usize], first + 1, "one frame");
    let (tail, codel) = (tail.counters(), codel.counters());
    assert_eq!(codel.offered.frames, codel.queue_dropped.frames + codel.delivered.frames);
    assert!(codel.delivered.frames * 100 > tail.delivered.frames * 98);
}

#[test]
fn a_policer_drops_beyond_burst_and_rate_and_delays_nothing() {
    let policer = Some(PolicerConfig { rate: Bitrate::from_bytes_per_second(500_000), burst_bytes: 5000 });
    let config = LinkConfig { policer, overhead_bytes: 250, delay: ms(10), ..LinkConfig::default() };
    let mut link = Link::new(&config, 1).unwrap();
    // Each frame takes 1000 bytes of the bucket, which gets 500 in a millisecond.
    let log = run(&mut link, (0..20).map(|count| (ms(count), numbered(count, 750))));
    assert_eq!(numbers(&log), [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 18]);
    assert!(log.iter().all(|(time, frame)| *time == ms(number(frame) + 10)));
    assert_eq!(link.counters().queue_dropped.frames, 6);
    // At 28 ms the bucket is full again. An unchanged policer keeps its level; another one is full.
    let at_once = |link: &mut Link| run(link, (0..6).map(|count| (ms(28), numbered(count, 750)))).len();
    let now = LinkConfig { delay: Duration::ZERO, ..config };
    link.set_config(&now).unwrap();
    let first = at_once(&mut link);
    link.set_config(&LinkConfig { corrupt: 0.5, ..now.clone() }).unwrap();
    let second = at_once(&mut link);
    let policer = Some(PolicerConfig { rate: Bitrate::from_bytes_per_second(500_000), burst_bytes: 2000 });
    link.set_config(&LinkConfig { policer, ..now }).unwrap();
    assert_eq!((first, second, at_once(&mut link)), (5, 0, 2));
}

#[test]
fn a_frame_leaves_the_queue_when_its_transmission_begins() {
    let config = LinkConfig { rate: MEGABYTE, queue_bytes: 1500, ..LinkConfig::default() };
    let mut link = Link::new(&config, 1).unwrap();
    link.send(ms(0), numbered(0, 1500));
    link.send(ms(0), numbered(1, 1500));
    link.send(us(1499), numbered(2, 1500));
    assert_eq!(link.counters().queue_dropped.frames, 1);
    link.send(us(1500), numbered(3, 1500));
    assert_eq!((link.counters().queue_dropped.frames, link.waiting_bytes()), (1, 1500));
}

#[test]
fn lost_frames_take_their_time_on_the_air() {
    let loss = LossConfig::Trace { receptions: "01".parse().unwrap() };
    let config = LinkConfig { rate: MEGABYTE, loss, ..LinkConfig::default() };
    let mut link = Link::new(&config, 1).unwrap();
    let log = run(&mut link, (0..4).map(|count| (ms(0), numbered(count, 1000))));
    assert_eq!(numbers(&log), [1, 3]);
    assert_eq!(times(&log), [ms(2), ms(4)]);
    let counters = link.counters();
    assert_eq!((counters.transmitted.bytes, counters.lost.bytes, counters.air_time), (4000, 2000, ms(4)));
}

#[test]
fn held_back_frames_are_overtaken_and_counted_when_they_arrive_late() {
    let reorder = Some(ReorderConfig { probability: 0.2, extra_delay: us(2_500) });
    let config = LinkConfig { rate: MEGABYTE, delay: ms(10), reorder, ..LinkConfig::default() };
    let mut link = Link::new(&config, 7).unwrap();
    let log = run(&mut link, (0..2000).map(|count| (ms(count), numbered(count, 1000))));
    let late = log.iter().filter(|(time, frame)| *time == ms(number(frame) + 11) + us(2_500)).count();
    let punctual = log.iter().filter(|(time, frame)| *time == ms(number(frame) + 11)).count();
    assert_eq!(late + punctual, 2000);
    assert!((320..480).contains(&late), "{late}");
    // By RFC 4737 a frame is reordered if a later one arrived first: of three consecutive frames held back,
    // the first is not overtaken by the other two.
    let numbers = numbers(&log);
    let overtaken =
        |&(place, number): &(usize, &u64)| numbers[..place].iter().any(|earlier| earlier > number);
    let reordered = numbers.iter().enumerate().filter(overtaken).count();
    assert_eq!(link.counters().reordered.frames, reordered as u64);
    assert!(link.counters().reordered.frames > 300);
}

#[test]
fn duplicates_follow_their_originals_at_once() {
    let config = LinkConfig { rate: MEGABYTE, duplicate: 0.25, corrupt: 0.5, ..LinkConfig::default() };
    let mut link = Link::new(&config, 3).unwrap();
    let log = run(&mut link, (0..4000).map(|count| (ms(count), numbered(count, 1000))));
    let pairs = log.windows(2).filter(|pair| pair[0].0 == pair[1].0).collect::<Vec<_>>();
    assert!(pairs.iter().all(|pair| pair[0].1 == pair[1].1));
    let counters = link.counters();
    assert_eq!(counters.duplicated.frames, pairs.len() as u64);
    assert_eq!(counters.delivered.frames, 4000 + counters.duplicated.frames);
    // 1000 and 2000 expected, standard errors 27 and 32.
    assert!((892..1108).contains(&counters.duplicated.frames), "{}", counters.duplicated.frames);
    assert!((1872..2128).contains(&counters.corrupted.frames), "{}", counters.corrupted.frames);
    assert_eq!(counters.transmitted.frames, 4000);
    assert_eq!(counters.reordered.frames, 0);
}

#[test]
fn flipped_bits_fall_anywhere_in_the_frame() {
    let config = LinkConfig { corrupt: 1.0, ..LinkConfig::default() };
    let mut link = Link::new(&config, 3).unwrap();
    let log = run(&mut link, (0..3200).map(|_| (ms(0), vec![0u8; 4])));
    let mut flips = [0u32; 32];
    for (_, frame) in &log {
        flips[u32::from_be_bytes(frame[..].try_into().unwrap()).leading_zeros() as usize] += 1;
    }
    // 100 expected each, standard error 10.
    assert!(flips.iter().all(|&count| (58..142).contains(&count)), "{flips:?}");
}

#[test]
fn a_recorded_capacity_paces_the_frames() {
    let trace = Some(CapacityConfig::OpportunitiesMs("5\n5\n12\n".parse().unwrap()));
    let config = LinkConfig { trace, delay: ms(100), ..LinkConfig::default() };
    let mut link = Link::new(&config, 1).unwrap();
    let log = run(&mut link, (0..6).map(|count| (ms(0), numbered(count, 1500))));
    assert_eq!(times(&log), [105, 105, 112, 117, 117, 124].map(ms));
}

#[test]
fn a_radio_takes_what_80211_takes_and_tries_again() {
    let radio =
        RadioConfig { standard: Standard::G, rate: Bitrate::from_megabits_per_second(54), retry_limit: 2 };
    // Frame 0: received at once. Frame 1: at the third try. Frame 2: never. Frame 3: at the second try.
    let loss = LossConfig::Trace { receptions: "1001000".parse().unwrap() };
    let config = LinkConfig { radio: Some(radio), loss, ..LinkConfig::default() };
    let mut link = Link::new(&config, 1).unwrap();
    let log = run(&mut link, (0..4).map(|count| (ms(0), numbered(count, 1514))));
    assert_eq!(numbers(&log), [0, 1, 3]);

    let timing = Timing::new(Standard::G, Bitrate::from_megabits_per_second(54)).unwrap();
    let mpdu = 1514 + ETHERNET_TO_MPDU_BYTES;
    assert_eq!(mpdu, 1536);
    let [zero, one, two] = [0, 1, 2].map(|retry| timing.unacknowledged(mpdu, retry));
    let first = timing.acknowledged(mpdu, 0);
    let second = first + zero + one + timing.acknowledged(mpdu, 2);
    let fourth = second + (zero + one + two) + timing.acknowledged(mpdu, 0);
    // The recording has restarted: the fourth frame's first try meets its first "1".
    assert_eq!(times(&log), [first, second, fourth]);
    let counters = link.counters();
    assert_eq!((counters.transmitted.frames, counters.retried.frames, counters.lost.frames), (8, 4, 1));
    assert_eq!((counters.transmitted.bytes, counters.air_time), (8 * 1514, fourth));
}

#[test]
fn retries_turn_independent_losses_into_their_power() {
    let radio =
        RadioConfig { standard: Standard::B, rate: Bitrate::from_megabits_per_second(11), retry_limit: 2 };
    let loss = LossConfig::Bernoulli { probability: 0.4 };
    let config = LinkConfig { radio: Some(radio), loss, ..LinkConfig::default() };
    let lost =
        crate::driver::lost_numbers(&config, 21, std::iter::repeat_n(100, 40_000)).len() as f64 / 40_000.0;
    let (expected, error) = (0.064, (0.064f64 * 0.936 / 40_000.0).sqrt());
    assert!((lost - expected).abs() < 4.0 * error, "{lost}");
}

#[test]
fn new_conditions_hold_for_what_waits_and_what_comes() {
    let config = LinkConfig { rate: MEGABYTE, delay: ms(10), ..LinkConfig::default() };
    let mut link = Link::new(&config, 1).unwrap();
    for count in 0..3 {
        link.send(ms(0), numbered(count, 1000));
    }
    let mut log = Log::new();
    deliver(&mut link, us(500), &mut log);
    link.set_config(&LinkConfig { rate: Some(Bitrate::from_bytes_per_second(100_000)), ..config.clone() })
        .unwrap();
    deliver(&mut link, Duration::MAX, &mut log);
    // The frame on the air ends at the old rate.
    assert_eq!(times(&log), [ms(11), ms(21), ms(31)]);
}

/// Opportunities before the change, and during the old transmitter's last frame, do not belong to the new
/// one.
#[test]
fn a_recorded_capacity_that_begins_later_has_no_past() {
    let slow = LinkConfig { rate: Some(Bitrate::from_bytes_per_second(100_000)), ..LinkConfig::default() };
    let trace = Some(CapacityConfig::OpportunitiesMs("1\n2\n3\n4\n".parse().unwrap()));
    let mut link = Link::new(&slow, 1).unwrap();
    for count in 0..3 {
        link.send(ms(0), numbered(count, 1000));
    }
    let mut log = Log::new();
    deliver(&mut link, us(4_500), &mut log);
    link.set_config(&LinkConfig { rate: None, trace, ..slow }).unwrap();
    deliver(&mut link, Duration::MAX, &mut log);
    assert_eq!(times(&log), [ms(10), ms(11), ms(12)]);
}

#[test]
fn a_shorter_delay_does_not_let_frames_overtake() {
    let config = LinkConfig { delay: ms(100), ..LinkConfig::default() };
    let mut link = Link::new(&config, 1).unwrap();
    link.send(ms(0), numbered(0, 100));
    link.set_config(&LinkConfig { delay: ms(1), ..config }).unwrap();
    let log = run(&mut link, [(ms(10), numbered(1, 100)), (ms(200), numbered(2, 100))]);
    assert_eq!(numbers(&log), [0, 1, 2]);
    assert_eq!(times(&log), [ms(100), ms(100), ms(201)]);
}

#[test]
fn a_loss_model_that_stays_keeps_its_state_and_refused_conditions_change_nothing() {
    let loss = LossConfig::Trace { receptions: "1110".parse().unwrap() };
    let config = LinkConfig { loss, ..LinkConfig::default() };
    let mut link = Link::new(&config, 1).unwrap();
    let mut log = run(&mut link, (0..2).map(|count| (ms(0), numbered(count, 100))));
    link.set_config(&LinkConfig { delay: ms(1), ..config.clone() }).unwrap();
    assert!(link.set_config(&LinkConfig { corrupt: 2.0, ..config.clone() }).is_err());
    assert_eq!(link.config().delay, ms(1));
    log.extend(run(&mut link, (2..6).map(|count| (ms(0), numbered(count, 100)))));
    assert_eq!(numbers(&log), [0, 1, 2, 4, 5]);
}

#[test]
fn a_dead_link_delivers_nothing_and_ends() {
    let config = LinkConfig {
        loss: LossConfig::Bernoulli { probability: 1.0 },
        rate: MEGABYTE,
        ..LinkConfig::default()
    };
    let mut link = Link::new(&config, 1).unwrap();
    assert!(run(&mut link, (0..50).map(|count| (ms(0), numbered(count, 1000)))).is_empty());
    assert_eq!((link.counters().lost.frames, link.poll_timeout()), (50, None));
}
