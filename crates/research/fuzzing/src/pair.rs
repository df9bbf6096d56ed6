//! A station and its gateway, for the targets that attack a whole node.

use crate::road::Road;
use etherparse::PacketBuilder;
use node::{Config, Gateways, Group, NetworkKey, Node, PeerConfig, PeerCounters, PrivateKey};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use re::Parameters;
use sim::network::Network;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;
use wire::inner::Inner;
use wire::unit::SEALED_HEADER_BYTES;

/// The number of the node that seeks the other one.
pub const STATION: usize = 0;
/// The number of the node that waits for the other one.
pub const GATEWAY: usize = 1;
/// Their addresses.
const ADDRESSES: [SocketAddr; 2] = [
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)), 4780),
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 4780),
];
/// The station inside the tunnel.
pub const STATION_INSIDE: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);
/// The gateway inside the tunnel.
pub const GATEWAY_INSIDE: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
const MS: Duration = Duration::from_millis(1);
/// Small, so that it overflows.
const STORE_BYTES: usize = 1 << 14;

/// The two nodes. Equal calls give equal bytes.
pub struct Pair {
    /// What drives them.
    pub network: Network<Road>,
}

impl Pair {
    fn new(nodes: [Node; 2]) -> Self {
        let mut network = Network::new(MS * 1000, Road::default());
        for (address, node) in ADDRESSES.into_iter().zip(nodes) {
            network.join(address, node);
        }
        Pair { network }
    }

    /// Two nodes that have not met.
    #[must_use]
    pub fn strangers() -> Self {
        Self::of_station(false)
    }

    /// A station and its gateway, of whose group it is a member; the other member never connects.
    #[must_use]
    pub fn of_group() -> Self {
        let mut pair = Self::of_station(true).meet();
        assert!(pair.network.medium.insider.key_ids().len() == 1, "the station is told the group's key");
        // so that it is a member
        pair.exchange();
        pair
    }

    /// Their private keys, and their network's.
    fn keys() -> ([PrivateKey; 2], NetworkKey) {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        ([(); 2].map(|()| PrivateKey::generate(&mut rng)), NetworkKey::generate(&mut rng))
    }

    /// What every member of their network has.
    #[must_use]
    pub fn network_key() -> NetworkKey {
        Self::keys().1
    }

    fn of_station(in_group: bool) -> Self {
        let ([station, gateway], network) = Self::keys();
        let peer = |name: &str, key: &PrivateKey, inside: Ipv4Addr, endpoint| PeerConfig {
            name: name.to_owned(),
            public_key: key.public(),
            endpoint,
            allowed_ips: vec![IpAddr::V4(inside).into()],
            keepalive: None,
            bits_a_second: None,
        };
        let of_station = vec![peer("gateway", &gateway, GATEWAY_INSIDE, Some(ADDRESSES[GATEWAY]))];
        let mut of_gateway = vec![peer("station", &station, STATION_INSIDE, None)];
        if in_group {
            of_gateway.push(peer("other", &Self::third(), Self::THIRD_INSIDE, None));
        }
        let node = |key, peers, seed| {
            let mut config = Config::new(key, network.clone(), peers);
            config.reduce = Parameters { store_bytes: STORE_BYTES, ..Parameters::default() };
            config.group = in_group.then(|| Group { slot_bits: 14, ..Group::default() });
            Node::new(config, [seed; 32], Duration::ZERO).expect("our own configuration")
        };
        Pair::new([node(station, of_station, 1), node(gateway, of_gateway, 2)])
    }

