//! Marks of congestion and traffic classes across the tunnel (RFC 6040, RFC 2983).

use crate::pair::{GATEWAY, Pair, Road, STATION, repetitive, tcp};
use etherparse::{IpDscp, IpEcn, Ipv4Header};
use published::policy::RETRIEVE_ON_MISS;
use re::{Parameters, Policy};
use std::collections::BTreeMap;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);
const CE: u8 = 0b11;

/// A TCP packet to the station of this traffic class.
fn of_class(class: u8, sequence: u32, payload: &[u8]) -> Vec<u8> {
    let packet = tcp(STATION, sequence, payload);
    with_class(&packet, class)
}

fn with_class(packet: &[u8], class: u8) -> Vec<u8> {
    let (mut header, rest) = Ipv4Header::from_slice(packet).unwrap();
    (header.dscp, header.ecn) = (IpDscp::try_new(class >> 2).unwrap(), IpEcn::try_new(class & 3).unwrap());
    header.header_checksum = header.calc_header_checksum();
    [&header.to_bytes(), rest].concat()
}

fn pair(policy: Policy, road: Road) -> Pair {
    let parameters = Parameters { policy, store_bytes: 1 << 20, ..Parameters::default() };
    let mut pair = Pair::new(11, road, &parameters);
    pair.run(5 * SECOND);
    pair
}

#[test]
fn a_datagram_has_the_class_of_its_packets_and_control_has_none() {
    let mut pair = pair(Policy::Acked, Road::default());
    for class in [0, 46 << 2, 46 << 2 | 2, 1, CE] {
        pair.medium.classes[GATEWAY].clear();
        pair.send(GATEWAY, &of_class(class, 1, b"x"));
        assert_eq!(pair.medium.classes[GATEWAY], [class]);
        pair.run(SECOND);
        assert_eq!(pair.take_delivered(STATION).pop().unwrap()[1], class, "it arrives as it was");
    }
    assert!(
        pair.medium.classes[STATION].iter().all(|class| *class == 0),
        "receipts: {:?}",
        pair.medium.classes[STATION]
    );
}

#[test]
fn a_repair_has_the_dscp_of_its_newest_packet_and_no_codepoint_of_ecn() {
    const VOICE: u8 = 46 << 2;
    let mut pair = pair(Policy::Adaptive, Road { loss: 0.1, ..Road::default() });
    let classes: Vec<u8> = (0..400u32)
        .flat_map(|number| {
            pair.medium.classes[GATEWAY].clear();
            pair.send(GATEWAY, &of_class(VOICE | 2, number, &number.to_be_bytes()));
            pair.run(SECOND / 50);
            pair.medium.classes[GATEWAY].clone()
        })
        .collect();
    let sent = |class| classes.iter().filter(|it| **it == class).count();
    let repairs = pair.status(GATEWAY).peers[0].counters.repairs_sent as usize;
    assert!(repairs > 100, "{repairs}");
    assert!(sent(VOICE).abs_diff(repairs) <= 5, "{repairs} repairs, {} datagrams", sent(VOICE));
    assert!(sent(VOICE | 2) >= 400);
}

/// The class of a repeated packet is that of the packet, and whatever is repaired, reduced, parked or
/// restored late has the mark of the datagram that brought it: bytes are right, and only what may be marked
/// is.
#[test]
fn marks_survive_reduction_loss_and_repair_and_nothing_else_changes() {
    for policy in [Policy::Off, Policy::Acked, RETRIEVE_ON_MISS, Policy::Adaptive] {
        for loss in [0.0, 0.05] {
            let road = Road { loss, mark: 0.3, ..Road::default() };
            let mut pair = pair(policy, road);
            let mut sent = BTreeMap::new();
            let mut sequence = 1;
            for (number, payload) in repetitive(5, 600).iter().enumerate() {
                let packet = of_class([0, 2, 46 << 2 | 1][number % 3], sequence, payload);
                pair.send(GATEWAY, &packet);
                sent.insert(sequence, packet);
                sequence += payload.len() as u32;
                pair.run(2 * MS);
            }
            pair.run(2 * SECOND);
            let (mut capable, mut marked) = (0, 0);
            for packet in pair.delivered(STATION) {
                let original = &sent[&u32::from_be_bytes(packet[24..28].try_into().unwrap())];
                let class = original[1];
                let expected = if packet[1] == class | CE && class & CE != 0 {
                    with_class(original, class | CE)
                } else {
                    original.clone()
                };
                assert!(*packet == expected, "{policy}: class {class:#04x} came as {:#04x}", packet[1]);
                capable += usize::from(class & CE != 0);
                marked += usize::from(packet[1] & CE == CE);
            }
            let count = pair.delivered(STATION).len();
            assert!(count as f64 >= sent.len() as f64 * (1.0 - 1.5 * loss), "{policy} {loss}: {count}");
            let share = marked as f64 / capable as f64;
            assert!((share - 0.3).abs() < 0.07, "{policy} {loss}: {share}");
            let counters = pair.status(STATION).peers[0].counters;
            assert_eq!(counters.ecn_marked, marked as u64, "{counters:?}");
            assert_eq!((counters.ecn_dropped, counters.missed_wrong_bytes), (0, 0), "{counters:?}");
        }
    }
}

#[test]
fn a_mark_on_what_must_not_be_marked_drops_the_packet_and_is_counted() {
    let mut pair = pair(Policy::Acked, Road::default());
    let mut datagram = Vec::new();
    pair.offer_packet(GATEWAY, &of_class(0, 1, b"no ECN"));
    let transmit = pair.poll_transmit(GATEWAY, &mut datagram).unwrap();
    transmit.seal(&mut datagram);
    let from = pair.address(GATEWAY);
    pair.inject(STATION, from, CE, &datagram);
    assert!(pair.delivered(STATION).is_empty());
    let counters = pair.status(STATION).peers[0].counters;
    assert_eq!((counters.ecn_dropped, counters.ecn_odd), (1, 1));
}
