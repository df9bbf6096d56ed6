//! A gateway and two stations, with what the air does between them written by the input.
//!
//! ```text
//! | bits 0-1: removal; 2-3: knowledge; 4: marks; 5: the second has fewer slots (8) | then for every packet:
//! | what happens to it (8) | where its content starts, in 16 bytes (8) | content, in 8 bytes (8) |
//! ```
//!
//! What happens, by bits: 1 for the second station, 2 lost, 4 the other does not overhear it, 8 a bit of it
//! differs, 16 it is not acknowledged, 32 requests and replies are lost, 64 a bit of them differs, 128 the
//! station associates anew.

use crate::Seed;
use overhear::flush::FlushAfter;
use overhear::knowledge::KnowledgeKind;
use overhear::removal::{Removal, Threshold};
use overhear::{
    AirTime, Answer, Association, Collisions, Gateway, PacketNumber, Received, Settings, Station, StationId,
};
use std::time::Duration;

const FOR_SECOND: u8 = 1;
const LOST: u8 = 2;
const NOT_OVERHEARD: u8 = 4;
const ALTERED: u8 = 8;
const NOT_ACKNOWLEDGED: u8 = 16;
const ANSWERS_LOST: u8 = 32;
const ANSWERS_ALTERED: u8 = 64;
const ASSOCIATES: u8 = 128;

/// More would only take time.
const MAX_PACKETS: usize = 64;

fn settings(first: u8) -> Settings {
    let removal = match first & 3 {
        0 => Removal::Greedy,
        1 => Removal::Model { others_load: 0.0, threshold: Threshold::Seconds(0.0) },
        2 => Removal::default(),
        _ => Removal::None,
    };
    let knowledge = match first >> 2 & 3 {
        0 => KnowledgeKind::Receipts,
        1 => KnowledgeKind::ByRate(Default::default()),
        _ => KnowledgeKind::Everything,
    };
    let marks = first & 16 != 0;
    let after = FlushAfter { traffic_bytes: 20_000, marked_share: 0.5 };
    let collisions = if marks { Collisions::Mark(after) } else { Collisions::Replace };
    Settings { slot_bits: 15, removal, knowledge, collisions, ..Settings::new([1; 32]) }
}

fn association(slot_bits: u8, key: u8) -> Association {
    let rate_bits_per_second = 54_000_000;
    let air_time = AirTime::of_rate(rate_bits_per_second);
    let mac_key = Some([key; 32]);
    Association { slot_bits, rate_bits_per_second, rate_is_known: key == 0, air_time, mac_key }
}

