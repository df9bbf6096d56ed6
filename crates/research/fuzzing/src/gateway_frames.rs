//! A gateway, and another one of the same operator that has its keys and seals arbitrary plaintexts, each
//! behind its length in two bytes.

use crate::Seed;
use crate::pair::{GATEWAY, Pair, push_record, records};
use std::time::Duration;
use wire::frame::{self, FrameType};
use wire::group::OtherGroup;
use wire::inner::Inner;
use wire::named_chunks::{self, NamedChunk};
use wire::neighbours::{Message, Said};

/// More would only take time.
const MAX_PLAINTEXTS: usize = 64;
const PATIENCE: Duration = Duration::from_secs(60);

/// For any messages of another gateway inside the seal: packets for a station are delivered nowhere else, and
/// the timers become idle between repetitions.
pub fn check(bytes: &[u8]) -> bool {
    let mut pair = Pair::of_gateways();
    let before = pair.counters().bad_frames;
    for plaintext in records(bytes).take(MAX_PLAINTEXTS) {
        if !pair.say(plaintext) {
            break;
        }
        for delivered in pair.network.take_delivered(GATEWAY) {
            let destination = Inner::parse(&delivered).map(|inner| inner.flow.destination);
            assert_ne!(destination, Ok(Pair::THIRD_INSIDE.into()), "what is for a station goes to it");
        }
    }
    let accepted = pair.counters().bad_frames == before;
    pair.let_pass(PATIENCE);
    accepted
}

/// Every message of gateways about a local station and about an unknown one, and a packet for the station.
pub fn seeds() -> Vec<Seed> {
    let station = Pair::third_name();
    let mut chunks = Vec::new();
    let named = [NamedChunk { slot: 3, tag: 4 }, NamedChunk { slot: 700, tag: 5 }];
    named_chunks::emit(18, &mut named.to_vec(), &mut chunks);
    let group = OtherGroup { key_id: 7, traffic_key: [1; 32] };
    let messages = [
        (0, Said::Group(group)),
        (station, Said::Has),
        (9, Said::Has),
        (9, Said::Overhears { rate_kilobits_per_second: 54_000 }),
        (9, Said::Heard { boot: 1, newest: 2, bitmap: &[0b111] }),
        (station, Said::Named(&chunks)),
        (9, Said::Gone),
    ];
    let said = Seed::of("messages", |out| {
        let mut plaintext = Vec::new();
        frame::emit_sequence(1, &mut plaintext);
        for (station, said) in messages {
            let mut message = Vec::new();
            Message { boot: 5, station, said }.emit(&mut message);
            frame::emit(FrameType::Neighbour, &message, &mut plaintext);
        }
        push_record(&plaintext, out);
    });
    let forwarded = Seed::of("forwarded", |out| {
        let mut plaintext = Vec::new();
        frame::emit_sequence(1, &mut plaintext);
        frame::emit(FrameType::Associated, &[1], &mut plaintext);
        frame::emit_last(FrameType::Packet, &mut plaintext);
        plaintext.extend_from_slice(&Pair::packet_for_third());
        push_record(&plaintext, out);
    });
    vec![said, forwarded]
}
