//! Forward error correction: what the air loses is restored before it would be sent again.

use crate::pair::{GATEWAY, Pair, Road, STATION, repetitive, tcp};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use re::{Parameters, Policy};
use std::collections::BTreeSet;
use std::time::Duration;
use wire::frame::FrameType;

const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);

/// Runs until both have a session.
fn start(pair: &mut Pair) {
    for _ in 0..60 {
        pair.run(SECOND);
        let is_up = |at| pair.status(at).peers[0].session_age_seconds.is_some();
        if is_up(GATEWAY) && is_up(STATION) {
            return;
        }
    }
    panic!("no session");
}

fn random(seed: u64, count: usize, bytes: usize) -> Vec<Vec<u8>> {
    let rng = &mut ChaCha12Rng::seed_from_u64(seed);
    (0..count).map(|_| (0..bytes).map(|_| rng.random()).collect()).collect()
}

/// Sends packets to the station at one a millisecond. The packets, and the shares that arrived within so
/// many milliseconds of the path's delay, and at all.
fn carry(pair: &mut Pair, payloads: &[Vec<u8>], every: Duration, within: Duration) -> (f64, f64) {
    let sent: Vec<Vec<u8>> =
        (1u32..).zip(payloads).map(|(at, payload)| tcp(STATION, at * 2000, payload)).collect();
    let (mut in_time, mut seen) = (BTreeSet::new(), pair.delivered(STATION).len());
    let mut left: Vec<Duration> = Vec::new();
    let deadline = pair.medium.road.delay + within;
    let total = sent.len() as u32 + (2 * SECOND).as_millis() as u32 / every.as_millis() as u32;
    for at in 0..total {
        if let Some(packet) = sent.get(at as usize) {
            left.push(pair.now());
            pair.send(GATEWAY, packet);
        }
        for _ in 0..every.as_millis() {
            pair.run(MS);
            let now = pair.now();
            for packet in &pair.delivered(STATION)[seen..] {
                let Some(number) = sent.iter().position(|it| it == packet) else { continue };
                if now <= left[number] + deadline + MS {
                    in_time.insert(number);
                }
            }
            seen = pair.delivered(STATION).len();
        }
    }
    let all: BTreeSet<_> = pair.delivered(STATION).iter().collect();
    let arrived = sent.iter().filter(|packet| all.contains(packet)).count();
    (in_time.len() as f64 / sent.len() as f64, arrived as f64 / sent.len() as f64)
}

#[test]
fn bulk_that_the_air_loses_is_there_long_before_it_could_be_sent_again() {
    for (loss, least) in [(0.05, 0.985), (0.1, 0.97), (0.2, 0.95)] {
        let road = Road { loss, delay: 50 * MS, ..Road::default() };
        let mut pair = Pair::new(11, road, &Parameters::default());
        start(&mut pair);
        carry(&mut pair, &random(1, 1000, 1000), MS, 25 * MS); // the loss is known then
        let before = pair.status(GATEWAY).peers[0].counters;
        let bytes = pair.medium.sent_bytes[GATEWAY];
        let (in_time, arrived) = carry(&mut pair, &random(2, 2000, 900), MS, 25 * MS);
        let counters = pair.status(GATEWAY).peers[0].counters;
        let repairs = (counters.repairs_sent - before.repairs_sent) as f64 / 2000.0;
        let bytes = (pair.medium.sent_bytes[GATEWAY] - bytes) as f64 / (2000.0 * 940.0);
        assert!(in_time >= least, "{loss}: {in_time}");
        assert!(arrived > 0.997, "{loss}: {arrived}");
        assert!(repairs <= 2.0 * loss + 0.03, "{loss}: {repairs}");
        assert!(bytes <= 1.08 + 2.0 * loss, "{loss}: {bytes}");
    }
}

/// A station that reports losses that it does not have looks to the gateway like one that has them.
#[test]
fn whatever_loss_a_peer_claims_the_bytes_for_it_are_bounded() {
    for (claimed, most) in [(0.2, 1.6), (0.35, 2.1), (0.6, 3.4), (0.9, 4.7)] {
        let mut pair = Pair::new(16, Road { delay: 10 * MS, ..Road::default() }, &Parameters::default());
        start(&mut pair);
        pair.medium.road.loss = claimed;
        let bytes = pair.medium.sent_bytes[GATEWAY];
        carry(&mut pair, &random(9, 3000, 1000), MS, 10 * MS);
        let bytes = (pair.medium.sent_bytes[GATEWAY] - bytes) as f64 / (3000.0 * 1040.0);
        assert!(bytes <= most, "{claimed}: {bytes}");
    }
}

