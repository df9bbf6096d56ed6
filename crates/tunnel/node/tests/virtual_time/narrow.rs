//! Paths that carry less than the interface: found by probes that the peer answers, told to whoever sends too
//! much.

use crate::pair::{GATEWAY, Pair, Road, STATION, repetitive, tcp};
use etherparse::{Icmpv4Type, Ipv4Header, SlicedPacket, TransportSlice, icmpv4::DestUnreachableHeader};
use published::policy::RETRIEVE_ON_MISS;
use re::{Parameters, Policy};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);
const AROUND: usize = node::AROUND_PACKET;

fn pair(policy: Policy, road: Road) -> Pair {
    let parameters = Parameters { policy, store_bytes: 1 << 20, ..Parameters::default() };
    let mut pair = Pair::new(21, road, &parameters);
    pair.run(5 * SECOND);
    pair
}

/// A packet to the station of so many bytes that repeats nothing, which may be fragmented or not.
fn large(number: u32, bytes: usize, whole: bool) -> Vec<u8> {
    let mut state = u64::from(number) << 20 | 1;
    let mut payload = Vec::new();
    while payload.len() < bytes - 40 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        payload.push((state >> 56) as u8);
    }
    let packet = tcp(STATION, number * 2000, &payload);
    let (mut header, rest) = Ipv4Header::from_slice(&packet).unwrap();
    header.dont_fragment = whole;
    header.header_checksum = header.calc_header_checksum();
    [&header.to_bytes(), rest].concat()
}

/// The MTU that an ICMP message gave to the sender.
fn told(pair: &mut Pair) -> Option<usize> {
    let message = pair.take_delivered(GATEWAY).pop()?;
    let Some(TransportSlice::Icmpv4(icmp)) = SlicedPacket::from_ip(&message).unwrap().transport else {
        panic!("only ICMP is for the gateway")
    };
    match icmp.icmp_type() {
        Icmpv4Type::DestinationUnreachable(DestUnreachableHeader::FragmentationNeeded { next_hop_mtu }) => {
            Some(next_hop_mtu.into())
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn on_an_ordinary_path_nothing_is_probed_and_nothing_changes() {
    for policy in [Policy::Off, Policy::Acked, Policy::Adaptive] {
        for loss in [0.0, 0.2] {
            let mut pair = pair(policy, Road { loss, ..Road::default() });
            for number in 0..500 {
                pair.send(GATEWAY, &large(number, 1452 - AROUND, true));
                pair.run(10 * MS);
            }
            pair.run(SECOND);
            let status = pair.status(GATEWAY).peers[0].clone();
            // the last receipt may be lost, or a repair be waited for
            let most = u64::from(loss > 0.0);
            assert!(status.counters.path_probes <= most, "{policy} {loss}");
            assert_eq!(status.counters.too_large, 0, "{policy} {loss}");
            assert_eq!(status.path_mtu_bytes, Some(1480));
            assert!(status.path_mtu_confirmed);
        }
    }
}

#[test]
fn a_sender_is_told_what_a_narrow_path_carries_and_then_that_passes() {
    for policy in [Policy::Off, Policy::Acked, RETRIEVE_ON_MISS, Policy::Adaptive] {
        for loss in [0.0, 0.1] {
            let mut pair = pair(policy, Road { loss, carries: 1301, ..Road::default() });
            let (mut bytes, mut number) = (1452 - AROUND, 0);
            let end = pair.now() + 20 * SECOND;
            while pair.now() < end {
                pair.send(GATEWAY, &large(number, bytes, true));
                number += 1;
                pair.run(50 * MS);
                if let Some(fits) = told(&mut pair) {
                    assert!(fits < bytes);
                    bytes = fits;
                }
            }
            // the path is searched while the sender keeps to the least that it was told
            let status = pair.status(GATEWAY).peers[0].clone();
            let limit = status.path_mtu_bytes.unwrap() as usize - 28;
            assert!((1293..=1301).contains(&limit), "{policy} {loss}: {limit} {:?}", status.counters);
            assert!(status.counters.black_holes >= 1 && status.counters.icmp_sent >= 1);
            pair.take_delivered(STATION);
            for _ in 0..100 {
                pair.send(GATEWAY, &large(number, limit - AROUND, true));
                number += 1;
                pair.run(20 * MS);
            }
            let passed = pair.delivered(STATION).len();
            assert!(passed as f64 >= 100.0 * (1.0 - 2.0 * loss), "{policy} {loss}: {passed}");
        }
    }
}

#[test]
fn what_may_be_fragmented_is_and_arrives_whole() {
    let mut pair = pair(Policy::Acked, Road { carries: 1301, ..Road::default() });
    for number in 0..200 {
        pair.send(GATEWAY, &large(number, 1452 - AROUND, false));
        pair.run(50 * MS);
    }
    pair.take_delivered(STATION);
    let packet = large(999, 1452 - AROUND, false);
    pair.send(GATEWAY, &packet);
    pair.run(SECOND);
    let parts = pair.delivered(STATION);
    assert_eq!(parts.len(), 2);
    let together = [&parts[0][20..], &parts[1][20..]].concat();
    assert!(together == packet[20..]);
    let counters = pair.status(GATEWAY).peers[0].counters;
    assert!(counters.fragmented > 0 && counters.icmp_sent == 0, "{counters:?}");
}

#[test]
fn a_path_that_narrows_while_packets_wait_holds_nothing_up() {
    for policy in [Policy::Acked, Policy::Adaptive] {
        let mut pair = pair(policy, Road::default());
        for (number, payload) in repetitive(3, 100).iter().enumerate() {
            pair.send(GATEWAY, &tcp(STATION, number as u32 * 1200, payload));
            pair.run(5 * MS);
        }
        pair.medium.road.carries = 1000;
        for number in 0..400 {
            pair.send(GATEWAY, &large(number, 1200, true));
            pair.send(GATEWAY, &tcp(STATION, number, b"small"));
            pair.run(50 * MS);
        }
        pair.take_delivered(STATION);
        let packet = tcp(STATION, 77, b"the last");
        pair.send(GATEWAY, &packet);
        pair.run(SECOND);
        assert_eq!(pair.take_delivered(STATION).pop(), Some(packet), "{policy}");
        let limit = pair.status(GATEWAY).peers[0].path_mtu_bytes.unwrap() as usize - 28;
        assert!((992..=1000).contains(&limit), "{policy}: {limit}");
    }
}
