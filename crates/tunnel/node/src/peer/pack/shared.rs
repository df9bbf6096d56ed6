//! Units under the group's key: packets whose chunks the group may have overheard ([`crate::group`]).

use super::packets::PacketBuilder;
use super::{Packed, PendingControl};
use crate::context::Context;
use crate::deliveries::Deliveries;
use crate::effects::{Effect, Effects};
use crate::elimination::reduce::Written;
use crate::group::coding::Form;
use crate::group::{Listener, Member, Rest, RestAt, Sharing};
use crate::path::encapsulation::OuterClass;
use crate::peer::Peer;
use crate::peer::link::{Link, Overflow};
use crate::session::keyring::ReceiveKind;
use crate::session::transport::Session;
use overhear::StationId;
use re::mac::PacketMac;
use std::net::SocketAddr;
use std::time::Duration;
use wire::frame::{self, Frame, FrameType, Frames, SEQUENCE_BYTES};
use wire::group::{FRONT_BYTES, Heard, HeardOfOther, Joined, Membership, OtherGroup, Shared};
use wire::natives::Natives;
use wire::number::{from_u24, to_u24};
use wire::unit::{SEALED_HEADER_BYTES, TAG_BYTES, emit_header};

/// Additional bytes of a shared packet beside its frame: its front, and the shim without chunks.
const AROUND_SHARED: usize = Shared::MOST_FRONT_BYTES + 1;
/// Bytes that sharing may add to a packet that is alone in a datagram.
pub const SHARING_BYTES: usize = FRONT_BYTES + AROUND_SHARED;
/// Keeps the MACs of units apart from those of packets, which are made with the same key.
const UNIT: u64 = 1 << 63;
/// Bits of a counter in what a unit's MAC is made of: a group's key does not seal so many units.
const COUNTER_BITS: u32 = 38;

/// The number in the MAC of a group's unit. From version 2 on it has the key's id, because counters restart
/// under every key.
pub(crate) fn unit_number(version: u8, key_id: u32, counter: u64) -> u64 {
    let key = if version >= 2 { u64::from(key_id) << COUNTER_BITS } else { 0 };
    UNIT | key | counter
}

/// A group's unit as it came.
pub(crate) struct GroupUnit {
    /// Its way.
    pub way: ReceiveKind,
    /// Id of its key, and its counter there.
    pub key_id: u32,
    pub counter: u64,
    /// The codepoint in the outer header.
    pub ecn: u8,
    /// Where it came from, which nothing proves.
    pub from: SocketAddr,
    /// Its bytes with header and tag.
    pub bytes: usize,
}

impl PacketBuilder<'_> {
    /// Bytes that the next packet's frame may take beyond the packet's own.
    pub(super) fn around_packet(&self) -> usize {
        if self.is_shared { AROUND_SHARED } else { 0 }
    }
}

impl Peer {
    /// Whether what is for the peer is shared with others.
    pub(super) fn is_shared(&self, ctx: &Context) -> bool {
        let Some(member) = self.link.as_ref().and_then(|link| link.roles.member()) else { return false };
        let shares = |sharing: &Sharing| sharing.shares() && member.has_key(sharing);
        ctx.sharing.as_deref().is_some_and(shares) && self.lanes.count() == 1
    }

