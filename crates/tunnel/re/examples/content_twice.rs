//! Random content that is sent twice, under several budgets of memory: the share saved, and the optimum.
//!
//! `cargo run --release -p overheard-re --example content_twice`. A node with one peer sends in one direction.
//! That direction has the whole budget at each end, less the least memory of the other one. The optimum knows
//! the future: as much of the content as the memory has room for is not sent again.

#![allow(clippy::unwrap_used)] // an example ends by panicking

use etherparse::PacketBuilder;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use re::memory::{receivers_store, senders_store};
use re::{Decoder, Encoded, Encoder, Parameters};
use wire::inner::Inner;

const MIB: usize = 1 << 20;
const PAYLOAD_BYTES: usize = 1360;
/// Memory of the direction without traffic.
const OTHER_BYTES: usize = 640 << 10;
const CONFIRMATION_LAG: u64 = 64;

struct Outcome {
    saved: f64,
    most_memory_bytes: usize,
}

fn send_twice(content_bytes: usize, store_bytes: usize) -> Outcome {
    let parameters = Parameters { store_bytes, ..Parameters::default() };
    let Parameters { window_bytes, sample_bits, .. } = parameters;
    let mut encoder = Encoder::new(&parameters);
    let mut decoder = Decoder::new(window_bytes, sample_bits, store_bytes, parameters.keeping());
    let (mut offered, mut sent, mut sequence, mut most_memory_bytes) = (0, 0, 0u64, 0);
    let (mut shim, mut restored) = (Vec::new(), Vec::new());
    let mut payload = vec![0; PAYLOAD_BYTES];
    for _ in 0..2 {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for _ in 0..content_bytes / PAYLOAD_BYTES {
            rng.fill_bytes(&mut payload);
            let mut packet = Vec::new();
            let at = (sequence as usize * PAYLOAD_BYTES) as u32;
            let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(80, 4242, at, 1000);
            builder.write(&mut packet, &payload).unwrap();
            let inner = Inner::parse(&packet).unwrap();
            shim.clear();
            restored.clear();
            offered += packet.len();
            match encoder.encode(sequence, &packet, &inner, &mut shim) {
                Encoded::Plain => sent += packet.len(),
                Encoded::Reduced { .. } => {
                    sent += shim.len();
                    decoder.restore(sequence, parameters.form, &shim, &mut restored).unwrap();
                    assert_eq!(restored, packet, "what was restored is what was sent");
                }
            }
            decoder.store(sequence, &packet, &inner);
            if let Some(confirmed) = sequence.checked_sub(CONFIRMATION_LAG) {
                encoder.confirm(confirmed);
            }
            sequence += 1;
        }
        most_memory_bytes = most_memory_bytes.max(encoder.size_bytes()).max(decoder.size_bytes());
    }
    Outcome { saved: 1.0 - sent as f64 / offered as f64, most_memory_bytes }
}

fn main() {
    println!("content MiB, budget MiB, store MiB, memory MiB, saved, optimum");
    for content_mib in [12, 24, 100] {
        for budget_mib in [16, 64, 256] {
            let memory_bytes = budget_mib * MIB - OTHER_BYTES;
            let store_bytes = senders_store(memory_bytes).min(receivers_store(memory_bytes));
            let Outcome { saved, most_memory_bytes } = send_twice(content_mib * MIB, store_bytes);
            let optimum = 0.5 * (budget_mib as f64 / content_mib as f64).min(1.0);
            let mib = |bytes: usize| bytes as f64 / MIB as f64;
            println!(
                "{content_mib}, {budget_mib}, {:.1}, {:.1}, {:.1}%, {:.1}%",
                mib(store_bytes),
                mib(most_memory_bytes),
                saved * 100.0,
                optimum * 100.0
            );
        }
    }
}
