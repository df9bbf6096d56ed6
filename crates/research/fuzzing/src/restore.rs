//! A decoder and the shims of a hostile peer.
//!
//! ```text
//! | form (8) | link sequence beyond the stored packets (16) | shim and literals ...
//! ```

use crate::Seed;
use etherparse::PacketBuilder;
use published::form::{self, PAPER};
use published::shim::hashed::Hashed;
use published::shim::paper::Paper;
use re::{Decoder, Encoded, Encoder, Form, Keeping, Parameters};
use wire::inner::Inner;
use wire::shim::compact::Compact;

/// Packets that the decoder holds, under the link sequences from 0.
const STORED_PACKETS: u64 = 6;
const STORE_BYTES: usize = 1 << 14;
/// The buffer's contents before the restored packet.
const BEFORE: &[u8] = b"delivered before";

/// A packet is restored to its shim's length, or nothing is written.
pub fn check(bytes: &[u8]) -> bool {
    let Some((&[form, high, low], shim)) = bytes.split_first_chunk::<3>() else { return false };
    let form = form::ALL[usize::from(form) % form::ALL.len()];
    let sequence = STORED_PACKETS + u64::from(u16::from_be_bytes([high, low]));
    let Parameters { window_bytes, sample_bits, .. } = Parameters::default();
    let mut decoder = Decoder::new(window_bytes, sample_bits, STORE_BYTES, Keeping::Together);
    for (stored, packet) in (0..).zip(stored_packets()) {
        store(&mut decoder, stored, &packet);
    }
    let mut out = BEFORE.to_vec();
    if decoder.restore(sequence, form, shim, &mut out).is_err() {
        assert_eq!(out, BEFORE);
        return false;
    }
    let said = if form == Form::Compact {
        Compact::parse(shim).map(|shim| shim.restored_bytes)
    } else if form == PAPER {
        Paper::parse(shim).map(|shim| shim.restored_bytes)
    } else {
        Hashed::parse(shim).map(|shim| shim.restored_bytes)
    };
    assert_eq!(said, Ok(out.len() - BEFORE.len()));
    store(&mut decoder, sequence, &out[BEFORE.len()..]);
    true
}

fn store(decoder: &mut Decoder, sequence: u64, packet: &[u8]) {
    if let Ok(inner) = Inner::parse(packet) {
        decoder.store(sequence, packet, &inner);
    }
}

fn packet(payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(80, 4242);
    builder.write(&mut packet, payload).expect("writing to a buffer does not fail");
    packet
}

/// Payloads without repetition within a packet.
fn payload(number: u64) -> Vec<u8> {
    let mut state = number;
    std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    })
    .take(400)
    .collect()
}

fn stored_packets() -> impl Iterator<Item = Vec<u8>> {
    (0..STORED_PACKETS).map(|number| packet(&payload(number)))
}

/// What an encoder that holds the same packets makes of a packet with pieces of three of them.
pub fn seeds() -> Vec<Seed> {
    let pieces = [&payload(1)[30..200], b"new", &payload(4)[100..300], &payload(2)[..40]].concat();
    let packet = packet(&pieces);
    ["compact", "paper", "hashed"]
        .into_iter()
        .zip((0..).zip(form::ALL))
        .map(|(name, (number, form))| {
            let mut encoder =
                Encoder::new(&Parameters { form, store_bytes: STORE_BYTES, ..Parameters::default() });
            let mut shim = Vec::new();
            for (sequence, stored) in (0..).zip(stored_packets()) {
                let inner = Inner::parse(&stored).expect("our own packet");
                encoder.encode(sequence, &stored, &inner, &mut shim);
                encoder.confirm(sequence);
            }
            let inner = Inner::parse(&packet).expect("our own packet");
            let encoded = encoder.encode(STORED_PACKETS, &packet, &inner, &mut shim);
            // of the last piece there is no whole chunk
            assert!(matches!(encoded, Encoded::Reduced { referred_packets: 2 | 3, .. }), "{encoded:?}");
            Seed::of(name, |out| {
                out.extend_from_slice(&[number, 0, 0]);
                out.extend_from_slice(&shim);
            })
        })
        .collect()
}
