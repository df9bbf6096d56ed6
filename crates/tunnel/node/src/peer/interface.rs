//! What the node sees of a peer, and asks of it.

use super::Peer;
use crate::context::Context;
use crate::keys::PublicKey;
use crate::path::endpoint::Age;
use crate::session::initiator::{Initiator, Introduction};
use crate::session::keyring::Keyring;
use crate::session::sessions::Sessions;
use crate::status::PeerCounters;
use rand::Rng;
use std::net::SocketAddr;
use std::time::Duration;
use wire::inner::Flow;
use wire::natives::Name;
use wire::unit::Unit;

impl Peer {
    /// Index in the configuration.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// Name in the configuration.
    pub(crate) fn name(&self) -> &str {
        &self.config.name
    }

    /// The own boot that handshakes with it say.
    pub(crate) fn boot(&self) -> u64 {
        self.boots.said()
    }

    /// The peer's public key.
    pub(crate) fn public_key(&self) -> &PublicKey {
        &self.config.public_key
    }

    /// Its sessions, and the handshakes for them.
    pub(crate) fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// The same, to be changed.
    pub(crate) fn sessions_mut(&mut self) -> &mut Sessions {
        &mut self.sessions
    }

    /// The peer's public key, and its handshakes to be changed.
    pub(crate) fn initiator_mut(&mut self) -> (&PublicKey, &mut Initiator) {
        (&self.config.public_key, self.sessions.initiator_mut())
    }

    /// Takes a challenge to this node's handshake: the unit to send at once. A peer that has confirmed a
    /// higher number has seen a later state of this node than this one, whose link is then void.
    pub(crate) fn challenged<'a>(
        &mut self,
        now: Duration,
        introduce: impl FnOnce(u64) -> Introduction<'a>,
        unit: &Unit<'_>,
        rng: &mut impl Rng,
        keyring: &mut Keyring,
    ) -> Option<Vec<u8>> {
        let Peer { sessions, boots, config, .. } = self;
        let introduce = || introduce(boots.lose());
        let peer = (self.index, &config.public_key);
        sessions.initiator_mut().challenged(now, introduce, peer, unit, rng, keyring)
    }

    /// Counters of its traffic.
    pub(crate) fn counters_mut(&mut self) -> &mut PeerCounters {
        &mut self.counters
    }

    /// Where it is.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.endpoint.address()
    }

    /// Where it heard what was sent to it last, if it has no `endpoint`.
    pub(crate) fn last_address(&self) -> Option<SocketAddr> {
        let is_proven = self.config.endpoint.is_none() && !self.endpoint.is_uncertain();
        self.endpoint.address().filter(|_| is_proven)
    }

    /// It was at this address before the node started. Whether a handshake is to begin.
    pub(crate) fn suppose_at(&mut self, address: SocketAddr) -> bool {
        let is_unknown = self.endpoint.address().is_none() && !self.revoked;
        if is_unknown {
            self.endpoint.suppose(address);
        }
        is_unknown
    }

    /// Bytes that a datagram to it may have.
    pub(crate) fn datagram_limit(&self) -> usize {
        self.path.limit()
    }

    /// This host's interface towards `to` does not take datagrams of `bytes`.
    pub(crate) fn refuse_size(&mut self, now: Duration, to: SocketAddr, bytes: usize) {
        if self.endpoint.address() == Some(to) {
            self.path.refused(now, bytes);
        }
    }

    /// The share of what was sent that was lost.
    pub(crate) fn loss(&self) -> Option<f64> {
        self.link.as_ref().and_then(|link| link.arq.loss())
    }

    /// A unit came again, from `from`. Somebody may have been faster than the peer, from another address.
    pub(crate) fn note_replay(&mut self, now: Duration, from: SocketAddr) {
        if self.endpoint.is_uncertain() {
            self.endpoint.claim(now, from);
        }
    }

    /// A proven unit came on this lane. One that cannot be is ignored.
    pub(crate) fn hear_lane(&mut self, lane: u8, from: SocketAddr, age: Age) {
        let _ = self.lanes.hear(lane, from, age);
    }

    /// Sends a ping at `now`.
    pub(crate) fn ping(&mut self, now: Duration) {
        self.ping_at = Some(now);
    }

    /// Number of this station's association with it, a gateway.
    pub(crate) fn associate(&mut self, association: Option<u8>) {
        self.associated = association;
    }

    /// Says goodbye with the next datagram.
    pub(crate) fn close(&mut self) {
        self.closing = true;
    }

    /// Whether its handshakes are refused, and it is sent nothing.
    pub(crate) fn is_revoked(&self) -> bool {
        self.revoked
    }

    /// Loses what is stored in one or both directions.
    pub(crate) fn forget(&mut self, sent: bool, received: bool) {
        let Some(link) = &mut self.link else { return };
        if sent {
            link.reduce.forget();
        }
        if received {
            link.forget_received();
        }
    }

    /// Lets a packet wait, which others know by this name.
    pub(crate) fn enqueue(&mut self, now: Duration, packet: &[u8], flow: &Flow, name: Option<Name>) {
        self.queue.push_named(now, packet, flow, name);
    }

    /// Whether packets wait.
    pub(crate) fn has_packets(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Takes the packet out that would leave next. Give its buffer back with [`Peer::recycle`].
    pub(crate) fn take_packet(&mut self, now: Duration) -> Option<Vec<u8>> {
        self.queue.pop(now)
    }

    /// Takes packets out that are to go another way.
    pub(crate) fn take_out(&mut self, goes: impl FnMut(&[u8]) -> bool) -> Vec<Vec<u8>> {
        self.queue.take_out(goes)
    }

    /// Takes back the buffer of a packet that waited.
    pub(crate) fn recycle(&mut self, packet: Vec<u8>) {
        self.queue.recycle(packet);
    }

    /// Lets a message for it wait, from this gateway to that one. `false`: nothing but a plain tunnel is in
    /// common.
    pub(crate) fn write_to(&mut self, message: Vec<u8>) -> bool {
        let Some(link) = self.link.as_mut().filter(|link| !link.is_plain()) else { return false };
        link.outbox.push_letter(message);
        true
    }

    /// A datagram of so many bytes leaves on this lane: the address and the source port. The last one ends
    /// the session.
    pub(crate) fn send(
        &mut self,
        now: Duration,
        lane: usize,
        datagram_bytes: usize,
        ctx: &mut Context,
    ) -> Option<(SocketAddr, usize)> {
        let source_port = self.lanes.source_port(lane);
        let to = self.lanes.address(lane, self.endpoint.address()?);
        self.count_sent(to, datagram_bytes);
        if self.closing {
            self.end(now, ctx);
        }
        Some((to, source_port))
    }
}
