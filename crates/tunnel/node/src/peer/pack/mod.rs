//! Pack and unpack: the contents of a datagram for a peer, and the processing of the contents of a received
//! one.
//!
//! A packet that did not fit into the datagram before goes first, then [control] frames, then what
//! is sent [again](retransmit), then [packets]. A receipt rides along in the room that they leave, and
//! goes alone when nothing else leaves in time; one that found no room goes before the packets of the next
//! datagram. Packets share a datagram only where its outer header can speak for all of them
//! ([`crate::path::encapsulation`]).

mod coalesce;
mod coded;
mod control;
mod fragments;
mod natives;
mod packets;
mod probe;
mod repairs;
mod retransmit;
mod shared;
mod streams;
mod too_large;

pub(crate) use natives::{Native, natives_mac};
use packets::PacketBuilder;
pub(crate) use shared::GroupUnit;
pub use shared::SHARING_BYTES;
#[cfg(test)]
pub(crate) use shared::unit_number;

use crate::arq::nack::{Arrival, Recipient};
use crate::context::Context;
use crate::elimination::reduce::Shape;
use crate::group::Member;
use crate::path::encapsulation::OuterClass;
use crate::peer::Peer;
use crate::peer::link::{Agreement, Link, Overflow, Partial};
use crate::session::seal::Seal;
use re::mac::PacketMac;
use std::time::Duration;
use wire::frame::{self, Class, Frame, FrameType, Frames, SEQUENCE_BYTES};
use wire::inner::Inner;
use wire::request::MAX_SEQUENCES;
use wire::unit::{SEALED_HEADER_BYTES, TAG_BYTES, emit_header};

/// Bytes around the frames of a unit.
pub const AROUND_FRAMES: usize = SEALED_HEADER_BYTES + SEQUENCE_BYTES + TAG_BYTES;
/// The most bytes around an inner packet that is alone in a datagram: sent again on request, it is named.
pub const AROUND_PACKET: usize = AROUND_FRAMES + 1 + SEQUENCE_BYTES;
/// Bytes that a datagram says its lane with.
pub const LANE_BYTES: usize = 3;

/// A datagram that has been written.
pub(crate) struct Packed {
    pub seal: Seal,
    /// The outer header's traffic class.
    pub class: u8,
    pub lane: usize,
}

/// A unit whose frames are to be taken.
struct Unpacked<'a> {
    /// The link sequence in front of it.
    first: u64,
    /// The sequence of the packet whose rest it begins with.
    cut: Option<u64>,
    /// The session under which it came, by our id.
    session: u32,
    /// The session's MAC.
    mac: &'a PacketMac,
    /// The codepoint of its datagram.
    ecn: u8,
    /// It was lost, and repairs restored it.
    is_restored: bool,
}

/// The messages to the peer that are due, beside packets.
#[derive(Default)]
struct PendingControl {
    lane: usize,
    /// There is something that is not for the group to hear.
    control: bool,
    ping: bool,
    /// The ping is to leave without packets, which would be lost with what is too large for the path.
    alone: bool,
    receipt: bool,
    asked: Vec<u64>,
    /// The packets that wait are not to leave yet.
    held: bool,
}

