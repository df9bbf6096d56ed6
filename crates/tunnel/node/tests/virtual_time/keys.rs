//! Keys that are shared by two nodes, that are revoked, and that are replaced while packets flow.

use crate::pair::{GATEWAY, Pair, Road, STATION, tcp};
use node::{Event, NetworkKey, PresharedKey};
use rand::SeedableRng;
use rand_chacha::ChaCha12Rng;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn pair() -> Pair {
    Pair::new(1, Road::default(), &re::Parameters::default())
}

/// Two nodes of which each has this for the other.
fn pair_with(keys: [Option<PresharedKey>; 2]) -> Pair {
    let mut pair = pair();
    for (node, key) in keys.into_iter().enumerate() {
        let other = pair.configs[node].peers[0].public_key;
        pair.configs[node].preshared_keys = key.map(|key| (other, key)).into_iter().collect();
    }
    pair.reboot(GATEWAY);
    pair.reboot(STATION);
    pair
}

fn has_session(pair: &Pair, node: usize) -> bool {
    pair.status(node).peers[0].session_age_seconds.is_some()
}

#[test]
fn two_nodes_meet_only_if_both_have_the_same_preshared_key_and_the_log_says_why_not() {
    let rng = &mut ChaCha12Rng::seed_from_u64(1);
    let (one, other) = (PresharedKey::generate(rng), PresharedKey::generate(rng));
    let mut pair = pair_with([Some(one.clone()), Some(one.clone())]);
    pair.run(200 * SECOND);
    assert!(has_session(&pair, STATION), "over a change of keys, too");
    for keys in [[Some(one.clone()), Some(other)], [Some(one.clone()), None], [None, Some(one)]] {
        let mut pair = pair_with(keys);
        pair.run(100 * SECOND);
        assert!(!has_session(&pair, STATION));
        let packet = tcp(STATION, 1, b"nobody proved that it may read this");
        pair.send(GATEWAY, &packet);
        pair.run(SECOND);
        assert!(pair.delivered(STATION).is_empty());
        let is_hint = |(_, node, event): &&(Duration, usize, Event)| {
            *node == STATION && matches!(event, Event::OtherPresharedKey { .. })
        };
        let hints = pair.events().iter().filter(is_hint).count();
        assert!((1..=2).contains(&hints), "{hints} in 100 s");
        assert!(pair.status(STATION).refused.handshake_preshared_key > 1);
    }
}

#[test]
fn a_revoked_station_is_off_at_once_and_stays_off_after_a_restart() {
    let mut pair = pair();
    pair.run(SECOND);
    let key = pair.configs[GATEWAY].peers[0].public_key;
    let now = pair.now();
    assert!(pair.node_mut(GATEWAY).revoke(now, &key));
    assert!(!has_session(&pair, GATEWAY));
    for restarted in [false, true] {
        if restarted {
            pair.configs[GATEWAY].revoked.insert(key);
            pair.reboot(GATEWAY);
        }
        pair.take_delivered(GATEWAY);
        pair.send(STATION, &tcp(GATEWAY, 1, b"from whoever has the key"));
        pair.run(200 * SECOND);
        let to_station = tcp(STATION, 1, b"not for whoever has the key");
        pair.send(GATEWAY, &to_station);
        pair.run(100 * SECOND);
        assert!(!has_session(&pair, GATEWAY) && !has_session(&pair, STATION));
        assert!(!pair.take_delivered(STATION).contains(&to_station));
        let told = pair.take_delivered(GATEWAY);
        assert!(told.iter().all(|packet| packet[9] == 1), "ICMP, and nothing of the station's");
        assert_eq!(told.len(), 1, "its sender is told at once");
        let status = pair.status(GATEWAY);
        assert!(status.peers[0].revoked && status.refused.handshake_revoked > 5, "{:?}", status.refused);
    }
}

#[test]
fn nothing_is_sent_to_a_revoked_gateway() {
    let mut pair = pair();
    pair.run(SECOND);
    let key = pair.configs[STATION].peers[0].public_key;
    let now = pair.now();
    assert!(pair.node_mut(STATION).revoke(now, &key));
    let before = pair.medium.sent_bytes[STATION];
    pair.send(STATION, &tcp(GATEWAY, 1, b"stays here"));
    pair.run(100 * SECOND);
    let resets = 29 * u64::from(pair.medium.sent_bytes[STATION] > before) * 10;
    assert!(pair.medium.sent_bytes[STATION] - before <= resets, "resets for what it still sends, at most");
    assert!(!has_session(&pair, STATION));
}

#[test]
fn a_key_of_nobody_here_cannot_be_revoked() {
    let mut pair = pair();
    let (own, now) = (pair.configs[STATION].peers[0].public_key, pair.now());
    assert!(!pair.node_mut(GATEWAY).revoke(now, &own));
}

/// Packets both ways for so long, of which none may be lost.
fn talk(pair: &mut Pair, seconds: u32, sent: &mut u32) {
    for _ in 0..2 * seconds {
        *sent += 1;
        pair.send(GATEWAY, &tcp(STATION, *sent, b"to the station"));
        pair.send(STATION, &tcp(GATEWAY, *sent, b"to the gateway"));
        pair.run(SECOND / 2);
    }
    for node in [GATEWAY, STATION] {
        assert_eq!(pair.delivered(node).len(), *sent as usize, "at {node}");
    }
}

fn set_keys(pair: &mut Pair, node: usize, key: &NetworkKey, previous: Option<&NetworkKey>) {
    let now = pair.now();
    pair.node_mut(node).set_network_keys(now, key.clone(), previous.cloned());
}

fn uses_previous_key(pair: &Pair, node: usize) -> bool {
    pair.status(node).peers[0].previous_network_key
}

#[test]
fn the_networks_key_is_replaced_node_by_node_and_no_packet_is_lost() {
    let new = NetworkKey::generate(&mut ChaCha12Rng::seed_from_u64(2));
    // keys are renewed every two minutes: each step sees several such
    for first in [GATEWAY, STATION] {
        let (mut pair, mut sent) = (pair(), 0);
        let old = pair.configs[GATEWAY].network_key.clone();
        pair.run(SECOND);
        talk(&mut pair, 150, &mut sent);
        set_keys(&mut pair, first, &new, Some(&old));
        assert!(uses_previous_key(&pair, first), "the session is of before");
        talk(&mut pair, 500, &mut sent);
        assert!(uses_previous_key(&pair, first), "the other one has no other key");
        set_keys(&mut pair, 1 - first, &new, Some(&old));
        talk(&mut pair, 300, &mut sent);
        assert!(!uses_previous_key(&pair, GATEWAY) && !uses_previous_key(&pair, STATION));
        set_keys(&mut pair, first, &new, None);
        talk(&mut pair, 300, &mut sent);
        set_keys(&mut pair, 1 - first, &new, None);
        talk(&mut pair, 300, &mut sent);
        let sessions = pair.status(STATION).peers[0].counters.sessions;
        assert!(sessions > 10, "{sessions}");
    }
}

#[test]
fn a_node_that_starts_under_the_new_key_reaches_one_that_has_the_previous_key_alone() {
    let new = NetworkKey::generate(&mut ChaCha12Rng::seed_from_u64(3));
    let mut pair = pair();
    pair.configs[STATION].previous_network_key = Some(pair.configs[STATION].network_key.clone());
    pair.configs[STATION].network_key = new;
    pair.reboot(STATION);
    pair.run(5 * SECOND);
    assert!(has_session(&pair, STATION) && uses_previous_key(&pair, STATION));
    assert!(pair.status(GATEWAY).refused.handshake_mark > 0, "the new key was tried first");
}
