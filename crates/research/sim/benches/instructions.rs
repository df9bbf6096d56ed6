//! Instructions that a packet takes: both codecs, the cipher, and whole nodes.
//!
//! Callgrind counts them. They are nearly the same in each run, on an idle machine and on a busy one, so a
//! small growth is visible. Clocks have criterion's benchmarks and `overheard-lab bench`. `make instructions`
//! compares the counts with the kept ones (`scripts/instructions`). Each function handles [`PACKETS`]
//! packets.

// A benchmark fails by panicking, and gungraun's items have no comments.
#![allow(missing_docs, clippy::unwrap_used)]

use gungraun::prelude::*;
use overhear::removal::Removal;
use overhear::{AirTime, Association, Gateway, PacketNumber, Received, Settings, Station, StationId};
use re::{Decoder, Encoded, Encoder, Parameters, Policy};
use sim::Tunnel;
use sim::traffic::Content;
use sim::workload::{FaceToFace, packets};
use std::hint::black_box;
use std::time::Duration;
use wire::inner::Inner;

/// Packets that are counted.
const PACKETS: usize = 256;
/// Packets before them, which fill stores, tables and buffers.
const EARLIER: usize = 1024;
/// Packets that a confirmation comes later.
const CONFIRMATION_LAG: u64 = 32;
/// Packets that a driver takes from a device at once.
const BATCH: usize = 32;

type Prepared = (Vec<u8>, Inner);

/// Packets whose payload repeats in this share, in percent.
fn stream(percent: u32) -> Vec<Prepared> {
    let packets = packets(f64::from(percent) / 100.0, EARLIER + PACKETS);
    let prepare = |packet: Vec<u8>| {
        let inner = Inner::parse(&packet).unwrap();
        (packet, inner)
    };
    packets.into_iter().map(prepare).collect()
}

/// Encodes packets from this sequence on. Passes each result to `take`.
fn encode_all(
    encoder: &mut Encoder,
    first: u64,
    stream: &[Prepared],
    mut take: impl FnMut(u64, &Prepared, Encoded, &[u8]),
) {
    let mut shim = Vec::with_capacity(4096);
    for (sequence, prepared) in (first..).zip(stream) {
        shim.clear();
        let encoded = encoder.encode(sequence, &prepared.0, &prepared.1, &mut shim);
        take(sequence, prepared, encoded, &shim);
        if let Some(confirmed) = sequence.checked_sub(CONFIRMATION_LAG) {
            encoder.confirm(confirmed);
        }
    }
}

/// An encoder after the earlier packets, and the packets to count.
fn warm_encoder(percent: u32) -> (Encoder, Vec<Prepared>) {
    let (mut encoder, mut stream) = (Encoder::new(&Parameters::default()), stream(percent));
    let counted = stream.split_off(EARLIER);
    encode_all(&mut encoder, 0, &stream, |_, _, _, _| ());
    (encoder, counted)
}

#[library_benchmark(setup = warm_encoder)]
#[bench::repeats_0(0)]
#[bench::repeats_50(50)]
#[bench::repeats_90(90)]
fn packets_encode((mut encoder, stream): (Encoder, Vec<Prepared>)) -> (Encoder, Vec<Prepared>) {
    encode_all(&mut encoder, EARLIER as u64, &stream, |_, _, encoded, shim| {
        black_box((encoded, shim));
    });
    (encoder, stream)
}

/// A frame: its sequence, whether it is reduced, its bytes, and the headers of its packet.
type Frame = (u64, bool, Vec<u8>, Inner);

fn restore_all(decoder: &mut Decoder, frames: &[Frame], restored: &mut Vec<u8>) {
    let form = Parameters::default().form;
    for (sequence, reduced, bytes, inner) in frames {
        restored.clear();
        if *reduced {
            decoder.restore(*sequence, form, bytes, restored).unwrap();
        } else {
            restored.extend_from_slice(bytes);
        }
        decoder.store(*sequence, restored, inner);
    }
}

