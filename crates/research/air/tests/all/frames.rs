//! Frames whose sender decides the rate of every try.

use std::time::Duration;

use air::Bitrate;
use air::medium::{Delivery, Ended, Medium, MediumConfig, Tries};
use air::timing::{Standard, Timing};

const FRAME_BYTES: usize = 1530;

const fn megabits(rate: u64) -> Bitrate {
    Bitrate::from_megabits_per_second(rate)
}

/// Two radios of 802.11g, whose power at 6 Mbit/s suffices up to 100 m.
fn pair(metres: f64) -> Medium {
    let mut config = MediumConfig { stations: vec![[0.0, 0.0], [metres, 0.0]], ..MediumConfig::default() };
    config.radio.standard = Standard::G;
    config.radio.rate = megabits(6);
    config.range_metres = 100.0;
    config.carrier_sense_metres = 200.0;
    Medium::new(&config, 1).unwrap()
}

/// Everything that arrives and ends after a frame with these tries.
fn all_of(medium: &mut Medium, to: Option<usize>, tries: &[Tries]) -> (Vec<Delivery>, Vec<Ended>, Duration) {
    let mut now = Duration::ZERO;
    medium.send_frame(now, 0, to, vec![7; FRAME_BYTES], (41, tries));
    let (mut arrived, mut ended) = (Vec::new(), Vec::new());
    while let Some(due) = medium.poll_timeout() {
        now = now.max(due);
        arrived.extend(std::iter::from_fn(|| medium.poll_deliver(now)));
        ended.extend(std::iter::from_fn(|| medium.poll_ended(now)));
    }
    (arrived, ended, now)
}

const PLAN: [Tries; 2] = [Tries { rate: megabits(54), count: 2 }, Tries { rate: megabits(6), count: 2 }];

#[test]
fn a_near_frame_takes_its_first_rate_and_the_time_of_that_rate() {
    let (arrived, ended, now) = all_of(&mut pair(10.0), Some(1), &PLAN);
    assert_eq!(ended, [Ended { id: 41, from: 0, acknowledged: true, tries: 1 }]);
    assert_eq!(
        (arrived.len(), arrived[0].rate, arrived[0].frame.len()),
        (1, Some(megabits(54)), FRAME_BYTES)
    );
    let timing = Timing::new(Standard::G, megabits(54)).unwrap();
    let exchange = timing.frame(FRAME_BYTES + 4) + timing.sifs() + timing.acknowledgement();
    assert!(now >= exchange && now <= exchange + timing.difs() + timing.slot() * 15, "{now:?}");
}

#[test]
fn a_far_frame_arrives_at_the_rate_that_its_power_suffices_for() {
    let (arrived, ended, _) = all_of(&mut pair(95.0), Some(1), &PLAN);
    assert_eq!(ended, [Ended { id: 41, from: 0, acknowledged: true, tries: 3 }]);
    assert_eq!(arrived[0].rate, Some(megabits(6)));
}

/// 54 Mbit/s need 17 dB more than 6 Mbit/s. Power falls by the fourth power of the distance down to 86 m, and
/// by the square below: 86² / 100⁴ × 10^1.7 = 1 / 16.4².
#[test]
fn a_rates_range_follows_from_the_sensitivities_of_the_standard() {
    let at = [Tries { rate: megabits(54), count: 1 }];
    for (metres, reaches) in [(10.0, true), (16.0, true), (17.0, false), (30.0, false)] {
        assert_eq!(all_of(&mut pair(metres), Some(1), &at).1[0].acknowledged, reaches, "{metres} m");
    }
}

#[test]
fn a_frame_that_nobody_receives_ends_after_its_last_try() {
    let (arrived, ended, _) = all_of(&mut pair(150.0), Some(1), &PLAN);
    assert_eq!((arrived.len(), ended), (0, vec![Ended { id: 41, from: 0, acknowledged: false, tries: 4 }]));
}

#[test]
fn the_tries_of_a_frame_are_bounded() {
    let endless = [Tries { rate: megabits(54), count: u8::MAX }; 4];
    let (_, ended, _) = all_of(&mut pair(150.0), Some(1), &endless);
    assert_eq!(ended[0].tries, 255);
}

#[test]
fn a_broadcast_has_one_try_and_no_acknowledgement() {
    let (arrived, ended, _) = all_of(&mut pair(95.0), None, &PLAN);
    assert!(arrived.iter().all(|delivery| delivery.to.is_empty()), "54 Mbit/s do not reach so far");
    assert_eq!(ended, [Ended { id: 41, from: 0, acknowledged: true, tries: 1 }]);
}

#[test]
fn a_frame_that_cannot_be_sent_ends_at_once() {
    let unsent = [Ended { id: 41, from: 0, acknowledged: false, tries: 0 }];
    let mistakes: [(Option<usize>, &[Tries]); 4] = [
        (Some(2), &PLAN),
        (Some(0), &PLAN),
        (Some(1), &[]),
        (Some(1), &[Tries { rate: megabits(7), count: 3 }]),
    ];
    for (to, tries) in mistakes {
        assert_eq!(all_of(&mut pair(10.0), to, tries).1, unsent);
    }
}

#[test]
fn a_full_queue_tells_the_sender_which_frame_it_refused() {
    let mut medium = pair(10.0);
    for id in 0..60 {
        medium.send_frame(Duration::ZERO, 0, Some(1), vec![0; 100], (id, &PLAN));
    }
    let refused: Vec<Ended> = std::iter::from_fn(|| medium.poll_ended(Duration::ZERO)).collect();
    let ids: Vec<u64> = refused.iter().map(|ended| ended.id).collect();
    assert_eq!(ids, (51..60).collect::<Vec<u64>>(), "50 wait beside the one in transmission");
    assert!(refused.iter().all(|ended| ended.tries == 0 && !ended.acknowledged));
    assert_eq!(medium.counters(0).queue_dropped.frames, 9);
}