#[test]
fn a_call_is_heard_in_time() {
    for (loss, least) in [(0.05, 0.997), (0.1, 0.99), (0.2, 0.96)] {
        let road = Road { loss, delay: 50 * MS, ..Road::default() };
        let mut pair = Pair::new(12, road, &Parameters::default());
        start(&mut pair);
        carry(&mut pair, &random(3, 300, 160), 20 * MS, 30 * MS);
        let datagrams = pair.status(GATEWAY).peers[0].counters.outer_sent_datagrams;
        let (in_time, _) = carry(&mut pair, &random(4, 1500, 161), 20 * MS, 30 * MS);
        let datagrams = pair.status(GATEWAY).peers[0].counters.outer_sent_datagrams - datagrams;
        assert!(in_time >= least, "{loss}: {in_time}");
        assert!(datagrams < 3300, "{loss}: {datagrams}");
    }
}

#[test]
fn nothing_is_repaired_where_nothing_is_lost() {
    let mut pair = Pair::new(13, Road { delay: 50 * MS, ..Road::default() }, &Parameters::default());
    pair.run(SECOND);
    carry(&mut pair, &random(5, 1000, 1000), MS, 10 * MS);
    let counters = pair.status(GATEWAY).peers[0].counters;
    assert!(counters.repairs_sent <= 6, "{counters:?}");
}

#[test]
fn a_peer_that_cannot_restore_gets_no_repairs_nor_does_one_under_another_policy() {
    let road = Road { loss: 0.1, ..Road::default() };
    let mut pair = Pair::new(14, road, &Parameters { policy: Policy::Acked, ..Parameters::default() });
    start(&mut pair);
    carry(&mut pair, &random(6, 500, 1000), MS, 10 * MS);
    assert_eq!(pair.status(GATEWAY).peers[0].counters.repairs_sent, 0);
    let mut pair = Pair::new(14, road, &Parameters::default());
    pair.configs.iter_mut().for_each(|config| config.fec = false);
    [GATEWAY, STATION].into_iter().for_each(|index| pair.reboot(index));
    start(&mut pair);
    carry(&mut pair, &random(7, 500, 1000), MS, 10 * MS);
    assert_eq!(pair.status(GATEWAY).peers[0].counters.repairs_sent, 0);
}

#[test]
fn each_packet_is_delivered_once_on_any_road() {
    for (loss, reorder, duplicate) in
        [(0.2, 0.2, 0.0), (0.1, 0.0, 0.1), (0.2, 0.2, 0.1), (0.05, 0.5, 0.0), (0.3, 0.05, 0.3)]
    {
        let road = Road { loss, reorder, duplicate, corrupt: 0.01, ..Road::default() };
        let mut pair = Pair::new(15, road, &Parameters::default());
        start(&mut pair);
        let payloads = [random(8, 600, 700), repetitive(3, 600)].concat();
        let (_, arrived) = carry(&mut pair, &payloads, MS, 10 * MS);
        let delivered = pair.delivered(STATION);
        let distinct: BTreeSet<_> = delivered.iter().collect();
        assert_eq!(delivered.len(), distinct.len(), "{loss} {reorder}: twice");
        assert!(arrived > 0.99, "{loss} {reorder}: {arrived}");
        let counters = pair.status(STATION).peers[0].counters;
        // what is only late needs no repair
        assert!(reorder > 0.3 || counters.restored > 50, "{counters:?}");
        assert_eq!((counters.bad_frames, counters.missed_wrong_bytes), (0, 0), "{counters:?}");
    }
}

#[test]
fn a_liar_s_repairs_change_no_packet() {
    let road = Road { loss: 0.1, ..Road::default() };
    let mut pair = Pair::new(16, road, &Parameters::default());
    pair.medium.forges = Some(|from, datagram| {
        let type_at = wire::unit::SEALED_HEADER_BYTES + wire::frame::SEQUENCE_BYTES;
        if from == GATEWAY && datagram.get(type_at).is_some_and(|it| it & 0x7f == FrameType::Repair as u8) {
            datagram[type_at + 40..].iter_mut().for_each(|byte| *byte ^= 0x55);
        }
    });
    start(&mut pair);
    let payloads = repetitive(4, 1000);
    carry(&mut pair, &payloads, MS, 10 * MS);
    let packets: BTreeSet<Vec<u8>> =
        (1u32..).zip(&payloads).map(|(at, payload)| tcp(STATION, at * 2000, payload)).collect();
    let counters = pair.status(STATION).peers[0].counters;
    assert!(counters.repairs_used > 20, "{counters:?}");
    assert!(pair.delivered(STATION).iter().all(|packet| packets.contains(packet)));
}

