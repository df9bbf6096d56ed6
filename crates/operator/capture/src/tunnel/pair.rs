//! Two nodes and a link without loss, in virtual time.

use super::TunnelOptions;
use super::report::{Carried, TunnelReport};
use super::schedule::Schedule;
use crate::crossing::{Crossing, MAX_PACKET_BYTES};
use crate::flow::Toward;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use node::{AROUND_PACKET, Config, ConfigError, NetworkKey, Node, PeerConfig, PrivateKey, Shortening};
use rand::SeedableRng;
use rand_chacha::ChaCha12Rng;
use re::Policy;
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

/// Index of the node on the servers' side.
const GATEWAY: usize = 0;
/// Index of the node on the clients' side, which knows the other one's address.
const STATION: usize = 1;
/// Time for the handshake before the first packet, and for receipts after the last one.
const REST: Duration = Duration::from_secs(2);
/// Keepalives of a node that knows its peer's address: the default of a configuration.
const KEEPALIVE: Duration = Duration::from_secs(25);
/// The shortest time between two polls of a timer, so that time never stands still.
const LEAST: Duration = Duration::from_micros(1);
/// The time until a node takes a packet from its device. Packets that arrive meanwhile share its turn, and
/// may share a datagram. Measured: with this time, captures leave as many bytes as through `overheard up`.
const TURN: Duration = Duration::from_micros(50);
/// Buffers kept for reuse.
const SPARE_BUFFERS: usize = 256;
/// Keys and all other randomness come from this seed, so that equal captures give equal reports.
const SEED: u64 = 0x0d15_ea5e;

/// A datagram on the link.
struct Flying {
    arrives: Duration,
    to: usize,
    from: SocketAddr,
    datagram: Vec<u8>,
}

/// The nodes and the link.
pub(crate) struct Pair {
    nodes: [Node; 2],
    addresses: [SocketAddr; 2],
    policy: Policy,
    store_mib: usize,
    one_way: Duration,
    schedule: Schedule,
    now: Duration,
    /// Times of the next polls, by node.
    due: [Option<Duration>; 2],
    /// In order of arrival, since the delay is constant.
    flying: VecDeque<Flying>,
    spare: Vec<Vec<u8>>,
    delivered: Vec<u8>,
    /// The counts at the first packet, by node.
    before: [Carried; 2],
    offered_packets: u64,
}

