//! A peer's reachability: what becomes of its packets.

use super::Peer;
use crate::context::Context;
use crate::event::Event;
use crate::path::icmp::Reason;
use crate::path::reachability::DOWN_AFTER;
use crate::roaming::Seen;
use std::time::Duration;
use wire::inner::Inner;

impl Peer {
    /// Something proven has come from the peer.
    pub(crate) fn mark_reachable(&mut self, now: Duration, ctx: &mut Context) {
        if self.reachability.hear(now) {
            ctx.events.push(Event::Reachable { index: self.index, peer: self.config.name.clone() });
        }
    }

    /// The peer has gone: its waiting packets are refused.
    pub(crate) fn mark_unreachable(&mut self, now: Duration, ctx: &mut Context) {
        if self.reachability.give_up() {
            ctx.events.push(Event::Unreachable { index: self.index, peer: self.config.name.clone() });
        }
        while let Some(packet) = self.queue.pop(now) {
            let inner = Inner::parse(&packet).ok();
            let message = inner.and_then(|inner| self.refuse_packet(now, &packet, &inner, ctx));
            message.into_iter().for_each(|message| ctx.hand_on(now, self.index, None, message));
            self.queue.recycle(packet);
        }
    }

    /// Whether packets for it are taken.
    pub(crate) fn is_up(&self) -> bool {
        self.reachability.is_up()
    }

    /// Whether a packet for the peer takes a handshake that has not begun.
    pub(crate) fn needs_handshake(&mut self, now: Duration) -> bool {
        let is_lost = self.sessions.sending(now).is_none() || !self.reachability.is_up();
        is_lost && !self.sessions.is_shaking_hands()
    }

    /// Whether a packet for the peer is sent or held.
    pub(crate) fn takes_packets(&mut self, now: Duration) -> bool {
        !self.revoked && self.reachability.takes_packets(now)
    }

    /// Refuses a packet, and asks the peer for a sign if both ends may still have the session. The message
    /// for the packet's sender, if there is one.
    pub(crate) fn refuse_packet(
        &mut self,
        now: Duration,
        packet: &[u8],
        inner: &Inner,
        ctx: &mut Context,
    ) -> Option<Vec<u8>> {
        self.counters.unreachable += 1;
        let srtt = self.link.as_ref().and_then(|link| link.arq.srtt());
        if !self.revoked
            && self.sessions.sending(now).is_some()
            && self.reachability.ask_for_a_sign(now, srtt)
        {
            self.ping_at = Some(now);
        }
        self.write_message(now, packet, inner, Reason::Unreachable, ctx)
    }

    /// Whether the peer is about to be given up.
    pub(crate) fn is_doubted(&self) -> bool {
        self.reachability.is_up() && self.doubt_at().is_some()
    }

    /// Gives the peer up, if its time has come.
    pub(crate) fn doubt(&mut self, now: Duration, ctx: &mut Context) {
        if self.doubt_at().is_some_and(|at| at <= now) {
            self.reachability.hold_from(now.saturating_sub(DOWN_AFTER));
            self.mark_unreachable(now, ctx);
        }
    }

    /// When [`Peer::doubt`] has something to do.
    pub(crate) fn doubt_at(&self) -> Option<Duration> {
        let shaking_since = self.sessions.initiator().trying_since();
        self.reachability.doubt_at(shaking_since, self.unanswered.since(), !self.queue.is_empty())
    }

    /// What a station knows of this gateway.
    pub(crate) fn seen(&self) -> Seen {
        Seen {
            is_up: self.reachability.is_up(),
            unanswered_since: self.unanswered.since(),
            srtt: self.link.as_ref().and_then(|link| link.arq.srtt()).unwrap_or_default(),
        }
    }
}
