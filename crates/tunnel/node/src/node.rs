//! The node: takes packets and datagrams, gives datagrams and packets, and knows when it wants to be called
//! again.

mod combining;
mod destinations;
mod gateways;
mod handshakes;
mod memory;
mod peers;
mod receiving;
mod relaying;
mod transmit;

pub use gateways::station_name;
pub use transmit::Transmit;

use crate::config::{Config, ConfigError};
use crate::context::{Context, Events};
use crate::deliveries::Deliveries;
use crate::destinations::{Destinations, NextHop};
use crate::effects::Effects;
use crate::event::{Complaint, Event};
use crate::features::Overhearing;
use crate::group::coding::Coding;
use crate::group::{Sharing, Turn};
use crate::keys::PublicKey;
use crate::memory::{Budget, Share};
use crate::peer::Peer;
use crate::peer::pack::{AROUND_PACKET, Packed, SHARING_BYTES};
use crate::route::{ELSEWHERE, Routes};
use crate::session::admission::Admission;
use crate::session::allowance::Allowance;
use crate::session::handshake::Identity;
use crate::session::keyring::Keyring;
use crate::session::shard::Shard;
use crate::status::{Refused, SharingStatus, Status};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use wire::inner::Inner;
use wire::natives::Name;
use wire::unit;

/// Resets sent a second.
const RESETS_PER_SECOND: u32 = 10;
/// ICMP messages sent a second.
const MESSAGES_PER_SECOND: u32 = 100;

/// A packet that came from elsewhere, and by what its native is known to others.
type Named<'a> = (&'a [u8], Option<Name>);

/// A node.
pub struct Node {
    ctx: Context,
    identity: Identity,
    boot: u64,
    started: Duration,
    rng: ChaCha12Rng,
    peers: Vec<Peer>,
    /// Peer index by public key.
    by_public_key: BTreeMap<PublicKey, usize>,
    /// Index of the next peer to send to.
    turn: usize,
    /// Handshake messages and resets, which are not sealed.
    letters: VecDeque<(SocketAddr, Vec<u8>)>,
    admission: Admission,
    resets: Allowance,
    /// Datagrams that could share none with others after all.
    ready: VecDeque<(Transmit, Vec<u8>)>,
    refused: Refused,
    strangers: Complaint,
    /// Of nodes that have another public key for this one.
    misaddressed: Complaint,
}

impl Node {
    /// A node that starts at `now`. All its randomness, its boot included, comes from `seed`.
    pub fn new(config: Config, seed: [u8; 32], now: Duration) -> Result<Self, ConfigError> {
        let routes = Routes::new(&config.peers);
        let budget = config.memory.map(|memory| Budget::new(memory.bytes, 1));
        Self::of_shard(config, routes, Shard::default(), Share::of(budget, 0), seed, now)
    }

    /// The node that holds the peers of one shard; `routes` tell them from those elsewhere.
    pub(crate) fn of_shard(
        config: Config,
        routes: Routes,
        shard: Shard,
        memory: Share,
        seed: [u8; 32],
        now: Duration,
    ) -> Result<Self, ConfigError> {
        config.validate()?;
        let mut rng = ChaCha12Rng::from_seed(seed);
        // from a stream of their own: draws for one purpose do not change the draws for another
        let mut salts = rng.clone();
        salts.set_stream(1);
        let cookie_secret = shard.cookie_secret().unwrap_or_else(|| {
            let mut cookies = rng.clone();
            cookies.set_stream(3);
            cookies.random()
        });
        let boot: u64 = rng.random();
        let sharing = config.sharing().map(|group| {
            let neighbours = gateways::neighbours(&config, &group, boot);
            let counts = !config.codes() && !config.mesh.forwards;
            Sharing::new(group, (config.shorten.literals, counts), salts.random(), neighbours, now)
        });
        let sharing = sharing.transpose()?.and_then(|sharing| Overhearing::of(|| sharing));
        let peers = config.peers.iter().cloned().enumerate();
        let peers = peers.map(|(index, peer)| Peer::new(index, peer, &config, boot, salts.random()));
        let mut peers: Vec<Peer> = peers.collect();
        let roaming = gateways::roaming(&config, boot, &mut peers, now);
        let identity = Identity::of(&config);
        let destinations = &config.mesh.destinations;
        let destinations = Destinations::new(destinations, config.queue_bytes, salts.random(), now);
        let ctx = Context {
            routes,
            keyring: Keyring::new(shard),
            deliveries: Deliveries::default(),
            events: Events::default(),
            messages: Allowance::new(MESSAGES_PER_SECOND, now),
            sharing,
            coding: if config.codes() { Overhearing::of(Coding::default) } else { None },
            roaming,
            destinations,
            effects: Effects::default(),
            memory,
            misled_packets: 0,
            processor_is_short: false,
            config,
        };
        Ok(Node {
            ctx,
            identity,
            boot,
            started: now,
            rng,
            by_public_key: peers.iter().map(|peer| (*peer.public_key(), peer.index())).collect(),
            peers,
            turn: 0,
            letters: VecDeque::new(),
            admission: Admission::new(cookie_secret, now),
            resets: Allowance::new(RESETS_PER_SECOND, now),
            ready: VecDeque::new(),
            refused: Refused::default(),
            strangers: Complaint::default(),
            misaddressed: Complaint::default(),
        })
    }

