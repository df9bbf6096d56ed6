//! A peer: its sessions, its link, its queue, and when something is to be done about it next.

mod boots;
mod changes;
mod interface;
mod link;
mod membership;
mod memory;
pub(crate) mod pack;
mod reachability;
mod status;
mod streams;

use boots::{Begin, Boots, Places};
use link::Link;
pub(crate) use link::{capabilities, store_kib};
use streams::PeerStreams;

use crate::config::{Config, PeerConfig};
use crate::context::Context;
use crate::elimination::ratio::Ratios;
use crate::event::{Complaint, Event};
use crate::memory::{Usage, start_queue_bytes};
use crate::path::endpoint::{Age, Endpoint};
use crate::path::lanes::Lanes;
use crate::path::mtu::PathMtu;
use crate::path::reachability::{DOUBTED_KEEPALIVE, Reachability};
use crate::path::unanswered::Unanswered;
use crate::queue::Queue;
use crate::roaming::Told;
use crate::session::sessions::Sessions;
use crate::session::transport::Ends;
use crate::status::{PeerCounters, outer_header_bytes};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use wire::hello::HEARS_LANES;
use wire::unit::PLAIN;

/// However often a peer's receipts make no sense, a new link is begun no more often.
const BEGIN_AGAIN_EVERY: Duration = Duration::from_secs(1);

/// One peer.
pub(crate) struct Peer {
    index: usize,
    config: PeerConfig,
    endpoint: Endpoint,
    sessions: Sessions,
    boots: Boots,
    link: Option<Link>,
    /// A handshake is to begin at once.
    wants_handshake: bool,
    /// When one began last because the two ends were at odds.
    began_again: Option<Duration>,
    queue: Queue,
    /// TCP connections that cross the hop as streams.
    streams: Option<Box<PeerStreams>>,
    /// Whether it answers.
    reachability: Reachability,
    /// The ports between the two.
    lanes: Lanes,
    /// Datagram sizes of the path to it.
    path: PathMtu,
    counters: PeerCounters,
    /// How many segments of its flows a wire packet carries; told of where senders are boosted.
    ratios: Ratios,
    /// When a ping goes out: at once after a handshake, else after the keepalive's silence.
    ping_at: Option<Duration>,
    unanswered: Unanswered,
    /// Number of this station's association with the peer, a gateway; 0 for an association with another one,
    /// `None` without other gateways.
    associated: Option<u8>,
    /// Its handshakes are refused, and it is sent nothing.
    revoked: bool,
    /// There is no peer at this place.
    vacant: bool,
    /// This node is going away and says so.
    closing: bool,
    /// The peer went away and said so.
    closed: bool,
    wrong_sources: Complaint,
    same_keys: Complaint,
    places: Places,
    /// The use of the stores, by [`crate::memory::Kind`].
    usages: [Usage; 4],
}

impl Peer {
    pub fn new(index: usize, config: PeerConfig, node: &Config, boot: u64, salt: [u64; 4]) -> Self {
        let revoked = node.revoked.contains(&config.public_key);
        Peer {
            index,
            endpoint: Endpoint::new(config.endpoint.filter(|_| !revoked)),
            revoked,
            vacant: false,
            config,
            sessions: Sessions::new(node.handshakes_above),
            boots: Boots::new(boot),
            link: None,
            wants_handshake: false,
            began_again: None,
            queue: Queue::new(start_queue_bytes(node), salt),
            streams: PeerStreams::of(node, salt).map(Box::new),
            lanes: Lanes::default(),
            reachability: Reachability::default(),
            path: PathMtu::new(node.max_datagram_bytes, node.largest_datagram_bytes),
            counters: PeerCounters::default(),
            ratios: Ratios::default(),
            ping_at: None,
            unanswered: Unanswered::default(),
            associated: None,
            closing: false,
            closed: false,
            wrong_sources: Complaint::default(),
            same_keys: Complaint::default(),
            places: Places::default(),
            usages: Default::default(),
        }
    }