impl Peer {
    /// Writes the next datagram for the peer into `out`, header and plaintext; `None` if there is nothing to
    /// send.
    pub(crate) fn pack(&mut self, now: Duration, ctx: &mut Context, out: &mut Vec<u8>) -> Option<Packed> {
        self.sessions.sending(now)?;
        if let Some(probe) = self.pack_probe(now, out) {
            return Some(probe);
        }
        if let Some(repair) = self.pack_repair(now, out) {
            return Some(repair);
        }
        if let Some(streams) = self.pack_streams(now, ctx.processor_is_short, out) {
            return Some(streams);
        }
        self.queue.drop_old(now);
        self.take_out_too_large(now, ctx);
        if let Some(partial) = self.link.as_mut().and_then(|link| link.assembly.take_partial()) {
            return self.go_on(now, partial, ctx, out);
        }
        let mut due = self.due(now)?;
        // a packet that takes a receipt along would share no frame with another's
        due.control |= due.receipt && ctx.coding.is_some();
        if let Some((packed, _)) = self.pack_shared(now, (&due, false), ctx, out) {
            return Some(packed);
        }
        let is_shared = self.is_shared(ctx);
        let lane_bytes = self.lane_bytes();
        let session = self.sessions.sending(now)?;
        let link = self.link.as_mut()?;
        let (session_id, seal, mac) = (session.local_id, session.next_seal(), session.send_mac.clone());
        out.clear();
        emit_header(session.unit_kind(&seal), session.remote_id, None, out);
        let limit = self.path.limit() - TAG_BYTES - link.repair_bytes();
        let goes = |overflow: &Overflow| !(due.alone || is_shared && overflow.is_shared());
        let overflow = link.assembly.take_overflow(limit - lane_bytes, goes);
        let first = link.begin_datagram(now, overflow.as_ref(), ctx.processor_is_short);
        frame::emit_sequence(first, out);
        if let port @ 1.. = self.lanes.source_port(due.lane) {
            frame::emit(FrameType::Lane, &[port as u8], out);
        }
        let class = OuterClass::new(ctx.config.copies_dscp);
        let (lane, session) = (due.lane, session_id);
        let mut builder = PacketBuilder {
            first: Some(first),
            session,
            mac: &mac,
            limit,
            lane,
            lane_bytes,
            class,
            packets: 0,
            is_shared: false,
            ends_whole: false,
            is_native: false,
            form: None,
        };
        if let Some(overflow) = overflow {
            self.write_overflow(&mut builder, overflow, ctx, out);
        }
        self.write_control(now, &due, out);
        self.write_letters(limit, out);
        self.write_notices(now, limit, out);
        self.write_group_control(now, ctx, out);
        if self.queue.is_empty() || self.link.as_ref().is_some_and(|link| link.arq.receipt_had_no_room()) {
            self.write_receipt(now, due.receipt, None, limit, out);
        }
        let full = due.alone
            || self.write_coded(now, &mut builder, out)
            || self.write_replies(&mut builder, out)
            || self.write_retransmissions(now, &mut builder, out);
        if !full {
            // what can be shared goes without control beside it
            let no_packets = due.held || is_shared && due.control;
            let last = if no_packets { None } else { self.write_packets(now, &mut builder, None, ctx, out) };
            if !due.control && !due.receipt && self.waits_to_be_filled(now, &builder, out.len()) {
                let PacketBuilder { first: free, lane, session, class, packets, .. } = builder;
                let plaintext = std::mem::replace(out, ctx.deliveries.buffer());
                let partial = Partial { seal, plaintext, first, free, lane, session, class, packets, last };
                self.link.as_mut()?.assembly.keep_partial(partial);
                return None;
            }
            self.write_receipt(now, due.receipt, last, limit, out);
        }
        let packed = Packed { seal, class: builder.class.octet(), lane: due.lane };
        self.finish_unit(now, first, session, &packed, out);
        Some(packed)
    }

