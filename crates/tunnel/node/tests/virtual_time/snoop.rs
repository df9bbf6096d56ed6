//! TCP segments that the air lost are repaired from the gateway, and the far sender is not told of them.

use crate::pair::{GATEWAY, Pair, Road, STATION};
use etherparse::{LaxSlicedPacket, PacketBuilder, TcpOptionElement, TransportSlice};
use node::{AROUND_PACKET, PeerCounters};
use re::{Parameters, Policy};
use recovery::pattern::Pattern;
use recovery::{Coding, Replacement, Settings};
use std::collections::BTreeMap;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
/// Of segments that are as long as may be: IP's and TCP's headers take 40 bytes.
const PAYLOAD: u32 = (1452 - AROUND_PACKET - 40) as u32;

/// A pair whose gateway repairs so; `None`: it does not.
fn pair(policy: Policy, settings: Option<Settings>, road: Road) -> Pair {
    let parameters = Parameters { policy, store_bytes: 1 << 20, ..Parameters::default() };
    let mut pair = Pair::new(21, Road { loss: 0.0, ..road }, &parameters);
    pair.configs[GATEWAY].snoop = settings;
    for index in [GATEWAY, STATION] {
        pair.reboot_with(index, [50 + index as u8; 32]);
    }
    pair.run(5 * SECOND);
    pair.medium.road = road;
    pair
}

fn coded(degree: u8) -> Settings {
    let coding = Coding::Fixed(Pattern { degree, distance: 1 });
    Settings { buffer_packets: 40, replacement: Replacement::None, coding }
}

fn payload(number: u32) -> Vec<u8> {
    (0..PAYLOAD).map(|at| ((number * PAYLOAD + at).wrapping_mul(0x9e37_79b9) >> 24) as u8).collect()
}

/// The inner address of a node's TCP.
fn address(node: usize) -> [u8; 4] {
    if node == GATEWAY { [10, 0, 0, 1] } else { [10, 0, 0, 2] }
}

fn other(node: usize) -> usize {
    if node == GATEWAY { STATION } else { GATEWAY }
}

/// A segment of what this node's TCP sends.
fn segment(from: usize, number: u32) -> Vec<u8> {
    let mut packet = Vec::new();
    PacketBuilder::ipv4(address(from), address(other(from)), 64)
        .tcp(80, 4242, 1 + number * PAYLOAD, 1000)
        .ack(1)
        .write(&mut packet, &payload(number))
        .unwrap();
    packet
}

/// The acknowledgment of this node's TCP with these segments.
fn acknowledgment(from: usize, had: &BTreeMap<u32, Vec<u8>>) -> Vec<u8> {
    let first_missing = (0..).find(|number| !had.contains_key(number)).unwrap();
    let block = had.keys().rev().find(|&&number| number > first_missing).map(|&last| {
        let first = (0..=last).rev().find(|number| !had.contains_key(number)).unwrap() + 1;
        (1 + first * PAYLOAD, 1 + (last + 1) * PAYLOAD)
    });
    let sack = block.map(|block| TcpOptionElement::SelectiveAcknowledgement(block, [None; 3]));
    let options: Vec<_> = [TcpOptionElement::Noop, TcpOptionElement::Noop].into_iter().chain(sack).collect();
    let mut packet = Vec::new();
    PacketBuilder::ipv4(address(from), address(other(from)), 64)
        .tcp(4242, 80, 1, 1000)
        .ack(1 + first_missing * PAYLOAD)
        .options(&options)
        .unwrap()
        .write(&mut packet, &[])
        .unwrap();
    packet
}

/// Sends segments to the station, see [`carry_from`].
fn carry(pair: &mut Pair, segments: u32) -> (BTreeMap<u32, Vec<u8>>, u32) {
    carry_from(pair, GATEWAY, segments)
}

