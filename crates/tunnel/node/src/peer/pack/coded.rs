//! The repair of TCP segments, at both ends of the hop. Retransmissions of [`recovery`] overtake all waiting
//! packets, as the original packet or combined with others. The receiver undoes a combination with recently
//! delivered packets.
//!
//! Below it hop ARQ may be at work, which repairs any protocol's packets and is told by receipts what is
//! missing. Where it is, it has the first chance: a segment is then sent again from here only when it is
//! still missing after the hop's own repair should have come. Meanwhile the far sender is not told of it
//! either way.
//!
//! A combination is longer than the longest packet in it. What no datagram has room for is cut as packets are
//! ([`super::fragments`]), and takes a link sequence then.

use super::AROUND_FRAMES;
use super::packets::PacketBuilder;
use crate::arq::receipts::RECEIPT_DELAY;
use crate::context::Context;
use crate::peer::Peer;
use crate::peer::link::Link;
use recovery::{NotRestored, Repair, Statistics, Verdict};
use std::time::Duration;
use wire::coded::Coded;
use wire::frame::{self, FrameType};
use wire::inner::Inner;
use wire::notice::Notice;
use wire::unit::TAG_BYTES;

/// Repairs that wait to be sent at once; what exceeds them is as good as lost again.
const MAX_WAITING: usize = 1024;
/// Bytes around a coded repair in a frame that says its length.
const AROUND_CODED: usize = 1 + frame::MAX_LENGTH_BYTES;

impl Peer {
    /// Lets what is to be sent again wait before everything else.
    pub(crate) fn queue_repairs(&mut self, now: Duration, ctx: &mut Context) {
        let Some(Link { tcp, .. }) = &mut self.link else { return };
        loop {
            let mut buffer = ctx.deliveries.buffer();
            let Some(repair) = tcp.poll_repair(now, &mut buffer) else {
                ctx.deliveries.recycle(buffer);
                break;
            };
            match repair {
                _ if tcp.waiting() + self.queue.ahead() >= MAX_WAITING => {
                    ctx.deliveries.recycle(buffer);
                    self.counters.segment_repairs_dropped += 1;
                }
                Repair::Packet => self.queue.push_ahead(buffer),
                Repair::Coded { class } => tcp.push_coded(class, buffer),
            }
        }
        let Some(statistics) = tcp.take_statistics() else { return };
        let Statistics { repairs, coded_repairs, timeouts, suppressed, stripped, failures, segments: _ } =
            statistics;
        self.counters.segments_repaired += repairs;
        self.counters.segments_repaired_coded += coded_repairs;
        self.counters.segment_timeouts += timeouts;
        self.counters.acks_suppressed += suppressed;
        self.counters.acks_stripped += stripped;
        self.counters.segment_failures += failures;
    }

    /// Sends coded repairs, as far as there is room. Whether that filled the datagram to its end.
    pub(super) fn write_coded(
        &mut self,
        now: Duration,
        builder: &mut PacketBuilder<'_>,
        out: &mut Vec<u8>,
    ) -> bool {
        let limit = builder.limit;
        let Some(link) = &mut self.link else { return false };
        while let Some((class, body)) = link.tcp.next_coded() {
            let fits = out.len() + AROUND_CODED + body.len() <= limit;
            let alone = builder.is_empty(out);
            let is_cut = AROUND_FRAMES + builder.lane_bytes + 1 + body.len() > limit + TAG_BYTES;
            if is_cut && !link.assembly.peer_joins() {
                link.tcp.pop_coded();
                self.counters.segment_repairs_dropped += 1;
                continue;
            }
            let may_be_cut = || link.assembly.overflow().is_none() && builder.has_room_to_cut(out);
            let has_room = fits || alone || is_cut && may_be_cut();
            if !has_room || !builder.class.admit(class) {
                break; // its turn comes in a datagram of its own
            }
            if is_cut {
                return self.cut_coded(now, builder, out);
            }
            if fits {
                frame::emit(FrameType::Coded, body, out);
            } else {
                frame::emit_last(FrameType::Coded, out);
                out.extend_from_slice(body);
            }
            link.tcp.pop_coded();
            if !fits {
                return true;
            }
        }
        false
    }

    /// Sends what there is room for of the next coded repair; the rest goes into the next datagram.
    fn cut_coded(&mut self, now: Duration, builder: &mut PacketBuilder<'_>, out: &mut Vec<u8>) -> bool {
        let Some(link) = &mut self.link else { return false };
        let Some((class, body)) = link.tcp.pop_coded() else { return false };
        let sequence = builder.first.take().unwrap_or_else(|| link.arq.next_sequence(now));
        let start = out.len();
        frame::emit_last(FrameType::Coded, out);
        out.extend_from_slice(&body);
        let gone_bytes = frame::cut(start, builder.limit, out);
        let rest = builder.rest_of(sequence, class, (FrameType::Coded, body), gone_bytes);
        link.assembly.keep_overflow(rest);
        true
    }