/// How long after it left each packet of a burst arrived, in milliseconds; `None`: it did not.
fn delays(pair: &mut Pair, bursts: usize, burst: usize, every: Duration) -> Vec<Option<u128>> {
    let payloads = random(9, bursts * burst, 1370);
    let mut sent: Vec<(Vec<u8>, Duration, Option<u128>)> = Vec::new();
    let mut seen = pair.delivered(STATION).len();
    for round in 0..bursts + 20 {
        if round < bursts {
            for (at, payload) in payloads.iter().enumerate().skip(round * burst).take(burst) {
                let packet = tcp(STATION, at as u32 * 2000, payload);
                pair.send(GATEWAY, &packet);
                let now = pair.now();
                sent.push((packet, now, None));
            }
        }
        for _ in 0..every.as_millis() {
            pair.run(MS);
            let now = pair.now();
            for packet in &pair.delivered(STATION)[seen..] {
                if let Some(it) = sent.iter_mut().find(|it| &it.0 == packet) {
                    it.2.get_or_insert((now - it.1).as_millis());
                }
            }
            seen = pair.delivered(STATION).len();
        }
    }
    sent.into_iter().map(|it| it.2).collect()
}

#[test]
fn a_burst_s_losses_are_there_within_a_little_more_than_two_round_trips() {
    let road = Road { loss: 0.1, delay: 50 * MS, ..Road::default() };
    let mut pair = Pair::new(17, road, &Parameters::default());
    start(&mut pair);
    carry(&mut pair, &random(8, 5, 100), 20 * MS, 10 * MS); // a round trip is known then
    let delays = delays(&mut pair, 40, 10, 100 * MS);
    let late = delays.iter().filter(|it| it.is_none_or(|it| it > 80)).count();
    assert!(late <= 24, "{late} of 400, where 40 are lost");
    assert!(delays.iter().all(|it| it.is_some_and(|it| it < 600)));
}

#[test]
fn what_its_sender_sends_again_arrives() {
    let mut worst = Duration::ZERO;
    for seed in 0..60 {
        let road = Road { loss: 0.1, delay: [10, 50][seed as usize % 2] * MS, ..Road::default() };
        let mut pair = Pair::new(100 + seed, road, &Parameters::default());
        start(&mut pair);
        let began = pair.now();
        let packets: Vec<Vec<u8>> = (1u32..)
            .zip(random(seed, 600, 1370))
            .map(|(at, payload)| tcp(STATION, at * 2000, &payload))
            .collect();
        // an acknowledgment for every other packet, and what is missing behind others again, as TCP does
        let (mut next, mut known, mut window, mut seen) = (0, 0, 10.0f64, BTreeSet::new());
        let mut again: Vec<(Duration, Duration)> = vec![(Duration::ZERO, 30 * MS); packets.len()];
        while seen.len() < packets.len() && pair.now() < began + 40 * SECOND {
            let in_flight = next - seen.len();
            if next < packets.len() && (in_flight as f64) < window {
                pair.send(GATEWAY, &packets[next]);
                again[next].0 = pair.now() + 2 * road.delay + 25 * MS;
                next += 1;
            }
            pair.run(MS / 2);
            let arrived = pair.delivered(STATION)[known..].to_vec();
            known += arrived.len();
            for packet in arrived {
                if let Ok(at) = packets.binary_search_by_key(&&packet[24..28], |it| &it[24..28])
                    && seen.insert(at)
                {
                    window += 0.5;
                    if at % 2 == 0 {
                        pair.send(STATION, &tcp(GATEWAY, at as u32, b""));
                    }
                }
            }
            let newest = seen.last().copied().unwrap_or(0);
            for at in 0..next {
                let now = pair.now();
                if !seen.contains(&at) && at + 3 <= newest && now > again[at].0 {
                    pair.send(GATEWAY, &packets[at]);
                    again[at] = (now + again[at].1 * 4, again[at].1 * 2);
                }
            }
        }
        worst = worst.max(pair.now() - began);
    }
    assert!(worst < 4 * SECOND);
}

#[test]
fn the_first_burst_of_a_link_has_repairs() {
    let mut pair = Pair::new(18, Road { delay: 50 * MS, ..Road::default() }, &Parameters::default());
    start(&mut pair);
    delays(&mut pair, 1, 10, 20 * MS);
    let counters = pair.status(GATEWAY).peers[0].counters;
    assert_eq!(counters.repairs_sent, 5);
}