    /// Writes the next datagram for a member of the group; `None` if it is to be none, or not to be shared.
    /// Of a native, also as which it can share a frame with others.
    pub(super) fn pack_shared(
        &mut self,
        now: Duration,
        (due, is_native): (&PendingControl, bool),
        ctx: &mut Context,
        out: &mut Vec<u8>,
    ) -> Option<(Packed, Option<Form>)> {
        if !self.is_shared(ctx) {
            return None;
        }
        let limit = self.path.limit() - TAG_BYTES;
        let front = SEALED_HEADER_BYTES + FRONT_BYTES + SEQUENCE_BYTES;
        let next_fits =
            self.queue.peek(now).is_some_and(|packet| front + AROUND_SHARED + packet.len() < limit);
        let link = self.link.as_mut()?;
        let left_over = link.assembly.overflow().map(Overflow::is_shared);
        let (member_id, has_replies) = link.roles.member().map(|member| (member.id, member.has_replies()))?;
        // control first, but for a packet that has its sequence already; a receipt rides along
        let begins =
            left_over == Some(true) || left_over.is_none() && !due.control && (next_fits || has_replies);
        if !begins {
            return None;
        }
        let sharing = ctx.sharing.as_deref_mut()?;
        let key_id = sharing.key_id();
        let (kind, seal) = sharing.next_seal();
        sharing.note_message(member_id, FRONT_BYTES, false);
        let session = self.sessions.sending(now)?;
        let (mac, version) = (session.send_mac.clone(), session.version);
        out.clear();
        emit_header(kind, key_id, None, out);
        out.push(member_id);
        out.extend_from_slice(&[0; FRONT_BYTES - 1]);
        let overflow = link.assembly.take_overflow(limit, |_| true);
        let first = link.begin_datagram(now, overflow.as_ref(), ctx.processor_is_short);
        frame::emit_sequence(first, out);
        let (lane, class) = (due.lane, OuterClass::new(ctx.config.copies_dscp));
        let mut builder = PacketBuilder {
            first: Some(first),
            session: key_id,
            mac: &mac,
            limit,
            lane,
            lane_bytes: 0,
            class,
            packets: 0,
            is_shared: true,
            ends_whole: due.control,
            is_native,
            form: None,
        };
        match overflow {
            Some(overflow) => self.write_overflow(&mut builder, overflow, ctx, out),
            None => self.write_chunk_reply(limit, ctx.sharing.as_deref_mut(), out),
        }
        if self.link.as_ref().is_some_and(|link| link.arq.receipt_had_no_room() && !is_native) {
            self.write_receipt(now, due.receipt, None, limit, out);
        }
        let last = self.write_packets(now, &mut builder, None, ctx, out);
        if !is_native {
            self.write_receipt(now, due.receipt, last, limit, out);
        }
        let (header, body) = out.split_at_mut(SEALED_HEADER_BYTES);
        debug_assert_eq!(header.len(), SEALED_HEADER_BYTES);
        let (front, proven) = body.split_at_mut(FRONT_BYTES);
        front[1..].copy_from_slice(&mac.of(unit_number(version, key_id, seal.counter()), proven));
        self.finish_datagram(now, first, out.len() + TAG_BYTES, due.lane);
        Some((Packed { seal, class: builder.class.octet(), lane: due.lane }, builder.form))
    }

    /// Chunks that the member asked for.
    fn write_chunk_reply(&mut self, limit: usize, sharing: Option<&mut Sharing>, out: &mut Vec<u8>) {
        let room = limit.saturating_sub(out.len() + 1 + frame::MAX_LENGTH_BYTES + SEQUENCE_BYTES);
        let member = self.link.as_mut().and_then(|link| link.roles.member_mut());
        if let Some((number, reply)) = member.and_then(|member| member.next_reply(room)) {
            frame::emit_front(FrameType::ChunkReply, 3 + reply.len(), out);
            out.extend_from_slice(&to_u24(number.0));
            out.extend_from_slice(&reply);
            self.counters.chunk_replies += 1;
            if let Some(sharing) = sharing {
                self.counters.air_spent_nanoseconds += sharing.air_nanoseconds(self.index as u8, reply.len());
                sharing.note_message(self.index as u8, reply.len(), true);
            }
        }
    }

