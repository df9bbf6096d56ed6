//! A gateway, and whatever arrives at its port: datagrams, each behind its length in two bytes.

use crate::Seed;
use crate::pair::{Pair, STATION, deliveries, in_session, packet, push_record, records};
use std::time::Duration;

/// More would only take time.
const MAX_DATAGRAMS: usize = 64;

/// Nothing is delivered but what the station sent, and nothing twice, however often all of it is sent again; an
/// answer is never longer than all that came.
pub fn check(bytes: &[u8]) -> bool {
    let mut pair = Pair::strangers();
    let sent: Vec<Vec<u8>> = (0..SEED_PACKETS).map(packet).collect();
    let mut delivered = arrive(&mut pair, bytes);
    let met = in_session(&pair.gateway, pair.now);
    assert!(delivered.iter().all(|packet| sent.contains(packet)), "delivered what nobody sent");
    let before = delivered.len();
    delivered.sort();
    delivered.dedup();
    assert_eq!(delivered.len(), before, "delivered twice");
    assert!(arrive(&mut pair, bytes).is_empty(), "delivered again");
    Pair::let_pass(&mut pair.gateway, pair.now, Duration::from_secs(300));
    met
}

fn arrive(pair: &mut Pair, bytes: &[u8]) -> Vec<Vec<u8>> {
    let (mut out, mut came_bytes, mut sent_bytes) = (Vec::new(), 0, 0);
    for record in records(bytes).take(MAX_DATAGRAMS) {
        pair.now += Duration::from_millis(1);
        came_bytes += record.len();
        pair.gateway.handle_datagram(pair.now, STATION, 0, &mut record.to_vec());
        if !in_session(&pair.gateway, pair.now) {
            while let Some(transmit) = pair.gateway.poll_transmit(pair.now, &mut out) {
                transmit.seal(&mut out);
                sent_bytes += out.len();
            }
            assert!(sent_bytes <= came_bytes, "a stranger is answered with more than it sent");
        }
    }
    deliveries(&mut pair.gateway)
}

const SEED_PACKETS: u32 = 8;

/// What a station sends that meets the gateway and then has packets for it, whole and as its first message.
pub fn seeds() -> Vec<Seed> {
    let mut pair = Pair::strangers();
    let mut datagrams = Vec::new();
    let mut out = Vec::new();
    for number in 0..SEED_PACKETS {
        pair.station.handle_packet(pair.now, &packet(number));
        loop {
            pair.now += Duration::from_millis(1);
            let Some(transmit) = pair.station.poll_transmit(pair.now, &mut out) else { break };
            transmit.seal(&mut out);
            datagrams.push(out.clone());
            pair.gateway.handle_datagram(pair.now, STATION, 0, &mut out);
            while let Some(transmit) = pair.gateway.poll_transmit(pair.now, &mut out) {
                transmit.seal(&mut out);
                pair.station.handle_datagram(pair.now, crate::pair::GATEWAY, 0, &mut out);
            }
        }
    }
    assert!(in_session(&pair.gateway, pair.now));
    vec![
        Seed::of("session", |out| datagrams.iter().for_each(|datagram| push_record(datagram, out))),
        Seed::of("meeting", |out| datagrams.iter().take(2).for_each(|datagram| push_record(datagram, out))),
    ]
}
