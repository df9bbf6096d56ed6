//! Several source ports for one peer.

use crate::pair::{GATEWAY, Pair, Road, STATION, repetitive};
use node::Event;
use published::policy::RETRIEVE_ON_MISS;
use re::{Parameters, Policy};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);

fn pair(policy: Policy, road: Road, ports: [usize; 2]) -> Pair {
    let parameters = Parameters { policy, store_bytes: 1 << 20, ..Parameters::default() };
    let mut pair = Pair::new(51, road, &parameters);
    for node in [GATEWAY, STATION] {
        pair.configs[node].source_ports = ports[node];
        pair.reboot(node);
    }
    pair.run(5 * SECOND);
    pair
}

/// A packet of one of many flows.
fn packet(to: usize, flow: u16, number: u32, payload: &[u8]) -> Vec<u8> {
    let (gateway, station) = ([10, 0, 0, 1], [10, 0, 0, 2]);
    let (source, destination) = if to == STATION { (gateway, station) } else { (station, gateway) };
    let mut packet = Vec::new();
    let payload = [&number.to_be_bytes(), payload].concat();
    etherparse::PacketBuilder::ipv4(source, destination, 64)
        .udp(1000 + flow, 7)
        .write(&mut packet, &payload)
        .unwrap();
    packet
}

fn roamed(pair: &Pair) -> usize {
    pair.events().iter().filter(|(_, _, event)| matches!(event, Event::Roamed { .. })).count()
}

#[test]
fn flows_spread_over_the_ports_both_ways_each_keeps_to_one_and_nobody_is_thought_to_move() {
    for policy in [Policy::Acked, Policy::Adaptive] {
        for loss in [0.0, 0.05] {
            let mut pair = pair(policy, Road { loss, ..Road::default() }, [1, 4]);
            let mut ways: [BTreeMap<u16, BTreeSet<(usize, SocketAddr)>>; 2] = Default::default();
            let payloads = repetitive(8, 40);
            let moves = roamed(&pair);
            for number in 0..20 {
                for flow in 0..40 {
                    for from in [GATEWAY, STATION] {
                        pair.medium.ways[from].clear();
                        pair.send(from, &packet(1 - from, flow, number, &payloads[usize::from(flow)]));
                        // the first datagram that leaves for a packet that nothing waits before holds it,
                        // when nothing else is due
                        if let [way] = pair.medium.ways[from][..] {
                            ways[from].entry(flow).or_default().insert(way);
                        }
                        pair.run(MS);
                    }
                }
            }
            pair.run(SECOND);
            for from in [GATEWAY, STATION] {
                let all: BTreeSet<_> = ways[from].values().flatten().collect();
                assert_eq!(all.len(), 4, "{policy} {loss}: {all:?}");
                if loss == 0.0 && policy == Policy::Acked {
                    let kept = ways[from].values().filter(|ways| ways.len() == 1).count();
                    assert!(kept >= 36, "{kept} of 40 flows had one way: {:?}", ways[from]);
                }
            }
            assert_eq!(roamed(&pair), moves, "{policy} {loss}");
            let (gateway, station) = (&pair.status(GATEWAY).peers[0], &pair.status(STATION).peers[0]);
            assert_eq!((station.source_ports, gateway.heard_ports), (4, 4));
            assert_eq!((gateway.source_ports, station.heard_ports), (1, 1));
            assert_eq!(gateway.endpoint, Some(pair.address(STATION)));
            for node in [GATEWAY, STATION] {
                let got = pair.delivered(node).len() as f64;
                assert!(got >= 800.0 * (1.0 - 1.6 * loss) && got <= 800.0, "{policy} {loss}: {got}");
            }
        }
    }
}

#[test]
fn in_a_flow_nothing_is_reordered() {
    let mut pair = pair(Policy::Acked, Road::default(), [1, 8]);
    for number in 0..200 {
        for flow in 0..10 {
            pair.send(STATION, &packet(GATEWAY, flow, number, b"in order"));
        }
        pair.run(MS);
    }
    pair.run(SECOND);
    let mut last = BTreeMap::new();
    assert_eq!(pair.delivered(GATEWAY).len(), 2000);
    for packet in pair.delivered(GATEWAY) {
        let number = u32::from_be_bytes(packet[28..32].try_into().unwrap());
        assert!(last.insert(packet[20..22].to_vec(), number).is_none_or(|before| before < number));
    }
}

#[test]
fn keepalives_hold_every_port_open_and_one_port_says_nothing_more_than_before() {
    for (ports, expected) in [(4, 4), (1, 1)] {
        let mut pair = pair(Policy::Acked, Road::default(), [1, ports]);
        pair.run(60 * SECOND);
        pair.medium.ways[STATION].clear();
        pair.run(26 * SECOND);
        let used: BTreeSet<usize> = pair.medium.ways[STATION].iter().map(|(port, _)| *port).collect();
        assert_eq!(used.len(), expected);
        assert!(pair.medium.ways[STATION].len() <= 2 * expected, "{:?}", pair.medium.ways[STATION]);
    }
}

#[test]
fn a_station_that_moves_takes_its_ports_along() {
    let mut pair = pair(Policy::Acked, Road::default(), [1, 4]);
    pair.move_to(STATION, "203.0.113.50:5000".parse().unwrap());
    for number in 0..100 {
        for flow in 0..20 {
            pair.send(STATION, &packet(GATEWAY, flow, number, b"from elsewhere"));
        }
        pair.run(5 * MS);
    }
    let endpoint = pair.status(GATEWAY).peers[0].endpoint.unwrap();
    assert_eq!(endpoint, pair.address(STATION));
    pair.take_delivered(STATION);
    for flow in 0..40 {
        pair.send(GATEWAY, &packet(STATION, flow, 1, b"to there"));
    }
    pair.run(SECOND);
    assert_eq!(pair.delivered(STATION).len(), 40);
}

#[test]
fn packets_as_large_as_may_be_pass_on_every_port_also_when_they_are_sent_again() {
    for policy in [Policy::Off, Policy::Adaptive, RETRIEVE_ON_MISS] {
        let mut pair = pair(policy, Road { loss: 0.1, carries: 1452, ..Road::default() }, [1, 4]);
        let most = 1452 - node::AROUND_PACKET - node::LANE_BYTES;
        let mut state = 1u64;
        for number in 0..50 {
            for flow in 0..10 {
                let random = std::iter::repeat_with(|| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (state >> 56) as u8
                });
                let payload: Vec<u8> = random.take(most - 28 - 4).collect();
                pair.send(STATION, &packet(GATEWAY, flow, number, &payload));
                pair.run(2 * MS);
            }
        }
        pair.run(2 * SECOND);
        let got = pair.delivered(GATEWAY).len();
        assert!(got >= if policy == Policy::Adaptive { 495 } else { 420 }, "{policy}: {got}");
        let peer = &pair.status(STATION).peers[0];
        assert_eq!((peer.counters.too_large, peer.counters.black_holes), (0, 0), "{policy}");
    }
}
