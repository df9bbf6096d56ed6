//! Messages that segments did not reach a host.

use super::wire::{Pair, START, ends, read_all, settings};
use crate::tcp::{Connection, State, Undelivered};
use etherparse::PacketBuilder;
use proptest::prelude::*;
use std::time::Duration;

/// The message of a router about a segment: that a link takes `most` bytes, or that no way leads on.
fn message(segment: &[u8], most: Option<u16>) -> Vec<u8> {
    let mut packet = Vec::new();
    let about = &segment[..segment.len().min(60)];
    let [high, low] = most.unwrap_or(0).to_be_bytes();
    if segment[0] >> 4 == 4 {
        let to = segment[12..16].try_into().unwrap();
        let code = if most.is_some() { 4 } else { 1 };
        let icmp = PacketBuilder::ipv4([192, 0, 2, 1], to, 64).icmpv4_raw(3, code, [0, 0, high, low]);
        icmp.write(&mut packet, about).unwrap();
    } else {
        let to = segment[8..24].try_into().unwrap();
        let kind = if most.is_some() { 2 } else { 1 };
        let icmp = PacketBuilder::ipv6([0x20; 16], to, 64).icmpv6_raw(kind, 0, [0, 0, high, low]);
        icmp.write(&mut packet, about).unwrap();
    }
    packet
}

fn emitted(connection: &mut Connection, now: Duration) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    connection.poll(now, &mut |packet: &[u8]| packets.push(packet.to_vec()));
    packets
}

#[test]
fn an_unreachable_host_refuses_and_a_message_about_another_segment_does_nothing() {
    for is_v6 in [false, true] {
        let [source, destination] = ends(is_v6);
        let mut client = Connection::connect(START, source, destination, settings(5));
        let syn = emitted(&mut client, START).remove(0);
        let mut foreign = syn.clone();
        foreign[if is_v6 { 40 } else { 20 } + 4] ^= 1;
        let foreign = Undelivered::parse(&message(&foreign, None)).unwrap();
        client.handle_undelivered(START, &foreign);
        assert_eq!(client.state(), State::Opening);

        let mut damaged = message(&syn, None);
        *damaged.last_mut().unwrap() ^= 1;
        assert!(Undelivered::parse(&damaged).is_none());
        let unreachable = Undelivered::parse(&message(&syn, None)).unwrap();
        assert_eq!((unreachable.ours, unreachable.host), (source, destination));
        client.handle_undelivered(START, &unreachable);
        assert_eq!(client.state(), State::Refused);
        assert_eq!(emitted(&mut client, START), Vec::<Vec<u8>>::new());
        assert_eq!(client.timeout(START), None);
    }
}

#[test]
fn an_open_connection_survives_an_unreachable_host() {
    let mut pair = Pair::clean(false);
    pair.open();
    pair.client.write(b"question");
    let segment = emitted(&mut pair.client, pair.now).remove(0);
    let unreachable = Undelivered::parse(&message(&segment, None)).unwrap();
    pair.client.handle_undelivered(pair.now, &unreachable);
    assert_eq!(pair.client.state(), State::Open);
}

#[test]
fn a_narrow_path_makes_segments_shorter_and_those_under_way_leave_again() {
    for (is_v6, least) in [(false, 576), (true, 1280)] {
        for most in [1300, 100] {
            let mut pair = Pair::clean(is_v6);
            pair.open();
            // the host says its window in an ordinary segment
            pair.server().write(b"220 ready");
            let mut came = Vec::new();
            assert!(pair.run(Duration::from_secs(1), |pair| {
                read_all(&mut pair.client, &mut came);
                came.len() == 9
            }));
            let bytes: Vec<u8> = (0..9000u32).map(|index| (index / 7) as u8).collect();
            assert_eq!(pair.client.write(&bytes), bytes.len());
            let lost = emitted(&mut pair.client, pair.now);
            assert!(lost.len() >= 6 && lost[0].len() == 1500, "{}", lost.len());
            let narrow = Undelivered::parse(&message(&lost[0], Some(most))).unwrap();
            pair.client.handle_undelivered(pair.now, &narrow);
            let again = emitted(&mut pair.client, pair.now);
            let longest = again.iter().map(Vec::len).max();
            assert_eq!(longest, Some(usize::from(most).max(least)), "they leave again at once");
            for packet in again {
                let now = pair.now;
                pair.server().handle_packet(now, &packet);
            }
            let mut heard = Vec::new();
            assert!(pair.run(Duration::from_secs(5), |pair| {
                read_all(pair.server(), &mut heard);
                heard.len() == bytes.len()
            }));
            assert!(heard == bytes);
        }
    }
}

proptest! {
    #[test]
    fn any_message_is_survived(
        is_v6: bool, mut tail in proptest::collection::vec(any::<u8>(), 0..120), most: Option<u16>,
        at in 0usize..200, change: u8,
    ) {
        let _ = Undelivered::parse(&tail);
        let mut pair = Pair::clean(is_v6);
        pair.open();
        pair.client.write(&[1; 5000]);
        let segment = emitted(&mut pair.client, pair.now).remove(0);
        let mut packet = message(&segment, most);
        packet.append(&mut tail);
        let at = at % packet.len();
        packet[at] ^= change;
        if let Some(message) = Undelivered::parse(&packet) {
            pair.client.handle_undelivered(pair.now, &message);
        }
        emitted(&mut pair.client, pair.now);
    }
}