    /// A station of both gateways, inside the tunnel.
    pub const THIRD_INSIDE: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 3);

    fn third() -> PrivateKey {
        PrivateKey::generate(&mut ChaCha8Rng::seed_from_u64(3))
    }

    /// What gateways call it.
    #[must_use]
    pub fn third_name() -> u64 {
        node::station_name(&Self::third().public())
    }

    /// A packet for it that one gateway passes to the other.
    #[must_use]
    pub fn packet_for_third() -> Vec<u8> {
        let builder = PacketBuilder::ipv4([198, 51, 100, 9], Self::THIRD_INSIDE.octets(), 64).udp(1, 2);
        let mut packet = Vec::new();
        builder.write(&mut packet, b"from afar").expect("writing to a buffer does not fail");
        packet
    }

    /// Two gateways of one operator with a session: the one in the station's place attacks. Both have a
    /// station that never comes.
    #[must_use]
    pub fn of_gateways() -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let keys = [PrivateKey::generate(&mut rng), PrivateKey::generate(&mut rng)];
        let network = NetworkKey::generate(&mut rng);
        let node = |own: usize, inside: Ipv4Addr, endpoint, seed| {
            let peer = |name: &str, public_key, endpoint, inside| PeerConfig {
                name: name.to_owned(),
                public_key,
                endpoint,
                allowed_ips: vec![IpAddr::V4(inside).into()],
                keepalive: None,
                bits_a_second: None,
            };
            let peers = vec![
                peer("gateway", keys[1 - own].public(), endpoint, inside),
                peer("station", Self::third().public(), None, Self::THIRD_INSIDE),
            ];
            let mut config = Config::new(keys[own].clone(), network.clone(), peers);
            config.reduce = Parameters { store_bytes: STORE_BYTES, ..Parameters::default() };
            config.group = Some(Group { slot_bits: 14, ..Group::default() });
            config.gateways = Gateways::Neighbours(vec![0]);
            Node::new(config, [seed; 32], Duration::ZERO).expect("our own configuration")
        };
        Pair::new([node(0, GATEWAY_INSIDE, Some(ADDRESSES[GATEWAY]), 1), node(1, STATION_INSIDE, None, 2)])
            .meet()
    }

    /// Two nodes with a session that both have confirmed.
    #[must_use]
    pub fn met() -> Self {
        Pair::strangers().meet()
    }

    fn meet(mut self) -> Self {
        self.network.offer_packet(STATION, &packet(0));
        self.exchange();
        assert!(self.in_session(), "the two meet");
        self
    }

    /// Carries datagrams in both directions until there are none, and discards deliveries.
    pub fn exchange(&mut self) {
        loop {
            self.network.advance(MS);
            if self.network.hand_over(STATION) + self.network.hand_over(GATEWAY) == 0 {
                break;
            }
        }
        self.deliveries(STATION);
        self.deliveries(GATEWAY);
    }

    /// The gateway gets a datagram from the station's address.
    pub fn arrive(&mut self, datagram: &[u8]) {
        self.network.offer_datagram(GATEWAY, ADDRESSES[STATION], 0, datagram);
    }

    /// The station gets one from the gateway's address.
    pub fn arrive_at_station(&mut self, datagram: &[u8]) {
        self.network.offer_datagram(STATION, ADDRESSES[GATEWAY], 0, datagram);
    }

    /// The station overhears a datagram from the gateway to another node.
    pub fn overhear(&mut self, datagram: &mut [u8]) {
        let now = self.network.now();
        self.network.node_mut(STATION).handle_overheard(now, ADDRESSES[GATEWAY], datagram);
        self.network.collect(STATION);
    }

    /// The station seals this plaintext with header, counter and seal of a packet of its own, and the gateway
    /// receives it. The gateway's answer is lost. Returns `false` if the station no longer sends.
    pub fn say(&mut self, plaintext: &[u8]) -> bool {
        let mut out = Vec::new();
        self.network.offer_packet(STATION, &packet(0));
        let Some(transmit) = self.network.poll_transmit(STATION, &mut out) else { return false };
        out.truncate(SEALED_HEADER_BYTES);
        out.extend_from_slice(plaintext);
        transmit.seal(&mut out);
        self.arrive(&out);
        self.network.advance(MS);
        self.lose_what_is_due();
        true
    }

    /// Lets the gateway's timers run for `duration`, and discards its datagrams. A node always requests a
    /// later time than the current one, so an obedient driver does not spin.
    pub fn let_pass(&mut self, duration: Duration) {
        let end = self.network.now() + duration;
        for _ in 0..1000 {
            self.lose_what_is_due();
            match self.network.node(GATEWAY).poll_timeout() {
                Some(then) if then < end => self.network.advance(then.saturating_sub(self.network.now())),
                _ => return,
            }
        }
        panic!("a thousand timers within {duration:?}");
    }

    fn lose_what_is_due(&mut self) {
        let (now, mut out) = (self.network.now(), Vec::new());
        self.network.node_mut(GATEWAY).handle_timeout(now);
        while let Some(transmit) = self.network.poll_transmit(GATEWAY, &mut out) {
            transmit.seal(&mut out);
        }
    }

    /// Whether the gateway has a session with its peer.
    #[must_use]
    pub fn in_session(&self) -> bool {
        self.network.status(GATEWAY).peers[0].session_age_seconds.is_some()
    }

    /// What the gateway counted of its peer.
    #[must_use]
    pub fn counters(&self) -> PeerCounters {
        self.network.status(GATEWAY).peers[0].counters
    }

    /// Takes a node's deliveries, all of which are IP packets from the other node.
    pub fn deliveries(&mut self, index: usize) -> Vec<Vec<u8>> {
        self.network.collect(index);
        let packets = self.network.take_delivered(index);
        for packet in &packets {
            let inner = Inner::parse(packet).expect("what is delivered is an IP packet");
            let source = inner.flow.source;
            assert!(source == STATION_INSIDE || source == GATEWAY_INSIDE, "delivered from {source}");
        }
        packets
    }
}

/// A packet from the station to the gateway; those with numbers equal modulo 4 carry the same content.
#[must_use]
pub fn packet(number: u32) -> Vec<u8> {
    let mut state = u64::from(number % 4) + 1;
    let payload: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    })
    .take(300)
    .collect();
    let builder = PacketBuilder::ipv4(STATION_INSIDE.octets(), GATEWAY_INSIDE.octets(), 64);
    let builder = builder.tcp(4242, 80, number * 300, 1000);
    let mut packet = Vec::new();
    builder.write(&mut packet, &payload).expect("writing to a buffer does not fail");
    packet
}

/// A packet from one of the two to the other, with unique content.
#[must_use]
pub fn packet_between(from: usize, number: u32) -> Vec<u8> {
    let mut content = [0; 300];
    ChaCha8Rng::seed_from_u64(u64::from(number) << 1 | from as u64).fill_bytes(&mut content);
    let inside = [STATION_INSIDE.octets(), GATEWAY_INSIDE.octets()];
    let mut packet = Vec::new();
    let builder = PacketBuilder::ipv4(inside[from], inside[1 - from], 64).udp(4242, 80);
    builder.write(&mut packet, &content).expect("writing to a buffer does not fail");
    packet
}

/// Splits an input into records, each behind its length in two bytes; the last may be cut short.
pub fn records(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = bytes.split_first_chunk::<2>()?;
        let length = usize::from(u16::from_be_bytes(*length)).min(rest.len());
        let (record, rest) = rest.split_at(length);
        bytes = rest;
        Some(record)
    })
}

/// Appends one record.
pub fn push_record(record: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(record.len() as u16).to_be_bytes());
    out.extend_from_slice(record);
}