    /// Counts a packet with a source address that is not the peer's, and tells of it once in a while.
    pub fn refuse_source(&mut self, now: Duration, source: IpAddr, ctx: &mut Context) {
        self.counters.wrong_source += 1;
        if self.wrong_sources.is_told(now) {
            ctx.events.push(Event::WrongSource { peer: self.config.name.clone(), source });
        }
    }

    /// Notes that a datagram left on a lane.
    pub fn sent(&mut self, now: Duration, lane: usize) {
        if self.lanes.source_port(lane) > 0 {
            return self.lanes.sent(lane, self.config.keepalive.map(|keepalive| now + keepalive));
        }
        let keepalive = if self.is_doubted() { Some(DOUBTED_KEEPALIVE) } else { self.config.keepalive };
        self.ping_at = keepalive.map(|keepalive| now + keepalive);
    }

    /// Counts a datagram that left, with its tag.
    pub fn count_sent(&mut self, to: SocketAddr, datagram_bytes: usize) {
        self.counters.outer_sent_datagrams += 1;
        self.counters.outer_sent_bytes += datagram_bytes as u64 + outer_header_bytes(to);
    }

    /// Counts an authentic datagram from the peer.
    pub fn count_received(&mut self, from: SocketAddr, datagram_bytes: usize) {
        self.counters.outer_received_datagrams += 1;
        self.counters.outer_received_bytes += datagram_bytes as u64 + outer_header_bytes(from);
    }

    /// A session is proven to be shared with the living peer: use it, and with a new boot of either begin a
    /// new link.
    pub fn use_session(&mut self, now: Duration, local_id: u32, ctx: &mut Context) {
        self.sessions.use_session(local_id, &mut ctx.keyring);
        self.prove_endpoint(now, local_id, ctx);
        let Some(session) = self.sessions.by_id(local_id) else { return };
        let version = session.version;
        let (ends, boot, hello) = (session.ends(), session.hello.boot, session.hello);
        let new_boot = !self.link.as_ref().is_some_and(|link| link.ends() == ends);
        let lanes = version != PLAIN && session.hello.capabilities & HEARS_LANES != 0;
        if new_boot {
            self.path.begin_anew();
            self.lanes.close();
            let link = Link::new(
                &ctx.config,
                ends,
                &session.hello,
                ctx.sharing.is_some(),
                self.config.bytes_a_second(),
            );
            let is_back =
                self.link.as_ref().is_some_and(|link| link.peer_boot() != boot) && self.boots.knows(boot);
            let is_back = self.places.begin(now, self.endpoint.address()) || is_back;
            if is_back && self.same_keys.is_told(now) {
                ctx.events.push(Event::SameKey { peer: self.config.name.clone() });
            }
            self.wants_handshake = self.boots.begin(ends.own_boot, boot) == Begin::AnewAndTellAgain;
            if let Some(sharing) = ctx.sharing.as_deref_mut() {
                sharing.leave(self.index as u8);
            }
            self.link = Some(link);
            self.usages = Default::default();
            self.reset_streams(now, ctx);
            self.reduce_streams(&ctx.config, &hello);
            ctx.memory.look_soon(now);
            ctx.keyring.groups.remove(self.index);
            ctx.tell(self.index, Told::Started);
            if ctx.roaming.is_associated(self.index) {
                self.begin_membership(now, ctx);
            }
        }
        let spreads = self.config.endpoint.is_some() && lanes;
        self.lanes.open(now, if spreads { ctx.config.source_ports } else { 1 });
        self.closed = false;
        self.unanswered.clear();
        self.counters.sessions += 1;
        let (peer, endpoint) = (self.config.name.clone(), self.endpoint.address());
        self.mark_reachable(now, ctx);
        ctx.events.push(Event::SessionUp { peer, endpoint, new_boot, plain: version == PLAIN });
    }

