//! A station and its gateway, for the targets that attack a whole node.

use etherparse::PacketBuilder;
use node::{Config, Gateways, Group, NetworkKey, Node, PeerConfig, PrivateKey};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use re::Parameters;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;
use wire::inner::Inner;

/// Where the station's datagrams come from.
pub const STATION: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)), 4780);
/// Where the gateway is.
pub const GATEWAY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 4780);
/// The station inside the tunnel.
pub const STATION_INSIDE: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);
/// The gateway inside the tunnel.
pub const GATEWAY_INSIDE: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
/// Small, so that it overflows.
const STORE_BYTES: usize = 1 << 14;

/// The two nodes, and what time it is for both. Equal calls give equal bytes.
pub struct Pair {
    /// Seeks the gateway.
    pub station: Node,
    /// Waits for the station.
    pub gateway: Node,
    /// Since both started.
    pub now: Duration,
}

impl Pair {
    /// Two nodes that have not met.
    #[must_use]
    pub fn strangers() -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let (station, gateway) = (PrivateKey::generate(&mut rng), PrivateKey::generate(&mut rng));
        let network = NetworkKey::generate(&mut rng);
        let peer = |name: &str, key: &PrivateKey, inside: Ipv4Addr, endpoint| PeerConfig {
            name: name.to_owned(),
            public_key: key.public(),
            endpoint,
            allowed_ips: vec![IpAddr::V4(inside).into()],
            keepalive: None,
        };
        let of_station = vec![peer("gateway", &gateway, GATEWAY_INSIDE, Some(GATEWAY))];
        let of_gateway = vec![peer("station", &station, STATION_INSIDE, None)];
        let node = |key, peers, seed| {
            let mut config = Config::new(key, network.clone(), peers);
            config.reduce = Parameters { store_bytes: STORE_BYTES, ..Parameters::default() };
            Node::new(config, [seed; 32], Duration::ZERO).expect("our own configuration")
        };
        let (station, gateway) = (node(station, of_station, 1), node(gateway, of_gateway, 2));
        Pair { station, gateway, now: Duration::from_secs(1) }
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

    /// A packet that one gateway hands to the other for it.
    #[must_use]
    pub fn packet_for_third() -> Vec<u8> {
        let builder = PacketBuilder::ipv4([198, 51, 100, 9], Self::THIRD_INSIDE.octets(), 64).udp(1, 2);
        let mut packet = Vec::new();
        builder.write(&mut packet, b"from afar").expect("writing to a buffer does not fail");
        packet
    }

    /// Two gateways of one operator with a session: the one in the station's place attacks. Both have a station that never comes.
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
        let station = node(0, GATEWAY_INSIDE, Some(GATEWAY), 1);
        let gateway = node(1, STATION_INSIDE, None, 2);
        let mut pair = Pair { station, gateway, now: Duration::from_secs(1) };
        pair.station.handle_packet(pair.now, &packet(0));
        pair.exchange(&mut |_| ());
        assert!(in_session(&pair.gateway, pair.now), "the two meet");
        pair
    }

    /// Two nodes with a session that both have confirmed.
    #[must_use]
    pub fn met() -> Self {
        let mut pair = Pair::strangers();
        pair.station.handle_packet(pair.now, &packet(0));
        pair.exchange(&mut |_| ());
        assert!(in_session(&pair.gateway, pair.now), "the two meet");
        pair
    }

    /// Carries datagrams both ways until there are none, shows each of the station's to `station_sends` before it
    /// is sealed, and discards what is delivered.
    pub fn exchange(&mut self, station_sends: &mut dyn FnMut(&[u8])) {
        loop {
            self.now += Duration::from_millis(1);
            let sent = send(&mut self.station, self.now, STATION, &mut self.gateway, station_sends)
                + send(&mut self.gateway, self.now, GATEWAY, &mut self.station, &mut |_| ());
            if sent == 0 {
                break;
            }
        }
        for node in [&mut self.station, &mut self.gateway] {
            deliveries(node);
        }
    }

    /// Lets timers pass and discards what is sent, until `duration` has gone by. A node always asks for a later
    /// time than it was just told, so that a driver that obeys it does not spin.
    pub fn let_pass(node: &mut Node, now: Duration, duration: Duration) -> Duration {
        let (mut now, end) = (now, now + duration);
        let mut out = Vec::new();
        for _ in 0..1000 {
            node.handle_timeout(now);
            while let Some(transmit) = node.poll_transmit(now, &mut out) {
                transmit.seal(&mut out);
            }
            match node.poll_timeout() {
                Some(then) if then < end => now = now.max(then),
                _ => return end,
            }
        }
        panic!("a thousand timers within {duration:?}");
    }
}

/// Whether a node has a session with its peer.
#[must_use]
pub fn in_session(node: &Node, now: Duration) -> bool {
    node.status(now).peers[0].session_age_seconds.is_some()
}

fn send(
    from: &mut Node,
    now: Duration,
    address: SocketAddr,
    to: &mut Node,
    shown: &mut dyn FnMut(&[u8]),
) -> usize {
    let (mut out, mut sent) = (Vec::new(), 0);
    while let Some(transmit) = from.poll_transmit(now, &mut out) {
        shown(&out);
        transmit.seal(&mut out);
        to.handle_datagram(now, address, 0, &mut out);
        sent += 1;
    }
    sent
}

/// What a node has to deliver. All of it is IP packets whose source is the other node.
pub fn deliveries(node: &mut Node) -> Vec<Vec<u8>> {
    let (mut packets, mut out) = (Vec::new(), Vec::new());
    while node.poll_deliver(&mut out) {
        let inner = Inner::parse(&out).expect("what is delivered is an IP packet");
        let source = inner.flow.source;
        assert!(source == STATION_INSIDE || source == GATEWAY_INSIDE, "delivered from {source}");
        packets.push(out.clone());
    }
    packets
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