    /// Goes on with a datagram that waited to be filled. It leaves as it is where something else is to be
    /// said: that follows, and its receipt rides along.
    fn go_on(
        &mut self,
        now: Duration,
        mut partial: Partial,
        ctx: &mut Context,
        out: &mut Vec<u8>,
    ) -> Option<Packed> {
        std::mem::swap(out, &mut partial.plaintext);
        let limit = self.path.limit() - TAG_BYTES;
        let lane_bytes = self.lane_bytes();
        let mac = self.sessions.by_id(partial.session).map(|session| session.send_mac.clone());
        // under keys that are gone nothing is added, nor to what has become too large
        if let Some(mac) = mac.filter(|_| out.len() < limit) {
            let Partial { free: first, lane, session, class, packets, .. } = partial;
            let (is_shared, ends_whole, is_native, form) = (false, false, false, None);
            let mac = &mac;
            let mut builder = PacketBuilder {
                first,
                session,
                mac,
                limit,
                lane,
                lane_bytes,
                class,
                packets,
                is_shared,
                ends_whole,
                is_native,
                form,
            };
            if self.is_quiet(now) && !self.is_held(now) {
                partial.last = self.write_packets(now, &mut builder, partial.last, ctx, out);
                (partial.free, partial.class, partial.packets) =
                    (builder.first, builder.class, builder.packets);
                if self.waits_to_be_filled(now, &builder, out.len()) {
                    std::mem::swap(out, &mut partial.plaintext);
                    self.link.as_mut()?.assembly.keep_partial(partial);
                    return None;
                }
            }
            let is_due = self.link.as_ref().and_then(Link::receipt_at).is_some_and(|at| at <= now);
            self.write_receipt(now, is_due, partial.last, limit, out);
        }
        ctx.deliveries.recycle(partial.plaintext);
        let packed = Packed { seal: partial.seal, class: partial.class.octet(), lane: partial.lane };
        self.finish_unit(now, partial.first, partial.session, &packed, out);
        Some(packed)
    }

    /// A datagram with packets from `first` on has been written under a session.
    fn finish_unit(&mut self, now: Duration, first: u64, session: u32, packed: &Packed, out: &[u8]) {
        if let Some(outgoing) = self.link.as_mut().and_then(|link| link.fec.outgoing.as_mut()) {
            let frames = &out[SEALED_HEADER_BYTES + SEQUENCE_BYTES..];
            outgoing.note_source(now, first, session, packed.class, frames);
        }
        self.finish_datagram(now, first, out.len() + TAG_BYTES, packed.lane);
    }

    /// A datagram of so many bytes with packets from `first` on has been written.
    fn finish_datagram(&mut self, now: Duration, first: u64, bytes: usize, lane: usize) {
        let Some(link) = &mut self.link else { return };
        link.arq.finish_datagram(now);
        if let Some(controller) = &mut link.hop {
            controller.note_sent(now, link.arq.newest_sequence(), bytes);
        }
        link.assembly.finish_datagram();
        self.path.sent(now, first, bytes, link.arq.loss());
        self.sent(now, lane);
    }

    /// A frame that came in pieces, and is whole now.
    #[expect(clippy::too_many_arguments, reason = "what came, as what, and under which session")]
    fn take_frame(
        &mut self,
        now: Duration,
        sequence: u64,
        frame_type: FrameType,
        (session, mac): (u32, &PacketMac),
        ecn: u8,
        body: &[u8],
        ctx: &mut Context,
    ) -> bool {
        if frame_type == FrameType::Shared {
            return self.take_shared(now, sequence, (session, mac), ecn, body, ctx);
        }
        if frame_type == FrameType::Coded {
            self.link.iter_mut().for_each(|link| link.arq.hold(sequence)); // no packet travels under it
            let understood = self.take_coded(now, body, ecn, ctx);
            self.deliver_in_order(now, sequence, None, ctx);
            return understood;
        }
        let to = Recipient::of(Some(frame_type), ecn);
        match Shape::of(frame_type) {
            Some(shape) => {
                let arrival = Arrival { sequence, shape, body, session, to };
                self.take_reduced(now, &arrival, mac, ctx)
            }
            None => self.take_plain(now, sequence, body, to, ctx),
        }
    }