    /// Writes messages for the group, under the pairwise key.
    pub(super) fn write_group_control(&mut self, now: Duration, ctx: &mut Context, out: &mut Vec<u8>) {
        let Some(Link { roles, .. }) = &mut self.link else { return };
        let mut body = Vec::new();
        if let (Some(member), Some(sharing)) = (roles.member_mut(), &ctx.sharing) {
            if let Some(membership) = member.tell(now, sharing) {
                membership.emit(&mut body);
                frame::emit(FrameType::Membership, &body, out);
            }
            while out.len() + 128 <= self.path.limit()
                && let Some(other) = member.tell_other(now)
            {
                body.clear();
                other.emit(&mut body);
                frame::emit(FrameType::OtherGroup, &body, out);
            }
            body.clear();
        }
        body.clear();
        while out.len() + 128 <= self.path.limit() && roles.report(&mut body) {
            frame::emit(FrameType::HeardOfOther, &body, out);
            body.clear();
        }
        let Some(listener) = roles.listener_mut() else { return };
        if let Some(joined) = listener.answer() {
            body.clear();
            joined.emit(&mut body);
            frame::emit(FrameType::Joined, &body, out);
        }
        body.clear();
        if listener.tell(&mut body) {
            frame::emit(FrameType::Heard, &body, out);
        }
        body.clear();
        while out.len() + 128 <= self.path.limit() && listener.tell_of_other(&mut body) {
            frame::emit(FrameType::HeardOfOther, &body, out);
            body.clear();
        }
        while out.len() + 128 <= self.path.limit() && listener.request(now, &mut body) {
            frame::emit(FrameType::ChunkRequest, &body, out);
            self.counters.chunk_requests += 1;
            body.clear();
        }
    }

    /// Takes the peer's messages about the group, under the pairwise key.
    pub(super) fn take_group_control(
        &mut self,
        now: Duration,
        frame_type: FrameType,
        body: &[u8],
        ctx: &mut Context,
    ) -> bool {
        let Some(Link { roles, arq, .. }) = &mut self.link else { return false };
        match frame_type {
            FrameType::Membership => {
                let Ok(membership) = Membership::parse(body) else { return false };
                if self.associated == Some(0) {
                    return true; // it has not heard yet that another gateway is in use
                }
                let Some(group) = ctx.config.group else { return true };
                let keys = roles.join(membership, group.slot_bits);
                let is_understood = keys.is_some();
                ctx.keyring.groups.set(self.index, keys.unwrap_or_default());
                is_understood
            }
            FrameType::Joined => {
                let Ok(joined) = Joined::parse(body) else { return false };
                roles.member_mut().zip(ctx.sharing.as_deref_mut()).is_some_and(|(member, sharing)| {
                    member.joined(now, &joined, sharing);
                    true
                })
            }
            FrameType::Heard => {
                let Ok(heard) = Heard::parse(body) else { return false };
                roles.member_mut().zip(ctx.sharing.as_deref_mut()).is_some_and(|(member, sharing)| {
                    sharing.heard(member.id, &heard);
                    sharing.note_message(member.id, body.len(), false);
                    true
                })
            }
            FrameType::OtherGroup => {
                let Ok(other) = OtherGroup::parse(body) else { return false };
                if let Some(listener) = roles.listener_mut() {
                    listener.learn_other(&other);
                    ctx.keyring.groups.set(self.index, listener.key_ids());
                }
                true
            }
            FrameType::HeardOfOther => {
                let Ok(heard) = HeardOfOther::parse(body) else { return false };
                roles.member_mut().zip(ctx.sharing.as_deref_mut()).is_some_and(|(member, sharing)| {
                    member.has_other(heard.key_id);
                    if let Some(coding) = ctx.coding.as_deref_mut() {
                        coding.reported(member.id, &heard);
                    }
                    sharing.heard_of_other(now, member.id, &heard);
                    true
                })
            }
            FrameType::ChunkRequest => {
                roles.member_mut().zip(ctx.sharing.as_deref_mut()).is_some_and(|(member, sharing)| {
                    sharing.note_message(member.id, body.len(), true);
                    let gone = member.requested(body, sharing);
                    gone.into_iter().for_each(|sequence| arq.send_again(sequence));
                    true
                })
            }
            _ => false,
        }
    }

