//! Handshakes, roaming, reboots, rekeys, strangers: what two nodes do before and beside carrying packets.

use crate::pair::{GATEWAY, Pair, Road, STATION, tcp};
use node::Event;
use std::time::Duration;
use wire::unit::Kind;

const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);

fn pair() -> Pair {
    Pair::new(1, Road::default(), &re::Parameters::default())
}

#[test]
fn a_station_with_a_keepalive_joins_by_itself_and_packets_flow_both_ways() {
    let mut pair = pair();
    pair.run(100 * MS);
    for to in [STATION, GATEWAY] {
        let packet = tcp(to, 1, b"hello");
        pair.send(1 - to, &packet);
        pair.run(100 * MS);
        assert_eq!(pair.delivered(to), [packet]);
    }
    let status = pair.status(GATEWAY);
    assert_eq!(status.peers[0].endpoint, Some(pair.address(STATION)));
    let srtt = pair.status(STATION).peers[0].srtt_seconds.unwrap();
    assert!((srtt - 0.020).abs() < 0.001, "{srtt}");
}

#[test]
fn a_session_comes_up_though_half_of_everything_is_lost() {
    let road = Road { loss: 0.5, ..Road::default() };
    let mut pair = Pair::new(5, road, &re::Parameters::default());
    pair.run(60 * SECOND);
    assert!(pair.status(STATION).peers[0].session_age_seconds.is_some());
}

#[test]
fn a_packet_that_waited_for_the_handshake_is_delivered() {
    let mut pair = pair();
    let packet = tcp(GATEWAY, 1, b"early");
    pair.send(STATION, &packet);
    pair.run(SECOND);
    assert_eq!(pair.delivered(GATEWAY), [packet]);
}

#[test]
fn a_gateway_that_restarted_is_noticed_within_a_round_trip_of_the_next_packet() {
    let mut pair = pair();
    pair.run(SECOND);
    pair.reboot(GATEWAY);
    pair.send(STATION, &tcp(GATEWAY, 1, b"lost: its key is forgotten"));
    // packet out, reset back, initiation out, response back
    pair.run(45 * MS);
    let packet = tcp(GATEWAY, 2, b"found");
    pair.send(STATION, &packet);
    pair.run(SECOND);
    assert_eq!(pair.delivered(GATEWAY), [packet]);
    // a repair may have followed the packet
    assert!((1..=2).contains(&pair.status(GATEWAY).refused.unknown_key));
}

#[test]
fn a_gateway_that_says_goodbye_and_comes_back_is_found_within_a_few_moments() {
    for away in [20 * MS, 100 * MS, 300 * MS] {
        let mut pair = pair();
        pair.run(SECOND);
        pair.node_mut(GATEWAY).close();
        pair.run(away);
        pair.reboot(GATEWAY);
        // the rest of a wait, and two round trips
        pair.run(away.max(50 * MS) + 90 * MS);
        assert!(pair.status(STATION).peers[0].session_age_seconds.is_some(), "away for {away:?}");
    }
}

#[test]
fn a_station_that_restarted_is_taken_up_at_once() {
    let mut pair = pair();
    pair.run(SECOND);
    pair.reboot(STATION);
    pair.run(SECOND);
    let packet = tcp(STATION, 1, b"hello again");
    pair.send(GATEWAY, &packet);
    pair.run(SECOND);
    assert_eq!(pair.delivered(STATION), [packet]);
    let new_boots = |(_, _, event): &&(_, _, Event)| matches!(event, Event::SessionUp { new_boot: true, .. });
    assert_eq!(pair.events().iter().filter(new_boots).count(), 4);
}

#[test]
fn a_station_may_change_its_address_in_the_middle() {
    let mut pair = pair();
    pair.run(SECOND);
    pair.move_to(STATION, "203.0.113.9:5555".parse().unwrap());
    pair.send(STATION, &tcp(GATEWAY, 1, b"from elsewhere"));
    pair.run(100 * MS);
    let packet = tcp(STATION, 1, b"to elsewhere");
    pair.send(GATEWAY, &packet);
    pair.run(100 * MS);
    assert_eq!(pair.delivered(STATION), [packet]);
    let roamed =
        pair.events().iter().any(|(_, _, event)| matches!(event, Event::Roamed { from: Some(_), .. }));
    assert!(roamed);
}