    #[cfg(test)]
    pub(crate) fn owner(&self, address: std::net::IpAddr) -> Option<usize> {
        self.ctx.routes.peer(address)
    }

    /// The largest inner packet that fits in a datagram, where the path carries what it is thought to.
    #[must_use]
    pub fn max_packet_bytes(&self) -> usize {
        // a relay shares packets that it passes on, and they leave alone if they cannot be shared
        let is_shared = self.ctx.sharing.is_some() || self.ctx.config.codes();
        let sharing_bytes = if is_shared { SHARING_BYTES } else { 0 };
        self.ctx.config.max_datagram_bytes - AROUND_PACKET - sharing_bytes
    }

    /// Takes a packet from the TUN.
    pub fn handle_packet(&mut self, now: Duration, packet: &[u8]) {
        let Ok(inner) = Inner::parse(packet) else {
            self.refused.not_ip += 1;
            return;
        };
        match self.ctx.way(inner.flow.destination) {
            Some(NextHop::Peer(peer)) if peer != ELSEWHERE => {
                self.send_own(now, self.ctx.roaming.way(peer), packet, &inner);
            }
            Some(NextHop::Destination { index, next_hop: None, .. }) => {
                self.ctx.hold(now, index, packet, &inner);
            }
            Some(NextHop::Destination { next_hop: Some(peer), .. }) => {
                self.send_own(now, peer, packet, &inner);
            }
            _ => self.refused.no_route += 1,
        }
    }

    /// Lets a packet of this host wait for a peer, or tells its sender why not.
    fn send_own(&mut self, now: Duration, peer: usize, packet: &[u8], inner: &Inner) {
        if let Some(message) = self.send_to(now, peer, (packet, None), inner) {
            self.ctx.deliveries.push(message);
        }
    }

    /// Lets a packet wait for a peer. If it cannot, the message for its sender.
    fn send_to(
        &mut self,
        now: Duration,
        peer: usize,
        (packet, name): Named<'_>,
        inner: &Inner,
    ) -> Option<Vec<u8>> {
        if name.is_none() && self.peers[peer].take_for_stream(now, packet, inner, &mut self.ctx) {
            return None;
        }
        let message = if !self.peers[peer].takes_packets(now) {
            self.peers[peer].refuse_packet(now, packet, inner, &mut self.ctx)
        } else if packet.len() > self.peers[peer].max_packet_bytes() {
            self.peers[peer].take_too_large(now, packet, inner, &mut self.ctx)
        } else {
            self.peers[peer].enqueue(now, packet, &inner.flow, name);
            None
        };
        if self.peers[peer].needs_handshake(now) {
            self.initiate(now, peer);
        }
        message
    }

    /// Does what is due at `now`.
    pub fn handle_timeout(&mut self, now: Duration) {
        if let Some(sharing) = &mut self.ctx.sharing
            && sharing.handle_timeout(now)
        {
            self.peers.iter_mut().for_each(|peer| peer.follow_group(now, sharing));
        }
        if let Some(sharing) = &mut self.ctx.sharing
            && let Some(turn) = sharing.weigh(now)
        {
            let (spent, saved) = sharing.balance().map_or_else(Default::default, |it| it.air_time());
            self.ctx.events.push(match turn {
                Turn::Paused(pause) => Event::SharingPaused { pause, spent, saved },
                Turn::Resumed => Event::SharingResumed,
            });
        }
        for index in 0..self.peers.len() {
            if self.peers[index].handle_timeout(now, &mut self.ctx) {
                self.initiate(now, index);
            }
        }
        self.settle_memory(now);
        self.follow_gateways(now);
        self.give_up_destinations(now);
    }

    /// The next datagram to send, written into `out` (whose contents are replaced).
    pub fn poll_transmit(&mut self, now: Duration, out: &mut Vec<u8>) -> Option<Transmit> {
        if let Some((to, letter)) = self.letters.pop_front() {
            out.clear();
            out.extend_from_slice(&letter);
            return Some(Transmit { to, source_port: 0, class: 0, seal: None });
        }
        if let Some((transmit, datagram)) = self.ready.pop_front() {
            self.ctx.deliveries.recycle(std::mem::replace(out, datagram));
            return Some(transmit);
        }
        for step in 0..self.peers.len() {
            let index = (self.turn + step) % self.peers.len();
            let peer = &mut self.peers[index];
            if peer.address().is_none() {
                continue;
            }
            if let Some((to, Packed { seal, class, .. })) = peer.pack_question(now, &mut self.rng, out) {
                peer.count_sent(to, out.len() + unit::TAG_BYTES);
                return Some(Transmit { to, source_port: 0, class, seal: Some(seal) });
            }
            if let Some(transmit) = self.combine(now, index, out) {
                self.turn = index + 1;
                return Some(transmit);
            }
            let packed = self.peers[index].pack(now, &mut self.ctx, out);
            self.settle(now);
            if let Some(packed) = packed {
                self.turn = index + 1;
                return self.transmit(now, index, packed, out.len());
            }
        }
        None
    }