    /// The due messages; `None` without any and without a waiting packet.
    fn due(&mut self, now: Duration) -> Option<PendingControl> {
        // the rest of the earlier datagram stays on its lane; a ping keeps a lane open; else packets choose
        let first_pings = self.ping_at.is_some_and(|at| at <= now);
        let alone = first_pings && self.path.is_probing();
        let overflow = self.link.as_ref()?.assembly.overflow().filter(|_| !alone);
        let left_over = overflow.map(|overflow| overflow.lane);
        let pinging = if first_pings { Some(0) } else { self.lanes.due(now) };
        let lane = left_over.or(pinging).unwrap_or_else(|| self.next_lane(now));
        let link = self.link.as_mut()?;
        let mut due = PendingControl {
            lane,
            control: false,
            ping: pinging.is_some_and(|port| port == self.lanes.source_port(lane)),
            alone,
            receipt: link.receipt_at().is_some_and(|at| at <= now),
            asked: link.arq.ask(now, MAX_SEQUENCES),
            held: false,
        };
        due.control = due.ping
            || !due.asked.is_empty()
            || link.tcp.has_notice(now)
            || link.has_to_say()
            || link.roles.tell_at().is_some_and(|at| at <= now)
            || link.bounds.as_ref().and_then(Agreement::tells_at).is_some_and(|at| at <= now)
            || self.closing;
        let chunks = link.roles.member().is_some_and(Member::has_replies);
        let said = due.control || due.receipt || chunks;
        due.held = !self.queue.is_empty() && link.holds_packets(now);
        let packets = !self.queue.is_empty() && !due.held;
        (said || link.assembly.overflow().is_some() || packets).then_some(due)
    }

    /// Whether there is nothing to be said now but packets.
    fn is_quiet(&self, now: Duration) -> bool {
        let Some(link) = &self.link else { return false };
        let times = [self.ping_at, self.lanes.timeout(), link.tells_at(), link.asks_at()];
        !self.closing && !link.has_to_say() && !times.into_iter().flatten().any(|at| at <= now)
    }

    /// Whether packets that wait are not to leave yet.
    fn is_held(&mut self, now: Duration) -> bool {
        self.link.as_mut().is_some_and(|link| link.holds_packets(now))
    }

    /// The lane of the packet whose turn it is.
    fn next_lane(&mut self, now: Duration) -> usize {
        let lanes = self.lanes.count();
        if lanes == 1 {
            return 0;
        }
        let flow = self.queue.peek(now).and_then(|packet| Some(Inner::parse(packet).ok()?.flow));
        flow.map_or(0, |flow| self.queue.lane_of(&flow, lanes))
    }

    /// Bytes that a datagram to the peer may need to say its lane.
    pub(crate) fn lane_bytes(&self) -> usize {
        if self.lanes.ports().0 > 1 { LANE_BYTES } else { 0 }
    }

    /// Takes the frames of an opened unit, which came in a datagram with the codepoint `ecn`. A unit of a
    /// group has no counter under the session.
    pub(crate) fn unpack(
        &mut self,
        now: Duration,
        (counter, session): (Option<u64>, u32),
        mac: &PacketMac,
        ecn: u8,
        mut plaintext: &[u8],
        ctx: &mut Context,
    ) {
        let Some(link) = &mut self.link else { return };
        let Ok(truncated) = frame::parse_sequence(&mut plaintext) else {
            self.counters.bad_frames += 1;
            return;
        };
        let under = counter.filter(|_| !link.is_plain()).map(|counter| (counter, session));
        match (Frames::new(plaintext).next(), under) {
            (Some(Ok(Frame { frame_type: Some(FrameType::Probe), body })), _) => {
                return match body.first_chunk() {
                    Some(token) => link.outbox.push_pong(*token),
                    None => self.counters.bad_frames += 1,
                };
            }
            (Some(Ok(Frame { frame_type: Some(FrameType::Repair), body })), Some(under)) => {
                let newest = link.arq.widen(truncated);
                self.take_repair(now, under, newest, body);
            }
            _ => {
                let begins_with_tail = fragments::begins_with_tail(plaintext);
                let (first, cut) = link.arq.begin_datagram(now, truncated, begins_with_tail);
                let incoming = &mut link.fec.incoming;
                let is_new = match under {
                    Some(under) => incoming.take_source(now, first, under, plaintext),
                    None => {
                        incoming.take_of_group(now, first, plaintext);
                        true
                    }
                };
                if !is_new {
                    self.counters.restored_twice += 1;
                    link.arq.arrive(now, first); // it was not lost
                    return;
                }
                let unit = Unpacked { first, cut, session, mac, ecn, is_restored: false };
                self.take_frames(now, &unit, plaintext, ctx);
            }
        }
        self.take_restored_units(now, session, mac, ecn, ctx);
    }

