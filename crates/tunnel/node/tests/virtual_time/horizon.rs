//! Small packets beside a bulk transfer: how far back, in bytes of the transfer, repetition is found.

use crate::pair::{GATEWAY, Pair, Road, STATION, tcp};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use re::Parameters;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const STORE_BYTES: usize = 2 << 20;
const BULK_BYTES: usize = 1200;
/// Packets of the transfer: three stores.
const COUNT: usize = 3 * STORE_BYTES / BULK_BYTES;
/// Packets of a probe. Of packets that repeat nothing, one in 16 is searched.
const RUN: usize = 32;

/// Payloads of the small packets, of which two go beside each packet of the transfer: telemetry of 100 bytes,
/// acknowledgments, and a packet of a call. They are a seventh of its bytes.
const BESIDE: [usize; 13] = [60, 0, 60, 60, 0, 60, 160, 60, 0, 60, 60, 0, 60];

/// Sends a transfer of random bytes, and says whether a few packets of it are found that end so far back.
fn is_found(back: usize, beside: &[usize]) -> bool {
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
    for payload in &bulk[end - RUN..end] {
        send(&mut pair, payload);
        pair.run(MS);
    }
    pair.run(1000 * MS);
    reduced(&pair) > before
}

/// How far back repetition is found, in bytes of the transfer.
fn horizon(beside: &[usize]) -> usize {
    let (mut found, mut lost) = (0, COUNT - RUN);
    while lost - found > RUN {
        let back = usize::midpoint(found, lost);
        if is_found(back, beside) {
            found = back;
        } else {
            lost = back;
        }
    }
    found * BULK_BYTES
}

#[test]
fn small_packets_shorten_the_reach_of_repetition_by_less_than_a_fifth() {
    let (alone, mixed) = (horizon(&[]), horizon(&BESIDE));
    println!("alone {alone} bytes, beside small packets {mixed} bytes");
    assert!(alone * 10 >= STORE_BYTES * 8, "{alone} of {STORE_BYTES}");
    assert!(mixed * 10 >= alone * 8, "{mixed} instead of {alone}");
}
