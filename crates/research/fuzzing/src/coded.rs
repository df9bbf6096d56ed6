//! Coded repairs of TCP segments, and what they restore to.

use crate::Seed;
use recovery::History;
use recovery::buffer::digest;
use wire::coded::Coded;
use wire::inner::Inner;

const HEADER_BYTES: usize = 40;

/// A segment of a stream whose bytes follow from their position in it.
fn segment(sequence: u32, bytes: u32) -> Vec<u8> {
    let payload: Vec<u8> =
        (0..bytes).map(|at| (sequence.wrapping_add(at).wrapping_mul(0x9e37_79b9) >> 24) as u8).collect();
    let mut packet = Vec::new();
    let builder =
        etherparse::PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(80, 4242, sequence, 1000);
    builder.write(&mut packet, &payload).expect("a vector takes every byte");
    packet
}

/// A parsed and emitted repair parses equally. A restored packet matches its digest, and a refusal leaves
/// nothing behind.
pub fn check(bytes: &[u8]) -> bool {
    let Ok(coded) = Coded::parse(bytes) else { return false };
    let offsets: Vec<i32> = coded.offsets().collect();
    let mut again = Vec::new();
    if coded.scale() == 1 && coded.terms().all(|(_, scale)| scale == 1) {
        Coded::emit(coded.digest, coded.header, offsets.iter().copied(), coded.payload, &mut again);
    } else {
        let terms: Vec<(i32, u8)> = coded.terms().collect();
        let terms = terms.iter().copied();
        Coded::emit_scaled(coded.digest, coded.header, coded.scale(), terms, coded.payload, &mut again);
    }
    let read = Coded::parse(&again).expect("it was written");
    assert_eq!((read.digest, read.header, read.payload), (coded.digest, coded.header, coded.payload));
    assert!(read.terms().eq(coded.terms()) && read.scale() == coded.scale());
    let mut history = History::default();
    for sequence in [1000, 1100, 1200] {
        let packet = segment(sequence, 100);
        history.record_delivery(&packet, &Inner::parse(&packet).expect("what was built can be read"));
    }
    let mut out = b"before".to_vec();
    match history.restore(&coded, &mut out) {
        Ok(()) => {
            let packet = &out[6..];
            assert_eq!(digest(&packet[..coded.header.len()], &packet[coded.header.len()..]), coded.digest);
            assert!(Inner::parse(packet).is_ok());
            true
        }
        Err(_) => {
            assert_eq!(out, b"before");
            // The missing packet arrives: the result matches its digest, or nothing is restored.
            let behind = Inner::parse(coded.header).ok().and_then(|inner| inner.tcp_sequence);
            for offset in behind.into_iter().flat_map(|_| &offsets) {
                let sequence = behind.unwrap_or_default().wrapping_add_signed(*offset);
                let packet = segment(sequence, 100);
                history.record_delivery(&packet, &Inner::parse(&packet).expect("what was built can be read"));
            }
            let mut is_restored = false;
            while let Some(packet) = history.poll_restored() {
                let (header, payload) = packet.split_at(coded.header.len());
                assert_eq!(digest(header, payload), coded.digest);
                is_restored = true;
            }
            is_restored
        }
    }
}

/// A segment alone, and combined with others before and behind it that are longer and shorter.
pub fn seeds() -> Vec<Seed> {
    let coded = |sequence: u32, bytes: u32, others: &'static [u32]| {
        move |out: &mut Vec<u8>| {
            let lost = segment(sequence, bytes);
            let (header, payload) = lost.split_at(HEADER_BYTES);
            let mut sum = payload.to_vec();
            for &other in others {
                recovery::xor::into(&mut sum, &segment(other, 100)[HEADER_BYTES..]);
            }
            let offsets = others.iter().map(|&other| other.wrapping_sub(sequence) as i32);
            Coded::emit(digest(header, payload), header, offsets, &sum, out);
        }
    };
    // the second row over two that are missing
    let row = |out: &mut Vec<u8>| {
        let lost = segment(1300, 100);
        let (header, payload) = lost.split_at(HEADER_BYTES);
        let mut sum = Vec::new();
        recovery::field::add_scaled(&mut sum, payload, 7);
        recovery::field::add_scaled(&mut sum, &segment(1400, 100)[HEADER_BYTES..], 9);
        recovery::field::add_scaled(&mut sum, &segment(1200, 100)[HEADER_BYTES..], 11);
        let terms = [(100, 9), (-100, 11)].into_iter();
        Coded::emit_scaled(digest(header, payload), header, 7, terms, &sum, out);
    };
    vec![
        Seed::of("row", row),
        Seed::of("alone", coded(1300, 100, &[])),
        Seed::of("pair", coded(1300, 80, &[1200])),
        Seed::of("four", coded(900, 150, &[1000, 1200, 1100])),
    ]
}
