//! Measures whether the encoder's processor time tells a right guess of another host's secret from a wrong
//! one.
//!
//! ```text
//! cargo run --release --example guess_times [PAIRS]
//! ```
//!
//! A station's packet has a secret of 24 letters behind known headers. A guess repeats the headers and the
//! secret's first letters; the next letter is right or wrong, in random order. Welch's t compares the times
//! (dudect: Reparaz, Balasch, Verbauwhede, DATE 2017); |t| below 4.5 shows no difference. Times above the
//! 90th percentile are left out of both, as there. The difference of the means is the time of a right letter.
#![allow(clippy::disallowed_methods, reason = "it measures its own time")]

use etherparse::PacketBuilder;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use re::{Encoder, Parameters, Sharing};
use std::time::Instant;
use wire::inner::Inner;

const HEX: &[u8] = b"0123456789abcdef";
const HEADERS: &str = "GET /account HTTP/1.1\r\nHost: bank.example\r\nUser-Agent: Browser/99.0 (X11; Linux)\r\n\
    Accept: text/html,application/json;q=0.9\r\nAccept-Language: en-US,en;q=0.5\r\nCookie: session=";
const REST: &str =
    "; theme=dark\r\nConnection: keep-alive\r\nAccept-Encoding: gzip, deflate\r\nDNT: 1\r\n\r\n";
const LETTERS: usize = 24;

fn packet(host: u8, port: u16, payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    let builder = PacketBuilder::ipv4([10, 0, 0, host], [10, 0, 0, 2], 64).udp(port, 443);
    builder.write(&mut packet, payload).expect("writing to a buffer does not fail");
    packet
}

/// Nanoseconds that the encoder takes for a packet.
fn nanoseconds(encoder: &mut Encoder, sequence: u64, packet: &[u8], out: &mut Vec<u8>) -> f64 {
    let inner = Inner::parse(packet).expect("our own packet");
    out.clear();
    let start = Instant::now();
    encoder.encode(sequence, packet, &inner, out);
    start.elapsed().as_nanos() as f64
}

/// The mean and the variance of a mean.
fn mean(times: &[f64]) -> (f64, f64) {
    let n = times.len() as f64;
    let mean = times.iter().sum::<f64>() / n;
    let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, variance / n)
}

fn measure(sharing: Sharing, pairs: usize) {
    let mut rng = ChaCha12Rng::seed_from_u64(1);
    let mut times = [Vec::new(), Vec::new()];
    let mut out = Vec::new();
    for _ in 0..pairs {
        let secret: Vec<u8> = (0..LETTERS).map(|_| HEX[rng.random_range(0..HEX.len())]).collect();
        let known = rng.random_range(0..LETTERS - 1);
        let right = secret[known];
        let wrong = loop {
            let letter = HEX[rng.random_range(0..HEX.len())];
            if letter != right {
                break letter;
            }
        };
        let parameters = Parameters { sharing, store_bytes: 1 << 16, ..Parameters::default() };
        let victim = [HEADERS.as_bytes(), &secret, REST.as_bytes()].concat();
        let first = usize::from(rng.random::<bool>());
        let seed = rng.random();
        for class in [first, 1 - first] {
            let mut encoder = Encoder::new(&parameters).with_secret(seed);
            let letter = [wrong, right][class];
            let guess =
                [HEADERS.as_bytes(), &secret[..known], &[letter], b"~".repeat(40).as_slice()].concat();
            // what the caches and the branch predictor have seen is the same for both
            for sequence in 1..=3 {
                nanoseconds(&mut encoder, sequence, &packet(1, 1000, &victim), &mut out);
                encoder.confirm(sequence);
            }
            times[class].push(nanoseconds(&mut encoder, 4, &packet(3, 2000, &guess), &mut out));
        }
    }
    let mut all = times.concat();
    all.sort_by(f64::total_cmp);
    let most = all[all.len() * 9 / 10];
    let [(wrong, wrong_error), (right, right_error)] =
        times.map(|times| mean(&times.into_iter().filter(|time| *time <= most).collect::<Vec<_>>()));
    let error = (wrong_error + right_error).sqrt();
    println!(
        "{sharing:?}: {pairs} pairs, wrong {wrong:.0} ns, right {right:.0} ns, difference {:.1} ns (95% +-{:.1}), t = {:.2}",
        right - wrong,
        1.96 * error,
        (right - wrong) / error
    );
}

fn main() {
    let pairs = std::env::args().nth(1).map_or(Ok(10_000), |pairs| pairs.parse());
    let Ok(pairs) = pairs else {
        eprintln!("guess_times: the number of pairs is no number");
        std::process::exit(2);
    };
    for sharing in [Sharing::Station, Sharing::ToTheByte] {
        measure(sharing, pairs);
    }
}
