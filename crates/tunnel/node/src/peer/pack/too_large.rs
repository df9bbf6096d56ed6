//! Packets that are too large for the path to a peer: fragmented where IPv4 allows it, and otherwise
//! answered, so that their senders send smaller ones. None disappears without a word, but that words are
//! rationed.

use super::{AROUND_PACKET, SHARING_BYTES};
use crate::context::Context;
use crate::path::fragment::fragment;
use crate::path::icmp::Reason;
use crate::peer::Peer;
use std::time::Duration;
use wire::inner::Inner;

impl Peer {
    /// Largest packet in bytes that the path to the peer carries; for a member of the group, the largest that
    /// can be shared. A relay's packets were not made for its own device.
    pub(crate) fn max_packet_bytes(&self) -> usize {
        let is_member = self.link.as_ref().is_some_and(|link| link.roles.member().is_some());
        let sharing_bytes = if is_member { SHARING_BYTES } else { 0 };
        self.path.limit() - AROUND_PACKET - self.lane_bytes() - sharing_bytes
    }

    /// Takes a packet that is larger than that.
    pub(crate) fn take_too_large(&mut self, now: Duration, packet: &[u8], inner: &Inner, ctx: &mut Context) {
        self.counters.too_large += 1;
        let limit = self.max_packet_bytes();
        if fragment(packet, limit, |part| self.queue.push(now, part, &inner.flow)) {
            self.counters.fragmented += 1;
        } else {
            self.tell_sender(now, packet, inner, Reason::TooLarge(limit), ctx);
        }
    }

    /// Tells the sender of a packet why it does not go on, if there is a message left to be sent now.
    pub(crate) fn tell_sender(
        &mut self,
        now: Duration,
        packet: &[u8],
        inner: &Inner,
        reason: Reason,
        ctx: &mut Context,
    ) {
        self.counters.icmp_sent += u64::from(ctx.tell_sender(now, packet, inner, reason));
    }

    /// Takes packets out of the queue that have become too large while they waited.
    pub(crate) fn take_out_too_large(&mut self, now: Duration, ctx: &mut Context) {
        while self.queue.next_bytes(now).is_some_and(|bytes| bytes > self.max_packet_bytes())
            && let Some(packet) = self.queue.pop(now)
        {
            if let Ok(inner) = Inner::parse(&packet) {
                self.take_too_large(now, &packet, &inner, ctx);
            }
            self.queue.recycle(packet);
        }
    }
}
