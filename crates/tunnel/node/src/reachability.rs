//! Whether a peer answers, and what becomes of packets for one that does not.
//!
//! A peer is reachable from the moment that a session with it is proven. It is not any more when it says
//! goodbye, when its session's keys have expired, or when a handshake and something else have gone unanswered
//! for [`DOWN_AFTER`] and nothing was heard of it meanwhile. Such a handshake begins at the latest ten
//! seconds after something was sent that nobody answered; a peer that keeps silent is sent something by every
//! keepalive.
//!
//! Packets for a peer that is not reachable are held as long, for it may be about to come, as when both have
//! just been started; then they and all that follow are refused, and their senders told (RFC 1812, 5.2.7.1).
//! So nothing hangs, and nothing leaves by another way than the one that was meant. Who wants it otherwise
//! withdraws the routes when [`Event::Unreachable`] is told.

use crate::event::Event;
use crate::icmp::Reason;
use crate::node::Outside;
use crate::peer::Peer;
use std::time::Duration;
use wire::inner::Inner;

/// How long a handshake may go unanswered: its first message and two repetitions.
pub const DOWN_AFTER: Duration = Duration::from_secs(5);

/// How often a peer is asked while that is so: on a lossy path one answer is easily lost.
pub const DOUBTED_KEEPALIVE: Duration = Duration::from_secs(1);

/// Of one peer.
#[derive(Debug, Default)]
pub struct Reachability {
    up: bool,
    heard_at: Duration,
    /// Since when packets are held for it.
    holds_since: Option<Duration>,
}

impl Reachability {
    /// Whether it answers, as far as is known.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.up
    }

    /// A handshake was given up: packets may be held for the next.
    pub fn try_again(&mut self) {
        self.holds_since = None;
    }
}

impl Peer {
    /// Something proven has come from the peer.
    pub(crate) fn is_reachable(&mut self, now: Duration, outside: &mut Outside<'_>) {
        let before = std::mem::replace(
            &mut self.reachability,
            Reachability { up: true, heard_at: now, holds_since: None },
        );
        if !before.up {
            outside.events.push(Event::Reachable { index: self.index, peer: self.config.name.clone() });
        }
    }

    /// The peer has gone: its waiting packets are refused.
    pub(crate) fn is_unreachable(&mut self, now: Duration, outside: &mut Outside<'_>) {
        if std::mem::take(&mut self.reachability.up) {
            outside.events.push(Event::Unreachable { index: self.index, peer: self.config.name.clone() });
        }
        while let Some(packet) = self.queue.pop(now) {
            if let Ok(inner) = Inner::parse(&packet) {
                self.refuse_packet(now, &packet, &inner, outside);
            }
            self.queue.recycle(packet);
        }
    }

    /// Whether a packet for the peer is sent or held.
    pub(crate) fn takes_packets(&mut self, now: Duration) -> bool {
        if self.revoked {
            return false;
        }
        self.reachability.up || now < *self.reachability.holds_since.get_or_insert(now) + DOWN_AFTER
    }

    /// Refuses a packet.
    pub(crate) fn refuse_packet(
        &mut self,
        now: Duration,
        packet: &[u8],
        inner: &Inner,
        outside: &mut Outside<'_>,
    ) {
        self.counters.unreachable += 1;
        self.tell_sender(now, packet, inner, Reason::Unreachable, outside);
    }

    /// Whether the peer is about to be given up.
    pub(crate) fn is_doubted(&self) -> bool {
        self.reachability.up && self.doubt_at().is_some()
    }

    /// Gives the peer up, if its time has come.
    pub(crate) fn doubt(&mut self, now: Duration, outside: &mut Outside<'_>) {
        if self.doubt_at().is_some_and(|at| at <= now) {
            self.reachability.holds_since.get_or_insert(now.saturating_sub(DOWN_AFTER));
            self.is_unreachable(now, outside);
        }
    }

    /// When [`Peer::doubt`] has something to do.
    pub(crate) fn doubt_at(&self) -> Option<Duration> {
        let Reachability { up, heard_at, holds_since } = self.reachability;
        let since = if up {
            // a renewal of keys alone is no reason to doubt: it may be lost, and nobody waits for it
            let shaking = self.sessions.initiator().trying_since().filter(|since| *since > heard_at);
            shaking.zip(self.unanswered_since).map(|(shaking, unanswered)| shaking.max(unanswered))
        } else {
            holds_since.filter(|_| !self.queue.is_empty())
        };
        since.map(|since| since + DOWN_AFTER)
    }
}
