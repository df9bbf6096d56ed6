//! Speed of encoder and decoder in the compact form under the policy `acked`.
//!
//! `cargo bench -p overheard-re`. Each pass runs a stream of twice the store's size through a warm encoder.
//! Confirmations arrive 32 packets later, as on a real link. The result is payload bytes a second. The
//! synthetic streams repeat 0, 50 and 90% of their bytes in stretches of a few hundred bytes. Real content
//! comes from the evaluation data, if present.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use published::form::PAPER;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use re::literals::{Compressor, Expander};
use re::{Decoder, Encoded, Encoder, Parameters, Policy, Sharing};
use std::hint::black_box;
use std::io::Read;
use std::path::Path;
use wire::inner::Inner;

const PAYLOAD_BYTES: usize = 1360;
const STORE_BYTES: usize = 8 << 20;
const STREAM_BYTES: usize = 16 << 20;
const CONFIRMATION_LAG: u64 = 32;

/// A packet and its headers.
type Prepared = (Vec<u8>, Inner);

fn prepare(number: usize, payload: &[u8]) -> Prepared {
    let mut packet = Vec::new();
    let builder = etherparse::PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64);
    let builder = builder.tcp(80, 4242, (number * PAYLOAD_BYTES) as u32, 1000);
    builder.write(&mut packet, payload).expect("a vector takes every byte");
    let inner = Inner::parse(&packet).expect("what was built can be read");
    (packet, inner)
}

/// A stream that repeats about this share of its bytes, from 100 to 1000 packets back.
fn made_stream(percent: u32) -> Vec<Prepared> {
    let mut rng = ChaCha8Rng::seed_from_u64(u64::from(percent));
    let mut bytes: Vec<u8> = Vec::with_capacity(STREAM_BYTES);
    while bytes.len() < STREAM_BYTES {
        let length = rng.random_range(100..900);
        if bytes.len() > 1000 * PAYLOAD_BYTES && rng.random_range(0..100) < percent {
            let back = rng.random_range(100 * PAYLOAD_BYTES..1000 * PAYLOAD_BYTES);
            let start = bytes.len() - back;
            bytes.extend_from_within(start..start + length);
        } else {
            let start = bytes.len();
            bytes.resize(start + length, 0);
            rng.fill_bytes(&mut bytes[start..]);
        }
    }
    bytes.chunks_exact(PAYLOAD_BYTES).enumerate().map(|(number, payload)| prepare(number, payload)).collect()
}

/// Real content, unpacked; `None` without the evaluation data.
fn real_stream(name: &str) -> Option<Vec<Prepared>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/data/content").join(name);
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).ok()?;
    liblzma::read::XzDecoder::new(file).read_to_end(&mut bytes).ok()?;
    Some(
        bytes
            .chunks_exact(PAYLOAD_BYTES)
            .enumerate()
            .map(|(number, payload)| prepare(number, payload))
            .collect(),
    )
}

fn parameters() -> Parameters {
    Parameters { policy: Policy::Acked, store_bytes: STORE_BYTES, ..Parameters::default() }
}

/// Encodes the whole stream after the encoder's earlier packets. Passes each result to `take`.
fn encode(
    encoder: &mut Encoder,
    sequence: &mut u64,
    stream: &[Prepared],
    mut take: impl FnMut(u64, &Prepared, Encoded, &[u8]),
) {
    let mut shim = Vec::with_capacity(4096);
    for prepared in stream {
        shim.clear();
        let encoded = encoder.encode(*sequence, &prepared.0, &prepared.1, &mut shim);
        take(*sequence, prepared, encoded, &shim);
        if let Some(confirmed) = sequence.checked_sub(CONFIRMATION_LAG) {
            encoder.confirm(confirmed);
        }
        *sequence += 1;
    }
}

