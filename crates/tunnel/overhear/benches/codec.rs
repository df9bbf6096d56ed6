//! Speed of encoder and decoder: packets of 1,400 bytes, chunks of at least 64 bytes, 2^20 slots.
//!
//! `cargo bench -p overheard-overhear`. Each pass runs a stream through tables that hold ten times as many
//! bytes. All packets are addressed to one station and acknowledged at once. The result is packet bytes a
//! second, with shims and literals written. The synthetic streams repeat 0, 50 and 90% of their bytes in
//! stretches of 4,000 to 60,000 bytes. The scheme with SHA-1 runs beside it.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use overhear::boundaries::{Boundaries, Method, MinChunk};
use overhear::{AirTime, Association, Gateway, PacketNumber, Received, Settings, Station, StationId};
use published::comparators::{Cut, HashedChunks, HashedChunksReceiver, Hashes};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::hint::black_box;
use std::time::Duration;

const PACKET_BYTES: usize = 1400;
const STREAM_PACKETS: usize = 12_000;
const STATION: StationId = StationId(1);
const NOW: Duration = Duration::ZERO;
/// Memory for the chunks of the SHA-1 scheme: as much as 2^20 slots take.
const CHUNK_BYTES: usize = 256 << 20;

/// A stream that repeats about this share of its bytes from an earlier part.
fn made_stream(percent: u32, packets: usize, seed: u64) -> Vec<u8> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed + u64::from(percent));
    let wanted = packets * PACKET_BYTES;
    let mut bytes: Vec<u8> = Vec::with_capacity(wanted + 60_000);
    while bytes.len() < wanted {
        let length = rng.random_range(4_000..60_000);
        if bytes.len() > 1 << 20 && rng.random_range(0..100) < percent {
            let start = rng.random_range(0..bytes.len() - length);
            bytes.extend_from_within(start..start + length);
        } else {
            let start = bytes.len();
            bytes.resize(start + length, 0);
            rng.fill_bytes(&mut bytes[start..]);
        }
    }
    bytes.truncate(wanted);
    bytes
}

fn settings() -> Settings {
    Settings::new([3; 32])
}

fn gateway() -> Gateway {
    let mut gateway = Gateway::new(settings()).expect("the defaults are good");
    let rate_bits_per_second = 54_000_000;
    let association = Association {
        slot_bits: 20,
        rate_bits_per_second,
        rate_is_known: true,
        air_time: AirTime::of_rate(rate_bits_per_second),
        mac_key: Some([4; 32]),
    };
    gateway.join(STATION, association, NOW).expect("there is room");
    gateway
}

/// Encodes and acknowledges a stream. Passes each result to `take`.
fn encode(gateway: &mut Gateway, stream: &[u8], mut take: impl FnMut(PacketNumber, &[u8])) {
    let mut air = Vec::with_capacity(2048);
    for packet in stream.chunks_exact(PACKET_BYTES) {
        air.clear();
        let sent = gateway.encode(STATION, packet, NOW, &mut air);
        gateway.record_acknowledgment(STATION, sent.number, NOW);
        take(sent.number, &air);
    }
}

fn codec(criterion: &mut Criterion) {
    // The earlier contents of the tables.
    let earlier = made_stream(0, 10 * STREAM_PACKETS, 99);
    for percent in [0, 50, 90] {
        let stream = made_stream(percent, STREAM_PACKETS, 1);
        let mut group = criterion.benchmark_group(format!("made-{percent}"));
        group.throughput(Throughput::Bytes(stream.len() as u64)).sample_size(10);

        // Other bytes overwrite each pass, so the next pass has only the repetition of its stream.
        let (mut encoder, mut pass) = (gateway(), 0u64);
        encode(&mut encoder, &earlier, |_, _| {});
        group.bench_function("encode", |bencher| {
            bencher.iter_batched_ref(
                || {
                    pass += 1;
                    made_stream(percent, STREAM_PACKETS, pass * 1000)
                },
                |stream| {
                    encode(&mut encoder, stream, |_, air| {
                        black_box(air);
                    });
                },
                criterion::BatchSize::PerIteration,
            );
        });

        let (mut encoder, mut pass) = (gateway(), 0u64);
        let mut decoder = Station::new(settings(), STATION, Some([4; 32])).expect("the defaults are good");
        encode(&mut encoder, &earlier, |number, air| {
            decoder.receive(number, 0, air, NOW);
        });
        let before = *encoder.statistics();
        group.bench_function("decode", |bencher| {
            bencher.iter_batched_ref(
                || {
                    pass += 1;
                    let mut frames = Vec::new();
                    let stream = made_stream(percent, STREAM_PACKETS, pass * 1000);
                    encode(&mut encoder, &stream, |number, air| frames.push((number, air.to_vec())));
                    frames
                },
                |frames| {
                    for (number, air) in frames {
                        let received = decoder.receive(*number, 0, air, NOW);
                        assert!(matches!(black_box(received), Received::Restored(_)));
                    }
                },
                criterion::BatchSize::PerIteration,
            );
        });
        let counted = encoder.statistics();
        let packet_bytes = counted.packet_bytes - before.packet_bytes;
        let left = (counted.sent_bytes - before.sent_bytes) as f64 / packet_bytes.max(1) as f64;
        println!("made-{percent}: {left:.3} of the bytes left");
        drop((encoder, decoder));

        let cut = Cut::Chunks(Boundaries { method: Method::Gear, min_chunk: MinChunk::Bytes64 });
        let sha_stream = &stream[..stream.len() / 4];
        group.throughput(Throughput::Bytes(sha_stream.len() as u64));
        let mut encoder = HashedChunks::new(cut, Hashes::Reckoned, CHUNK_BYTES);
        let mut frames = Vec::new();
        group.bench_function("encode-sha1", |bencher| {
            bencher.iter(|| {
                let mut encoder = HashedChunks::new(cut, Hashes::Reckoned, CHUNK_BYTES);
                let mut air = Vec::with_capacity(2048);
                for packet in sha_stream.chunks_exact(PACKET_BYTES) {
                    air.clear();
                    black_box(encoder.encode(packet, &mut air));
                }
            });
        });
        for packet in sha_stream.chunks_exact(PACKET_BYTES) {
            let mut air = Vec::new();
            encoder.encode(packet, &mut air);
            frames.push(air);
        }
        group.bench_function("decode-sha1", |bencher| {
            bencher.iter(|| {
                let mut decoder = HashedChunksReceiver::new(CHUNK_BYTES);
                let mut restored = Vec::with_capacity(2048);
                for air in &frames {
                    restored.clear();
                    assert!(decoder.decode(air, &mut restored).is_some());
                }
            });
        });
        group.finish();
    }
}

/// Speed of cutting alone.
fn boundaries(criterion: &mut Criterion) {
    let stream = made_stream(0, STREAM_PACKETS, 5);
    let mut group = criterion.benchmark_group("boundaries");
    group.throughput(Throughput::Bytes(stream.len() as u64)).sample_size(10);
    for method in [Method::Gear, Method::Maxp, Method::Modp] {
        let boundaries = Boundaries { method, min_chunk: MinChunk::Bytes64 };
        group.bench_function(format!("{method:?}"), |bencher| {
            bencher.iter(|| {
                let chunks: usize =
                    stream.chunks_exact(PACKET_BYTES).map(|packet| boundaries.chunks(packet).count()).sum();
                black_box(chunks)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, boundaries, codec);
criterion_main!(benches);
