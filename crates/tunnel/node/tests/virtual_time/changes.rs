//! Peers that come, go and change while others' packets flow.

use crate::mesh::{MS, Mesh, SECOND, address, random};
use crate::pair::{repetitive, tcp_between};
use allocation_counter::measure;
use node::{Config, Event, NetworkKey, PeerConfig, PresharedKey, PrivateKey, Roster, Shortening};
use rand::SeedableRng;
use rand_chacha::ChaCha12Rng;
use std::time::Duration;

const GATEWAY: usize = 0;
/// A host behind the gateway.
const HOST: u8 = 200;

/// A gateway that knows some of three stations, which all know it.
struct Changing {
    mesh: Mesh,
    /// The gateway's present configuration.
    config: Config,
    roster: Roster,
    keys: Vec<PrivateKey>,
}

fn station(keys: &[PrivateKey], at: usize) -> PeerConfig {
    PeerConfig {
        name: format!("station {at}"),
        public_key: keys[at].public(),
        endpoint: None,
        allowed_ips: vec![format!("10.0.0.{at}/32").parse().unwrap()],
        keepalive: None,
        bits_a_second: None,
    }
}

impl Changing {
    fn new(seed: u64, known: &[usize]) -> Self {
        let rng = &mut ChaCha12Rng::seed_from_u64(seed);
        let network = NetworkKey::generate(rng);
        let keys: Vec<PrivateKey> = (0..4).map(|_| PrivateKey::generate(rng)).collect();
        let configs: Vec<Config> = (0..4)
            .map(|at| {
                let peers = match at {
                    GATEWAY => known.iter().map(|at| station(&keys, *at)).collect(),
                    _ => vec![PeerConfig {
                        name: "gateway".to_owned(),
                        endpoint: Some(address(GATEWAY)),
                        allowed_ips: vec!["0.0.0.0/0".parse().unwrap()],
                        keepalive: Some(Duration::from_secs(5)),
                        ..station(&keys, GATEWAY)
                    }],
                };
                let mut config = Config::new(keys[at].clone(), network.clone(), peers);
                // larger stores are mapped, and not from the allocator, which a test counts
                config.reduce.store_bytes = (2 << 20) - 1;
                Config { shorten: Shortening::ALL, ..config }
            })
            .collect();
        let (config, roster) = (configs[GATEWAY].clone(), Roster::of(&configs[GATEWAY]));
        Changing { mesh: Mesh::new(seed, &configs, |_, _| true), config, roster, keys }
    }

    /// The gateway takes over a change of its configuration.
    fn change(&mut self, change: impl FnOnce(&mut Config)) {
        let mut next = self.config.clone();
        change(&mut next);
        assert!(self.config.can_change_peers(&next) && next.validate().is_ok());
        let roster = self.roster.followed_by(&next);
        let now = self.mesh.now();
        self.mesh.node_mut(GATEWAY).adopt(now, &roster);
        self.mesh.poll(GATEWAY);
        (self.config, self.roster) = (next, roster);
    }

    fn add(&mut self, at: usize) {
        let peer = station(&self.keys, at);
        self.change(|config| config.peers.push(peer));
    }

    fn remove(&mut self, at: usize) {
        let key = self.keys[at].public();
        self.change(|config| config.peers.retain(|peer| peer.public_key != key));
    }

    fn peer(&self, at: usize) -> node::PeerStatus {
        let status = self.mesh.status(GATEWAY);
        let name = format!("station {at}");
        status.peers.into_iter().find(|peer| peer.name == name).unwrap_or_else(|| panic!("no {name}"))
    }

    /// Sends these payloads to a station, one every five milliseconds. They arrive, and nothing else does.
    fn fetch(&mut self, at: usize, payloads: &[Vec<u8>]) {
        self.mesh.take_delivered(at);
        let mut sent = Vec::new();
        for (number, payload) in payloads.iter().enumerate() {
            let packet = tcp_between(HOST, at as u8, 1 + 2000 * number as u32, payload);
            self.mesh.send(GATEWAY, &packet);
            sent.push(packet);
            self.mesh.run(5 * MS);
        }
        self.mesh.run(SECOND);
        assert!(self.mesh.delivered(at) == sent, "to station {at}");
    }