    /// The own boot for the answer to an initiation in which the peer says `peer_boot`.
    pub fn boot_for_answer(&mut self, peer_boot: u64) -> u64 {
        match &self.link {
            Some(link) if link.peer_boot() != peer_boot => self.boots.for_answer(peer_boot),
            _ => self.boots.said(),
        }
    }

    /// The peer and this node do not share what they think: both are to begin a new link.
    pub fn begin_again(&mut self, now: Duration) {
        let is_free = !self.sessions.is_shaking_hands() && !self.wants_handshake;
        if is_free && self.began_again.is_none_or(|before| now >= before + BEGIN_AGAIN_EVERY) {
            self.began_again = Some(now);
            self.boots.lose();
            self.wants_handshake = true;
        }
    }

    /// Whether the link is of these ends of a session. Units of an earlier link mean other packets.
    pub fn shares_link(&self, ends: Ends) -> bool {
        self.link.as_ref().is_some_and(|link| link.ends() == ends)
    }

    /// This node no longer has what it shared with the peer, if it shared anything.
    pub fn lose_link(&mut self) {
        if self.link.is_some() {
            self.boots.lose();
        }
    }

    /// The peer has the keys of a session: it heard the response where that went.
    fn prove_endpoint(&mut self, now: Duration, local_id: u32, ctx: &mut Context) {
        let Some(session) = self.sessions.by_id(local_id).filter(|session| !session.initiator) else {
            return;
        };
        match std::mem::take(&mut session.answered_to).as_slice() {
            &[address] => {
                if let Some(moved) = self.endpoint.prove(address) {
                    self.move_to(moved, ctx);
                }
            }
            addresses => addresses.iter().for_each(|&address| self.endpoint.claim(now, address)),
        }
    }

    /// A proven unit came from `from`; where it says where the peer is, with its age.
    pub fn heard_from(
        &mut self,
        now: Duration,
        from: SocketAddr,
        age: Option<Age>,
        datagram_bytes: usize,
        ctx: &mut Context,
    ) {
        self.unanswered.clear();
        if self.sessions.established().is_some() {
            self.mark_reachable(now, ctx);
        }
        self.count_received(from, datagram_bytes);
        if age.is_some_and(|age| self.endpoint.heard(now, from, age)) {
            self.move_to((None, from), ctx);
        }
    }

    /// The peer is at another address than before.
    pub fn move_to(&mut self, (before, to): (Option<SocketAddr>, SocketAddr), ctx: &mut Context) {
        self.path.begin_anew();
        self.lanes.move_to(to);
        ctx.events.push(Event::Roamed { peer: self.config.name.clone(), from: before, to });
    }

    /// The peer's sessions are over: the state shared with that boot is void.
    pub fn end(&mut self, now: Duration, ctx: &mut Context) {
        self.sessions.end(&mut ctx.keyring);
        self.lose_link();
        self.reset_streams(now, ctx);
        ctx.keyring.groups.remove(self.index);
        if let (Some(mut link), Some(sharing)) = (self.link.take(), ctx.sharing.as_deref_mut())
            && link.roles.end_membership(sharing)
        {
            sharing.rekey(now); // a former member shall read no more
        }
        self.lanes.close();
        self.ping_at = None;
        self.unanswered.clear();
        ctx.events.push(Event::SessionDown { peer: self.config.name.clone() });
        self.mark_unreachable(now, ctx);
    }

    /// Ends all that there is with it, for good. Without an endpoint nothing is sent to it any more.
    pub fn revoke(&mut self, now: Duration, ctx: &mut Context) {
        self.revoked = true;
        self.endpoint = Endpoint::new(None);
        self.sessions.initiator_mut().stop(&mut ctx.keyring);
        if self.link.is_some() || self.sessions.established().is_some() {
            self.end(now, ctx);
        }
        self.sessions.end(&mut ctx.keyring);
        self.mark_unreachable(now, ctx);
    }