/// Sends segments, one every two milliseconds; the other end acknowledges what it gets, and the sender
/// repeats what it is shown to be missing. What the other end had, and how often the sender repeated
/// something.
fn carry_from(pair: &mut Pair, from: usize, segments: u32) -> (BTreeMap<u32, Vec<u8>>, u32) {
    let to = other(from);
    let mut had = BTreeMap::new();
    let (mut taken, mut heard) = (0, 0);
    let mut repeated = BTreeMap::new();
    for step in 0..segments + 500 {
        if step < segments {
            pair.send(from, &segment(from, step));
        }
        pair.run(2 * MS);
        while let Some(packet) = pair.delivered(to).get(taken).cloned() {
            taken += 1;
            let Some(TransportSlice::Tcp(tcp)) = LaxSlicedPacket::from_ip(&packet).unwrap().transport else {
                continue;
            };
            let number = (tcp.sequence_number() - 1) / PAYLOAD;
            assert_eq!(packet, segment(from, number), "as it was sent");
            had.insert(number, packet);
            pair.send(to, &acknowledgment(to, &had));
        }
        while let Some(packet) = pair.delivered(from).get(heard).cloned() {
            heard += 1;
            let Some(TransportSlice::Tcp(tcp)) = LaxSlicedPacket::from_ip(&packet).unwrap().transport else {
                continue;
            };
            let missing = tcp
                .options_iterator()
                .any(|it| matches!(it, Ok(TcpOptionElement::SelectiveAcknowledgement(..))));
            let number = (tcp.acknowledgment_number() - 1) / PAYLOAD;
            let (at, count) = repeated.entry(number).or_insert((0, 0));
            if missing && step >= *at {
                (*at, *count) = (step + 30, *count + 1);
                pair.send(from, &segment(from, number));
            }
        }
    }
    let count = repeated.values().map(|&(_, count)| count).sum();
    (had, count)
}

fn counters(pair: &Pair, node: usize) -> PeerCounters {
    pair.status(node).peers[0].counters
}

#[test]
fn what_the_air_lost_is_repaired_as_it_was_or_coded_and_nobody_is_told() {
    let road = Road { loss: 0.03, ..Road::default() };
    let mut without = pair(Policy::Off, None, road);
    let (had, repeated) = carry(&mut without, 400);
    assert!(had.len() == 400 && repeated >= 8, "{} arrive, {repeated} again", had.len());
    assert!(without.status(GATEWAY).peers[0].recover.is_none());
    for (settings, is_coded) in
        [(coded(1), false), (coded(3), true), (Settings { buffer_packets: 10, ..Settings::default() }, true)]
    {
        let mut with = pair(Policy::Off, Some(settings), road);
        let (had, repeated) = carry(&mut with, 400);
        let [gateway, station] = [GATEWAY, STATION].map(|node| counters(&with, node));
        assert_eq!(had.len(), 400, "{settings:?}: {gateway:?}");
        assert!(repeated <= 3, "{settings:?}: {repeated} {gateway:?}");
        assert!(gateway.acks_suppressed > 20, "{gateway:?}");
        assert_eq!(gateway.segments_repaired_coded > 2, is_coded, "{gateway:?}");
        assert_eq!(gateway.segment_repairs_dropped, 0, "{gateway:?}");
        assert_eq!(station.coded_restored > 2, is_coded, "{station:?}");
        assert!(station.coded_not_restored <= station.coded_restored, "{station:?}");
        let kept = with.status(GATEWAY).peers[0].recover.unwrap();
        assert_eq!(kept.flows, 1);
        assert!(kept.bytes < 42 * 1000, "{kept:?}");
    }
}

