//! Interactions of stations on one channel, and the balance of its counters.

use std::time::Duration;

use air::LossConfig;
use air::medium::{Delivery, DirectedLoss, Medium, MediumConfig, PACKET_TO_MPDU_BYTES, StationCounters};
use air::timing::{Standard, Timing};
use proptest::prelude::*;

const PACKET_BYTES: usize = 1500;

fn row(count: u32, metres: f64) -> MediumConfig {
    let stations = (0..count).map(|number| [f64::from(number) * metres, 0.0]).collect();
    MediumConfig { stations, ..MediumConfig::default() }
}

/// Arrivals by sender and receiver in a second with always busy stations.
fn saturated(config: &MediumConfig, ways: &[(usize, usize)]) -> (Vec<u64>, Medium) {
    let mut medium = Medium::new(config, 1).unwrap();
    let mut arrived = vec![0; ways.len()];
    let mut now = Duration::ZERO;
    while now < Duration::from_secs(1) {
        for (from, to) in ways {
            while medium.held_frames(*from) < 3 {
                medium.send(now, *from, Some(*to), vec![0; PACKET_BYTES]);
            }
        }
        now = medium.poll_timeout().unwrap().max(now);
        while let Some(Delivery { from, to, .. }) = medium.poll_deliver(now) {
            let way = ways.iter().position(|way| *way == (from, to[0])).unwrap();
            arrived[way] += 1;
        }
    }
    (arrived, medium)
}

fn alone() -> u64 {
    saturated(&row(2, 100.0), &[(0, 1)]).0[0]
}

#[test]
fn one_station_alone_sends_as_much_as_the_standard_lets_it() {
    let timing = Timing::new(Standard::B, "11Mbit/s".parse().unwrap()).unwrap();
    let theory = 1.0 / timing.acknowledged(PACKET_BYTES + PACKET_TO_MPDU_BYTES, 0).as_secs_f64();
    assert!((alone() as f64 / theory - 1.0).abs() < 0.01, "{} frames where theory has {theory}", alone());
}

#[test]
fn stations_that_hear_each_other_share_the_air_alike() {
    let (arrived, _) = saturated(&row(4, 100.0), &[(0, 1), (3, 2)]);
    let sum: u64 = arrived.iter().sum();
    // Two backoffs run at once and sometimes end at once.
    assert!(sum > alone() * 95 / 100 && sum < alone() * 115 / 100, "{arrived:?}");
    assert!(arrived[0].abs_diff(arrived[1]) < sum / 10, "{arrived:?}");
}

#[test]
fn where_stations_take_turns_one_with_little_does_not_wait_for_one_with_much() {
    for (takes_turns, least, most) in [(false, 40, 40), (true, 1, 2)] {
        let mut medium = Medium::new(&MediumConfig { takes_turns, ..row(3, 100.0) }, 1).unwrap();
        let packet = || vec![0; PACKET_BYTES];
        (0..40).for_each(|_| medium.send(Duration::ZERO, 0, Some(1), packet()));
        medium.send(Duration::ZERO, 0, Some(2), packet());
        let mut before = 0;
        while let Some(now) = medium.poll_timeout() {
            match medium.poll_deliver(now) {
                Some(delivery) if delivery.to == [2] => break,
                Some(_) => before += 1,
                None => {}
            }
        }
        assert!((least..=most).contains(&before), "{before} before it where they take turns: {takes_turns}");
    }
}

#[test]
fn stations_far_from_each_other_do_not_notice() {
    let far = MediumConfig {
        stations: vec![[0.0, 0.0], [100.0, 0.0], [5000.0, 0.0], [5100.0, 0.0]],
        ..MediumConfig::default()
    };
    let (arrived, medium) = saturated(&far, &[(0, 1), (2, 3)]);
    let within = |one: u64| one.abs_diff(alone()) < alone() / 100;
    assert!(arrived.iter().all(|one| within(*one)), "{arrived:?}");
    assert_eq!(medium.counters(0).interfered, 0);
}