impl Pair {
    /// Two nodes with this policy and stores of this size, after their handshake.
    ///
    /// # Errors
    ///
    /// If the store has a size that a configuration cannot have.
    pub(crate) fn new(
        policy: Policy,
        store_mib: usize,
        options: &TunnelOptions,
    ) -> Result<Self, ConfigError> {
        let addresses = [1, 2].map(|last| SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, last)), 4780));
        let [gateway, station] = configs(policy, store_mib, addresses[GATEWAY]);
        let node = |config, seed| Node::new(config, [seed; 32], Duration::ZERO);
        let mut pair = Pair {
            nodes: [node(gateway, 1)?, node(station, 2)?],
            addresses,
            policy,
            store_mib,
            one_way: options.round_trip / 2,
            schedule: Schedule::new(REST + 2 * options.round_trip, options.longest_pause),
            now: Duration::ZERO,
            due: [Some(Duration::ZERO); 2],
            flying: VecDeque::new(),
            spare: Vec::new(),
            delivered: Vec::new(),
            before: [Carried::default(); 2],
            offered_packets: 0,
        };
        pair.run_until(REST + 2 * options.round_trip);
        pair.before = [pair.carried(GATEWAY), pair.carried(STATION)];
        Ok(pair)
    }

    /// Carries a packet of the capture.
    pub(crate) fn carry(&mut self, crossing: &Crossing<'_>) {
        let at = self.schedule.time_of(crossing.at);
        self.run_until(at);
        let from = if crossing.toward == Toward::Client { GATEWAY } else { STATION };
        self.nodes[from].handle_packet(self.now, crossing.bytes);
        let turn = self.now + TURN;
        self.due[from] = Some(self.due[from].map_or(turn, |due| due.min(turn)));
        self.offered_packets += 1;
    }

    /// Waits for the last receipts, and reports.
    pub(crate) fn finish(mut self) -> TunnelReport {
        self.run_until(self.now + REST + 2 * self.one_way);
        let [to_client, to_server] = [GATEWAY, STATION].map(|index| {
            let (now, before) = (self.carried(index), self.before[index]);
            Carried {
                packets: now.packets - before.packets,
                packet_bytes: now.packet_bytes - before.packet_bytes,
                datagrams: now.datagrams - before.datagrams,
                sent_bytes: now.sent_bytes - before.sent_bytes,
            }
        });
        TunnelReport::new(self.policy, self.store_mib, to_client, to_server, self.offered_packets)
    }

    /// A node's counts since its start.
    fn carried(&self, index: usize) -> Carried {
        let status = self.nodes[index].status(self.now);
        status.peers.first().map(|peer| peer.counters).map_or_else(Carried::default, |counters| Carried {
            packets: counters.inner_sent_packets,
            packet_bytes: counters.inner_sent_bytes,
            datagrams: counters.outer_sent_datagrams,
            sent_bytes: counters.outer_sent_bytes,
        })
    }

    /// Does everything that is due before `end`, and then it is `end`.
    fn run_until(&mut self, end: Duration) {
        loop {
            let arrival = self.flying.front().map(|flying| flying.arrives);
            let next = self.due.into_iter().chain([arrival]).flatten().min();
            let Some(next) = next.filter(|&next| next < end) else { break };
            self.now = self.now.max(next);
            if arrival == Some(next) {
                self.arrive();
            } else {
                for index in [GATEWAY, STATION] {
                    if self.due[index] == Some(next) {
                        self.poll(index);
                    }
                }
            }
        }
        self.now = self.now.max(end);
    }

    fn arrive(&mut self) {
        let Some(Flying { to, from, mut datagram, .. }) = self.flying.pop_front() else { return };
        self.nodes[to].handle_datagram(self.now, from, 0, &mut datagram);
        self.keep(datagram);
        self.poll(to);
    }

    /// Does a node's work that is due: timers, datagrams, deliveries.
    fn poll(&mut self, index: usize) {
        self.nodes[index].handle_timeout(self.now);
        let mut datagram = self.spare.pop().unwrap_or_default();
        while let Some(transmit) = self.nodes[index].poll_transmit(self.now, &mut datagram) {
            transmit.seal(&mut datagram);
            let next = self.spare.pop().unwrap_or_default();
            let datagram = std::mem::replace(&mut datagram, next);
            let (arrives, from) = (self.now + self.one_way, self.addresses[index]);
            self.flying.push_back(Flying { arrives, to: 1 - index, from, datagram });
        }
        self.keep(datagram);
        while self.nodes[index].poll_deliver(&mut self.delivered) {}
        while self.nodes[index].poll_event().is_some() {}
        self.due[index] = self.nodes[index].poll_timeout().map(|at| at.max(self.now + LEAST));
    }

    fn keep(&mut self, mut buffer: Vec<u8>) {
        if self.spare.len() < SPARE_BUFFERS {
            buffer.clear();
            self.spare.push(buffer);
        }
    }
}

/// The configurations of the gateway at this address and of its station: the default ones, with this policy
/// and this store. Either may send packets of any address to the other.
fn configs(policy: Policy, store_mib: usize, gateway_address: SocketAddr) -> [Config; 2] {
    let rng = &mut ChaCha12Rng::seed_from_u64(SEED);
    let network_key = NetworkKey::generate(rng);
    let keys = [PrivateKey::generate(rng), PrivateKey::generate(rng)];
    let any: [IpNet; 2] = [Ipv4Net::default().into(), Ipv6Net::default().into()];
    let config = |own: usize, endpoint: Option<SocketAddr>| {
        let peer = PeerConfig {
            name: "peer".to_owned(),
            public_key: keys[1 - own].public(),
            endpoint,
            allowed_ips: any.to_vec(),
            keepalive: endpoint.map(|_| KEEPALIVE),
            bits_a_second: None,
        };
        let mut config = Config::new(keys[own].clone(), network_key.clone(), vec![peer]);
        config.reduce.policy = policy;
        config.reduce.store_bytes = store_mib.saturating_mul(1 << 20);
        config.shorten = Shortening::ALL;
        config.max_datagram_bytes = MAX_PACKET_BYTES + AROUND_PACKET;
        config.largest_datagram_bytes = config.max_datagram_bytes;
        config
    };
    [config(GATEWAY, None), config(STATION, Some(gateway_address))]
}