    /// Does what is due. Whether a handshake is to begin.
    pub fn handle_timeout(&mut self, now: Duration, ctx: &mut Context) -> bool {
        if self.closed {
            self.closed = false;
            self.end(now, ctx);
            self.sessions.initiator_mut().await_restart(now);
        }
        if self.sessions.expire(now, &mut ctx.keyring) {
            ctx.events.push(Event::SessionDown { peer: self.config.name.clone() });
            self.mark_unreachable(now, ctx);
        }
        self.doubt(now, ctx);
        self.link.iter_mut().for_each(|link| link.arq.give_up_parked(now));
        self.take_completed(now, ctx);
        if let Some(link) = &mut self.link {
            let patience = link.patience();
            self.path.handle_timeout(now, &link.measured());
            link.assembly.handle_timeout(now);
            link.arq.expire_order(now, patience, |sequence, packet| {
                self.counters.count_delivery(&packet);
                ctx.hand_on(now, self.index, Some(sequence), packet);
            });
            link.tcp.handle_timeout(now);
            link.arq.probe(now, |sequence| link.reduce.report_lost(sequence));
        }
        self.handle_bounds_timeout(now);
        self.queue_repairs(now, ctx);
        self.handle_streams_timeout(now, ctx);
        if self.sessions.initiator_mut().give_up(now, self.config.keepalive.is_some(), &mut ctx.keyring) {
            self.queue.clear();
            self.reachability.try_again();
        }
        let silent = self.unanswered.ask_again(now);
        if silent {
            self.ping_at = Some(now);
        }
        let retry = self.sessions.initiator().send_at().is_some_and(|at| at <= now);
        let begin = !self.sessions.is_shaking_hands()
            && (silent
                || std::mem::take(&mut self.wants_handshake)
                || self.sessions.rekey_at().is_some_and(|at| at <= now)
                || self.wants_session(now));
        self.endpoint.address().is_some() && !self.closing && (retry || begin)
    }

    /// Whether there is something to say and no session to say it in.
    fn wants_session(&mut self, now: Duration) -> bool {
        (self.config.keepalive.is_some() || !self.queue.is_empty()) && self.sessions.sending(now).is_none()
    }

    /// When [`Peer::handle_timeout`] or [`Peer::pack`] has something to do next.
    pub fn timeout(&self) -> Option<Duration> {
        // without a session nothing can be sent: then only the handshake's times count
        let link = self.link.as_ref().filter(|_| self.sessions.established().is_some());
        let shaking = self.sessions.is_shaking_hands();
        let lonely =
            self.config.keepalive.is_some() && self.endpoint.address().is_some() && self.link.is_none();
        [
            (self.closed
                || ((lonely || self.wants_handshake && self.endpoint.address().is_some())
                    && !shaking
                    && !self.closing))
                .then_some(Duration::ZERO),
            self.sessions.rekey_at().filter(|_| !shaking && self.endpoint.address().is_some()),
            self.sessions.initiator().send_at(),
            self.doubt_at(),
            self.endpoint.ask_at().filter(|_| link.is_some()),
            self.sessions.expire_at(),
            self.ping_at.filter(|_| link.is_some()),
            self.lanes.timeout().filter(|_| link.is_some()),
            link.and_then(|link| self.path.timeout(&link.measured())),
            self.unanswered.timeout(),
            link.and_then(Link::tells_at),
            link.and_then(|_| self.streams_timeout()),
            link.and_then(Link::asks_at),
            link.and_then(|link| link.assembly.timeout()),
            link.and_then(|link| link.bounds.as_ref()?.timeout()),
            link.and_then(|link| link.arq.probe_at()),
            link.and_then(|link| link.fec.outgoing.as_ref()?.timeout()),
            link.and_then(|link| link.hop.as_ref()?.timeout()).filter(|_| !self.queue.is_empty()),
            link.and_then(|link| link.tcp.timeout()),
            link.and_then(|link| link.roles.listener()?.gives_up_at()),
            link.and_then(|link| Some(link.arq.waits_in_order_since()? + link.patience())),
        ]
        .into_iter()
        .flatten()
        .min()
    }
}