#[test]
fn two_that_do_not_hear_each_other_spoil_what_is_sent_between_them() {
    let hidden = MediumConfig { carrier_sense_metres: 250.0, ..row(3, 200.0) };
    let (arrived, medium) = saturated(&hidden, &[(0, 1), (2, 1)]);
    let (heard, _) = saturated(&row(3, 200.0), &[(0, 1), (2, 1)]);
    assert!(arrived.iter().sum::<u64>() * 10 < heard.iter().sum::<u64>() * 9, "{arrived:?}, {heard:?}");
    assert!(medium.counters(0).interfered > 100, "{:?}", medium.counters(0));
}

#[test]
fn a_strong_frame_comes_through_a_weak_one() {
    // 1 is near 0, and 3, which 0 does not hear, is far from 1.
    let stations = vec![[0.0, 0.0], [50.0, 0.0], [750.0, 0.0], [600.0, 0.0]];
    let (arrived, medium) =
        saturated(&MediumConfig { stations, ..MediumConfig::default() }, &[(0, 1), (3, 2)]);
    assert!(arrived[0] > alone() * 98 / 100, "{arrived:?}");
    assert_eq!(medium.counters(0).interfered, 0);
}

#[test]
fn who_stays_with_the_first_frame_misses_a_strong_one_that_begins_later() {
    // 1 senses 3, which 0 does not hear, and hears 0 thirty-seven decibels louder
    let stations = vec![[0.0, 0.0], [50.0, 0.0], [750.0, 0.0], [598.0, 0.0]];
    let config = MediumConfig { stations, turns_to_stronger: false, ..MediumConfig::default() };
    let (arrived, medium) = saturated(&config, &[(0, 1), (3, 2)]);
    assert!(arrived[0] < alone() * 7 / 10, "{arrived:?}");
    assert!(medium.counters(0).interfered > 100, "{:?}", medium.counters(0));
    // Of simultaneous frames the stronger is received, because no frame was sensed before.
    let near = MediumConfig { turns_to_stronger: false, ..row(4, 100.0) };
    let (arrived, _) = saturated(&near, &[(0, 1), (3, 2)]);
    assert!(arrived.iter().sum::<u64>() > alone() * 95 / 100, "{arrived:?}");
}

#[test]
fn a_directed_loss_is_lost_one_way() {
    let lossy = |count: u32| {
        let directed_losses =
            vec![DirectedLoss { from: 0, to: 1, loss: LossConfig::Bernoulli { probability: 0.3 } }];
        let mut config = MediumConfig { directed_losses, ..row(count, 100.0) };
        config.radio.retry_limit = 0;
        config
    };
    let (arrived, medium) = saturated(&lossy(2), &[(0, 1), (1, 0)]);
    let counters = medium.counters(0);
    let share = counters.lost.frames as f64 / counters.transmitted.frames as f64;
    assert!((share - 0.3).abs() < 0.06, "{share}");
    let others = medium.counters(1);
    assert!(arrived[1] > arrived[0]);
    assert_eq!(others.lost.frames, others.interfered, "only by collisions");
    let absent = DirectedLoss { from: 0, to: 9, loss: LossConfig::None };
    let config = MediumConfig { directed_losses: vec![absent], ..row(2, 100.0) };
    assert!(Medium::new(&config, 1).unwrap_err().to_string().contains("station 9"));
}

/// Packets a second over this many hops of 200 m, each station forwarding its packets.
fn over_hops(hops: u32) -> u64 {
    let mut medium = Medium::new(&row(hops + 1, 200.0), 1).unwrap();
    let (mut now, mut arrived) = (Duration::ZERO, 0);
    let last = hops as usize;
    while now < Duration::from_secs(5) {
        while medium.held_frames(0) < 3 {
            medium.send(now, 0, Some(1), vec![0; PACKET_BYTES]);
        }
        now = medium.poll_timeout().unwrap().max(now);
        while let Some(Delivery { to, frame, .. }) = medium.poll_deliver(now) {
            if to[0] == last {
                arrived += 1;
            } else {
                medium.send(now, to[0], Some(to[0] + 1), frame);
            }
        }
    }
    arrived / 5
}

