//! A gateway, and a station that has its keys and seals whatever it likes: plaintexts, each behind its length in
//! two bytes.

use crate::Seed;
use crate::pair::{Pair, STATION, deliveries, packet, push_record, records};
use std::time::Duration;
use wire::frame::{self, FrameType};
use wire::unit::SEALED_HEADER_BYTES;

/// More would only take time.
const MAX_PLAINTEXTS: usize = 64;
const PATIENCE: Duration = Duration::from_secs(300);

/// Whatever a peer says inside the seal: what is delivered has the peer's source address, counters agree with
/// what was delivered, and the gateway's timers come to rest.
pub fn check(bytes: &[u8]) -> bool {
    let mut pair = Pair::met();
    let counters = |pair: &Pair| pair.gateway.status(pair.now).peers[0].counters;
    let before = counters(&pair);
    let (mut out, mut answer, mut delivered) = (Vec::new(), Vec::new(), 0);
    for plaintext in records(bytes).take(MAX_PLAINTEXTS) {
        // A packet of the station's own gives the header, the counter and the seal.
        pair.station.handle_packet(pair.now, &packet(0));
        let Some(transmit) = pair.station.poll_transmit(pair.now, &mut out) else { break };
        out.truncate(SEALED_HEADER_BYTES);
        out.extend_from_slice(plaintext);
        transmit.seal(&mut out);
        pair.gateway.handle_datagram(pair.now, STATION, 0, &mut out);
        delivered += deliveries(&mut pair.gateway).len() as u64;
        pair.now += Duration::from_millis(1);
        pair.gateway.handle_timeout(pair.now);
        while let Some(transmit) = pair.gateway.poll_transmit(pair.now, &mut answer) {
            transmit.seal(&mut answer);
        }
    }
    let after = counters(&pair);
    assert_eq!(after.inner_received_packets - before.inner_received_packets, delivered);
    let accepted = after.bad_frames == before.bad_frames && after.missed == before.missed;
    Pair::let_pass(&mut pair.gateway, pair.now, PATIENCE);
    deliveries(&mut pair.gateway);
    accepted
}

/// What an honest station says while it sends contents again and again, and control frames.
pub fn seeds() -> Vec<Seed> {
    let mut pair = Pair::met();
    let mut plaintexts: Vec<Vec<u8>> = Vec::new();
    for number in 0..12 {
        pair.station.handle_packet(pair.now, &packet(number));
        pair.exchange(&mut |datagram| {
            plaintexts.extend(datagram.get(SEALED_HEADER_BYTES..).map(<[u8]>::to_vec))
        });
        pair.now += Duration::from_millis(200);
        pair.station.handle_timeout(pair.now);
        pair.gateway.handle_timeout(pair.now);
    }
    assert!(pair.station.status(pair.now).peers[0].counters.reduced_packets > 0, "contents repeat");
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
