//! Encoder and decoder face to face, with nothing lost between them.

use etherparse::PacketBuilder;
use re::{Decoder, Encoded, Encoder, Form, Parameters, Policy};
use wire::inner::Inner;

fn tcp_packet(tcp_sequence: u32, payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(80, 4242, tcp_sequence, 1000);
    builder.write(&mut packet, payload).unwrap();
    packet
}

fn pseudo_random(mut state: u64, count: usize) -> Vec<u8> {
    std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    })
    .take(count)
    .collect()
}

#[test]
fn a_repeated_file_is_reduced_and_restored_under_every_policy_and_form() {
    let file = pseudo_random(1, 100_000);
    for policy in Policy::ALL {
        for form in [Form::Compact, Form::Paper] {
            let parameters = Parameters { policy, form, ..Parameters::default() };
            if parameters.validate().is_err() {
                continue;
            }
            let mut encoder = Encoder::new(&parameters);
            let mut decoder = Decoder::new(16, 4, parameters.store_bytes);
            let (mut sequence, mut removed) = (0, 0);
            // The second time the file is cut elsewhere.
            for chunk in file.chunks(1460).chain(file.chunks(1200)) {
                let packet = tcp_packet((sequence * 1460) as u32, chunk);
                let inner = Inner::parse(&packet).unwrap();
                let mut shim = Vec::new();
                let restored = match encoder.encode(sequence, &packet, &inner, &mut shim) {
                    Encoded::Plain => packet.clone(),
                    Encoded::Reduced { removed_bytes, shim_bytes, .. } => {
                        assert_eq!(shim.len(), packet.len() - removed_bytes + shim_bytes);
                        removed += removed_bytes;
                        let mut restored = Vec::new();
                        decoder.restore(sequence, form, &shim, &mut restored).unwrap();
                        restored
                    }
                };
                assert_eq!(restored, packet);
                decoder.store(sequence, &restored, &inner);
                encoder.confirm(sequence);
                sequence += 1;
            }
            match policy {
                Policy::Off => assert_eq!(removed, 0),
                Policy::KDistance { .. } => assert!(removed < 1000),
                _ => assert!(removed > 80_000, "{policy} {form}: {removed} bytes removed"),
            }
        }
    }
}