#[test]
fn the_hops_of_one_way_share_the_air_among_themselves() {
    let over: Vec<u64> = (1..=6).map(over_hops).collect();
    assert!((0.45..=0.55).contains(&(over[1] as f64 / over[0] as f64)), "{over:?}");
    assert!((0.28..=0.38).contains(&(over[2] as f64 / over[0] as f64)), "{over:?}");
    // Beyond what carrier sense reaches something may be sent at both ends at once (Li and others, MobiCom
    // 2001).
    assert!((0.1..=0.3).contains(&(over[5] as f64 / over[0] as f64)), "{over:?}");
}

#[test]
fn what_is_for_everybody_reaches_those_in_range_and_is_not_repeated() {
    let mut medium = Medium::new(&row(5, 120.0), 1).unwrap();
    let sent = Duration::from_millis(1);
    medium.send(sent, 0, None, vec![7; 100]);
    let now = medium.poll_timeout().unwrap();
    let delivery = medium.poll_deliver(now).unwrap();
    assert_eq!(
        delivery,
        Delivery { from: 0, addressee: None, to: vec![1, 2], frame: vec![7; 100], rate: None }
    );
    // At 2 Mbit/s, at once, since the air was free.
    let timing = Timing::new(Standard::B, "2Mbit/s".parse().unwrap()).unwrap();
    assert_eq!(now, sent + timing.frame(100 + PACKET_TO_MPDU_BYTES));
    assert_eq!((medium.poll_timeout(), medium.counters(0).transmitted.frames), (None, 1));
}

#[test]
fn who_listens_hears_what_others_are_sent_as_far_as_it_reaches() {
    let config = MediumConfig { listeners: vec![2, 3], ..row(4, 120.0) };
    let mut medium = Medium::new(&config, 1).unwrap();
    medium.send(Duration::ZERO, 0, Some(1), vec![7; 100]);
    let mut deliveries = Vec::new();
    while let Some(now) = medium.poll_timeout() {
        deliveries.extend(std::iter::from_fn(|| medium.poll_deliver(now)));
    }
    // the last of the row is out of range
    let overheard = Delivery { from: 0, addressee: Some(1), to: vec![2], frame: vec![7; 100], rate: None };
    assert_eq!(deliveries, [overheard.clone(), Delivery { to: vec![1], ..overheard }]);
    assert_eq!(medium.counters(0).transmitted.frames, 1);
}

#[test]
fn who_listens_hears_a_frame_once_however_often_it_is_tried() {
    let lossy = MediumConfig { listeners: vec![2], least_loss: 0.3, most_loss: 0.3, ..row(3, 50.0) };
    let mut medium = Medium::new(&lossy, 1).unwrap();
    let (mut overheard, mut now) = (0, Duration::ZERO);
    for _ in 0..400 {
        medium.send(now, 0, Some(1), vec![7; 500]);
        while let Some(due) = medium.poll_timeout() {
            now = due;
            let deliveries = std::iter::from_fn(|| medium.poll_deliver(now));
            overheard += deliveries.filter(|delivery| delivery.to == [2]).count();
        }
    }
    // at least the first try's seven of ten, and some of those that were tried again
    assert!((270..400).contains(&overheard), "{overheard}");
}

#[test]
fn what_is_lost_one_way_is_lost_to_who_overhears_it_too() {
    let loss = LossConfig::Bernoulli { probability: 0.4 };
    let directed_losses = vec![DirectedLoss { from: 0, to: 2, loss }];
    let config = MediumConfig { listeners: vec![2], directed_losses, ..row(3, 50.0) };
    let mut medium = Medium::new(&config, 1).unwrap();
    let (mut overheard, mut now) = (0, Duration::ZERO);
    for _ in 0..400 {
        medium.send(now, 0, Some(1), vec![7; 500]);
        while let Some(due) = medium.poll_timeout() {
            now = due;
            let deliveries = std::iter::from_fn(|| medium.poll_deliver(now));
            overheard += deliveries.filter(|delivery| delivery.to == [2]).count();
        }
    }
    // the addressee gets every first try
    assert_eq!(medium.counters(0).retried.frames, 0);
    assert!((200..280).contains(&overheard), "{overheard}");
}

