//! Stations that hear several senders: two gateways (REfactor, Figure 1b) and relays (Figure 1c).

use std::collections::BTreeSet;
use std::time::Duration;

use crate::content::{Content, association, settings};
use overhear::address::Addresses;
use overhear::{
    Answer, Association, Gateway, NamedChunk, PacketNumber, Received, Settings, Station, StationId,
};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use wire::named_chunks::{self, NamedChunks};
use wire::shim::slots::{MIN_SLOT_BITS, Run, Slots};

const C1: StationId = StationId(1);
const C2: StationId = StationId(2);
const NOW: Duration = Duration::ZERO;

/// Settings without parts, so that the removed bytes follow from the chunks alone.
fn whole_chunks() -> Settings {
    Settings { parts: false, ..settings() }
}

fn gateway(stations: &[StationId]) -> Gateway {
    let mut gateway = Gateway::new(whole_chunks()).unwrap();
    stations.iter().for_each(|station| gateway.join(*station, association(*station), NOW).unwrap());
    gateway
}

fn station(id: StationId) -> Station {
    Station::new(whole_chunks(), id, association(id).mac_key).unwrap()
}

/// A payload as sent without removal.
fn whole(payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Slots { slot_bits: MIN_SLOT_BITS, mac: None, runs: &[], slots: &[] }.emit(&mut out);
    out.extend_from_slice(payload);
    out
}

/// The payloads `abc` and `abd`.
fn payloads() -> [Vec<u8>; 2] {
    let mut content = Content::new(3);
    let ab = content.random(933);
    [content.random(467), content.random(467)].map(|rest| [&ab[..], &rest].concat())
}

/// The share of `packet` that a receiver with the chunks of `other` does not need, by the sizes of chunks and
/// shim.
fn delta(packet: &[u8], other: &[u8]) -> f64 {
    let boundaries = whole_chunks().boundaries;
    let known: BTreeSet<&[u8]> = boundaries.chunks(other).map(|chunk| &other[chunk]).collect();
    let addresses = Addresses::new(&whole_chunks().network_key);
    let (mut removed_bytes, mut slots, mut end) = (0, Vec::new(), 0);
    for chunk in boundaries.chunks(packet).filter(|chunk| known.contains(&packet[chunk.clone()])) {
        assert_eq!(chunk.start, end, "what repeats stands at the beginning");
        end = chunk.end;
        removed_bytes += chunk.len();
        slots.push(addresses.of(&packet[chunk]).slot(18));
    }
    let runs = [Run::of_whole(0, slots.len() as u32)];
    let shim = Slots { slot_bits: 18, mac: Some([0; 8]), runs: &runs, slots: &slots };
    (removed_bytes - shim.encoded_len()) as f64 / packet.len() as f64
}

/// Transmissions, each weighted by its share of a full one.
#[derive(Default)]
struct Air {
    transmissions: f64,
}

impl Air {
    fn carries(&mut self, encoded: &[u8], of: &[u8]) {
        self.transmissions += encoded.len() as f64 / of.len() as f64;
    }
}

#[test]
fn figure_1b_what_was_overheard_of_one_gateway_the_other_does_not_send() {
    for gateways_hear_each_other in [true, false] {
        let (mut ap1, mut ap2, mut c2) = (gateway(&[C1, C2]), gateway(&[C2]), station(C2));
        ap1.note_news(C2);
        let ([abc, abd], mut air, mut sent) = (payloads(), Air::default(), Vec::new());
        let to_c1 = ap1.encode(C1, &abc, NOW, &mut sent).number;
        air.carries(&sent, &abc);
        c2.overhear(&sent).unwrap();
        ap1.record_overheard(C2, to_c1);
        if gateways_hear_each_other {
            let heard = ap2.hear(&sent, None).unwrap();
            ap2.record_held(C2, heard);
        } else {
            let mut news = Vec::new();
            ap1.take_news(C2, usize::MAX, &mut news);
            assert!(news.len() > 5);
            ap2.learn_named(C2, 18, news);
        }
        sent.clear();
        let to_c2 = ap2.encode(C2, &abd, NOW, &mut sent);
        air.carries(&sent, &abd);
        assert_eq!(c2.receive(to_c2.number, 0, &sent, NOW), Received::Restored(&abd[..]));
        let expected = 2.0 - delta(&abd, &abc);
        assert!((air.transmissions - expected).abs() < 0.002, "{} for {expected}", air.transmissions);
        assert!(expected < 1.5, "{expected}");
    }
}