#[test]
fn keys_are_renewed_while_packets_flow_and_none_is_lost() {
    let mut pair = pair();
    pair.run(SECOND);
    for number in 0..1200 {
        pair.send(GATEWAY, &tcp(STATION, number, &[number as u8; 300]));
        pair.run(500 * MS);
    }
    assert_eq!(pair.delivered(STATION).len(), 1200);
    let sessions = pair.status(STATION).peers[0].counters.sessions;
    assert!((5..=7).contains(&sessions), "{sessions}");
}

#[test]
fn an_idle_station_keeps_its_address_alive() {
    let mut pair = pair();
    pair.run(SECOND);
    let before = pair.medium.sent_bytes;
    pair.run(100 * SECOND);
    let datagrams = pair.status(GATEWAY).peers[0].counters.outer_received_datagrams;
    assert!((4..=12).contains(&datagrams), "{datagrams}");
    assert!(pair.medium.sent_bytes[STATION] - before[STATION] < 1000);
}

#[test]
fn nothing_that_is_repeated_passes_a_second_time() {
    let mut pair = pair();
    pair.medium.recording = Some(Vec::new());
    pair.run(SECOND);
    pair.send(GATEWAY, &tcp(STATION, 1, b"once"));
    pair.run(SECOND);
    let (sessions, delivered) =
        (pair.status(GATEWAY).peers[0].counters.sessions, pair.delivered(STATION).len());
    for (from, datagram) in pair.medium.recording.take().unwrap() {
        let attacker = "203.0.113.66:6666".parse().unwrap();
        pair.inject(1 - from, attacker, 0, &datagram);
    }
    pair.run(SECOND);
    assert_eq!(pair.delivered(STATION).len(), delivered);
    assert_eq!(pair.status(GATEWAY).peers[0].counters.sessions, sessions);
    assert_eq!(pair.status(GATEWAY).peers[0].endpoint, Some(pair.address(STATION)));
    assert!(pair.status(STATION).refused.replay >= 1);
    let packet = tcp(STATION, 2, b"twice");
    pair.send(GATEWAY, &packet);
    pair.run(SECOND);
    assert_eq!(pair.delivered(STATION).last(), Some(&packet));
}

#[test]
fn the_initiation_of_an_earlier_boot_does_not_end_the_session_in_use() {
    let mut pair = pair();
    pair.medium.recording = Some(Vec::new());
    pair.reboot(STATION);
    pair.run(SECOND);
    let old = pair.medium.recording.take().unwrap();
    pair.reboot(STATION);
    pair.run(SECOND);
    for (_, datagram) in old.iter().filter(|(from, _)| *from == STATION) {
        pair.inject(GATEWAY, "203.0.113.66:6666".parse().unwrap(), 0, datagram);
    }
    pair.run(SECOND);
    let packet = tcp(STATION, 1, b"still here");
    pair.send(GATEWAY, &packet);
    pair.run(SECOND);
    assert_eq!(pair.delivered(STATION), [packet]);
}

/// Where an attacker speaks from.
fn attacker() -> std::net::SocketAddr {
    "203.0.113.66:6666".parse().unwrap()
}

/// Everything that the station has sent so far, after so many boots of it.
fn recorded_boots(pair: &mut Pair, boots: usize) -> Vec<Vec<u8>> {
    pair.medium.recording = Some(Vec::new());
    for _ in 0..boots {
        pair.reboot(STATION);
        pair.run(SECOND / 2);
    }
    let recording = pair.medium.recording.take().unwrap();
    recording.into_iter().filter(|(from, _)| *from == STATION).map(|(_, datagram)| datagram).collect()
}

/// Each recording has a higher number than the station's, and the gateway remembers none of them. No pair of
/// them takes away the place of a session that waits for the station's first unit, or raises the number that
/// the station has to be above: three round trips suffice.
#[test]
fn recordings_of_higher_numbers_do_not_crowd_a_station_out() {
    // many at once, and one after each challenge
    let challenged = recordings_arrive_every(40 * MS).handshake_challenged;
    assert!(challenged > 0, "the waiting list is full");
    recordings_arrive_every(150 * MS);
}