#[test]
fn fading_is_overcome_by_tries() {
    let faded = MediumConfig { rayleigh: true, ..row(2, 150.0) };
    let (arrived, medium) = saturated(&faded, &[(0, 1)]);
    let counters = medium.counters(0);
    let share = counters.delivered.frames as f64 / counters.transmitted.frames as f64;
    // exp(−(150/250)⁴) = 0.878
    assert!((share - 0.878).abs() < 0.03, "{share}");
    assert_eq!(counters.lost.frames, 0, "{arrived:?}");
}

#[test]
fn a_pair_loses_the_part_of_its_tries_that_was_drawn_for_it() {
    let lossy = MediumConfig { most_loss: 0.5, ..row(2, 100.0) };
    let (_, medium) = saturated(&lossy, &[(0, 1)]);
    let counters = medium.counters(0);
    let lost = 1.0 - counters.delivered.frames as f64 / counters.transmitted.frames as f64;
    let drawn = medium.propagation().loss(1, 0, 1);
    assert!((lost - drawn).abs() < 0.05, "{lost} where {drawn} was drawn");
}

/// `offered = queue_dropped + broadcast + delivered + lost + held`, in frames.
fn balance(counters: &StationCounters) -> u64 {
    let StationCounters { queue_dropped, broadcast, delivered, lost, .. } = counters;
    queue_dropped.frames + broadcast.frames + delivered.frames + lost.frames
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn nothing_is_lost_count_of_and_equal_seeds_give_equal_air(
        places in prop::collection::vec((0.0..800.0, 0.0..800.0), 2..8),
        sent in prop::collection::vec((0usize..8, 0usize..9, 0u64..3_000, 0usize..1600), 1..120),
        (rayleigh, most_loss, queue_frames, seed) in (any::<bool>(), 0.0..0.9, 0usize..5, any::<u64>()),
        (turns_to_stronger, takes_turns, directed) in (any::<bool>(), any::<bool>(), 0.0..1.0),
    ) {
        let stations: Vec<[f64; 2]> = places.iter().map(|(x, y)| [*x, *y]).collect();
        let loss = LossConfig::Bernoulli { probability: directed };
        let directed_losses = vec![DirectedLoss { from: 0, to: 1, loss }];
        let config = MediumConfig {
            stations,
            rayleigh,
            most_loss,
            queue_frames,
            turns_to_stronger,
            takes_turns,
            directed_losses,
            ..MediumConfig::default()
        };
        let count = config.stations.len();
        let run = || {
            let mut medium = Medium::new(&config, seed).unwrap();
            let (mut now, mut log) = (Duration::ZERO, Vec::new());
            for (from, to, wait, bytes) in &sent {
                now += Duration::from_micros(*wait);
                while let Some(delivery) = medium.poll_deliver(now) {
                    log.push((now, delivery));
                }
                medium.send(now, *from, Some(*to).filter(|to| *to < count), vec![1; *bytes]);
                for station in 0..count {
                    let held = medium.counters(station).offered.frames - balance(medium.counters(station));
                    // A frame that has arrived is held until its acknowledgement has, too.
                    prop_assert!(medium.held_frames(station) as u64 >= held);
                    prop_assert!(medium.held_frames(station) as u64 <= held + 1);
                }
            }
            let mut turns = 0;
            while let Some(next) = medium.poll_timeout() {
                now = now.max(next);
                while let Some(delivery) = medium.poll_deliver(now) {
                    prop_assert!(delivery.to.iter().all(|to| *to != delivery.from && *to < count));
                    log.push((now, delivery));
                }
                turns += 1;
                prop_assert!(turns < 100_000, "it never ends");
            }
            // The last acknowledgement is on the air yet.
            let end = now + Duration::from_secs(1);
            prop_assert_eq!(medium.poll_deliver(end), None);
            let mut received = 0;
            for station in 0..count {
                let counters = medium.counters(station);
                prop_assert_eq!(counters.offered.frames, balance(counters));
                prop_assert_eq!(medium.held_frames(station), 0);
                received += counters.received.frames;
            }
            prop_assert_eq!(received, log.iter().map(|(_, delivery)| delivery.to.len() as u64).sum::<u64>());
            Ok(log)
        };
        prop_assert_eq!(run()?, run()?);
    }
}