    /// Takes an opened unit of the peer's group: `plaintext` came under `counter`.
    pub(crate) fn unpack_group(
        &mut self,
        now: Duration,
        unit: &GroupUnit,
        mut plaintext: &[u8],
        ctx: &mut Context,
    ) {
        let &GroupUnit { way, key_id, counter, ecn, .. } = unit;
        let Some(listener) = self.link.as_mut().and_then(|link| link.roles.listener_mut()) else { return };
        let Ok((member, mac)) = wire::group::parse_front(&mut plaintext) else {
            self.counters.bad_frames += 1;
            return;
        };
        if Natives::are_in(plaintext) && !listener.is_of_other(key_id) {
            return self.take_natives(now, unit, (member, mac), plaintext, ctx);
        }
        if way == ReceiveKind::Overheard {
            // numbers of members are each gateway's own
            if member != listener.member() || listener.is_of_other(key_id) {
                self.counters.overheard_datagrams += 1;
                let is_of_peer = !listener.is_of_other(key_id);
                self.counters.bad_frames += learn(listener, now, (key_id, member), plaintext, |shared| {
                    if is_of_peer {
                        ctx.hear(self.index, shared.rest);
                        let coding = ctx.coding.as_deref_mut();
                        coding.into_iter().for_each(|it| it.heard(now, self.index, key_id, shared));
                    }
                });
            }
            return;
        }
        let proves = |session: &Session| {
            let number = unit_number(session.version, key_id, counter);
            session.receive_mac.verifies(number, plaintext, mac)
        };
        if member == listener.member()
            && let Some((session, mac)) = self.sessions.proving(proves)
        {
            listener.prove(key_id, counter);
            self.has_proven(now, unit, ctx);
            self.unpack(now, (None, session), &mac, ecn, plaintext, ctx);
        } else {
            self.counters.bad_frames += 1;
        }
    }

    /// A unit of the group is this peer's. Its address is not: any member can write one.
    pub(super) fn has_proven(&mut self, now: Duration, unit: &GroupUnit, ctx: &mut Context) {
        if unit.way == ReceiveKind::Sent {
            self.heard_from(now, unit.from, None, unit.bytes, ctx);
        }
    }

    /// A packet that was shared.
    pub(super) fn take_shared(
        &mut self,
        now: Duration,
        sequence: u64,
        (session, mac): (u32, &PacketMac),
        ecn: u8,
        body: &[u8],
        ctx: &mut Context,
    ) -> bool {
        let Some(Link { roles, .. }) = &mut self.link else { return false };
        let Some(listener) = roles.listener_mut() else { return false };
        let Ok(shared) = Shared::parse(body) else { return false };
        let mut room = Vec::new();
        let Some(shared) = listener.expand(shared, &mut room) else { return false };
        if ctx.coding.is_some() {
            roles.note_name(sequence, &shared);
        }
        self.take_expanded(now, sequence, (session, mac), ecn, &shared, ctx)
    }

    /// A packet that was shared, as it was before it was compressed.
    pub(super) fn take_expanded(
        &mut self,
        now: Duration,
        sequence: u64,
        (session, mac): (u32, &PacketMac),
        ecn: u8,
        shared: &Shared<'_>,
        ctx: &mut Context,
    ) -> bool {
        let Some(Link { roles, arq, .. }) = &mut self.link else { return false };
        let Some(listener) = roles.listener_mut() else { return false };
        ctx.hear(self.index, shared.rest);
        match listener.receive(now, shared, sequence, session, ecn) {
            Rest::Whole(body) => {
                self.take_frame(now, sequence, shared.frame_type, (session, mac), ecn, &body, ctx)
            }
            Rest::Waits => {
                arq.park_for_chunks(now, sequence, shared.rest.len());
                true
            }
            Rest::Refused => true, // as good as lost
        }
    }

    /// Chunks that this node asked for.
    pub(super) fn take_chunk_reply(&mut self, now: Duration, body: &[u8], ctx: &mut Context) -> bool {
        let Some((_, reply)) = body.split_first_chunk::<3>() else { return false };
        let listener = self.link.as_mut().and_then(|link| link.roles.listener_mut());
        let Some(listener) = listener else { return false };
        listener.supplied(now, reply);
        self.take_completed(now, ctx);
        true
    }

    /// Packets whose chunks have come; and those for which they have not come in time.
    pub(crate) fn take_completed(&mut self, now: Duration, ctx: &mut Context) {
        while let Some(listener) = self.link.as_mut().and_then(|link| link.roles.listener_mut())
            && let Some((waiting, body)) = listener.completed(now)
        {
            let Some(session) = self.sessions.by_id(waiting.session) else { continue };
            let under = (waiting.session, &session.receive_mac.clone());
            self.take_frame(now, waiting.sequence, waiting.frame_type, under, waiting.ecn, &body, ctx);
        }
        while let Some(Link { roles, arq, .. }) = &mut self.link
            && let Some(sequence) = roles.listener_mut().and_then(|listener| listener.given_up(now))
        {
            arq.give_up_chunks(now, sequence);
        }
    }
}

