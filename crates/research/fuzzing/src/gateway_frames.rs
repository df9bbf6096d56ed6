//! A gateway, and another one of the same operator that has its keys and seals whatever it likes: plaintexts, each behind its
//! length in two bytes.

use crate::Seed;
use crate::pair::{Pair, STATION, packet, push_record, records};
use std::time::Duration;
use wire::frame::{self, FrameType};
use wire::group::OtherGroup;
use wire::inner::Inner;
use wire::named_chunks::{self, NamedChunk};
use wire::neighbours::{Message, Said};
use wire::unit::SEALED_HEADER_BYTES;

/// More would only take time.
const MAX_PLAINTEXTS: usize = 64;
const PATIENCE: Duration = Duration::from_secs(60);

/// Whatever another gateway says inside the seal: what is for a station is delivered nowhere else, and the timers come to rest
/// between what is said again.
pub fn check(bytes: &[u8]) -> bool {
    let mut pair = Pair::of_gateways();
    let bad_frames = |pair: &Pair| pair.gateway.status(pair.now).peers[0].counters.bad_frames;
    let before = bad_frames(&pair);
    let (mut out, mut answer, mut delivered) = (Vec::new(), Vec::new(), Vec::new());
    for plaintext in records(bytes).take(MAX_PLAINTEXTS) {
        // A packet of the other's own gives the header, the counter and the seal.
        pair.station.handle_packet(pair.now, &packet(0));
        let Some(transmit) = pair.station.poll_transmit(pair.now, &mut out) else { break };
        out.truncate(SEALED_HEADER_BYTES);
        out.extend_from_slice(plaintext);
        transmit.seal(&mut out);
        pair.gateway.handle_datagram(pair.now, STATION, 0, &mut out);
        while pair.gateway.poll_deliver(&mut delivered) {
            let destination = Inner::parse(&delivered).map(|inner| inner.flow.destination);
            assert_ne!(destination, Ok(Pair::THIRD_INSIDE.into()), "what is for a station goes to it");
        }
        pair.now += Duration::from_millis(1);
        pair.gateway.handle_timeout(pair.now);
        while let Some(transmit) = pair.gateway.poll_transmit(pair.now, &mut answer) {
            transmit.seal(&mut answer);
        }
    }
    let accepted = bad_frames(&pair) == before;
    Pair::let_pass(&mut pair.gateway, pair.now, PATIENCE);
    accepted
}

/// All that gateways say of a station that is here, and of one that is not known; a packet for the station.
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