    /// Sends a packed datagram to a peer, of `bytes` without its tag.
    fn transmit(&mut self, now: Duration, index: usize, packed: Packed, bytes: usize) -> Option<Transmit> {
        let Packed { seal, class, lane } = packed;
        let (to, source_port) = self.peers[index].send(now, lane, bytes + unit::TAG_BYTES, &mut self.ctx)?;
        Some(Transmit { to, source_port, class, seal: Some(seal) })
    }

    /// This host's interface towards `to` did not take a datagram of `bytes`, because it is too large.
    pub fn refuse_size(&mut self, now: Duration, to: SocketAddr, bytes: usize) {
        self.peers.iter_mut().for_each(|peer| peer.refuse_size(now, to, bytes));
    }

    /// Says whether packets wait for the processor, as its driver sees it, and not for the link. Redundancy
    /// elimination is then worth less than it costs: packets go past it until they wait for the link again,
    /// unless the configuration says otherwise.
    pub fn set_processor_short(&mut self, is_short: bool) {
        self.ctx.processor_is_short = is_short && self.ctx.config.spares_processor;
    }

    /// The next packet for the TUN: replaces the contents of `out`. `false` if there is none.
    pub fn poll_deliver(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(mut packet) = self.ctx.deliveries.pop() else { return false };
        std::mem::swap(out, &mut packet);
        self.ctx.deliveries.recycle(packet);
        true
    }

    /// When [`Node::handle_timeout`] and [`Node::poll_transmit`] have something to do next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        // a peer that wants a session and has no handshake under way asks for one at once
        let sharing = self.ctx.sharing.as_deref().map(Sharing::timeout);
        self.peers
            .iter()
            .filter_map(Peer::timeout)
            .chain(sharing)
            .chain(self.gateways_timeout())
            .chain(self.ctx.destinations.timeout())
            .chain(self.ctx.memory.timeout())
            .min()
    }

    /// The next thing that happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.ctx.events.pop()
    }

    /// Says goodbye to every peer: send what [`Node::poll_transmit`] then gives, and stop.
    pub fn close(&mut self) {
        self.peers.iter_mut().for_each(Peer::close);
    }

    /// Loses what is stored for a peer in one or both directions, as a node under memory pressure does. Costs
    /// savings and nothing else.
    pub fn forget(&mut self, peer: usize, sent: bool, received: bool) {
        if let Some(peer) = self.peers.get_mut(peer) {
            peer.forget(sent, received);
        }
    }

    /// Whether what is for one peer may be shared with others, so that it matters at which rates they are
    /// sent to.
    #[must_use]
    pub fn shares(&self) -> bool {
        self.ctx.sharing.is_some()
    }

    /// Sets the radio's rate in bits a second to the peer at this outer address.
    pub fn set_radio_rate(&mut self, to: IpAddr, rate_bits_per_second: u64) {
        let Some(sharing) = &mut self.ctx.sharing else { return };
        for peer in &mut self.peers {
            if peer.address().is_some_and(|endpoint| endpoint.ip().to_canonical() == to.to_canonical()) {
                sharing.radio_sends(peer.index() as u8, rate_bits_per_second);
            }
        }
    }

    /// The node's status.
    #[must_use]
    pub fn status(&self, now: Duration) -> Status {
        Status {
            public_key: self.ctx.config.private_key.public().to_string(),
            boot: self.boot,
            uptime_seconds: now.saturating_sub(self.started).as_secs_f64(),
            policy: self.ctx.config.reduce.policy.to_string(),
            peers: self.peers_status(now),
            memory: self.memory_status(),
            destinations: self.ctx.destinations.status(|peer| self.peers[peer].name().to_owned()),
            sharing: self.ctx.sharing.as_ref().and_then(|sharing| {
                let (spent, saved) = sharing.balance()?.air_time();
                Some(SharingStatus {
                    paused: !sharing.shares(),
                    spent_seconds: spent.as_secs_f64(),
                    saved_seconds: saved.as_secs_f64(),
                    resumes_in_seconds: sharing
                        .balance()?
                        .paused_until()
                        .map(|until| until.saturating_sub(now).as_secs_f64()),
                })
            }),
            collisions: self.ctx.sharing.as_ref().map_or(0, |sharing| sharing.codec.statistics().collisions),
            refused: Refused { no_route: self.refused.no_route + self.ctx.misled_packets, ..self.refused },
        }
    }
}