    /// Tells of TCP segments that were lost on their way here, as far as there is room.
    pub(super) fn write_notices(&mut self, now: Duration, limit: usize, out: &mut Vec<u8>) {
        let Some(link) = &mut self.link else { return };
        let retry = link.arq.retry_after();
        while out.len() + AROUND_CODED + wire::notice::MAX_BYTES <= limit
            && let Some((flow, stretches)) = link.tcp.poll_notice(now, retry)
        {
            let mut body = Vec::with_capacity(wire::notice::MAX_BYTES);
            Notice::emit(&flow, stretches, &mut body);
            frame::emit(FrameType::Notice, &body, out);
            self.counters.notices_sent += 1;
        }
    }

    /// Takes the peer's report of TCP segments that were lost on their way to it.
    pub(super) fn take_notice(&mut self, now: Duration, body: &[u8], ctx: &mut Context) -> bool {
        let Ok(notice) = Notice::parse(body) else { return false };
        if !self.link.as_mut().is_some_and(|link| link.tcp.take_notice(now, &notice)) {
            return false;
        }
        self.counters.notices_received += 1;
        self.queue_repairs(now, ctx);
        true
    }

    /// A coded repair came, in a datagram with the codepoint `ecn`.
    pub(super) fn take_coded(&mut self, now: Duration, body: &[u8], ecn: u8, ctx: &mut Context) -> bool {
        let (Some(link), Ok(coded)) = (&mut self.link, Coded::parse(body)) else { return false };
        let mut packet = ctx.deliveries.buffer();
        match link.tcp.restore(&coded, &mut packet) {
            None => {
                ctx.deliveries.recycle(packet);
                return false;
            }
            Some(Ok(())) => self.take_restored(now, packet, Some(ecn), ctx),
            Some(Err(why)) => {
                self.counters.coded_not_restored += u64::from(why != NotRestored::Waits);
                ctx.deliveries.recycle(packet);
            }
        }
        self.take_late(now, ctx);
        true
    }

    /// Takes repairs that other packets completed.
    fn take_late(&mut self, now: Duration, ctx: &mut Context) {
        while let Some(packet) = self.link.as_mut().and_then(|link| link.tcp.poll_restored()) {
            self.take_restored(now, packet, None, ctx);
        }
    }

    /// A packet is whole again, by a datagram with the codepoint `ecn` or by several.
    fn take_restored(&mut self, now: Duration, mut packet: Vec<u8>, ecn: Option<u8>, ctx: &mut Context) {
        let Ok(inner) = Inner::parse(&packet) else {
            self.counters.coded_not_restored += 1;
            return ctx.deliveries.recycle(packet);
        };
        if !ctx.may_come(inner.flow.source, self.index) {
            self.refuse_source(now, inner.flow.source, ctx);
            return ctx.deliveries.recycle(packet);
        }
        if ecn.is_some_and(|ecn| !self.take_mark(&mut packet, ecn)) {
            return ctx.deliveries.recycle(packet);
        }
        self.counters.coded_restored += 1;
        if let Some(packet) = self.hand_on(now, packet, &inner, ctx) {
            self.counters.count_delivery(&packet);
            ctx.hand_on(now, self.index, None, packet);
        }
    }

    /// A packet is about to be handed on: remembers it for coded repairs, and reads its acknowledgment.
    /// `None`: it goes no further.
    pub(super) fn hand_on(
        &mut self,
        now: Duration,
        mut packet: Vec<u8>,
        inner: &Inner,
        ctx: &mut Context,
    ) -> Option<Vec<u8>> {
        if let Some(link) = &mut self.link {
            let left_to_hop = link.leaves_segments_to_hop();
            let held_off = match link.arq.repairs_losses() {
                true => link.arq.retry_after() + RECEIPT_DELAY,
                false => Duration::ZERO,
            };
            if let Some(verdict) = link.tcp.inspect(now, &mut packet, inner, (left_to_hop, held_off)) {
                self.queue_repairs(now, ctx);
                if verdict == Verdict::Suppress {
                    ctx.deliveries.recycle(packet);
                    return None;
                }
            }
        }
        // what waited for this one is older, and goes before it
        self.take_late(now, ctx);
        Some(packet)
    }
}
