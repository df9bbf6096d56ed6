//! Stations that lie and flood: they lose their own savings, and the others lose nothing.

use crate::content::{Content, association, settings};
use overhear::knowledge::{KnowledgeKind, MAX_STATIONS};
use overhear::removal::Removal;
use overhear::{Answer, Association, Gateway, JoinError, PacketNumber, Settings, StationId};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::time::Duration;

const HONEST: StationId = StationId(1);
const HOSTILE: StationId = StationId(2);
const NOW: Duration = Duration::ZERO;

fn gateway(settings: &Settings) -> Gateway {
    let mut gateway = Gateway::new(settings.clone()).unwrap();
    for station in [HONEST, HOSTILE] {
        gateway.join(station, association(station), NOW).unwrap();
    }
    gateway
}

/// A request for the first `count` slots of a packet.
fn request(number: PacketNumber, count: usize) -> Vec<u8> {
    let mut request = Vec::new();
    wire::chunk_request::emit(number.0, 0..count, &mut request);
    request
}

#[test]
fn whoever_requests_without_end_is_answered_a_few_times_and_then_no_more() {
    let mut gateway = gateway(&Settings { removal: Removal::Greedy, ..settings() });
    let packet = Content::new(1).random(1400);
    let mut air = Vec::new();
    gateway.encode(HONEST, &packet, NOW, &mut air);
    let sent = gateway.encode(HOSTILE, &packet, NOW, &mut air);
    let request = request(sent.number, sent.removed_chunks);
    let mut replies = Vec::new();
    for _ in 0..10_000 {
        gateway.answer_request(HOSTILE, &request, &mut replies);
    }
    let tries = usize::from(settings().misses.tries);
    assert!(replies.len() <= tries * 1600, "{} bytes", replies.len());
    assert_eq!(gateway.statistics().answered_requests, tries as u64);
}

#[test]
fn nobody_gets_what_was_not_removed_from_a_packet_of_their_own() {
    let mut gateway = gateway(&Settings { removal: Removal::Greedy, ..settings() });
    let packet = Content::new(1).random(1400);
    let mut air = Vec::new();
    let plain = gateway.encode(HONEST, &packet, NOW, &mut air);
    let sent = gateway.encode(HONEST, &packet, NOW, &mut air);
    assert!(sent.removed_chunks > 0);
    let mut replies = Vec::new();
    for (by, number, count) in [
        (HOSTILE, sent.number, 1),
        (HONEST, plain.number, 1),
        // The last place means that a chunk differs from the intended one; it is not a chunk.
        (HONEST, sent.number, sent.removed_chunks + 2),
        (HONEST, PacketNumber(sent.number.0 + 1), 1),
        (StationId(99), sent.number, 1),
    ] {
        assert_eq!(gateway.answer_request(by, &request(number, count), &mut replies), Answer::Refused);
    }
    assert_eq!(replies, []);
    assert!(matches!(
        gateway.answer_request(HONEST, &request(sent.number, 1), &mut replies),
        Answer::Supplied { .. }
    ));
}

#[test]
fn receipts_for_packets_never_sent_say_nothing() {
    let mut gateway = gateway(&settings());
    let packet = Content::new(1).random(1400);
    let mut air = Vec::new();
    for number in (0..100).chain([1 << 31, u64::MAX - 1, u64::MAX]) {
        gateway.record_overheard(HOSTILE, PacketNumber(number));
        gateway.record_acknowledgment(HOSTILE, PacketNumber(number), NOW);
        gateway.settle_reports_until(HOSTILE, PacketNumber(number));
    }
    gateway.encode(HONEST, &packet, NOW, &mut air);
    let sent = gateway.encode(HOSTILE, &packet, NOW, &mut air);
    assert_eq!((sent.found_bytes, sent.removed_bytes), (1400, 0));
}

#[test]
fn an_acknowledgment_of_another_stations_packet_says_nothing() {
    let mut gateway = gateway(&settings());
    let packet = Content::new(1).random(1400);
    let mut air = Vec::new();
    let sent = gateway.encode(HONEST, &packet, NOW, &mut air);
    gateway.record_acknowledgment(HOSTILE, sent.number, NOW);
    assert_eq!(gateway.encode(HOSTILE, &packet, NOW, &mut air).removed_bytes, 0);
    assert_eq!(gateway.encode(HONEST, &packet, NOW, &mut air).removed_bytes, 0);
}