/// The station is connected within three round trips of 150 ms, and what the gateway has refused by then.
fn recordings_arrive_every(pause: Duration) -> node::Refused {
    const DELAY: Duration = Duration::from_millis(75);
    let mut pair = Pair::new(1, Road { delay: DELAY, ..Road::default() }, &re::Parameters::default());
    let recorded = recorded_boots(&mut pair, 100);
    let initiations: Vec<_> = recorded
        .iter()
        .filter(|it| wire::unit::parse(&mut &it[..]).unwrap().kind == Kind::Initiation)
        .collect();
    assert!(initiations.len() >= 100);
    pair.reboot(GATEWAY);
    pair.run(MS);
    pair.reboot_with_clock_set_back(STATION);
    let packet = tcp(GATEWAY, 1, b"here");
    let began = pair.now();
    pair.send(STATION, &packet);
    for initiation in initiations {
        pair.inject(GATEWAY, attacker(), 0, initiation);
        pair.run(pause);
        if pair.delivered(GATEWAY).last() == Some(&packet) {
            break;
        }
    }
    let delivered = pair.delivered(GATEWAY).last() == Some(&packet);
    assert!(delivered, "after {:?}", pair.now());
    let (took, most) = (pair.now() - began, 3 * 2 * DELAY + DELAY + pause);
    assert!(took <= most, "{took:?} of {most:?}");
    pair.status(GATEWAY).refused
}

/// Somebody on the path keeps the station's first sealed units of a boot, and lets them go in the next.
#[test]
fn a_withheld_unit_of_an_earlier_boot_does_not_end_the_session_in_use() {
    let mut pair = pair();
    pair.run(SECOND);
    pair.medium.recording = Some(Vec::new());
    pair.reboot(STATION);
    pair.run(15 * MS); // the response is on its way back
    pair.medium.cut = true;
    pair.run(200 * MS);
    let withheld = pair.medium.recording.take().unwrap();
    pair.medium.cut = false;
    pair.reboot(STATION);
    pair.run(SECOND);
    let sessions = pair.status(GATEWAY).peers[0].counters.sessions;
    for (_, datagram) in withheld.iter().filter(|(from, _)| *from == STATION) {
        pair.inject(GATEWAY, attacker(), 0, datagram);
    }
    pair.run(SECOND);
    assert_eq!(pair.status(GATEWAY).peers[0].counters.sessions, sessions, "none was taken up");
    let packet = tcp(STATION, 1, b"still here");
    pair.send(GATEWAY, &packet);
    pair.run(30 * MS);
    assert_eq!(pair.delivered(STATION), [packet]);
}

#[test]
fn another_version_another_network_and_noise_are_counted_and_change_nothing() {
    let mut pair = pair();
    pair.run(SECOND);
    let mut stranger = Pair::new(99, Road::default(), &re::Parameters::default());
    stranger.medium.recording = Some(Vec::new());
    stranger.reboot(STATION);
    let from = "203.0.113.66:6666".parse().unwrap();
    for (_, datagram) in stranger.medium.recording.take().unwrap() {
        pair.inject(GATEWAY, from, 0, &datagram);
    }
    pair.inject(GATEWAY, from, 0, &[0x30; 60]);
    pair.inject(GATEWAY, from, 0, b"x");
    pair.inject(GATEWAY, from, 0, &[0x10; 60]);
    let refused = pair.status(GATEWAY).refused;
    assert_eq!(
        (refused.handshake_mark, refused.other_version, refused.malformed, refused.unknown_key),
        (1, 1, 1, 1)
    );
}

/// A stranger without a key makes a node look up 16 key ids a datagram at most.
#[test]
fn of_a_datagram_of_many_units_the_first_sixteen_are_looked_at() {
    let mut pair = pair();
    pair.run(SECOND);
    // sealed units without a body: version, kind and length flag; key id, counter, length
    let datagram = [0x18, 0xff, 0xff, 0xff, 0, 0, 1, 0, 0].repeat(155);
    pair.inject(GATEWAY, attacker(), 0, &datagram);
    assert_eq!(pair.status(GATEWAY).refused.unknown_key, 16);
}