/// A decoder after the earlier packets, the frames to count, and room for a packet.
fn warm_decoder(percent: u32) -> (Decoder, Vec<Frame>, Vec<u8>) {
    let parameters = Parameters::default();
    let mut frames = Vec::new();
    encode_all(&mut Encoder::new(&parameters), 0, &stream(percent), |sequence, prepared, encoded, shim| {
        let reduced = encoded != Encoded::Plain;
        let bytes = if reduced { shim } else { &prepared.0[..] };
        frames.push((sequence, reduced, bytes.to_vec(), prepared.1));
    });
    let counted = frames.split_off(EARLIER);
    let Parameters { window_bytes, sample_bits, store_bytes, .. } = parameters;
    let (mut decoder, mut restored) = (
        Decoder::new(window_bytes, sample_bits, store_bytes, parameters.keeping()),
        Vec::with_capacity(4096),
    );
    restore_all(&mut decoder, &frames, &mut restored);
    (decoder, counted, restored)
}

#[library_benchmark(setup = warm_decoder)]
#[bench::repeats_0(0)]
#[bench::repeats_50(50)]
#[bench::repeats_90(90)]
fn packets_decode(mut warm: (Decoder, Vec<Frame>, Vec<u8>)) -> (Decoder, Vec<Frame>, Vec<u8>) {
    restore_all(&mut warm.0, &warm.1, &mut warm.2);
    warm
}

const STATION: StationId = StationId(1);
const KEY: [u8; 32] = [1; 32];
/// On a radio of 1500 bytes.
const PAYLOAD_BYTES: usize = 1400;

fn settings() -> Settings {
    Settings { removal: Removal::Greedy, slot_bits: 16, ..Settings::new(KEY) }
}

/// Payloads whose bytes repeat in this share, in percent.
fn payloads(percent: u32) -> Vec<Vec<u8>> {
    let bytes = (EARLIER + PACKETS) * PAYLOAD_BYTES;
    let mut content = Content::repeating(1, f64::from(percent) / 100.0, bytes / 2, bytes);
    let mut payload = vec![0; PAYLOAD_BYTES];
    let mut next = || {
        content.take(&mut payload);
        payload.clone()
    };
    (0..EARLIER + PACKETS).map(|_| next()).collect()
}

fn gateway() -> Gateway {
    let mut gateway = Gateway::new(settings()).unwrap();
    let rate_bits_per_second = 54_000_000;
    let association = Association {
        slot_bits: settings().slot_bits,
        rate_bits_per_second,
        rate_is_known: true,
        air_time: AirTime::of_rate(rate_bits_per_second),
        mac_key: Some(KEY),
    };
    gateway.join(STATION, association, Duration::ZERO).unwrap();
    gateway
}

/// Encodes payloads, each confirmed at once. Passes each result to `take`.
fn share_all(gateway: &mut Gateway, payloads: &[Vec<u8>], mut take: impl FnMut(PacketNumber, &[u8])) {
    let mut out = Vec::with_capacity(2048);
    for payload in payloads {
        out.clear();
        let sent = gateway.encode(STATION, payload, Duration::ZERO, &mut out);
        gateway.record_acknowledgment(STATION, sent.number, Duration::ZERO);
        take(sent.number, &out);
    }
}

/// A gateway after the earlier payloads, and the payloads to count.
fn warm_gateway(percent: u32) -> (Gateway, Vec<Vec<u8>>) {
    let (mut gateway, mut payloads) = (gateway(), payloads(percent));
    let counted = payloads.split_off(EARLIER);
    share_all(&mut gateway, &payloads, |_, _| ());
    (gateway, counted)
}

