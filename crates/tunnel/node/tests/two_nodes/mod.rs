//! Two nodes and the road between them, for tests that count what they allocate.

use node::{Config, NetworkKey, Node, PeerConfig, PrivateKey};
use rand::SeedableRng;
use rand_chacha::ChaCha12Rng;
use sim::network::{Hearer, Medium, Network, Sent};
use std::net::SocketAddr;
use std::time::Duration;

/// A road that loses one datagram in so many, if any.
#[derive(Default)]
pub struct Lossy {
    pub loses_one_in: Option<u64>,
    /// The time that a datagram takes.
    pub after: Duration,
    sent: u64,
}

impl Medium for Lossy {
    fn who_hears(&mut self, sent: &Sent<'_>, hearers: &mut Vec<Hearer>) -> Duration {
        self.sent += 1;
        if !self.loses_one_in.is_some_and(|one_in| self.sent.is_multiple_of(one_in)) {
            hearers.extend(sent.to.map(|to| Hearer { after: self.after, ..Hearer::of(to) }));
        }
        Duration::ZERO
    }
}

/// Two nodes, whose configurations `change` changes, with a road that loses nothing and takes no time.
pub fn two_nodes(change: impl Fn(&mut Config)) -> Network<Lossy> {
    let rng = &mut ChaCha12Rng::seed_from_u64(7);
    let network_key = NetworkKey::generate(rng);
    let keys = [PrivateKey::generate(rng), PrivateKey::generate(rng)];
    let addresses: [SocketAddr; 2] =
        ["192.0.2.1:4780".parse().unwrap(), "198.51.100.7:40000".parse().unwrap()];
    let mut network = Network::new(Duration::ZERO, Lossy::default());
    for index in [0, 1] {
        let peer = PeerConfig {
            name: "other".into(),
            public_key: keys[1 - index].public(),
            endpoint: Some(addresses[1 - index]),
            allowed_ips: vec!["0.0.0.0/0".parse().unwrap()],
            keepalive: None,
            bits_a_second: None,
        };
        let mut config = Config::new(keys[index].clone(), network_key.clone(), vec![peer]);
        change(&mut config);
        network.join(addresses[index], Node::new(config, [index as u8; 32], Duration::ZERO).unwrap());
    }
    network
}