/// Learns from what was sent to another member; how many frames made no sense.
fn learn(
    listener: &mut Listener,
    now: Duration,
    (key_id, member): (u32, u8),
    mut plaintext: &[u8],
    mut hear: impl FnMut(&Shared<'_>),
) -> u64 {
    let Ok(first) = frame::parse_sequence(&mut plaintext) else { return 1 };
    let at = |sequence: u64| -> RestAt { (key_id, member, from_u24(to_u24(sequence))) };
    let mut next = u64::from(first);
    let frames = Frames::new(plaintext).map(|frame| {
        let Ok(Frame { frame_type: Some(frame_type), body }) = frame else { return frame.is_ok() };
        next += u64::from(frame_type.takes_sequence());
        match frame_type {
            FrameType::Shared => learn_packet(listener, now, key_id, body, &mut hear),
            FrameType::Head => listener.pieces.keep(at(next), body),
            FrameType::Tail => {
                let whole = listener.pieces.join(at(first.into()), body);
                whole.is_none_or(|body| learn_packet(listener, now, key_id, &body, &mut hear))
            }
            FrameType::ChunkReply => body.split_first_chunk().is_some_and(|(number, reply)| {
                listener.overhear_reply(now, key_id, from_u24(*number), reply)
            }),
            _ => true,
        }
    });
    frames.filter(|understood| !understood).count() as u64
}

/// Learns from one packet; `false`: it makes no sense.
fn learn_packet(
    listener: &mut Listener,
    now: Duration,
    key_id: u32,
    body: &[u8],
    hear: &mut impl FnMut(&Shared<'_>),
) -> bool {
    let Ok(shared) = Shared::parse(body) else { return false };
    let mut room = Vec::new();
    let Some(shared) = listener.expand(shared, &mut room) else { return false };
    hear(&shared);
    listener.overhear(now, key_id, &shared)
}

/// Puts the frame of the packet `sequence`, which begins at `start` and reaches to the end, into a shared
/// one.
pub(super) fn share(
    now: Duration,
    (member, sharing): (&mut Member, &mut Sharing),
    (shared, form): (Option<&mut Effects>, Option<&mut Option<Form>>),
    (sequence, start): (u64, usize),
    written: &mut Written,
    deliveries: &mut Deliveries,
    out: &mut Vec<u8>,
) {
    let mut frame = deliveries.buffer();
    frame.extend_from_slice(&out[start + 1..]);
    out.truncate(start);
    let (front, rest) = frame.split_at(frame.len() - written.payload_bytes.min(frame.len()));
    let front_bytes = front.len();
    frame::emit_last(FrameType::Shared, out);
    let number_at = Shared::emit_front(written.frame_type, front, out);
    let rest_at = out.len();
    let sent = sharing.codec.encode(StationId(member.id), rest, now, out);
    if let Some(shared) = shared {
        let mut rest = deliveries.buffer();
        rest.extend_from_slice(&out[rest_at..]);
        shared.push(Effect::Shared { rest });
    }
    if let Some(form) = form.filter(|_| !written.reduced) {
        let removed = sharing.codec.removed_of_runs();
        *form = Form::new((written.frame_type, front), sent.number.0, &out[rest_at..], removed);
    }
    if sharing.compress(&out[rest_at..], &mut frame) {
        out.truncate(rest_at);
        out.extend_from_slice(&frame);
        Shared::set_compressed(number_at, out);
    }
    Shared::set_number(sent.number.0, number_at, out);
    let added_bytes = rest_at.saturating_sub(start + 1 + front_bytes) + sent.shim_bytes;
    sharing.note_packet(member.id, sent.removed_bytes, added_bytes);
    member.shared(sequence, sent.number);
    written.chunk_bytes = sent.removed_bytes;
    written.frame_bytes = out.len() - start;
    written.frame_type = FrameType::Shared;
    deliveries.recycle(frame);
}
