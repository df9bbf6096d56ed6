//! A gateway and its stations over a lossy medium.

use crate::content::{Content, association, settings};
use overhear::address::Addresses;
use overhear::knowledge::KnowledgeKind;
use overhear::removal::{Removal, Threshold};
use overhear::{
    Answer, Association, Collisions, Gateway, PacketNumber, Received, Refusal, Settings, Station, StationId,
};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::time::Duration;
use wire::shim::slots::Part;

const FIRST: StationId = StationId(7);
const SECOND: StationId = StationId(200);

fn at(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// A gateway and two stations; the second one has its own number of slot bits.
fn network(settings: &Settings, second_bits: u8) -> (Gateway, [Station; 2]) {
    let mut gateway = Gateway::new(settings.clone()).unwrap();
    let stations = [(FIRST, settings.slot_bits), (SECOND, second_bits)].map(|(id, slot_bits)| {
        let association = Association { slot_bits, ..association(id) };
        gateway.join(id, association.clone(), at(0)).unwrap();
        Station::new(Settings { slot_bits, ..settings.clone() }, id, association.mac_key).unwrap()
    });
    (gateway, stations)
}

#[test]
fn what_another_station_was_sent_is_not_sent_again() {
    let (mut gateway, [mut first, mut second]) = network(&settings(), 16);
    let packet = Content::new(1).random(1400);
    let mut air = Vec::new();
    let sent = gateway.encode(FIRST, &packet, at(0), &mut air);
    assert_eq!((sent.removed_bytes, air.len()), (0, 1401));
    assert_eq!(first.receive(sent.number, 0, &air, at(0)), Received::Restored(&packet));
    gateway.record_acknowledgment(FIRST, sent.number, at(0));
    second.overhear(&air).unwrap();
    gateway.record_overheard(SECOND, sent.number);

    let shifted = [&Content::new(2).random(333), &packet[..1000]].concat();
    air.clear();
    let sent = gateway.encode(SECOND, &shifted, at(1), &mut air);
    assert!(sent.removed_bytes > 600, "{sent:?}");
    assert_eq!(air.len(), sent.bytes);
    assert!(air.len() < 750);
    assert_eq!(second.receive(sent.number, 0, &air, at(1)), Received::Restored(&shifted));
}

#[test]
fn content_under_another_cut_is_removed_but_for_less_than_a_smallest_chunk_at_either_end() {
    let (mut gateway, [mut first, mut second]) = network(&settings(), 18);
    let mut content = Content::new(8);
    let object = content.random(20_000);
    let mut air = Vec::new();
    for (at_packet, packet) in object.chunks(1348).enumerate() {
        air.clear();
        let sent = gateway.encode(FIRST, packet, at(0), &mut air);
        assert_eq!(first.receive(sent.number, at_packet as u64, &air, at(0)), Received::Restored(packet));
        gateway.record_acknowledgment(FIRST, sent.number, at(0));
        second.overhear(&air).unwrap();
        gateway.record_overheard(SECOND, sent.number);
    }
    let smallest_bytes = settings().boundaries.min_chunk.bytes();
    let (mut left_bytes, mut packets) = (0, 0);
    for packet in object[77..].chunks(1320).filter(|packet| packet.len() == 1320) {
        air.clear();
        let sent = gateway.encode(SECOND, packet, at(1), &mut air);
        assert_eq!(second.receive(sent.number, 0, &air, at(1)), Received::Restored(packet));
        gateway.record_acknowledgment(SECOND, sent.number, at(1));
        left_bytes += packet.len() - sent.removed_bytes;
        packets += 1;
    }
    assert!(left_bytes < packets * 2 * smallest_bytes, "{left_bytes} of {packets} packets");
    assert!(gateway.statistics().beside_bytes > 0);
}

#[test]
fn of_a_chunk_that_was_meant_in_part_no_more_than_that_part_is_given() {
    let greedy = Settings { removal: Removal::Greedy, ..settings() };
    let (mut gateway, [_, mut second]) = network(&greedy, 18);
    let object = Content::new(10).random(1400);
    let mut air = Vec::new();
    gateway.encode(FIRST, &object, at(0), &mut air);
    let packet = [&object[200..1000], &[7; 300]].concat();
    air.clear();
    let sent = gateway.encode(SECOND, &packet, at(0), &mut air);
    assert!(sent.removed_bytes > 600, "{sent:?}");
    let encoded = wire::shim::slots::Encoded::parse(&air).unwrap();
    let is_part = |(_, part): &(u32, Part)| *part != Part::Whole;
    assert!(encoded.references().filter(is_part).count() > 0, "{encoded:?}");
    assert_eq!(second.receive(sent.number, 0, &air, at(0)), Received::Held);
    let (mut request, mut reply) = (Vec::new(), Vec::new());
    second.poll_request(at(0), &mut request).unwrap();
    let Answer::Supplied { chunks, .. } = gateway.answer_request(SECOND, &request, &mut reply) else {
        panic!()
    };
    assert_eq!(reply.len(), 3 + chunks + sent.removed_bytes);
    second.receive_reply(&reply, at(1)).unwrap();
    assert_eq!(second.poll_deliver(at(1)).unwrap().packet, packet);
}

#[test]
fn nothing_is_removed_for_a_station_that_did_not_overhear() {
    let (mut gateway, _) = network(&settings(), 16);
    let packet = Content::new(1).random(1400);
    let mut air = Vec::new();
    let sent = gateway.encode(FIRST, &packet, at(0), &mut air);
    gateway.record_acknowledgment(FIRST, sent.number, at(0));
    gateway.settle_reports_until(SECOND, PacketNumber(1));
    let sent = gateway.encode(SECOND, &packet, at(1), &mut air);
    assert_eq!((sent.found_bytes, sent.removed_bytes), (1400, 0));
}

#[test]
fn a_miss_is_asked_for_supplied_and_delivered_in_its_flows_order() {
    let greedy = Settings { removal: Removal::Greedy, ..settings() };
    let (mut gateway, [_, mut second]) = network(&greedy, 16);
    let mut content = Content::new(3);
    let (packet, next, other) = (content.random(1400), content.random(500), content.random(600));
    let mut air = Vec::new();
    gateway.encode(FIRST, &packet, at(0), &mut air);
    air.clear();
    let sent = gateway.encode(SECOND, &packet, at(0), &mut air);
    assert_eq!(sent.removed_bytes, 1400);
    assert_eq!(second.receive(sent.number, 1, &air, at(0)), Received::Held);
    for (flow, packet, expected) in [(1, &next, Received::Queued), (2, &other, Received::Restored(&other))] {
        air.clear();
        let sent = gateway.encode(SECOND, packet, at(1), &mut air);
        assert_eq!(second.receive(sent.number, flow, &air, at(1)), expected);
    }
    assert_eq!(second.poll_deliver(at(1)), None);

    let mut request = Vec::new();
    assert_eq!(second.poll_request(at(1), &mut request), Some(sent.number));
    assert_eq!(second.poll_request(at(1), &mut Vec::new()), None, "it has just been asked for");
    // The first request is lost.
    request.clear();
    assert_eq!(second.poll_request(at(100), &mut request), Some(sent.number));
    let mut reply = Vec::new();
    let Answer::Supplied { number, .. } = gateway.answer_request(SECOND, &request, &mut reply) else {
        panic!()
    };
    second.receive_reply(&reply, at(110)).unwrap();
    gateway.record_acknowledgment(SECOND, number, at(110));
    assert_eq!(second.poll_deliver(at(110)).unwrap().packet, packet);
    assert_eq!(second.poll_deliver(at(110)).unwrap().packet, next);
    assert_eq!(second.poll_deliver(at(110)), None);
    assert_eq!(second.receive_reply(&reply, at(111)), Err(Refusal::Unasked));

    air.clear();
    let sent = gateway.encode(SECOND, &packet, at(120), &mut air);
    assert_eq!(sent.removed_bytes, 1400);
    assert_eq!(second.receive(sent.number, 1, &air, at(120)), Received::Restored(&packet));
}

#[test]
fn a_packet_that_nobody_completes_is_given_up_and_lets_its_flow_pass() {
    let greedy = Settings { removal: Removal::Greedy, ..settings() };
    let (mut gateway, [_, mut second]) = network(&greedy, 16);
    let mut content = Content::new(4);
    let (packet, next) = (content.random(1400), content.random(500));
    let mut air = Vec::new();
    gateway.encode(FIRST, &packet, at(0), &mut air);
    for (packet, expected) in [(&packet, Received::Held), (&next, Received::Queued)] {
        air.clear();
        let sent = gateway.encode(SECOND, packet, at(0), &mut air);
        assert_eq!(second.receive(sent.number, 1, &air, at(0)), expected);
    }
    let mut asked = 0;
    for now in 0..600 {
        asked += u64::from(second.poll_request(at(now), &mut Vec::new()).is_some());
    }
    assert_eq!(asked, u64::from(greedy.misses.tries));
    let give_up_at = second.poll_timeout().unwrap();
    assert_eq!(second.poll_deliver(give_up_at - at(1)), None);
    assert_eq!(second.poll_deliver(give_up_at).unwrap().packet, next);
    assert_eq!((second.statistics().lost_packets, second.poll_timeout()), (1, None));
}

#[test]
fn a_slot_with_another_chunk_is_a_miss_and_never_wrong_bytes() {
    let greedy = Settings { slot_bits: 14, removal: Removal::Greedy, ..settings() };
    let (mut gateway, [_, mut second]) = network(&greedy, 14);
    let mut content = Content::new(5);
    // Fills most of the station's slots with chunks that the gateway never sees.
    for _ in 0..4000 {
        let mut other = vec![0];
        other.extend(content.random(1400));
        second.overhear(&other).unwrap();
    }
    let packet = content.random(1400);
    let mut air = Vec::new();
    gateway.encode(FIRST, &packet, at(0), &mut air);
    air.clear();
    let sent = gateway.encode(SECOND, &packet, at(0), &mut air);
    assert_eq!(second.receive(sent.number, 0, &air, at(0)), Received::Held);
    let mut now = 0;
    while second.poll_deliver(at(now)).map(|delivered| assert_eq!(delivered.packet, packet)).is_none() {
        let mut request = Vec::new();
        if second.poll_request(at(now), &mut request).is_some() {
            let mut reply = Vec::new();
            assert!(matches!(gateway.answer_request(SECOND, &request, &mut reply), Answer::Supplied { .. }));
            second.receive_reply(&reply, at(now)).unwrap();
        }
        now += 1;
        assert!(now < 400, "it is not restored");
    }
}

/// Sends content to stations with high loss. Asserts that each delivered packet is the original, in its
/// flow's order. Returns the bytes sent and the bytes of the packets.
fn drive(settings: &Settings, second_bits: u8, loss: f64, packets: u64, seed: u64) -> (u64, u64) {
    let (mut gateway, mut stations) = network(settings, second_bits);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut content = Content::new(seed ^ 1);
    let mut originals = std::collections::HashMap::new();
    let mut newest = [[None; 2]; 2];
    let (mut air, mut message, mut reply) = (Vec::new(), Vec::new(), Vec::new());
    let (mut plain_bytes, mut sent_bytes) = (0, 0);
    for step in 0..packets {
        let now = at(step);
        if rng.random_bool(0.0002) {
            // A crash.
            let which = rng.random_range(0..2);
            let id = stations[which].id();
            let slot_bits = [settings.slot_bits, second_bits][which];
            let association = Association { slot_bits, ..association(id) };
            gateway.join(id, association.clone(), now).unwrap();
            stations[which].associate(association.mac_key);
            // The held packets are lost.
        }
        if let Some(flush) = gateway.poll_flush(now) {
            for station in &mut stations {
                if !rng.random_bool(loss) {
                    station.flush(flush);
                    if !rng.random_bool(loss) {
                        gateway.record_flush(station.id(), flush, now);
                    }
                }
            }
        }
        let which = usize::from(rng.random_bool(0.5));
        let flow = rng.random_range(0..2usize);
        let packet = content.packet(&mut rng);
        air.clear();
        let sent = gateway.encode(stations[which].id(), &packet, now, &mut air);
        plain_bytes += packet.len() as u64;
        sent_bytes += air.len() as u64;
        originals.insert(sent.number, (packet, which, flow));
        if originals.len() > 4096 {
            originals.remove(&PacketNumber(sent.number.0 - 4096));
        }
        let mut delivered = |which: usize, number: PacketNumber, packet: &[u8]| {
            let (original, to, flow) = &originals[&number];
            assert_eq!((original.as_slice(), *to), (packet, which), "wrong bytes in {number:?}");
            let newest = &mut newest[which][*flow];
            assert!(*newest < Some(number), "{number:?} is behind {newest:?}");
            *newest = Some(number);
        };
        if !rng.random_bool(loss) {
            let refused = match stations[which].receive(sent.number, flow as u64, &air, now) {
                Received::Restored(packet) => {
                    delivered(which, sent.number, packet);
                    false
                }
                Received::Refused(_) => true,
                Received::Queued | Received::Held => false,
            };
            if !refused && !rng.random_bool(loss) {
                gateway.record_acknowledgment(stations[which].id(), sent.number, now);
            }
        }
        if !rng.random_bool(loss) {
            stations[1 - which].overhear(&air).unwrap();
            if !rng.random_bool(loss) {
                gateway.record_overheard(stations[1 - which].id(), sent.number);
            }
        }
        for which in 0..2 {
            message.clear();
            let asked = stations[which].poll_request(now, &mut message).is_some();
            reply.clear();
            if asked
                && !rng.random_bool(loss)
                && let Answer::Supplied { number, .. } =
                    gateway.answer_request(stations[which].id(), &message, &mut reply)
                && !rng.random_bool(loss)
            {
                sent_bytes += reply.len() as u64;
                let _ = stations[which].receive_reply(&reply, now);
                gateway.record_acknowledgment(stations[which].id(), number, now);
                if !rng.random_bool(loss) {
                    stations[1 - which].overhear_reply(&reply).unwrap();
                    gateway.record_overheard(stations[1 - which].id(), number);
                }
            }
            while let Some(done) = stations[which].poll_deliver(now) {
                delivered(which, done.number, &done.packet);
            }
        }
    }
    (plain_bytes, sent_bytes)
}

fn collisions() -> impl Strategy<Value = Collisions> {
    let after = overhear::flush::FlushAfter { traffic_bytes: 150_000, marked_share: 0.02 };
    prop_oneof![Just(Collisions::Replace), Just(Collisions::Mark(after))]
}

fn knowledge() -> impl Strategy<Value = KnowledgeKind> {
    prop_oneof![
        Just(KnowledgeKind::Receipts),
        Just(KnowledgeKind::ByRate(Default::default())),
        Just(KnowledgeKind::Everything)
    ]
}

fn removal() -> impl Strategy<Value = Removal> {
    prop_oneof![
        Just(Removal::Greedy),
        Just(Removal::default()),
        Just(Removal::Model { others_load: 0.1, threshold: Threshold::Seconds(0.0) })
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn whatever_is_lost_what_is_delivered_is_what_was_sent(
        collisions in collisions(),
        knowledge in knowledge(),
        removal in removal(),
        second_bits in 14u8..=15,
        loss in 0.0..0.4,
        seed: u64,
    ) {
        let settings = Settings { slot_bits: 15, collisions, knowledge, removal, ..settings() };
        drive(&settings, second_bits, loss, 1500, seed);
    }
}

#[test]
fn two_stations_stay_safe_for_100_000_packets_at_20_percent_loss() {
    let settings = Settings { slot_bits: 16, ..settings() };
    let (plain_bytes, sent_bytes) = drive(&settings, 15, 0.2, 100_000, 11);
    assert!(sent_bytes < plain_bytes * 9 / 10, "{sent_bytes} of {plain_bytes}");
}

#[test]
fn by_rates_what_is_likely_enough_is_removed_and_what_an_estimate_rules_out_is_not() {
    let by_rate = Settings {
        knowledge: KnowledgeKind::ByRate(Default::default()),
        removal: Removal::Model { others_load: 0.0, threshold: Threshold::Seconds(0.0) },
        ..settings()
    };
    let mut content = Content::new(6);
    let mut removed_for = |rate_bits_per_second, estimate| {
        let (mut gateway, _) = network(&by_rate, 16);
        let air_time = overhear::AirTime::of_rate(rate_bits_per_second);
        gateway.set_rate(SECOND, rate_bits_per_second, air_time);
        gateway.estimate_overhearing(SECOND, estimate);
        let packet = content.random(1400);
        gateway.encode(FIRST, &packet, at(0), &mut Vec::new());
        gateway.encode(SECOND, &packet, at(1), &mut Vec::new()).removed_bytes
    };
    assert_eq!(removed_for(54_000_000, None), 1400, "as near as the first");
    assert_eq!(removed_for(24_000_000, None), 0, "two in five would be there");
    assert_eq!(removed_for(24_000_000, Some(0.9)), 1400);
    assert_eq!(removed_for(54_000_000, Some(0.1)), 0);
}

#[test]
fn until_a_station_says_something_the_rates_tell_what_it_overhears_and_its_silence_that_it_does_not() {
    let first = |rate_bits_per_second: u64, packets_before: u64| {
        let (mut gateway, _) = network(&settings(), 18);
        let mut content = Content::new(7);
        for station in [FIRST, SECOND] {
            let rate = if station == SECOND { rate_bits_per_second } else { 54_000_000 };
            gateway.set_rate(station, rate, overhear::AirTime::of_rate(rate));
        }
        for _ in 0..packets_before {
            gateway.encode(FIRST, &content.random(100), at(0), &mut Vec::new());
        }
        let packet = content.random(1400);
        gateway.encode(FIRST, &packet, at(1), &mut Vec::new());
        gateway.encode(SECOND, &packet, at(1), &mut Vec::new()).removed_bytes
    };
    assert_eq!(first(54_000_000, 0), 1400, "as near as the first");
    assert_eq!(first(24_000_000, 0), 0, "two in five would be there");
    assert_eq!(first(54_000_000, 1100), 0, "it has said nothing for so long");
}

#[test]
fn by_rates_a_miss_tells_of_the_chunks_that_were_missed_alone() {
    let by_rate = Settings {
        knowledge: KnowledgeKind::ByRate(Default::default()),
        removal: Removal::Model { others_load: 0.0, threshold: Threshold::Seconds(0.0) },
        ..settings()
    };
    let (mut gateway, [_, mut second]) = network(&by_rate, 18);
    let mut content = Content::new(9);
    let (missed, heard) = (content.random(1400), content.random(1400));
    let mut air = Vec::new();
    for (packet, is_heard) in [(&missed, false), (&heard, true)] {
        air.clear();
        gateway.encode(FIRST, packet, at(0), &mut air);
        if is_heard {
            second.overhear(&air).unwrap();
        }
    }
    air.clear();
    let sent = gateway.encode(SECOND, &missed[..700], at(1), &mut air);
    assert!(sent.removed_bytes > 600);
    assert_eq!(second.receive(sent.number, 0, &air, at(1)), Received::Held);
    let (mut request, mut reply) = (Vec::new(), Vec::new());
    second.poll_request(at(1), &mut request).unwrap();
    assert!(matches!(gateway.answer_request(SECOND, &request, &mut reply), Answer::Supplied { .. }));
    let removed = |gateway: &mut Gateway, packet: &[u8]| {
        gateway.encode(SECOND, packet, at(2), &mut Vec::new()).removed_bytes
    };
    assert!(removed(&mut gateway, &missed[700..]) > 600, "as the paper has it");
    assert!(removed(&mut gateway, &heard) > 1300);
}

#[test]
fn receipts_that_have_not_come_yet_count_as_those_before_them() {
    let (mut gateway, _) = network(&settings(), 18);
    let mut content = Content::new(7);
    let mut number = PacketNumber(0);
    for _ in 0..600 {
        number = gateway.encode(FIRST, &content.random(700), at(0), &mut Vec::new()).number;
        gateway.record_overheard(SECOND, number);
    }
    let packet = content.random(1400);
    gateway.encode(FIRST, &packet, at(1), &mut Vec::new());
    assert_eq!(gateway.encode(SECOND, &packet, at(1), &mut Vec::new()).removed_bytes, 1400);
    gateway.settle_reports_until(SECOND, PacketNumber(number.0 + 2));
    assert_eq!(gateway.encode(SECOND, &packet, at(1), &mut Vec::new()).removed_bytes, 0);
}

/// Two chunks of one slot among 2^14, each as the cut leaves it.
fn two_of_one_slot(settings: &Settings) -> [Vec<u8>; 2] {
    let addresses = Addresses::new(&settings.network_key);
    let mut content = Content::new(12);
    let mut of_slot = std::collections::BTreeMap::<u32, Vec<u8>>::new();
    loop {
        let packet = content.random(1400);
        for range in settings.boundaries.chunks(&packet) {
            let chunk = packet[range.clone()].to_vec();
            // The packet's end cuts the last one.
            if range.end < packet.len()
                && let Some(earlier) = of_slot.insert(addresses.of(&chunk).slot(14), chunk.clone())
            {
                return [earlier, chunk];
            }
        }
    }
}

#[test]
fn two_chunks_of_one_packet_in_one_slot_never_make_it_undeliverable() {
    let greedy = Settings { slot_bits: 14, removal: Removal::Greedy, ..settings() };
    let (mut gateway, [_, mut second]) = network(&greedy, 14);
    let both = two_of_one_slot(&greedy);
    let mut air = Vec::new();
    gateway.encode(FIRST, &both[0], at(0), &mut air);
    for round in 1..5 {
        let packet = [&both[0][..], &both[1], &both[0]].concat();
        air.clear();
        let sent = gateway.encode(SECOND, &packet, at(round), &mut air);
        let restored = second.receive(sent.number, round, &air, at(round)) == Received::Restored(&packet);
        if !restored {
            let (mut request, mut reply) = (Vec::new(), Vec::new());
            second.poll_request(at(round), &mut request).unwrap();
            let answer = gateway.answer_request(SECOND, &request, &mut reply);
            assert!(matches!(answer, Answer::Supplied { .. }), "{round}: {answer:?}");
        }
    }
}
