//! A gateway, and any datagrams at its port, each behind its length in two bytes.

use crate::Seed;
use crate::pair::{GATEWAY, Pair, STATION, packet, push_record, records};
use std::time::Duration;

/// More would only take time.
const MAX_DATAGRAMS: usize = 64;

/// Nothing is delivered but what the station sent, and nothing twice, however often all of it is sent again;
/// an answer is never longer than all that came.
pub fn check(bytes: &[u8]) -> bool {
    let mut pair = Pair::strangers();
    let sent: Vec<Vec<u8>> = (0..SEED_PACKETS).map(packet).collect();
    let mut delivered = arrive(&mut pair, bytes);
    let met = pair.in_session();
    assert!(delivered.iter().all(|packet| sent.contains(packet)), "delivered what nobody sent");
    let before = delivered.len();
    delivered.sort();
    delivered.dedup();
    assert_eq!(delivered.len(), before, "delivered twice");
    assert!(arrive(&mut pair, bytes).is_empty(), "delivered again");
    pair.let_pass(Duration::from_secs(300));
    met
}

fn arrive(pair: &mut Pair, bytes: &[u8]) -> Vec<Vec<u8>> {
    let (mut out, mut came_bytes, mut sent_bytes) = (Vec::new(), 0, 0);
    for record in records(bytes).take(MAX_DATAGRAMS) {
        pair.network.advance(Duration::from_millis(1));
        came_bytes += record.len();
        pair.arrive(record);
        if !pair.in_session() {
            while let Some(transmit) = pair.network.poll_transmit(GATEWAY, &mut out) {
                transmit.seal(&mut out);
                sent_bytes += out.len();
            }
            assert!(sent_bytes <= came_bytes, "a stranger is answered with more than it sent");
        }
    }
    pair.deliveries(GATEWAY)
}

const SEED_PACKETS: u32 = 8;

/// What a station sends that meets the gateway and then has packets for it, whole and as its first message.
pub fn seeds() -> Vec<Seed> {
    let mut pair = Pair::strangers();
    let mut datagrams = Vec::new();
    let mut out = Vec::new();
    for number in 0..SEED_PACKETS {
        pair.network.offer_packet(STATION, &packet(number));
        loop {
            pair.network.advance(Duration::from_millis(1));
            let Some(transmit) = pair.network.poll_transmit(STATION, &mut out) else { break };
            transmit.seal(&mut out);
            pair.arrive(&out);
            datagrams.push(out.clone());
            pair.network.hand_over(GATEWAY);
        }
    }
    assert!(pair.in_session());
    vec![
        Seed::of("session", |out| datagrams.iter().for_each(|datagram| push_record(datagram, out))),
        Seed::of("meeting", |out| datagrams.iter().take(2).for_each(|datagram| push_record(datagram, out))),
    ]
}