    /// Whether a packet passes in each direction within ten seconds.
    fn is_connected(&mut self, at: usize) -> bool {
        [GATEWAY, at].into_iter().for_each(|node| drop(self.mesh.take_delivered(node)));
        for second in 0..10 {
            let up = tcp_between(at as u8, HOST, second, b"up");
            let down = tcp_between(HOST, at as u8, second, b"down");
            self.mesh.send(at, &up);
            self.mesh.send(GATEWAY, &down);
            self.mesh.run(SECOND);
            if self.mesh.delivered(GATEWAY).contains(&up) && self.mesh.delivered(at).contains(&down) {
                return true;
            }
        }
        false
    }

    /// Events of the gateway about a peer's sessions.
    fn changes_of_sessions(&self, at: usize) -> usize {
        let name = format!("station {at}");
        let concerns = |event: &Event| match event {
            Event::SessionUp { peer, .. } | Event::SessionDown { peer } => *peer == name,
            _ => false,
        };
        self.mesh.events().iter().filter(|(_, node, event)| *node == GATEWAY && concerns(event)).count()
    }
}

#[test]
fn a_peer_comes_and_goes_and_another_loses_no_packet_no_session_and_no_store() {
    let mut it = Changing::new(1, &[1]);
    let payloads = repetitive(1, 300);
    it.fetch(1, &payloads);
    assert!(!it.is_connected(3), "nobody knows it");
    let (before, sessions) = (it.peer(1), it.changes_of_sessions(1));
    let bytes = it.mesh.medium.sent_bytes((GATEWAY, 1));
    it.add(3);
    it.fetch(1, &payloads);
    assert!(it.is_connected(3));
    it.fetch(1, &payloads);
    it.remove(3);
    it.fetch(1, &payloads);
    let after = it.peer(1);
    assert_eq!(it.changes_of_sessions(1), sessions);
    let packets = after.counters.inner_sent_packets - before.counters.inner_sent_packets;
    assert_eq!(packets, 900, "counters go on");
    let bytes = it.mesh.medium.sent_bytes((GATEWAY, 1)) - bytes;
    assert!(bytes < 900 * 150, "the store knows them all: {bytes}");
    assert!(after.session_age_seconds > before.session_age_seconds);
}

#[test]
fn a_removed_peer_is_refused_and_what_was_kept_for_it_is_freed() {
    let mut it = Changing::new(2, &[1, 2]);
    it.fetch(1, &random(1, 20));
    it.fetch(2, &random(2, 900));
    let stored = it.peer(2).counters.inner_sent_bytes as i64;
    let freed = measure(|| it.remove(2)).bytes_current;
    assert!(freed < -stored, "{freed} bytes of {stored}");
    let names: Vec<String> = it.mesh.status(GATEWAY).peers.into_iter().map(|peer| peer.name).collect();
    assert_eq!(names, ["station 1"]);
    let before = it.mesh.status(GATEWAY).refused;
    it.mesh.take_delivered(GATEWAY);
    assert!(!it.is_connected(2));
    let after = it.mesh.status(GATEWAY).refused;
    assert!(it.mesh.delivered(GATEWAY).iter().all(|packet| packet[15] != 2), "nothing comes from it");
    assert!(after.unknown_key > before.unknown_key && after.handshake_stranger > before.handshake_stranger);
    assert!(after.no_route > before.no_route, "and nothing goes there");
    assert!(it.is_connected(1));
}

#[test]
fn peers_that_come_and_go_all_day_take_the_same_memory_and_understand_each_other() {
    let mut it = Changing::new(3, &[1]);
    let payloads = random(3, 200);
    let turn = |it: &mut Changing| {
        it.add(2);
        assert!(it.is_connected(2));
        it.fetch(2, &payloads);
        it.remove(2);
        it.mesh.discard();
    };
    (0..3).for_each(|_| turn(&mut it));
    let grown = measure(|| (0..10).for_each(|_| turn(&mut it))).bytes_current;
    assert!(grown < 100_000, "{grown} bytes more after ten turns");
    assert_eq!(it.roster.places().len(), 2, "places are given again");
}

