//! A gateway, and a station that has its keys and seals arbitrary plaintexts, each behind its length in two
//! bytes.

use crate::Seed;
use crate::pair::{GATEWAY, Pair, STATION, packet, push_record, records};
use std::time::Duration;
use wire::frame::{self, FrameType};

/// More would only take time.
const MAX_PLAINTEXTS: usize = 64;
const PATIENCE: Duration = Duration::from_secs(300);

/// For any messages of a peer inside the seal: delivered packets have the peer's source address, counters
/// agree with the deliveries, and the gateway's timers become idle.
pub fn check(bytes: &[u8]) -> bool {
    let mut pair = Pair::met();
    let (before, mut delivered) = (pair.counters(), 0);
    for plaintext in records(bytes).take(MAX_PLAINTEXTS) {
        if !pair.say(plaintext) {
            break;
        }
        delivered += pair.deliveries(GATEWAY).len() as u64;
    }
    let after = pair.counters();
    assert_eq!(after.inner_received_packets - before.inner_received_packets, delivered);
    let accepted = after.bad_frames == before.bad_frames && after.missed == before.missed;
    pair.let_pass(PATIENCE);
    pair.deliveries(GATEWAY);
    accepted
}

/// Plaintexts of an honest station that sends contents repeatedly, and control frames.
pub fn seeds() -> Vec<Seed> {
    let mut pair = Pair::met();
    pair.network.medium.plaintexts = Some(Vec::new());
    for number in 0..12 {
        pair.network.offer_packet(STATION, &packet(number));
        pair.exchange();
        pair.network.advance(Duration::from_millis(200));
        let now = pair.network.now();
        for node in [STATION, GATEWAY] {
            pair.network.node_mut(node).handle_timeout(now);
        }
    }
    let reduced = pair.network.status(STATION).peers[0].counters.reduced_packets;
    assert!(reduced > 0, "contents repeat");
    let plaintexts = pair.network.medium.plaintexts.take().unwrap_or_default();
    let traffic =
        Seed::of("traffic", |out| plaintexts.iter().for_each(|plaintext| push_record(plaintext, out)));
    let control = Seed::of("control", |out| {
        let mut plaintext = Vec::new();
        frame::emit_sequence(1, &mut plaintext);
        frame::emit(FrameType::Ping, &[1; 8], &mut plaintext);
        frame::emit(FrameType::Flushed, &[1], &mut plaintext);
        frame::emit(FrameType::Padding, &[0; 200], &mut plaintext);
        frame::emit(FrameType::Close, &[], &mut plaintext);
        push_record(&plaintext, out);
    });
    let path = Seed::of("path", |out| {
        let mut probe = vec![0, 0, 0];
        frame::emit_last(FrameType::Probe, &mut probe);
        probe.resize(600, 7);
        push_record(&probe, out);
        for lane in [1, 15, 1] {
            let mut plaintext = Vec::new();
            frame::emit_sequence(lane.into(), &mut plaintext);
            frame::emit(FrameType::Lane, &[lane], &mut plaintext);
            frame::emit(FrameType::Pong, &[lane; 8], &mut plaintext);
            frame::emit(FrameType::Ping, &[lane; 8], &mut plaintext);
            push_record(&plaintext, out);
        }
    });
    vec![traffic, control, path]
}
