//! The paper's handling of collisions: marked slots, and flushes in three phases.

use crate::content::{Content, association, settings};
use overhear::flush::{ASK_AGAIN_AFTER, FlushAfter};
use overhear::removal::Removal;
use overhear::{Association, Collisions, Gateway, Received, Settings, Station, StationId};
use std::time::Duration;

const STATIONS: [StationId; 3] = [StationId(1), StationId(2), StationId(3)];
const LAGGARD: StationId = STATIONS[2];
const NOW: Duration = Duration::ZERO;

fn network(after: FlushAfter) -> (Gateway, [Station; 3]) {
    let settings = Settings {
        slot_bits: 14,
        removal: Removal::Greedy,
        collisions: Collisions::Mark(after),
        ..settings()
    };
    let mut gateway = Gateway::new(settings.clone()).unwrap();
    let stations = STATIONS.map(|id| {
        let association = Association { slot_bits: 14, ..association(id) };
        gateway.join(id, association.clone(), NOW).unwrap();
        Station::new(settings.clone(), id, association.mac_key).unwrap()
    });
    (gateway, stations)
}

/// Sends a packet to a station, heard by all. Returns the number of removed bytes.
fn send(gateway: &mut Gateway, stations: &mut [Station; 3], to: StationId, packet: &[u8]) -> usize {
    let mut air = Vec::new();
    let sent = gateway.encode(to, packet, NOW, &mut air);
    for station in stations {
        if station.id() == to {
            assert_eq!(station.receive(sent.number, 0, &air, NOW), Received::Restored(packet));
            gateway.record_acknowledgment(to, sent.number, NOW);
        } else {
            station.overhear(&air).unwrap();
            gateway.record_overheard(station.id(), sent.number);
        }
    }
    sent.removed_bytes
}

#[test]
fn traffic_makes_a_flush_during_which_nothing_is_kept_and_behind_which_laggards_get_nothing_encoded() {
    let (mut gateway, mut stations) = network(FlushAfter { traffic_bytes: 5000, marked_share: 1.0 });
    let mut content = Content::new(1);
    let (packet, during) = (content.random(1400), content.random(100));
    assert_eq!(gateway.poll_flush(NOW), None);
    assert_eq!(send(&mut gateway, &mut stations, STATIONS[0], &packet), 0);
    assert_eq!(send(&mut gateway, &mut stations, STATIONS[1], &packet), 1400);
    assert_eq!(send(&mut gateway, &mut stations, LAGGARD, &packet), 1400);
    send(&mut gateway, &mut stations, LAGGARD, &packet);

    let flush = gateway.poll_flush(NOW).expect("5,600 bytes were sent");
    assert_eq!(gateway.poll_flush(NOW), None, "it has just been asked for");
    assert_eq!(gateway.poll_flush(ASK_AGAIN_AFTER), Some(flush), "the request may have been lost");
    for _ in 0..2 {
        assert_eq!(send(&mut gateway, &mut stations, STATIONS[0], &during), 0, "nothing is kept or removed");
    }
    for (index, id) in STATIONS[..2].iter().enumerate() {
        gateway.record_flush(*id, flush + 1, NOW);
        stations[index].flush(flush);
        gateway.record_flush(*id, flush, NOW);
    }
    // Most stations have acknowledged: the gateway's cache is empty, and it stores chunks again.
    assert_eq!(send(&mut gateway, &mut stations, STATIONS[0], &packet), 0);
    assert_eq!(send(&mut gateway, &mut stations, STATIONS[1], &packet), 1400);
    assert_eq!(send(&mut gateway, &mut stations, LAGGARD, &packet), 0, "it has not acknowledged");
    assert_eq!(gateway.poll_flush(3 * ASK_AGAIN_AFTER), Some(flush));
    stations[2].flush(flush);
    gateway.record_flush(LAGGARD, flush, NOW);
    assert_eq!(gateway.poll_flush(9 * ASK_AGAIN_AFTER), None);
    assert_eq!(send(&mut gateway, &mut stations, LAGGARD, &content.random(10)), 0);
}

#[test]
fn collided_slots_are_marked_at_both_ends_and_flushed_when_they_are_many() {
    let (mut gateway, mut stations) = network(FlushAfter { traffic_bytes: u64::MAX, marked_share: 0.05 });
    let mut content = Content::new(2);
    let mut packets = 0;
    let flush = loop {
        let packet = content.random(1400);
        send(&mut gateway, &mut stations, STATIONS[0], &packet);
        packets += 1;
        if let Some(flush) = gateway.poll_flush(NOW) {
            break flush;
        }
        assert!(packets < 2000);
    };
    // About n^2 / 2m of n chunks in m slots collide; 5% of 16,384 are 819.
    assert!((350..600).contains(&packets), "{packets}");
    for station in &mut stations {
        station.flush(flush);
        gateway.record_flush(station.id(), flush, NOW);
    }
    assert_eq!(gateway.poll_flush(ASK_AGAIN_AFTER), None);
    let packet = content.random(1400);
    send(&mut gateway, &mut stations, STATIONS[0], &packet);
    assert_eq!(send(&mut gateway, &mut stations, STATIONS[1], &packet), 1400);
}

#[test]
fn a_flush_is_done_once_however_often_it_is_asked_for() {
    let (mut gateway, mut stations) = network(FlushAfter::default());
    let packet = Content::new(3).random(1400);
    stations[1].flush(1);
    send(&mut gateway, &mut stations, STATIONS[0], &packet);
    stations[1].flush(1);
    assert_eq!(send(&mut gateway, &mut stations, STATIONS[1], &packet), 1400);
}