#[test]
fn a_peer_that_is_told_elsewhere_is_found_there_in_the_same_session() {
    let mut it = Changing::new(4, &[1, 2]);
    it.fetch(2, &repetitive(4, 100));
    let (sessions, elsewhere) = (it.changes_of_sessions(2), "198.51.100.9:4000".parse().unwrap());
    it.mesh.move_to(2, elsewhere);
    it.change(|config| config.peers[1].endpoint = Some(elsewhere));
    it.fetch(2, &repetitive(5, 100));
    assert_eq!(it.peer(2).endpoint, Some(elsewhere));
    let packet = tcp_between(HOST, 77, 1, b"to an address behind it");
    it.mesh.send(GATEWAY, &packet);
    assert_eq!(it.mesh.status(GATEWAY).refused.no_route, 1);
    it.change(|config| config.peers[1].allowed_ips.push("10.0.0.77/32".parse().unwrap()));
    it.mesh.send(GATEWAY, &packet);
    it.mesh.run(SECOND);
    assert!(it.mesh.delivered(2).contains(&packet));
    it.change(|config| config.peers[1].allowed_ips.truncate(1));
    it.mesh.send(GATEWAY, &packet);
    assert_eq!(it.mesh.status(GATEWAY).refused.no_route, 2);
    assert_eq!(it.changes_of_sessions(2), sessions);
    // a wrong address costs packets until the peer is heard where it is
    it.change(|config| config.peers[1].endpoint = Some("198.51.100.10:4000".parse().unwrap()));
    it.mesh.run(6 * SECOND);
    assert_eq!(it.peer(2).endpoint, Some(elsewhere));
    it.fetch(2, &repetitive(6, 20));
    assert_eq!(it.changes_of_sessions(2), sessions);
}

#[test]
fn another_preshared_key_begins_one_session_anew_and_no_other() {
    let mut it = Changing::new(5, &[1, 2]);
    let payloads = repetitive(7, 200);
    it.fetch(1, &payloads);
    assert!(it.is_connected(2));
    let key = PresharedKey::generate(&mut ChaCha12Rng::seed_from_u64(9));
    let (sessions, others) = (it.changes_of_sessions(1), it.changes_of_sessions(2));
    let (public, gateway) = (it.keys[2].public(), it.keys[GATEWAY].public());
    it.change(|config| drop(config.preshared_keys.insert(public, key.clone())));
    assert!(!it.is_connected(2), "one end alone has it");
    let mut config = Config::new(it.keys[2].clone(), it.config.network_key.clone(), Vec::new());
    config.peers = vec![PeerConfig {
        endpoint: Some(address(GATEWAY)),
        allowed_ips: vec!["0.0.0.0/0".parse().unwrap()],
        keepalive: Some(Duration::from_secs(5)),
        ..station(&it.keys, GATEWAY)
    }];
    config.preshared_keys.insert(gateway, key);
    let now = it.mesh.now();
    it.mesh.node_mut(2).adopt(now, &Roster::of(&config));
    it.mesh.poll(2);
    it.mesh.run(10 * SECOND);
    assert!(it.is_connected(2));
    assert!(it.changes_of_sessions(2) > others);
    it.fetch(1, &payloads);
    assert_eq!(it.changes_of_sessions(1), sessions);
}

#[test]
fn another_station_takes_a_name_with_its_own_key_and_begins_with_nothing() {
    let mut it = Changing::new(6, &[1, 2]);
    assert!(it.is_connected(1) && it.is_connected(2));
    let (key, sessions) = (it.keys[3].public(), it.changes_of_sessions(1));
    it.change(|config| config.peers[1].public_key = key);
    let counters = it.peer(2).counters;
    assert_eq!((counters.inner_sent_packets, counters.sessions), (0, 0));
    assert!(!it.is_connected(2));
    let as_station_2 = tcp_between(2, HOST, 5, b"up");
    it.mesh.run(10 * SECOND);
    it.mesh.send(3, &as_station_2);
    it.mesh.run(SECOND);
    assert!(it.mesh.delivered(GATEWAY).contains(&as_station_2));
    assert_eq!(it.changes_of_sessions(1), sessions);
}

#[test]
fn a_key_whose_revocation_is_taken_back_is_a_peers_again() {
    let mut it = Changing::new(7, &[1, 2]);
    assert!(it.is_connected(2));
    let key = it.keys[2].public();
    it.change(|config| config.revoked.extend([key]));
    assert!(it.peer(2).revoked && !it.is_connected(2));
    it.change(|config| config.revoked.clear());
    assert!(it.is_connected(2) && !it.peer(2).revoked);
    assert!(it.is_connected(1));
}