#[test]
fn whoever_claims_to_have_heard_everything_and_has_not_loses_its_own_savings_only() {
    let mut gateway = gateway(&settings());
    let (mut content, mut rng) = (Content::new(5), ChaCha8Rng::seed_from_u64(6));
    let (mut replied_bytes, mut removed_for_hostile, mut removed_for_honest) = (0, 0, 0);
    let packets = 6000;
    for step in 0..packets {
        let now = Duration::from_millis(step);
        let to = if rng.random_bool(0.5) { HONEST } else { HOSTILE };
        let packet = content.packet(&mut rng);
        let sent = gateway.encode(to, &packet, now, &mut Vec::new());
        let late = step > packets / 2;
        match to {
            HONEST => {
                gateway.record_acknowledgment(HONEST, sent.number, now);
                gateway.record_overheard(HOSTILE, sent.number);
                removed_for_honest += if late { sent.removed_bytes } else { 0 };
            }
            _ => {
                gateway.record_acknowledgment(HOSTILE, sent.number, now);
                gateway.record_overheard(HONEST, sent.number);
                removed_for_hostile += if late { sent.removed_bytes } else { 0 };
                let mut reply = Vec::new();
                if sent.removed_chunks > 0 {
                    gateway.answer_request(HOSTILE, &request(sent.number, sent.removed_chunks), &mut reply);
                }
                replied_bytes += if late { reply.len() } else { 0 };
            }
        }
    }
    assert!(removed_for_honest > 200_000, "{removed_for_honest}");
    assert!(removed_for_hostile * 5 < removed_for_honest, "{removed_for_hostile} of {removed_for_honest}");
    assert!(replied_bytes * 5 < removed_for_honest, "{replied_bytes}");
}

#[test]
fn a_flood_of_associations_takes_no_more_than_its_own_place() {
    let mut gateway = gateway(&settings());
    let packet = Content::new(1).random(1400);
    let mut air = Vec::new();
    let sent = gateway.encode(HONEST, &packet, NOW, &mut air);
    gateway.record_acknowledgment(HONEST, sent.number, NOW);
    for _ in 0..20_000 {
        gateway.join(HOSTILE, association(HOSTILE), NOW).unwrap();
    }
    assert_eq!(gateway.encode(HONEST, &packet, NOW, &mut air).removed_bytes, 1400);

    let mut joined = 2;
    for number in 3..=255 {
        match gateway.join(StationId(number), association(StationId(number)), NOW) {
            Ok(()) => joined += 1,
            Err(error) => assert_eq!(error, JoinError::Full),
        }
    }
    assert_eq!(joined, MAX_STATIONS);
    let tiny = Association { slot_bits: 13, ..association(HONEST) };
    assert_eq!(gateway.join(HONEST, tiny, NOW), Err(JoinError::SlotBits(13)));
    assert_eq!(gateway.encode(HONEST, &packet, NOW, &mut air).removed_bytes, 1400);
}

#[test]
fn what_a_station_had_is_forgotten_when_it_leaves_whoever_takes_its_place() {
    for knowledge in [KnowledgeKind::Receipts, KnowledgeKind::ByRate(Default::default())] {
        let mut gateway = gateway(&Settings { knowledge, slot_bits: 14, ..settings() });
        let packet = Content::new(1).random(1400);
        let mut air = Vec::new();
        let sent = gateway.encode(HONEST, &packet, NOW, &mut air);
        gateway.record_acknowledgment(HONEST, sent.number, NOW);
        assert_eq!(gateway.encode(HONEST, &packet, NOW, &mut air).removed_bytes, 1400);
        // Every column is reused.
        for round in 0..100 {
            let station = StationId(100 + round);
            gateway.leave(if round == 0 { HONEST } else { StationId(99 + round) });
            gateway.join(station, association(station), NOW).unwrap();
            gateway.record_acknowledgment(station, sent.number, NOW);
            gateway.record_overheard(station, sent.number);
            assert_eq!(gateway.encode(station, &packet, NOW, &mut air).removed_bytes, 0, "{round}");
        }
        // A request for another station's packet does not count either.
        assert_eq!(gateway.encode(HONEST, &packet, NOW, &mut air).removed_bytes, 0, "it has left");
    }
}

/// Another station received a secret between known bytes. An attacker sends packets to a station and sees
/// their lengths, and so guesses the secret.
#[test]
fn a_secret_cannot_be_guessed_byte_by_byte_by_how_much_of_a_packet_is_removed() {
    let mut content = Content::new(13);
    for known_bytes in (0..400).step_by(7) {
        let known = content.random(700 + known_bytes);
        let secret = content.random(16);
        let of_victim = [&known[..], &secret, &content.random(500)].concat();
        // Earlier guesses must not be found as repetitions.
        let guessed = |guess: &[u8]| {
            let narrow = Settings { slot_bits: 14, removal: Removal::Greedy, ..settings() };
            let mut gateway = Gateway::new(narrow).unwrap();
            for station in [HONEST, HOSTILE] {
                gateway.join(station, Association { slot_bits: 14, ..association(station) }, NOW).unwrap();
            }
            gateway.encode(HONEST, &of_victim, NOW, &mut Vec::new());
            gateway.encode(HOSTILE, &[&known[..], guess].concat(), NOW, &mut Vec::new()).removed_bytes
        };
        // Every step guesses one more byte; the test checks whether a correct one is visible.
        let shows = |right: &usize| {
            let wrong = [&secret[..*right], &[!secret[*right]]].concat();
            guessed(&secret[..=*right]) != guessed(&wrong)
        };
        let shown = (0..secret.len()).filter(shows).count();
        // One byte may end a chunk, and one may complete a multiple of the smallest chunk.
        assert!(shown <= 2, "{shown} of {} bytes show, behind {known_bytes}", secret.len());
    }
}
