//! Whole nodes and the network between them: the loop for tests, fuzzing and measurements.

mod medium;
mod turns;

pub use medium::{Direct, Hearer, Medium, Sent};

use node::{Event, Node, Status, Transmit};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

/// Buffers kept for reuse.
const SPARE_BUFFERS: usize = 256;

/// Nodes, a virtual clock, and a [`Medium`] that selects the receivers of each datagram.
///
/// There are two ways to drive it. [`Network::run`] advances time: it jumps from one arrival or timer to the
/// next, and polls each node at its events. [`Network::hand_over`] advances no time: one node sends all its
/// datagrams, and the others receive them without a turn. Simultaneous events have a fixed order: arrivals in
/// order of transmission, then nodes by number.
///
/// Buffers are reused. Once they have grown, [`Network::hand_over`] and [`Network::discard`] allocate
/// nothing.
///
/// ```
/// use node::{Config, NetworkKey, Node, PeerConfig, PrivateKey};
/// use rand::SeedableRng;
/// use sim::network::{Hearer, Medium, Network, Sent};
/// use std::{net::SocketAddr, time::Duration};
///
/// /// Ten milliseconds, and every fourth datagram is lost.
/// struct Lossy(u64);
///
/// impl Medium for Lossy {
///     fn who_hears(&mut self, sent: &Sent<'_>, hearers: &mut Vec<Hearer>) -> Duration {
///         self.0 += 1;
///         let heard = sent.to.filter(|_| !self.0.is_multiple_of(4));
///         hearers.extend(heard.map(|node| Hearer { after: Duration::from_millis(10), ..Hearer::of(node) }));
///         Duration::ZERO
///     }
/// }
///
/// let rng = &mut rand_chacha::ChaCha12Rng::seed_from_u64(1);
/// let network_key = NetworkKey::generate(rng);
/// let keys = [PrivateKey::generate(rng), PrivateKey::generate(rng)];
/// let addresses: [SocketAddr; 2] = ["192.0.2.1:4780", "192.0.2.2:4780"].map(|it| it.parse().unwrap());
/// let mut network = Network::new(Duration::ZERO, Lossy(0));
/// for one in [0, 1] {
///     let peer = PeerConfig {
///         name: "other".to_owned(),
///         public_key: keys[1 - one].public(),
///         endpoint: Some(addresses[1 - one]),
///         allowed_ips: vec!["10.0.0.0/24".parse().unwrap()],
///         keepalive: None,
///         bits_a_second: None,
///     };
///     let config = Config::new(keys[one].clone(), network_key.clone(), vec![peer]);
///     network.join(addresses[one], Node::new(config, [one as u8; 32], network.now()).unwrap());
/// }
/// let mut packet = Vec::new();
/// let builder = etherparse::PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(1, 2);
/// builder.write(&mut packet, b"hello").unwrap();
/// network.send(0, &packet);
/// network.run(Duration::from_secs(1));
/// assert_eq!(network.delivered(1), [packet]);
/// ```
pub struct Network<M> {
    /// The medium; the caller may change it at any time.
    pub medium: M,
    now: Duration,
    members: Vec<Member>,
    /// By arrival and number.
    in_flight: BTreeMap<(Duration, u64), Arrival>,
    number: u64,
    events: Vec<(Duration, usize, Event)>,
    hearers: Vec<Hearer>,
    timers: Vec<Option<Duration>>,
    spare: Vec<Vec<u8>>,
}

struct Member {
    address: SocketAddr,
    node: Node,
    /// End of its current transmission.
    busy_until: Duration,
    delivered: Vec<Vec<u8>>,
}

struct Arrival {
    hearer: Hearer,
    source: SocketAddr,
    datagram: Vec<u8>,
}

impl<M: Medium> Network<M> {
    /// A network without nodes.
    #[must_use]
    pub fn new(now: Duration, medium: M) -> Self {
        Network {
            medium,
            now,
            members: Vec::new(),
            in_flight: BTreeMap::new(),
            number: 0,
            events: Vec::new(),
            hearers: Vec::new(),
            timers: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// Adds a node with this address and, for further source ports, the next ports. Returns its number.
    pub fn join(&mut self, address: SocketAddr, node: Node) -> usize {
        self.members.push(Member { address, node, busy_until: Duration::ZERO, delivered: Vec::new() });
        self.members.len() - 1
    }

    /// Replaces a node by a restarted one, and polls it.
    pub fn replace(&mut self, index: usize, node: Node) -> Node {
        let before = std::mem::replace(&mut self.members[index].node, node);
        self.poll(index);
        before
    }

    /// Gives a node another address.
    pub fn move_to(&mut self, index: usize, address: SocketAddr) {
        self.members[index].address = address;
    }

    /// A node's address.
    #[must_use]
    pub fn address(&self, index: usize) -> SocketAddr {
        self.members[index].address
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.now
    }

    /// How many nodes there are.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.members.len()
    }

    /// A node.
    #[must_use]
    pub fn node(&self, index: usize) -> &Node {
        &self.members[index].node
    }

    /// A node, for direct access past the network.
    pub fn node_mut(&mut self, index: usize) -> &mut Node {
        &mut self.members[index].node
    }

    /// A node's current status.
    #[must_use]
    pub fn status(&self, index: usize) -> Status {
        self.members[index].node.status(self.now)
    }

    /// Packets delivered at a node and not taken yet.
    #[must_use]
    pub fn delivered(&self, index: usize) -> &[Vec<u8>] {
        &self.members[index].delivered
    }

    /// Takes the packets that were delivered at a node.
    pub fn take_delivered(&mut self, index: usize) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.members[index].delivered)
    }

    /// Events of nodes: time, node, and event.
    #[must_use]
    pub fn events(&self) -> &[(Duration, usize, Event)] {
        &self.events
    }

    /// Discards deliveries and events, and keeps the buffers.
    pub fn discard(&mut self) {
        self.events.clear();
        for member in &mut self.members {
            self.spare.append(&mut member.delivered);
        }
        self.spare.truncate(SPARE_BUFFERS);
    }

    /// Passes a packet to a node, without polling it.
    pub fn offer_packet(&mut self, from: usize, packet: &[u8]) {
        self.members[from].node.handle_packet(self.now, packet);
    }

    /// Passes a packet to a node, and polls it.
    pub fn send(&mut self, from: usize, packet: &[u8]) {
        self.offer_packet(from, packet);
        self.poll(from);
    }

    /// Passes a datagram from any address to a node, and polls it.
    pub fn inject(&mut self, to: usize, from: SocketAddr, ecn: u8, datagram: &[u8]) {
        self.offer_datagram(to, from, ecn, datagram);
        self.poll(to);
    }

    /// Passes a datagram from any address to a node, without polling it.
    pub fn offer_datagram(&mut self, to: usize, from: SocketAddr, ecn: u8, datagram: &[u8]) {
        let mut copy = self.spare_buffer();
        copy.extend_from_slice(datagram);
        self.members[to].node.handle_datagram(self.now, from, ecn, &mut copy);
        self.keep(copy);
        self.collect(to);
    }

    /// Takes a node's next datagram before its seal, past the medium: replaces the contents of `out`.
    pub fn poll_transmit(&mut self, from: usize, out: &mut Vec<u8>) -> Option<Transmit> {
        self.members[from].node.poll_transmit(self.now, out)
    }

    /// Advances time without events.
    pub fn advance(&mut self, time: Duration) {
        self.now += time;
    }
}