    /// Takes the frames of a unit behind its link sequence.
    fn take_frames(&mut self, now: Duration, unit: &Unpacked<'_>, plaintext: &[u8], ctx: &mut Context) {
        let Some(link) = &mut self.link else { return };
        let &Unpacked { first, cut, session, mac, ecn, is_restored } = unit;
        let mut next = first;
        let is_plain = link.is_plain();
        let mut all_understood = true;
        for frame in Frames::new(plaintext) {
            let Ok(Frame { frame_type, body }) = frame else {
                self.counters.bad_frames += 1;
                all_understood = false;
                break;
            };
            // frames of another version than the session's are unknown, like those of no version
            let frame_type = frame_type.filter(|known| !is_plain || known.is_plain());
            let sequence = next;
            if frame_type.is_some_and(FrameType::is_packet)
                && let Some(link) = &mut self.link
            {
                next += 1;
                if is_restored {
                    if link.arq.holds(sequence) {
                        continue; // it was sent again meanwhile
                    }
                    link.arq.restore(now, sequence);
                } else {
                    link.arq.arrive(now, sequence);
                }
            }
            if is_restored
                && frame_type.is_some_and(|it| it.class() == Class::Control && it != FrameType::Tail)
            {
                continue; // what it says is old
            }
            let shape = frame_type.and_then(Shape::of);
            let to = Recipient::of(frame_type, ecn);
            let mut take = |peer: &mut Self, sequence, body: &[u8]| match shape {
                Some(shape) => {
                    let arrival = Arrival { sequence, shape, body, session, to };
                    peer.take_reduced(now, &arrival, mac, ctx)
                }
                None => peer.take_plain(now, sequence, body, to, ctx),
            };
            let understood = match frame_type {
                Some(FrameType::Shared) => self.take_shared(now, sequence, (session, mac), ecn, body, ctx),
                Some(FrameType::ChunkReply) => self.take_chunk_reply(now, body, ctx),
                Some(FrameType::Coded) => self.take_coded(now, body, ecn, ctx),
                Some(FrameType::Notice) => self.take_notice(now, body, ctx),
                Some(frame_type) if frame_type.is_packet() => take(self, sequence, body),
                Some(frame_type) if frame_type.is_again() => self.take_retransmission(now, body, take),
                Some(frame_type) if frame_type.class() == Class::Stream => {
                    self.take_stream(now, frame_type, body, ctx)
                }
                Some(FrameType::Reply) => self.take_reply(now, body, to, ctx),
                Some(FrameType::Head) => {
                    next += 1; // it arrives with its tail
                    self.take_head(sequence, session, ecn, body, ctx)
                }
                Some(FrameType::Tail) => {
                    cut.is_some_and(|cut| self.take_tail(now, cut, (session, mac), ecn, body, ctx))
                }
                Some(other) => self.take_control(now, other, body, ctx),
                None => true,
            };
            if !understood {
                self.counters.bad_frames += 1;
            }
            // a frame of an unknown type may be a packet
            all_understood &= understood && frame_type.is_some();
        }
        if next == first {
            if let Some(link) = &mut self.link {
                if is_restored {
                    link.arq.restore(now, first)
                } else {
                    link.arq.arrive(now, first)
                }
                if all_understood {
                    link.arq.hold(first);
                }
            }
            self.deliver_in_order(now, first, None, ctx);
        }
    }
}