#[test]
fn segments_are_as_long_with_combinations_as_without_and_what_is_too_long_is_cut() {
    for settings in [None, Some(coded(1)), Some(coded(3))] {
        let pair = pair(Policy::Off, settings, Road::default());
        assert_eq!(pair.node(GATEWAY).max_packet_bytes(), segment(GATEWAY, 0).len(), "{settings:?}");
    }
    // pieces are lost as anything is: what is left of them does no harm
    let mut lossy = pair(Policy::Off, Some(coded(4)), Road { loss: 0.2, ..Road::default() });
    lossy.medium.recording = Some(Vec::new());
    carry(&mut lossy, 300);
    let longest = lossy.medium.recording.iter().flatten().map(|(_, datagram)| datagram.len()).max();
    assert_eq!(longest, Some(1452));
    let [gateway, station] = [GATEWAY, STATION].map(|node| counters(&lossy, node));
    assert!(gateway.segments_repaired_coded > 20, "{gateway:?}");
    assert!(station.coded_restored > 5, "{station:?}");
    assert!(station.coded_restored + station.coded_not_restored < gateway.segments_repaired_coded);
    assert_eq!((gateway.segment_repairs_dropped, station.bad_frames), (0, 0), "{gateway:?} {station:?}");
}

#[test]
fn what_the_air_lost_of_what_a_station_sends_is_told_to_it_and_its_tcp_is_not() {
    let road = Road { loss: 0.03, ..Road::default() };
    let mut without = pair(Policy::Off, None, road);
    let (had, repeated) = carry_from(&mut without, STATION, 400);
    assert!(had.len() == 400 && repeated >= 8, "{} arrive, {repeated} again", had.len());
    let mut with = pair(Policy::Off, Some(Settings::default()), road);
    let (had, repeated) = carry_from(&mut with, STATION, 400);
    let [gateway, station] = [GATEWAY, STATION].map(|node| counters(&with, node));
    assert_eq!(had.len(), 400, "{station:?}");
    assert!(repeated <= 3, "{repeated} {station:?}");
    assert!(gateway.notices_sent >= 5 && station.notices_received >= 5, "{gateway:?} {station:?}");
    assert!(station.segments_repaired >= 5 && station.acks_suppressed > 10, "{station:?}");
    assert_eq!(gateway.bad_frames + station.bad_frames, 0);
    // whoever repairs its own losses is told by receipts
    let mut both = pair(Policy::Adaptive, Some(Settings::default()), road);
    carry_from(&mut both, STATION, 100);
    assert_eq!(counters(&both, GATEWAY).notices_sent, 0);
}

#[test]
fn where_the_hop_repairs_its_losses_itself_and_leads_to_the_receiver_segments_are_left_to_it() {
    let road = Road { loss: 0.03, ..Road::default() };
    let mut both = pair(Policy::Adaptive, Some(Settings { buffer_packets: 40, ..Settings::default() }), road);
    let (had, _) = carry(&mut both, 400);
    let gateway = counters(&both, GATEWAY);
    let repaired = gateway.recovered + counters(&both, STATION).restored;
    assert!(had.len() == 400 && repaired >= 5, "{} {gateway:?}", had.len());
    let from_here = gateway.segments_repaired + gateway.segments_repaired_coded;
    assert_eq!((from_here, gateway.acks_suppressed, gateway.acks_stripped), (0, 0, 0), "{gateway:?}");
    assert_eq!(both.status(GATEWAY).peers[0].recover.unwrap().bytes, 0);
}

#[test]
fn a_station_keeps_nothing_for_a_gateway_that_does_not_code() {
    let mut plain = pair(Policy::Off, Some(coded(1)), Road::default());
    carry(&mut plain, 20);
    // a coded repair from whoever said that it sends none is no frame of its
    let settings = Settings { coding: Coding::Off, ..coded(1) };
    let mut off = pair(Policy::Off, Some(settings), Road { loss: 0.1, ..Road::default() });
    carry(&mut off, 100);
    assert_eq!(counters(&off, STATION).coded_restored + counters(&off, STATION).coded_not_restored, 0);
    assert_eq!(counters(&off, STATION).bad_frames, 0);
}
