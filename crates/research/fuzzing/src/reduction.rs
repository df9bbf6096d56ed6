//! An encoder and a decoder, with what the air does between them written by the input.
//!
//! ```text
//! | policy (8) | bits 0, 4: form; bits 1-3: sampling | then for every packet:
//! | what happens to it (8) | where its content starts, in 16 bytes (8) | content, in 8 bytes (8) |
//! ```
//!
//! What happens, by bits: 1 lost, 2 an old TCP sequence again, 4 the receipt is lost, 8 the decoder loses its
//! store, 16 the loss is reported, 32 one byte of the content differs.

use crate::Seed;
use etherparse::PacketBuilder;
use published::form::{HASHED, PAPER};
use published::policy;
use re::{Decoder, Encoded, Encoder, Form, Parameters, Policy};
use wire::inner::Inner;

const LOST: u8 = 1;
const OLD_SEQUENCE: u8 = 2;
const RECEIPT_LOST: u8 = 4;
const STORE_LOST: u8 = 8;
const LOSS_REPORTED: u8 = 16;
const ALTERED: u8 = 32;

/// More would only take time.
const MAX_PACKETS: usize = 64;
/// Small, so that it overflows.
const STORE_BYTES: usize = 8192;

/// In all forms except the paper's, a restored packet equals the original. Under `acked` every packet that
/// arrives is restored while the decoder keeps its store. In the paper's form both hold without loss.
pub fn check(bytes: &[u8]) -> bool {
    let Some((&[policy, form], packets)) = bytes.split_first_chunk::<2>() else { return false };
    let policy = policy::ALL[usize::from(policy) % policy::ALL.len()];
    let form_of_shims = match form & 0x11 {
        0 => Form::Compact,
        1 => PAPER,
        _ => HASHED,
    };
    let sample_bits = u32::from(form >> 1 & 7);
    let parameters = Parameters {
        policy,
        form: form_of_shims,
        sample_bits,
        store_bytes: STORE_BYTES,
        ..Parameters::default()
    };
    if parameters.validate().is_err() {
        return false;
    }
    let mut encoder = Encoder::new(&parameters);
    let mut decoder = Decoder::new(parameters.window_bytes, sample_bits, STORE_BYTES, parameters.keeping());
    let (mut stores_agree, mut store_lost, mut reduced_packets) = (true, false, 0);
    let (mut shim, mut restored) = (Vec::new(), Vec::new());
    for (number, &[happens, start, length]) in packets.as_chunks::<3>().0.iter().take(MAX_PACKETS).enumerate()
    {
        let sequence = number as u64;
        let packet = packet(number as u32, happens, start, length);
        let inner = Inner::parse(&packet).expect("our own packet");
        shim.clear();
        let encoded = encoder.encode(sequence, &packet, &inner, &mut shim);
        if happens & STORE_LOST != 0 {
            decoder.clear();
            (stores_agree, store_lost) = (false, true);
        }
        if happens & LOST != 0 {
            stores_agree = false;
            if happens & LOSS_REPORTED != 0 {
                encoder.report_lost(sequence);
            }
            continue;
        }
        if encoded == Encoded::Plain {
            assert!(shim.is_empty());
        } else {
            reduced_packets += 1;
            assert!(shim.len() < packet.len(), "a packet is reduced only where that makes it shorter");
            restored.clear();
            let miss = decoder.restore(sequence, form_of_shims, &shim, &mut restored).is_err();
            // Here adaptive never learns that losses are repaired.
            let confirmed_only = matches!(policy, Policy::Acked | Policy::Adaptive);
            let kept_promise = stores_agree || confirmed_only && form_of_shims != PAPER && !store_lost;
            assert!(!(miss && kept_promise), "packet {sequence} cannot be restored");
            let right = !miss && restored == packet;
            assert!(right || miss || form_of_shims == PAPER && !stores_agree, "wrong bytes");
            if !right {
                stores_agree = false;
                continue;
            }
        }
        decoder.store(sequence, &packet, &inner);
        if happens & RECEIPT_LOST == 0 {
            encoder.confirm(sequence);
        }
    }
    assert!(policy != Policy::Off || reduced_packets == 0);
    reduced_packets > 0
}

fn packet(number: u32, happens: u8, start: u8, length: u8) -> Vec<u8> {
    let tcp_sequence = if happens & OLD_SEQUENCE != 0 { number / 2 } else { number } * 1448;
    let mut state = u64::from(start) * 16;
    let mut payload = Vec::with_capacity(usize::from(length) * 8);
    // The byte at a place of the content follows from the place alone.
    payload.resize_with(usize::from(length) * 8, || {
        state += 1;
        (state.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
    });
    if happens & ALTERED != 0
        && let Some(byte) = payload.get_mut(usize::from(length) * 3)
    {
        *byte ^= number as u8;
    }
    let mut packet = Vec::new();
    let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(80, 4242, tcp_sequence, 1000);
    builder.write(&mut packet, &payload).expect("writing to a buffer does not fail");
    packet
}

/// For every policy and form that reduces anything: a file twice, with a loss in the middle.
pub fn seeds() -> Vec<Seed> {
    const NAMES: [[&str; 3]; policy::ALL.len()] = [
        [""; 3],
        ["naive-compact", "naive-paper", "naive-hashed"],
        ["cache-flush-compact", "cache-flush-paper", "cache-flush-hashed"],
        ["tcp-seq-compact", "tcp-seq-paper", "tcp-seq-hashed"],
        ["k-distance-compact", "k-distance-paper", "k-distance-hashed"],
        ["informed-marking-compact", "informed-marking-paper", "informed-marking-hashed"],
        ["retrieve-on-miss-compact", "retrieve-on-miss-paper", "retrieve-on-miss-hashed"],
        ["acked-compact", "acked-paper", "acked-hashed"],
        ["adaptive-compact", "adaptive-paper", "adaptive-hashed"],
    ];
    let names = NAMES.iter().enumerate().skip(1);
    names
        .flat_map(|(policy, names)| {
            let forms = [0u8, 1, 0x10];
            names.iter().zip(forms).map(move |(name, form)| (policy, form, *name))
        })
        .map(|(policy, form, name)| {
            Seed::of(name, |out| {
                out.extend_from_slice(&[policy as u8, form | 3 << 1]);
                for round in 0..2 {
                    for step in 0..8 {
                        let happens = if (round, step) == (1, 3) { LOST | LOSS_REPORTED } else { 0 };
                        out.extend_from_slice(&[happens, step * 8 + round, 60]);
                    }
                }
            })
        })
        .collect()
}