#[test]
fn figure_1c_two_stations_and_two_relays_take_four_less_delta() {
    let (mut r1, mut r2) = (gateway(&[C2]), gateway(&[C1]));
    let (mut c1, mut c2) = (station(C1), station(C2));
    let ([abc, abd], mut air) = (payloads(), Air::default());

    // C1 to R1. R2 overhears it and knows that its sender has it.
    let sent = whole(&abc);
    air.carries(&sent, &abc);
    c1.keep_sent(&abc);
    r1.hear(&sent, None).unwrap();
    let heard = r2.hear(&sent, None).unwrap();
    r2.record_held(C1, heard);
    // C2 to R2.
    let sent = whole(&abd);
    air.carries(&sent, &abd);
    c2.keep_sent(&abd);
    let heard = r2.hear(&sent, None).unwrap();
    r2.record_held(C2, heard);
    // R1 to C2, which has heard nothing of it.
    let mut sent = Vec::new();
    let number = r1.encode(C2, &abc, NOW, &mut sent).number;
    air.carries(&sent, &abc);
    assert_eq!(c2.receive(number, 0, &sent, NOW), Received::Restored(&abc[..]));
    // R2 to C1, which sent the first two thirds itself.
    sent.clear();
    let number = r2.encode(C1, &abd, NOW, &mut sent).number;
    air.carries(&sent, &abd);
    assert_eq!(c1.receive(number, 0, &sent, NOW), Received::Restored(&abd[..]));

    let expected = 4.0 - delta(&abd, &abc);
    // A whole packet is one byte longer than its payload.
    assert!((air.transmissions - expected).abs() < 0.005, "{} for {expected}", air.transmissions);
    assert!(expected < 3.5, "{expected}");
}

#[test]
fn what_was_displaced_meanwhile_is_not_named_and_a_name_does_not_displace_what_others_have() {
    let (mut ap1, mut ap2) = (gateway(&[C1, C2]), gateway(&[C1, C2]));
    ap1.note_news(C2);
    let ([abc, abd], mut sent, mut news) = (payloads(), Vec::new(), Vec::new());
    let number = ap1.encode(C1, &abc, NOW, &mut sent).number;
    ap1.record_overheard(C2, number);
    ap1.take_news(C2, usize::MAX, &mut news);
    // At the other gateway, another station has a different chunk in each of those slots.
    let of_ap2 = ap2.encode(C1, &abd, NOW, &mut sent).number;
    ap2.record_acknowledgment(C1, of_ap2, NOW);
    let other: Vec<NamedChunk> = {
        let addresses = Addresses::new(&whole_chunks().network_key);
        let chunks = whole_chunks().boundaries.chunks(&abd).map(|chunk| addresses.of(&abd[chunk]));
        chunks.map(|address| NamedChunk { slot: address.slot(18), tag: !address.tag() }).collect()
    };
    ap2.learn_named(C2, 18, other);
    let mut again = Vec::new();
    assert!(ap2.encode(C1, &abd, NOW, &mut again).removed_bytes > 1000, "C1 has it still");
    ap1.take_news(C2, usize::MAX, &mut news);
    let count = news.len();
    ap1.take_news(C2, usize::MAX, &mut news);
    assert_eq!(news.len(), count, "nothing is told twice");
}

#[test]
fn a_gateway_that_names_what_is_not_so_costs_a_request_and_no_wrong_byte() {
    let (mut ap2, mut c2) = (gateway(&[C2]), station(C2));
    let [abc, abd] = payloads();
    let addresses = Addresses::new(&whole_chunks().network_key);
    let lies = whole_chunks().boundaries.chunks(&abd).map(|chunk| {
        let address = addresses.of(&abd[chunk]);
        NamedChunk { slot: address.slot(18), tag: address.tag() }
    });
    ap2.learn_named(C2, 18, lies.collect::<Vec<_>>());
    let (mut sent, mut request, mut reply) = (Vec::new(), Vec::new(), Vec::new());
    let number = ap2.encode(C2, &abd, NOW, &mut sent).number;
    assert_eq!(c2.receive(number, 0, &sent, NOW), Received::Held);
    c2.poll_request(NOW, &mut request).unwrap();
    assert!(matches!(ap2.answer_request(C2, &request, &mut reply), Answer::Supplied { .. }));
    c2.receive_reply(&reply, NOW).unwrap();
    assert_eq!(c2.poll_deliver(NOW).unwrap().packet, abd);
    // Slots of another width than this gateway's would be ambiguous.
    ap2.learn_named(C2, 17, [NamedChunk { slot: 1, tag: 2 }]);
    sent.clear();
    let number = ap2.encode(C2, &abc, NOW, &mut sent).number;
    assert!(!matches!(c2.receive(number, 0, &sent, NOW), Received::Refused(_)));
}

/// An event at one of two gateways. Each has one station of its own, and both stations hear both gateways.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// A packet to its own station: whether it arrives, and whether the other station hears it.
    Send { gateway: usize, arrives: bool, is_overheard: bool },
    /// The news goes to the other gateway, or is lost.
    Tell { gateway: usize, arrives: bool },
    /// The gateway loses all knowledge. Its station associates again, and the other station is noted as
    /// before.
    Restart { gateway: usize },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step =
        (0..2usize, any::<bool>(), any::<bool>(), 0..20u8).prop_map(|(gateway, a, b, kind)| match kind {
            0 => Step::Restart { gateway },
            1..6 => Step::Tell { gateway, arrives: a || b },
            _ => Step::Send { gateway, arrives: a || b, is_overheard: a || !b },
        });
    proptest::collection::vec(step, 1..60)
}

