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

    /// Takes a packet that is larger than that. The message for its sender, if there is one.
    pub(crate) fn take_too_large(
        &mut self,
        now: Duration,
        packet: &[u8],
        inner: &Inner,
        ctx: &mut Context,
    ) -> Option<Vec<u8>> {
        self.counters.too_large += 1;
        let limit = self.max_packet_bytes();
        if fragment(packet, limit, |part| self.queue.push(now, part, &inner.flow)) {
            self.counters.fragmented += 1;
            return None;
        }
        self.write_message(now, packet, inner, Reason::TooLarge(limit), ctx)
    }

    /// The message that tells the sender of a packet why it does not go on, if one may be sent now.
    pub(crate) fn write_message(
        &mut self,
        now: Duration,
        packet: &[u8],
        inner: &Inner,
        reason: Reason,
        ctx: &mut Context,
    ) -> Option<Vec<u8>> {
        let message = ctx.write_message(now, packet, inner, reason);
        self.counters.icmp_sent += u64::from(message.is_some());
        message
    }

    /// Takes packets out of the queue that have become too large while they waited.
    pub(crate) fn take_out_too_large(&mut self, now: Duration, ctx: &mut Context) {
        while self.queue.next_bytes(now).is_some_and(|bytes| bytes > self.max_packet_bytes())
            && let Some(packet) = self.queue.pop(now)
        {
            let inner = Inner::parse(&packet).ok();
            let message = inner.and_then(|inner| self.take_too_large(now, &packet, &inner, ctx));
            message.into_iter().for_each(|message| ctx.deliveries.push(message));
            self.queue.recycle(packet);
        }
    }
}
