//! Small packets beside a bulk transfer: how far back, in bytes of the transfer, repetition is found.

use crate::pair::{GATEWAY, Pair, Road, STATION, tcp};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use re::Parameters;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const STORE_BYTES: usize = 2 << 20;
const BULK_BYTES: usize = 1200;
/// Packets of the transfer: five stores.
const COUNT: usize = 5 * STORE_BYTES / BULK_BYTES;
/// Packets of a probe of the first generation. Of packets that repeat nothing, one in 15 is searched.
const RUN: usize = 128;
/// Packets of a probe of what lasts: 18.5% of them are found.
const LONG_RUN: usize = 2800;
/// Distances of probes, in packets.
const STEP: usize = 64;
const LONG_STEP: usize = 80;

/// Payloads of the small packets, of which two go beside each packet of the transfer: telemetry of 100 bytes,
/// acknowledgments, and a packet of a call. They are a seventh of its bytes.
const BESIDE: [usize; 13] = [60, 0, 60, 60, 0, 60, 160, 60, 0, 60, 60, 0, 60];

/// Sends a transfer of random bytes. Returns how many of `run` packets are found that end so far back.
fn found(run: usize, back: usize, beside: &[usize]) -> u64 {
    let parameters = Parameters { store_bytes: STORE_BYTES, ..Parameters::default() };
    let mut pair = Pair::new(5, Road::default(), &parameters);
    let rng = &mut ChaCha12Rng::seed_from_u64(5);
    let mut random = |bytes: usize| {
        let mut payload = vec![0; bytes];
        rng.fill_bytes(&mut payload);
        payload
    };
    let bulk: Vec<Vec<u8>> = (0..COUNT).map(|_| random(BULK_BYTES)).collect();
    let mut sequence = 0;
    let mut send = |pair: &mut Pair, payload: &[u8]| {
        sequence += 1200;
        pair.send(GATEWAY, &tcp(STATION, sequence, payload));
    };
    let mut small = beside.iter().copied().cycle();
    for payload in &bulk {
        send(&mut pair, payload);
        for bytes in small.by_ref().take(2) {
            send(&mut pair, &random(bytes));
        }
        pair.run(MS);
    }
    pair.run(1000 * MS);
    let reduced = |pair: &Pair| pair.status(GATEWAY).peers[0].counters.reduced_packets;
    let before = reduced(&pair);
    let end = COUNT - back;
    for payload in &bulk[end - run..end] {
        send(&mut pair, payload);
        pair.run(MS);
    }
    pair.run(1000 * MS);
    reduced(&pair) - before
}

/// How far back, in bytes of the transfer, most packets are found.
fn whole_reach(beside: &[usize]) -> usize {
    let is_whole = |back: &usize| found(RUN, *back, beside) * 4 >= RUN as u64 * 3;
    let last = (0..COUNT).step_by(STEP).take_while(is_whole).last();
    (last.expect("what was just sent is found") + RUN) * BULK_BYTES
}

/// How far back, in bytes of the transfer, one packet in twenty is found.
fn reach(beside: &[usize]) -> usize {
    let is_there = |back: &usize| found(LONG_RUN, *back, beside) * 20 >= LONG_RUN as u64;
    let backs = (0..COUNT - LONG_RUN).rev().step_by(LONG_STEP);
    (backs.into_iter().find(is_there).expect("what was just sent is found") + LONG_RUN) * BULK_BYTES
}

fn check(reach: fn(&[usize]) -> usize, stores: f64) {
    let (alone, mixed) = (reach(&[]), reach(&BESIDE));
    println!("alone {alone} bytes, beside small packets {mixed} bytes");
    assert!(alone as f64 >= STORE_BYTES as f64 * stores, "{alone} of {STORE_BYTES}");
    assert!(mixed * 10 >= alone * 8, "{mixed} instead of {alone}");
}

#[test]
fn small_packets_shorten_the_reach_of_repetition_by_less_than_a_fifth() {
    check(whole_reach, 0.43);
    check(reach, 2.4);
}