#[test]
fn a_flood_of_handshakes_is_answered_within_the_allowance() {
    let mut pair = pair();
    pair.medium.recording = Some(Vec::new());
    for _ in 0..200 {
        pair.reboot(STATION);
    }
    pair.medium.cut = true;
    let flood = pair.medium.recording.take().unwrap();
    let from = pair.address(STATION);
    for (_, datagram) in &flood {
        pair.inject(GATEWAY, from, 0, datagram);
    }
    let refused = pair.status(GATEWAY).refused;
    assert!(refused.handshake_rate >= 140, "{refused:?}");
}

#[test]
fn a_goodbye_ends_the_session_at_the_other_side() {
    let mut pair = pair();
    pair.run(SECOND);
    pair.node_mut(GATEWAY).close();
    pair.poll(GATEWAY);
    pair.run(15 * MS);
    let down =
        |(_, at, event): &(_, usize, Event)| *at == STATION && matches!(event, Event::SessionDown { .. });
    assert!(pair.events().iter().any(down));
}

#[test]
fn packets_that_lead_nowhere_are_counted() {
    let mut pair = pair();
    pair.run(SECOND);
    pair.offer_packet(GATEWAY, b"no packet");
    pair.offer_packet(GATEWAY, &tcp(GATEWAY, 0, b"to itself"));
    pair.offer_packet(GATEWAY, &tcp(STATION, 0, &[0; 1500]));
    let status = pair.status(GATEWAY);
    assert_eq!((status.refused.not_ip, status.refused.no_route), (1, 1));
    assert_eq!(status.peers[0].counters.too_large, 1);
}

#[test]
fn a_peer_cannot_send_from_an_address_that_is_not_its_own() {
    let mut pair = pair();
    pair.run(SECOND);
    // a packet from the gateway's address, sent by the station
    pair.send(STATION, &tcp(STATION, 0, b"spoofed"));
    pair.run(SECOND);
    pair.send(STATION, &tcp(STATION, 1, b"spoofed again"));
    pair.run(SECOND);
    assert_eq!(pair.status(GATEWAY).peers[0].counters.wrong_source, 2);
    assert!(pair.delivered(GATEWAY).is_empty());
    let is_told = |(_, node, event): &&(Duration, usize, Event)| {
        *node == GATEWAY && matches!(event, Event::WrongSource { .. })
    };
    assert_eq!(pair.events().iter().filter(is_told).count(), 1, "once a minute");
}

#[test]
fn a_member_of_the_network_that_is_no_peer_is_told_with_its_key_once_a_minute() {
    use rand::SeedableRng;
    let rng = &mut rand_chacha::ChaCha12Rng::seed_from_u64(31);
    let network = node::NetworkKey::generate(rng);
    let keys = [(); 3].map(|()| node::PrivateKey::generate(rng));
    let config = |own: &node::PrivateKey, peer: &node::PrivateKey, endpoint: Option<std::net::SocketAddr>| {
        let peer = node::PeerConfig {
            name: "peer".to_owned(),
            public_key: peer.public(),
            endpoint,
            allowed_ips: vec!["0.0.0.0/0".parse().unwrap()],
            keepalive: endpoint.map(|_| SECOND),
            bits_a_second: None,
        };
        node::Config::new(own.clone(), network.clone(), vec![peer])
    };
    let to = Some("192.0.2.1:4780".parse().unwrap());
    let from = "192.0.2.9:5000".parse().unwrap();
    let mut gateway = node::Node::new(config(&keys[0], &keys[2], None), [1; 32], Duration::ZERO).unwrap();
    let mut stranger = node::Node::new(config(&keys[1], &keys[0], to), [2; 32], Duration::ZERO).unwrap();
    let (mut told, mut datagram) = (Vec::new(), Vec::new());
    for second in 0..70 {
        let now = SECOND * second;
        stranger.handle_timeout(now);
        while let Some(transmit) = stranger.poll_transmit(now, &mut datagram) {
            transmit.seal(&mut datagram);
            gateway.handle_datagram(now, from, 0, &mut datagram);
        }
        while let Some(event) = gateway.poll_event() {
            if let Event::Stranger { key, from: at } = &event {
                assert_eq!((*key, *at), (keys[1].public(), from));
                assert!(event.to_string().contains(&format!("public_key = \"{key}\"")), "{event}");
                told.push(now);
            }
        }
    }
    assert!(gateway.status(SECOND * 70).refused.handshake_stranger > 1);
    assert_eq!(told.len(), 2, "{told:?}");
}
