//! Retransmission, on a peer's request or after a loss that its receipts show.

use super::AROUND_PACKET;
use super::packets::PacketBuilder;
use crate::arq::nack::Recipient;
use crate::context::Context;
use crate::event::Outcome;
use crate::path::ecn;
use crate::peer::Peer;
use crate::peer::link::Link;
use std::time::Duration;
use wire::frame::{self, FrameType, SEQUENCE_BYTES};
use wire::inner::Inner;
use wire::number::{from_u24, to_u24};

/// Bytes around a reply's packet in a frame that says its length.
const AROUND_REPLY: usize = 1 + 5 + SEQUENCE_BYTES;

impl Peer {
    /// Sends again what was asked for, as far as there is room. Whether that filled the datagram to its end.
    pub(super) fn write_replies(&mut self, builder: &mut PacketBuilder<'_>, out: &mut Vec<u8>) -> bool {
        let (limit, path_bytes) = (builder.limit, self.path.limit());
        let Some(link) = &mut self.link else { return false };
        while let Some(wanted) = link.arq.next_reply() {
            let Some(original) = link.reduce.original(wanted) else {
                link.arq.finish_reply();
                continue;
            };
            let fits = out.len() + AROUND_REPLY + original.len() <= limit;
            if original.len() + AROUND_PACKET + builder.lane_bytes > path_bytes {
                link.arq.finish_reply(); // the path has become too narrow for it
                continue;
            }
            let alone = builder.is_empty(out);
            if !fits && !alone || !builder.class.admit(ecn::traffic_class(original)) {
                break; // its turn comes in a datagram of its own
            }
            let mut body = to_u24(wanted).to_vec();
            body.extend_from_slice(original);
            link.arq.finish_reply();
            link.roles.member_mut().into_iter().for_each(|member| member.sent_apart(wanted));
            self.counters.replied += 1;
            if fits {
                frame::emit(FrameType::Reply, &body, out);
            } else {
                frame::emit_last(FrameType::Reply, out);
                out.extend_from_slice(&body);
                return true;
            }
        }
        false
    }

    /// Sends again what was lost, as far as there is room. Whether that filled the datagram to its end.
    pub(super) fn write_retransmissions(
        &mut self,
        now: Duration,
        builder: &mut PacketBuilder<'_>,
        out: &mut Vec<u8>,
    ) -> bool {
        let (limit, path_bytes) = (builder.limit, self.path.limit());
        let Some(Link { arq, reduce, roles, .. }) = &mut self.link else { return false };
        self.counters.dropped_old += arq.take_dropped_old();
        while let Some(again) = arq.next_retransmission(now) {
            // the frame's MAC may be the earlier session's
            let goes_whole = again.as_it_was || again.body.is_none() || again.session != builder.session;
            let original = reduce.original(again.sequence).filter(|_| goes_whole);
            let frame_type = if original.is_some() { FrameType::Packet } else { again.frame_type };
            let frame_type = frame_type.sent_again(again.store_only);
            let (Some(body), Some(frame_type)) = (original.or(again.body), frame_type) else {
                arq.skip_retransmission(); // the store has lost it, or need not have it
                continue;
            };
            let fits = out.len() + AROUND_REPLY + body.len() <= limit;
            if body.len() + AROUND_PACKET + builder.lane_bytes > path_bytes {
                arq.skip_retransmission(); // the path has become too narrow for it: as good as lost
                continue;
            }
            let alone = builder.is_empty(out);
            if !fits && !alone || !builder.class.admit(again.class) {
                break; // its turn comes in a datagram of its own
            }
            if fits {
                frame::emit_front(frame_type, SEQUENCE_BYTES + body.len(), out);
            } else {
                frame::emit_last(frame_type, out);
            }
            let sequence = again.sequence;
            frame::emit_sequence(sequence, out);
            out.extend_from_slice(body);
            arq.mark_retransmitted(now, sequence);
            roles.member_mut().into_iter().for_each(|member| member.sent_apart(sequence));
            self.path.sent_again(sequence);
            self.counters.recovered += 1;
            if !fits {
                return true;
            }
        }
        false
    }

    /// A packet that was lost and comes again; `take` does what is done with one that comes for the first
    /// time.
    pub(super) fn take_retransmission(
        &mut self,
        now: Duration,
        mut body: &[u8],
        take: impl FnOnce(&mut Self, u64, &[u8]) -> bool,
    ) -> bool {
        let Some(link) = &mut self.link else { return false };
        let Ok(truncated) = frame::parse_sequence(&mut body) else { return false };
        let sequence = link.arq.widen(truncated);
        link.arq.want_receipt(now, body.len());
        // it may be one that waits for chunks
        link.roles.listener_mut().into_iter().for_each(|listener| listener.comes_again(sequence));
        // a copy that was on its way when the first one was given up for lost
        link.arq.holds(sequence) || take(self, sequence, body)
    }

    /// A packet that was asked for.
    pub(super) fn take_reply(
        &mut self,
        now: Duration,
        body: &[u8],
        to: Recipient,
        ctx: &mut Context,
    ) -> bool {
        let Some((front, packet)) = body.split_first_chunk::<3>() else { return false };
        let Some(link) = &mut self.link else { return false };
        let sequence = link.arq.widen(from_u24(*front));
        if !link.arq.is_wanted(sequence) {
            return true; // late, or never asked for: nothing to do
        }
        let Ok(inner) = Inner::parse(packet) else { return false };
        let held = link.arq.take_reply(sequence);
        link.restore.store(sequence, packet, &inner);
        link.arq.hold(sequence);
        if let Some(held) = held {
            let age = held.age(now);
            let marked = Recipient::EndHosts { ecn: ecn::CE };
            let to = if held.to == marked { marked } else { to };
            let mut buffer = ctx.deliveries.buffer();
            buffer.extend_from_slice(packet);
            self.deliver(now, (sequence, age), buffer, Outcome::Repaired, to, ctx);
        }
        self.restore_dependents(now, sequence, ctx);
        true
    }
}
