//! Two relays that do not hear each other tell each other what their common stations have.

use crate::mesh::{MS, Mesh, SECOND, address, all, contents};
use crate::relays::{C1, C2, R1, R2, configs, hears};
use node::{Config, Destination, Gateways, PeerConfig};

/// At a relay, the other one.
const OTHER: usize = 2;

/// The first station's way to the second one changes; `neighbours`: whether the relays know each other.
fn with_neighbours(seed: u64, neighbours: bool) -> Vec<Config> {
    let mut configs = configs(seed, true);
    let allowed_ips = vec!["10.0.0.4/32".parse().unwrap()];
    configs[C1].mesh.destinations = vec![Destination { name: "192.0.2.4".to_owned(), allowed_ips }];
    configs[C1].peers[0].allowed_ips.clear();
    for (relay, other) in [(R1, R2), (R2, R1)] {
        let public_key = configs[other].private_key.public();
        let keepalive = Some(5 * SECOND);
        let (name, endpoint) = (format!("node {other}"), Some(address(other)));
        let peer = PeerConfig {
            name,
            public_key,
            endpoint,
            allowed_ips: Vec::new(),
            keepalive,
            bits_a_second: None,
        };
        if neighbours {
            configs[relay].peers.push(peer);
            configs[relay].gateways = Gateways::Neighbours(vec![OTHER]);
        }
    }
    configs
}

/// Relays have a wire between them.
fn mesh(seed: u64, configs: &[Config]) -> Mesh {
    Mesh::wired(seed, configs, hears, |one, other| one.min(other) == R1 && one.max(other) == R2)
}

impl Mesh {
    /// Sends these payloads from the first station to the second one by a relay: what the relay sent to it,
    /// in bytes. They get there whatever the way.
    fn send_by(&mut self, relay: usize, payloads: &[Vec<u8>]) -> u64 {
        let now = self.now();
        self.node_mut(C1).set_next_hop(now, 0, Some(relay - R1));
        let before = self.medium.sent_bytes((relay, C2));
        self.take_delivered(C2);
        let mut packets = Vec::new();
        for (number, payload) in payloads.iter().enumerate() {
            packets.push(self.send_one(C1, C2, 1 + 2000 * number as u32, payload));
            self.run(5 * MS);
        }
        self.run(2 * SECOND);
        assert!(
            all(self.delivered(C2)) == all(&packets),
            "{} of {}",
            self.delivered(C2).len(),
            packets.len()
        );
        self.medium.sent_bytes((relay, C2)) - before
    }
}

#[test]
fn what_one_relay_sent_to_a_station_another_one_does_not_send_to_it() {
    let [content, other] = contents(5, 200, 1200, 0);
    let whole = 200 * 1200;
    for neighbours in [false, true] {
        let mut mesh = mesh(5, &with_neighbours(5, neighbours));
        let first = mesh.send_by(R1, &content);
        let second = mesh.send_by(R2, &content);
        let relay = mesh.status(R2);
        println!("neighbours: {neighbours}; by one {first} bytes, again by the other {second}");
        assert!(first > whole, "nothing repeats: {first}");
        if neighbours {
            assert!(second < whole / 2, "{second} {relay:#?}");
            assert!(relay.peers[OTHER].counters.chunks_named > 1000, "{relay:#?}");
            assert_eq!(relay.peers[OTHER].overheard_by, Some(2), "both stations are members of both");
        } else {
            assert!(second > whole, "it cannot know: {second}");
        }
        let missed: u64 = mesh.status(C2).peers.iter().map(|it| it.counters.chunks_missed).sum();
        assert!(missed < 20, "{missed}");
        let third = mesh.send_by(R2, &other);
        assert!(third > whole, "what is new costs what it costs: {third}");
    }
}

#[test]
fn a_relay_that_starts_again_or_is_not_heard_costs_savings_only() {
    let [content, other] = contents(6, 100, 1200, 0);
    let configs = with_neighbours(6, true);
    let mut mesh = mesh(6, &configs);
    mesh.send_by(R1, &content);
    for relay in [R1, R2] {
        mesh.restart_with(relay, [77 + relay as u8; 32]);
        mesh.run(20 * SECOND);
        mesh.send_by(R2, &content);
        mesh.send_by(R1, &content);
    }
    mesh.send_by(R1, &other);
    let again = mesh.send_by(R2, &other);
    assert!(again < 100 * 1200 / 2, "they have found each other again: {again}");
}
