//! Packets that go past redundancy elimination while the processor is the bottleneck.

use crate::pair::{GATEWAY, Pair, Road, STATION, repetitive, tcp};
use node::PeerCounters;
use re::{Parameters, Policy};
use std::collections::BTreeSet;
use std::time::Duration;
use wire::frame::{self, FrameType, Frames};

const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);

/// Two nodes whose session stands.
fn pair(policy: Policy, road: Road) -> Pair {
    let parameters = Parameters { policy, store_bytes: 1 << 20, ..Parameters::default() };
    let mut pair = Pair::new(61, road, &parameters);
    pair.run(20 * SECOND);
    pair
}

/// Packets to the station, one each three milliseconds. The gateway's processor is short as `is_short` says
/// by the number.
fn carry(pair: &mut Pair, packets: &[Vec<u8>], is_short: impl Fn(usize) -> bool) {
    for (number, packet) in packets.iter().enumerate() {
        pair.node_mut(GATEWAY).set_processor_short(is_short(number));
        pair.send(GATEWAY, packet);
        pair.run(3 * MS);
    }
    pair.run(5 * SECOND);
}

fn packets(seed: u64, count: usize) -> Vec<Vec<u8>> {
    let payloads = repetitive(seed, count);
    (0..).zip(&payloads).map(|(number, payload)| tcp(STATION, number * 1200, payload)).collect()
}

fn counters(pair: &Pair) -> [PeerCounters; 2] {
    [GATEWAY, STATION].map(|at| pair.status(at).peers[0].counters)
}

/// The types of the frames that go to the station.
fn types(pair: &mut Pair) -> BTreeSet<FrameType> {
    let plaintexts = pair.medium.plaintexts.take().unwrap();
    let mut types = BTreeSet::new();
    for mut plaintext in plaintexts.iter().map(Vec::as_slice) {
        frame::parse_sequence(&mut plaintext).unwrap();
        types.extend(Frames::new(plaintext).filter_map(|frame| frame.unwrap().frame_type));
    }
    types
}

#[test]
fn while_the_processor_is_short_packets_pass_and_afterwards_what_repeats_is_removed_again() {
    let mut pair = pair(Policy::Adaptive, Road::default());
    let packets = packets(1, 900);
    pair.medium.plaintexts = Some(Vec::new());
    carry(&mut pair, &packets[..300], |_| true);
    let [gateway, _] = counters(&pair);
    assert_eq!((gateway.unstored_packets, gateway.reduced_packets), (300, 0));
    assert_eq!(gateway.shortened_bytes + gateway.removed_bytes, 0);
    let types = types(&mut pair);
    assert!(types.contains(&FrameType::Unstored) && !types.contains(&FrameType::Packet), "{types:?}");
    carry(&mut pair, &packets[300..], |_| false);
    let [gateway, station] = counters(&pair);
    assert_eq!((gateway.unstored_packets, station.missed), (300, 0));
    assert!(gateway.removed_bytes > 300_000, "{gateway:?}");
    assert_eq!(pair.delivered(STATION), packets);
}

#[test]
fn under_losses_passing_packets_come_again_and_no_reference_misses() {
    let road = Road { delay: 30 * MS, loss: 0.05, reorder: 0.2, duplicate: 0.02, ..Road::default() };
    for policy in [Policy::Acked, Policy::Adaptive] {
        let mut pair = pair(policy, road);
        let packets = packets(2, 4000);
        pair.medium.plaintexts = Some(Vec::new());
        // 16 full stores, with stretches of all lengths past them
        carry(&mut pair, &packets, |number| (number / 37) % 3 == 0 || number % 11 == 0);
        let [gateway, station] = counters(&pair);
        assert!(gateway.unstored_packets > 1000 && gateway.removed_bytes > 300_000, "{gateway:?}");
        assert_eq!(station.missed_wrong_bytes + station.bad_frames, 0, "{station:?}");
        let types = types(&mut pair);
        match policy {
            Policy::Acked => assert_eq!(station.missed, 0, "{station:?}"),
            _ => assert!(types.contains(&FrameType::AgainUnstored), "{types:?}"),
        }
        let sent: BTreeSet<&Vec<u8>> = packets.iter().collect();
        let came: BTreeSet<&Vec<u8>> = pair.delivered(STATION).iter().collect();
        // marks of congestion change a byte of the header
        assert!(came.iter().all(|packet| sent.contains(packet) || packet[1] & 3 != 0), "{policy}");
        let least = if policy == Policy::Acked { 3700 } else { 3990 };
        assert!(came.len() > least, "{policy}: {}", came.len());
    }
}
