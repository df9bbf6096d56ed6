//! A station of a group, and another member that seals arbitrary records under the group's key, each behind
//! its length in two bytes.
//!
//! ```text
//! | how (8) | counter (24) | plaintext ... |
//! ```
//!
//! How, by bits: 1 it is overheard, 2 it is for the station, 4 the plaintext is the gateway's own of the unit
//! before, with these bytes XORed to its front, 8 the counter is this one and not so far ahead.

use crate::Seed;
use crate::pair::{GATEWAY, Pair, STATION, packet_between, push_record, records};
use std::time::Duration;
use wire::frame::{self, FrameType};
use wire::group::FRONT_BYTES;

const OVERHEARD: u8 = 1;
const FOR_THE_STATION: u8 = 2;
const WORDS_OF_GATEWAY: u8 = 4;
const ABSOLUTE: u8 = 8;

/// More would only take time.
const MAX_FORGERIES: usize = 32;
/// Longer than everything that a forgery could set going.
const AFTERMATH: Duration = Duration::from_secs(10);

/// After every forgery a packet of the gateway and one of the station arrive at once; nothing else is
/// delivered, nothing that is not proven counts, and the gateway is where it was.
pub fn check(bytes: &[u8]) -> bool {
    let mut pair = Pair::of_group();
    let (mut number, mut met) = (0, 0);
    for record in records(bytes).take(MAX_FORGERIES) {
        let before = station(&pair);
        met += u64::from(forge(&mut pair, record));
        assert_eq!(station(&pair), before, "what is not proven counts");
        number += 1;
        exchange(&mut pair, number);
    }
    let shared = pair.counters().shared_packets;
    assert!(shared >= u64::from(number), "the group's key is used: {shared} of {number}");
    pair.network.run(AFTERMATH);
    let delivered = [STATION, GATEWAY].map(|node| pair.network.take_delivered(node).len());
    assert_eq!(delivered, [0; 2], "delivered what nobody sent");
    exchange(&mut pair, number + 1);
    met > 0
}

/// The station's state of its gateway: received counts, and address.
fn station(pair: &Pair) -> (u64, u64, Option<std::net::SocketAddr>) {
    let peer = &pair.network.status(STATION).peers[0];
    (peer.counters.outer_received_datagrams, peer.counters.inner_received_packets, peer.endpoint)
}

fn exchange(pair: &mut Pair, number: u32) {
    for (from, to) in [(GATEWAY, STATION), (STATION, GATEWAY)] {
        let packet = packet_between(from, number);
        pair.network.offer_packet(from, &packet);
        pair.network.hand_over(from);
        assert!(pair.deliveries(to) == [packet], "packet {number} does not come through at once");
        pair.network.advance(Duration::from_millis(1));
    }
}

/// One forgery arrives. Whether there was one.
fn forge(pair: &mut Pair, record: &[u8]) -> bool {
    let Some((&[how, a, b, c], written)) = record.split_first_chunk() else { return false };
    let road = &mut pair.network.medium;
    let Some(key_id) = road.insider.key_ids().next() else { return false };
    let counter = u64::from(u32::from_be_bytes([0, a, b, c]));
    let ahead = if how & ABSOLUTE == 0 { road.insider.next_counter(key_id) } else { 0 };
    let counter = (ahead + counter).min((1 << 24) - 1);
    let mut plaintext = Vec::new();
    if how & WORDS_OF_GATEWAY != 0 {
        plaintext.extend_from_slice(&road.words);
        plaintext.iter_mut().zip(written).for_each(|(word, written)| *word ^= written);
    } else {
        plaintext.extend_from_slice(written);
    }
    if how & FOR_THE_STATION != 0
        && let Some(member) = plaintext.first_mut()
    {
        *member = 0;
    }
    let mut datagram = Vec::new();
    road.insider.seal(key_id, counter, &plaintext, &mut datagram);
    if how & OVERHEARD != 0 {
        pair.overhear(&mut datagram)
    } else {
        pair.arrive_at_station(&datagram)
    }
    true
}

/// High counters, the gateway's words again, farewells, and chunks that were never sent.
pub fn seeds() -> Vec<Seed> {
    let unit = |how: u8, counter: u32, frames: &[(FrameType, &[u8])], out: &mut Vec<u8>| {
        let mut record = vec![how];
        record.extend_from_slice(&counter.to_be_bytes()[1..]);
        record.extend_from_slice(&[1; FRONT_BYTES]);
        frame::emit_sequence(1, &mut record);
        frames.iter().for_each(|(frame_type, body)| frame::emit(*frame_type, body, &mut record));
        push_record(&record, out);
    };
    let again = |how: u8, counter: u32, change: &[u8], out: &mut Vec<u8>| {
        let mut record = vec![how | WORDS_OF_GATEWAY];
        record.extend_from_slice(&counter.to_be_bytes()[1..]);
        record.extend_from_slice(change);
        push_record(&record, out);
    };
    vec![
        Seed::of("counters", |out| {
            for counter in [0, 1, 64, 4032, 4097, 1 << 20, (1 << 23) - 1, 1 << 23, (1 << 24) - 1] {
                unit(FOR_THE_STATION, counter, &[], out);
                unit(FOR_THE_STATION | ABSOLUTE, counter, &[], out);
            }
        }),
        Seed::of("words-of-the-gateway", |out| {
            for counter in [0, 5, 5000] {
                again(0, counter, &[], out);
                again(FOR_THE_STATION, counter, &[0, 1], out);
                again(OVERHEARD, counter, &[1], out);
            }
        }),
        Seed::of("farewell", |out| {
            let frames: [(FrameType, &[u8]); 4] = [
                (FrameType::Close, &[]),
                (FrameType::Flushed, &[1]),
                (FrameType::Associated, &[2]),
                (FrameType::Ping, &[3; 8]),
            ];
            unit(FOR_THE_STATION, 1, &frames, out);
        }),
        Seed::of("overheard", |out| {
            let shared: [(FrameType, &[u8]); 2] = [
                (FrameType::Shared, &[0, 0, 9, FrameType::Packet as u8, 1, 5, 0, 7, 7, 7]),
                (FrameType::ChunkReply, &[0x80, 0, 4, 0, 0, 0]),
            ];
            unit(OVERHEARD, 1, &shared, out);
            unit(OVERHEARD, 4000, &shared, out);
        }),
    ]
}