fn bench_stream(criterion: &mut Criterion, name: &str, parameters: Parameters, stream: &[Prepared]) {
    let payload_bytes: usize = stream.iter().map(|(_, inner)| inner.payload_bytes()).sum();
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Bytes(payload_bytes as u64)).sample_size(20);

    let (mut warm, mut sequence) = (Encoder::new(&parameters), 0);
    group.bench_function("encode", |bencher| {
        bencher.iter(|| {
            encode(&mut warm, &mut sequence, stream, |_, _, encoded, shim| {
                black_box((encoded, shim));
            })
        });
    });

    // The same frames in each pass, for a decoder that starts empty.
    let mut frames = Vec::new();
    let (mut first, mut left_bytes) = (Encoder::new(&parameters), 0);
    encode(&mut first, &mut 0, stream, |sequence, prepared, encoded, shim| {
        let reduced = encoded != Encoded::Plain;
        let frame = if reduced { shim } else { &prepared.0[..] };
        left_bytes += frame.len();
        frames.push((sequence, reduced, frame.to_vec(), prepared.1));
    });
    let packet_bytes: usize = stream.iter().map(|(packet, _)| packet.len()).sum();
    println!("{name}: {:.3} of the bytes left", left_bytes as f64 / packet_bytes as f64);
    group.bench_function("decode", |bencher| {
        let empty = || Decoder::new(16, 4, STORE_BYTES, parameters.keeping());
        bencher.iter_batched_ref(
            empty,
            |decoder| {
                let mut restored = Vec::with_capacity(4096);
                for (sequence, reduced, frame, inner) in &frames {
                    restored.clear();
                    if *reduced {
                        decoder
                            .restore(*sequence, parameters.form, frame, &mut restored)
                            .expect("nothing was lost");
                    } else {
                        restored.extend_from_slice(frame);
                    }
                    decoder.store(*sequence, &restored, inner);
                }
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

fn codec(criterion: &mut Criterion) {
    for percent in [0, 50, 90] {
        let stream = made_stream(percent);
        let to_the_byte = Parameters { sharing: Sharing::ToTheByte, ..parameters() };
        bench_stream(criterion, &format!("made-{percent}"), parameters(), &stream);
        bench_stream(criterion, &format!("made-{percent}-to-the-byte"), to_the_byte, &stream);
    }
    let paper = Parameters { form: PAPER, ..parameters() };
    bench_stream(criterion, "made-50-paper-form", paper, &made_stream(50));
    for name in ["file10M-pydocs-library.html.xz", "webpages-150.tar.xz"] {
        match real_stream(name) {
            Some(stream) => bench_stream(criterion, name, parameters(), &stream),
            None => println!("{name}: left out, the evaluation data is not there"),
        }
    }
}

/// Compression and expansion of one packet's literals, in literal bytes a second. The sample rejects random
/// ones.
fn literals(criterion: &mut Criterion) {
    const LITERAL_BYTES: usize = 1400;
    let mut random = vec![0; LITERAL_BYTES];
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    rng.fill_bytes(&mut random);
    let source = include_bytes!("codec.rs");
    let text = &source[source.len() / 3..][..LITERAL_BYTES];
    // Uneven enough to pass the sample, yet not worth a Huffman table: the largest wasted effort.
    let uneven: Vec<u8> = random[..120].iter().map(|byte| byte & 0x7f).collect();

    let mut group = criterion.benchmark_group("literals");
    let mut out = Vec::with_capacity(2 * LITERAL_BYTES);
    for (name, literals) in [("text", text), ("random", &random[..]), ("uneven-120", &uneven)] {
        group.throughput(Throughput::Bytes(literals.len() as u64));
        let mut compressor = Compressor::new();
        group.bench_function(format!("compress-{name}"), |bencher| {
            bencher.iter(|| {
                out.clear();
                compressor.compress(black_box(literals), &mut out)
            });
        });
    }
    let mut compressed = Vec::new();
    assert!(Compressor::new().compress(text, &mut compressed), "text is compressed");
    println!("literals: {} of {LITERAL_BYTES} bytes of text left", compressed.len());
    group.throughput(Throughput::Bytes(LITERAL_BYTES as u64));
    let mut expander = Expander::new();
    group.bench_function("expand-text", |bencher| {
        bencher.iter(|| {
            out.clear();
            expander.expand(black_box(&compressed), LITERAL_BYTES, &mut out)
        });
    });
    group.finish();
}

criterion_group!(benches, codec, literals);
criterion_main!(benches);
