//! Memory of both ends for each byte that they keep, by counted allocations.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use allocation_counter::measure;
use etherparse::PacketBuilder;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use re::{Decoder, Encoder, Parameters, memory};
use wire::inner::Inner;

/// The largest stores whose memory comes from the allocator alone, and not from the kernel's large pages.
const STORE_BYTES: usize = (4 << 20) - (700 << 10);

fn packets(count: usize, packet_bytes: usize) -> Vec<(Vec<u8>, Inner)> {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut payload = vec![0; packet_bytes - 40];
    let made = (0..count).map(|number| {
        rng.fill_bytes(&mut payload);
        let mut packet = Vec::new();
        let at = (number * payload.len()) as u32;
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(80, 4242, at, 1000);
        builder.write(&mut packet, &payload).unwrap();
        let inner = Inner::parse(&packet).unwrap();
        (packet, inner)
    });
    made.collect()
}

/// An encoder with a full store. Each packet is confirmed 32 packets later.
fn full_encoder(parameters: &Parameters, packets: &[(Vec<u8>, Inner)]) -> Encoder {
    let mut encoder = Encoder::new(parameters);
    let mut out = Vec::new();
    for (sequence, (packet, inner)) in (0..).zip(packets) {
        encoder.encode(sequence, packet, inner, &mut out);
        encoder.confirm(sequence.max(32) - 32);
    }
    encoder
}

fn full_decoder(parameters: &Parameters, packets: &[(Vec<u8>, Inner)]) -> Decoder {
    let Parameters { window_bytes, sample_bits, store_bytes, .. } = *parameters;
    let mut decoder = Decoder::new(window_bytes, sample_bits, store_bytes, parameters.keeping());
    for (sequence, (packet, inner)) in (0..).zip(packets) {
        decoder.store(sequence, packet, inner);
    }
    decoder
}

/// Bytes of packets that are held, of those with these sequences.
fn kept_bytes(packets: &[(Vec<u8>, Inner)], holds: impl Fn(u64) -> bool) -> usize {
    (0..).zip(packets).filter(|(sequence, _)| holds(*sequence)).map(|(_, (packet, _))| packet.len()).sum()
}

#[test]
fn a_full_store_takes_at_most_thirteen_tenths_of_the_bytes_it_keeps() {
    let parameters = Parameters { store_bytes: STORE_BYTES, ..Parameters::default() };
    let packets = packets(12_000, 1000);
    // buffers for the longest packet, whatever the store
    let least = Parameters { store_bytes: 4096, ..parameters };
    let fixed = measure(|| std::mem::forget(full_encoder(&least, &packets[..1]))).bytes_current;

    let mut encoder = None;
    let of_encoder = measure(|| encoder = Some(full_encoder(&parameters, &packets))).bytes_current - fixed;
    let encoder = encoder.unwrap();
    let kept = kept_bytes(&packets, |sequence| encoder.original(sequence).is_some());
    println!("encoder: {of_encoder} bytes for {kept}");
    assert!(of_encoder as usize * 10 <= kept * 13, "{of_encoder} bytes of memory for {kept}");
    assert!(of_encoder as usize <= memory::of_sender(STORE_BYTES));

    let mut decoder = None;
    let of_decoder = measure(|| decoder = Some(full_decoder(&parameters, &packets))).bytes_current;
    let decoder = decoder.unwrap();
    let kept = kept_bytes(&packets, |sequence| decoder.holds(sequence));
    println!("decoder: {of_decoder} bytes for {kept}");
    assert!(of_decoder as usize * 10 <= kept * 13, "{of_decoder} bytes of memory for {kept}");
    assert!(of_decoder as usize <= memory::of_receiver(STORE_BYTES));
}

#[test]
fn full_stores_of_any_size_are_within_the_memory_that_is_reckoned_for_them() {
    for store_bytes in [1 << 20, 16 << 20] {
        let parameters = Parameters { store_bytes, ..Parameters::default() };
        for packet_bytes in [100, 350, 1400] {
            let packets = packets(store_bytes / packet_bytes * 5 / 4, packet_bytes);
            let sender = full_encoder(&parameters, &packets).size_bytes();
            let receiver = full_decoder(&parameters, &packets).size_bytes();
            let (most_sender, most_receiver) =
                (memory::of_sender(store_bytes), memory::of_receiver(store_bytes));
            assert!(sender <= most_sender, "{sender} of {most_sender}, {packet_bytes} bytes a packet");
            assert!(
                receiver <= most_receiver,
                "{receiver} of {most_receiver}, {packet_bytes} bytes a packet"
            );
        }
    }
}