/// Delivered packets equal the originals despite loss, alteration and lost stores. (The seal alone protects a
/// packet without removal, which is not altered here.)
pub fn check(bytes: &[u8]) -> bool {
    let Some((&first, packets)) = bytes.split_first() else { return false };
    let settings = settings(first);
    let slot_bits = [15, if first & 32 == 0 { 15 } else { 14 }];
    let Ok(mut gateway) = Gateway::new(settings.clone()) else { return false };
    let mut stations: Vec<Station> = Vec::new();
    for which in 0..2u8 {
        let association = association(slot_bits[usize::from(which)], which);
        let of_station = Settings { slot_bits: association.slot_bits, ..settings.clone() };
        gateway.join(StationId(which), association.clone(), Duration::ZERO).expect("there is room");
        stations
            .push(Station::new(of_station, StationId(which), association.mac_key).expect("good settings"));
    }
    let mut originals: Vec<Vec<u8>> = Vec::new();
    let (mut air, mut removed_packets) = (Vec::new(), 0);
    let (mut request, mut reply) = (Vec::new(), Vec::new());
    for (step, &[happens, start, length]) in packets.as_chunks::<3>().0.iter().take(MAX_PACKETS).enumerate() {
        let now = Duration::from_millis(step as u64 * 30);
        let is = |flag: u8| happens & flag != 0;
        let which = usize::from(is(FOR_SECOND));
        let id = StationId(which as u8);
        if is(ASSOCIATES) {
            let association = association(slot_bits[which], which as u8);
            gateway.join(id, association.clone(), now).expect("it has a place");
            stations[which].associate(association.mac_key);
        }
        if let Some(flush) = gateway.poll_flush(now) {
            stations[which].flush(flush);
            gateway.record_flush(id, flush, now);
        }
        let packet = packet(start, length);
        air.clear();
        let sent = gateway.encode(id, &packet, now, &mut air);
        assert!(air.len() <= packet.len() + 1, "at most one byte longer");
        originals.resize(sent.number.0 as usize, Vec::new());
        originals.push(packet);
        removed_packets += usize::from(sent.removed_chunks > 0);
        let right = |number: PacketNumber, packet: &[u8]| originals[number.0 as usize] == packet;
        if !is(NOT_OVERHEARD) {
            stations[1 - which].overhear(&air).expect("it is as it was sent");
            gateway.record_overheard(StationId(1 - which as u8), sent.number);
        }
        if is(ALTERED) && sent.removed_chunks > 0 {
            let at = usize::from(start) % air.len();
            air[at] ^= 1 << (length % 8);
            // A packet that lost its removed chunks is a plain packet, which only the seal protects.
            if wire::shim::slots::Encoded::parse(&air).is_ok_and(|encoded| encoded.slot_count == 0) {
                continue;
            }
        }
        if !is(LOST) {
            match stations[which].receive(sent.number, u64::from(start & 1), &air, now) {
                Received::Restored(packet) => assert!(right(sent.number, packet), "wrong bytes"),
                Received::Queued | Received::Held | Received::Refused(_) => {}
            }
            if !is(NOT_ACKNOWLEDGED) {
                gateway.record_acknowledgment(id, sent.number, now);
            }
        }
        request.clear();
        if stations[which].poll_request(now, &mut request).is_some() && !is(ANSWERS_LOST) {
            reply.clear();
            if is(ANSWERS_ALTERED) {
                let at = usize::from(length) % request.len();
                request[at] ^= 1 << (start % 8);
            }
            let answer = gateway.answer_request(id, &request, &mut reply);
            if let Answer::Supplied { number, .. } = answer {
                originals.resize(number.0 as usize + 1, Vec::new());
                if is(ANSWERS_ALTERED) {
                    let at = usize::from(start) % reply.len();
                    reply[at] ^= 1 << (length % 8);
                }
                let _ = stations[which].receive_reply(&reply, now);
                gateway.record_acknowledgment(id, number, now);
            } else {
                assert!(reply.is_empty());
            }
        }
        for station in &mut stations {
            while let Some(done) = station.poll_deliver(now) {
                assert!(originals[done.number.0 as usize] == done.packet, "wrong bytes");
            }
        }
    }
    removed_packets > 0
}

/// The byte at a place of the content follows from the place alone.
fn packet(start: u8, length: u8) -> Vec<u8> {
    let start = u64::from(start) * 16;
    let places = start + 1..=start + u64::from(length) * 8;
    places.map(|place| (place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

/// Both stations get the same, under all settings, with all that can happen in between.
pub fn seeds() -> Vec<Seed> {
    let names = [
        ("greedy-receipts", 0),
        ("model-receipts", 1),
        ("adaptive-receipts", 2),
        ("model-by-rate", 1 | 1 << 2),
        ("greedy-everything", 2 << 2),
        ("greedy-marks", 16),
        ("adaptive-fewer-slots", 2 | 32),
        ("greedy-marks-fewer-slots", 16 | 32),
    ];
    names
        .map(|(name, first)| {
            Seed::of(name, |out| {
                out.push(first);
                for round in 0..4 {
                    for step in 0..8u8 {
                        let trouble = if round == 2 { 1 << (step % 8) } else { 0 };
                        out.extend_from_slice(&[trouble | (round % 2), step * 8, 170]);
                    }
                }
            })
        })
        .into()
}