const IDS: [StationId; 2] = [C1, C2];

/// A gateway with station `own` of both as its own.
fn started(own: usize) -> Gateway {
    let mut gateway = Gateway::new(settings()).unwrap();
    for (at, id) in IDS.into_iter().enumerate() {
        let own_key =
            Association { mac_key: association(id).mac_key.filter(|_| at == own), ..association(id) };
        gateway.join(id, own_key, NOW).unwrap();
    }
    gateway.note_news(IDS[1 - own]);
    gateway
}

/// Sends a packet to a gateway's own station, which must restore it exactly or not at all. Returns the number
/// of removed bytes.
fn deliver(
    gateway: &mut Gateway,
    station: &mut Station,
    packet: &[u8],
    now: Duration,
) -> (usize, Vec<u8>, PacketNumber) {
    let (id, mut sent) = (station.id(), Vec::new());
    let report = gateway.encode(id, packet, now, &mut sent);
    let number = report.number;
    match station.receive(number, number.0, &sent, now) {
        Received::Restored(restored) => assert_eq!(restored, packet),
        Received::Held => {
            for _ in 0..3 {
                let (mut request, mut reply) = (Vec::new(), Vec::new());
                let Some(_) = station.poll_request(now, &mut request) else { break };
                let Answer::Supplied { number, .. } = gateway.answer_request(id, &request, &mut reply) else {
                    break;
                };
                let _ = station.receive_reply(&reply, now);
                gateway.record_acknowledgment(id, number, now);
            }
            if let Some(delivered) = station.poll_deliver(now) {
                assert_eq!(delivered.packet, packet);
            }
        }
        other => panic!("{other:?}"),
    }
    gateway.record_acknowledgment(id, number, now);
    (report.removed_bytes, sent, number)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// After any losses and restarts, packets are exact or missing, and both gateways save again after a
    /// quiet period.
    #[test]
    fn two_gateways_that_restart_at_any_moment_converge(steps in steps(), seed: u64) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut content = Content::new(seed);
        let mut gateways = [started(0), started(1)];
        let mut stations = IDS.map(|id| Station::new(settings(), id, association(id).mac_key).unwrap());
        let mut now = NOW;
        let tell = |gateways: &mut [Gateway; 2], from: usize, arrives: bool| {
            let (of, mut news, mut message) = (IDS[1 - from], Vec::new(), Vec::new());
            gateways[from].take_news(of, named_chunks::MAX_CHUNKS, &mut news);
            named_chunks::emit(18, &mut news, &mut message);
            if arrives {
                let read = NamedChunks::parse(&message).unwrap();
                gateways[1 - from].learn_named(of, read.slot_bits, read.chunks());
            }
        };
        let quiet = [0, 1].map(|gateway| [
            Step::Send { gateway, arrives: true, is_overheard: true },
            Step::Tell { gateway, arrives: true },
        ]).concat();
        for step in steps.into_iter().chain(quiet) {
            now += Duration::from_secs(3);
            match step {
                Step::Send { gateway, arrives, is_overheard } => {
                    let packet = content.packet(&mut rng);
                    let (own, other) = (gateway, 1 - gateway);
                    let (sent, number) = if arrives {
                        let (_, sent, number) = deliver(&mut gateways[own], &mut stations[own], &packet, now);
                        (sent, number)
                    } else {
                        let mut sent = Vec::new();
                        let number = gateways[own].encode(IDS[own], &packet, now, &mut sent).number;
                        (sent, number)
                    };
                    if is_overheard {
                        stations[other].overhear(&sent).unwrap();
                        gateways[own].record_overheard(IDS[other], number);
                    }
                    if rng.random_bool(0.5) {
                        gateways[other].hear(&sent, None).unwrap();
                    }
                }
                Step::Tell { gateway, arrives } => tell(&mut gateways, gateway, arrives),
                Step::Restart { gateway } => {
                    gateways[gateway] = started(gateway);
                    stations[gateway].associate(association(IDS[gateway]).mac_key);
                }
            }
        }
        // The other gateway then does not send a packet that one station has already received.
        let packet = content.random(1400);
        let (_, sent, number) = deliver(&mut gateways[0], &mut stations[0], &packet, now);
        stations[1].overhear(&sent).unwrap();
        gateways[0].record_overheard(C2, number);
        tell(&mut gateways, 0, true);
        let removed = deliver(&mut gateways[1], &mut stations[1], &packet, now).0;
        prop_assert!(removed > 1000, "{removed}");
    }
}