#[library_benchmark(setup = warm_gateway)]
#[bench::repeats_0(0)]
#[bench::repeats_50(50)]
#[bench::repeats_90(90)]
fn chunks_encode((mut gateway, payloads): (Gateway, Vec<Vec<u8>>)) -> (Gateway, Vec<Vec<u8>>) {
    share_all(&mut gateway, &payloads, |number, out| {
        black_box((number, out));
    });
    (gateway, payloads)
}

type Shared = Vec<(PacketNumber, Vec<u8>)>;

fn receive_all(station: &mut Station, shared: &Shared) {
    for (number, bytes) in shared {
        let received = station.receive(*number, 0, bytes, Duration::ZERO);
        assert!(matches!(black_box(received), Received::Restored(_)));
    }
}

/// A station after the earlier payloads, and the encoded payloads to count.
fn warm_station(percent: u32) -> (Station, Shared) {
    let mut shared = Vec::new();
    share_all(&mut gateway(), &payloads(percent), |number, out| shared.push((number, out.to_vec())));
    let counted = shared.split_off(EARLIER);
    let mut station = Station::new(settings(), STATION, Some(KEY)).unwrap();
    receive_all(&mut station, &shared);
    (station, counted)
}

#[library_benchmark(setup = warm_station)]
#[bench::repeats_0(0)]
#[bench::repeats_50(50)]
#[bench::repeats_90(90)]
fn chunks_decode((mut station, shared): (Station, Shared)) -> (Station, Shared) {
    receive_all(&mut station, &shared);
    (station, shared)
}

/// Two nodes after the earlier packets, and the packets to count.
fn warm_nodes(policy: Policy, percent: u32) -> (FaceToFace, Vec<Vec<u8>>) {
    let mut packets = packets(f64::from(percent) / 100.0, EARLIER + PACKETS);
    let counted = packets.split_off(EARLIER);
    let mut pair = FaceToFace::new(1, &Tunnel::from(policy)).unwrap();
    carry_all(&mut pair, &packets);
    (pair, counted)
}

fn carry_all(pair: &mut FaceToFace, packets: &[Vec<u8>]) {
    for batch in packets.chunks(BATCH) {
        pair.pack(batch);
        pair.seal();
        pair.unpack();
        assert_eq!(pair.deliver(batch), batch.len());
        pair.answer();
    }
}

#[library_benchmark(setup = warm_nodes)]
#[bench::off_repeats_0(Policy::Off, 0)]
#[bench::acked_repeats_0(Policy::Acked, 0)]
#[bench::acked_repeats_50(Policy::Acked, 50)]
#[bench::acked_repeats_90(Policy::Acked, 90)]
fn nodes_out_and_in((mut pair, packets): (FaceToFace, Vec<Vec<u8>>)) -> (FaceToFace, Vec<Vec<u8>>) {
    carry_all(&mut pair, &packets);
    (pair, packets)
}

/// Two nodes that remove nothing, with the packets to count in datagrams that nobody has sealed.
fn packed() -> FaceToFace {
    let (mut pair, packets) = warm_nodes(Policy::Off, 0);
    pair.pack(&packets);
    assert!(pair.batch_bytes() > packets.iter().map(Vec::len).sum(), "the queue has room for all");
    pair
}

fn sealed() -> FaceToFace {
    let mut pair = packed();
    pair.seal();
    pair
}

#[library_benchmark]
#[bench::full(packed())]
fn node_seal(mut pair: FaceToFace) -> FaceToFace {
    pair.seal();
    pair
}

// Opens and unpacks: a node's interface does not have one without the other.
#[library_benchmark]
#[bench::full(sealed())]
fn node_open_and_unpack(mut pair: FaceToFace) -> FaceToFace {
    pair.unpack();
    pair
}

library_benchmark_group!(
    name = a_packet,
    benchmarks = [
        packets_encode,
        packets_decode,
        chunks_encode,
        chunks_decode,
        nodes_out_and_in,
        node_seal,
        node_open_and_unpack
    ]
);

main!(library_benchmark_groups = a_packet);
