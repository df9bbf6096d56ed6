//! Packets: as many as fit go into a datagram, of those that wait now.

use super::{AROUND_FRAMES, shared};
use crate::arq::nack::{Arrival, Recipient};
use crate::arq::sender::Copy;
use crate::context::Context;
use crate::elimination::reduce::Written;
use crate::elimination::restore::NotRestored;
use crate::event::{Event, Outcome, SentPacket};
use crate::group::coding::{Form, native};
use crate::lifetime::{SHORTEST, lifetime};
use crate::path::ecn;
use crate::path::encapsulation::{self, OuterClass};
use crate::peer::Peer;
use crate::peer::link::Overflow;
use re::mac::PacketMac;
use std::time::Duration;
use wire::frame::{self, FrameType};
use wire::inner::Inner;
use wire::unit::TAG_BYTES;

/// Room that a datagram must have beside a packet that is alone in it, for another to be cut: what does not
/// shrink travels one by one.
const LEAST_ROOM_TO_CUT: usize = 64;
/// A copy of a frame is kept that is by one of so many parts shorter than its packet.
const COPY_IN: usize = 8;
/// Bytes that are under way at most before a retransmission. A store that remembers as many keeps packets for
/// it; one that has left the store is given up.
const REMEMBERED_BYTES: usize = 8 << 20;
/// Room in which a piece of a packet stands, in a datagram that others share already.
const LEAST_ROOM_FOR_A_PIECE: usize = 4;

/// The packets of one datagram, while it is written.
pub(super) struct PacketBuilder<'a> {
    /// The link sequence of the first packet, until one has it.
    pub first: Option<u64>,
    /// The session, by our id.
    pub session: u32,
    /// Its MAC for packets.
    pub mac: &'a PacketMac,
    /// Bytes that header and plaintext may have.
    pub limit: usize,
    /// Lane of the datagram and of its packets' flows.
    pub lane: usize,
    /// Bytes that saying so may take.
    pub lane_bytes: usize,
    /// Traffic class of its packets.
    pub class: OuterClass,
    /// How many those are, the rest of one that was cut among them.
    pub packets: usize,
    /// It is for the group to hear.
    pub is_shared: bool,
    /// Something else is to be said next: no packet goes in that might not fit, and so would have to come
    /// before that.
    pub ends_whole: bool,
    /// Its one packet may share a frame with those for others.
    pub is_native: bool,
    /// Its form in a coded frame.
    pub form: Option<Form>,
}

impl PacketBuilder<'_> {
    fn least_room_to_cut(&self) -> usize {
        if self.packets > 1 { LEAST_ROOM_FOR_A_PIECE } else { LEAST_ROOM_TO_CUT }
    }

    /// The rest of a frame that is no packet's, of which so many bytes are on their way.
    pub(super) fn rest_of(
        &self,
        sequence: u64,
        class: u8,
        (frame_type, body): (FrameType, Vec<u8>),
        gone_bytes: usize,
    ) -> Overflow {
        let &PacketBuilder { lane, session, .. } = self;
        Overflow { sequence, lane, session, class, frame_type, body, gone_bytes, packet: Vec::new() }
    }

    /// Whether nothing is in the datagram yet.
    pub fn is_empty(&self, out: &[u8]) -> bool {
        out.len() + TAG_BYTES <= AROUND_FRAMES + self.lane_bytes
    }

    /// Whether there is room for a piece of what no datagram has room for.
    pub fn has_room_to_cut(&self, out: &[u8]) -> bool {
        out.len() + LEAST_ROOM_TO_CUT <= self.limit
    }
}

/// Whether a frame is so much shorter than its packet that it is kept for its retransmission. The packet
/// itself is in the encoder's store.
fn is_worth_a_copy(written: &Written) -> bool {
    written.frame_bytes * COPY_IN < written.packet_bytes * (COPY_IN - 1)
}

/// Makes a datagram that has no room for a piece of a packet as long as one that had, if there is room to say
/// so. Where its last frame begins, if that says no length yet.
fn fill_up(last: usize, limit: usize, out: &mut Vec<u8>) -> Option<usize> {
    if out.len() + frame::MAX_LENGTH_BYTES > limit {
        return Some(last);
    }
    frame::give_length(last, out);
    if out.len() < limit {
        frame::emit_last(FrameType::Padding, out);
        out.resize(limit, 0);
    }
    None
}

impl Peer {
    /// The packet that did not fit into the datagram before.
    pub(super) fn write_overflow(
        &mut self,
        builder: &mut PacketBuilder<'_>,
        overflow: Overflow,
        ctx: &mut Context,
        out: &mut Vec<u8>,
    ) {
        let is_admitted = builder.class.admit(overflow.class);
        debug_assert!(is_admitted, "nothing is in the datagram yet");
        let is_ours = overflow.session == builder.session;
        builder.packets += 1;
        if overflow.gone_bytes == 0 {
            builder.first = None;
            // the frame's MAC may be the earlier session's
            let (frame_type, body) = match is_ours || !overflow.frame_type.is_stored() {
                true => (overflow.frame_type, &overflow.body),
                false => (FrameType::Packet, &overflow.packet),
            };
            frame::emit(frame_type, body, out);
        } else if is_ours {
            frame::emit(FrameType::Tail, &overflow.body[overflow.gone_bytes..], out);
        } // and else it is as good as lost
        ctx.deliveries.recycle(overflow.body);
        self.queue.recycle(overflow.packet);
    }

    /// The packets whose turn it is: the first if it fits as it is, and what can be packed with it. Where the
    /// last frame begins, if it says no length.
    pub(super) fn write_packets(
        &mut self,
        now: Duration,
        builder: &mut PacketBuilder<'_>,
        mut last: Option<usize>,
        ctx: &mut Context,
        out: &mut Vec<u8>,
    ) -> Option<usize> {
        let packs = ctx.config.shorten.packing && !builder.is_native;
        loop {
            if self.lanes.count() > 1 && self.next_lane(now) != builder.lane {
                return last; // its turn comes in a datagram on its own lane
            }
            let Some(link) = &mut self.link else { return last };
            let Some(packet) = self.queue.peek(now) else { return last };
            let packet_bytes = packet.len();
            // the frame before, once it is not the last any more, says its length
            let taken = out.len() + last.map_or(0, |_| frame::MAX_LENGTH_BYTES) + builder.around_packet();
            let room = builder.limit.saturating_sub(taken);
            let fits = packet_bytes < room;
            // one that has no sequence yet may turn out too long: it goes into the next datagram
            let may_fit =
                packs && !builder.ends_whole && builder.first.is_none() && link.assembly.expects_to_fit(room);
            // nothing shares a frame with the rest of a packet
            let is_coded = builder.is_shared && ctx.coding.is_some();
            let cuts = !fits && packs && !builder.ends_whole && !is_coded && link.cuts();
            let may_be_cut = cuts && room >= builder.least_room_to_cut();
            if !builder.class.admit(ecn::traffic_class(packet)) {
                return last;
            }
            if !fits && !may_fit && !may_be_cut {
                if cuts && builder.packets > 1 {
                    last = last.and_then(|last| fill_up(last, builder.limit, out));
                }
                return last;
            }
            let is_repair = self.queue.is_ahead();
            let Some(mut packet) = self.queue.pop(now) else { return last };
            let Ok(inner) = Inner::parse(&packet) else {
                self.queue.recycle(packet);
                continue;
            };
            if let Some(start) = last {
                frame::give_length(start, out);
            }
            let sequence = builder.first.take().unwrap_or_else(|| link.arq.next_sequence(now));
            let start = out.len();
            builder.packets += 1;
            let mut written = link.reduce.write(sequence, &packet, &inner, builder.mac, out);
            link.path_delay.leaves(now, &inner.flow, &packet);
            let left_to_hop = link.leaves_segments_to_hop();
            link.tcp.note_departure(now, &packet, &inner, (is_repair, left_to_hop));
            if let Some(coding) = ctx.coding.as_deref_mut().filter(|_| link.roles.tells_of_natives()) {
                coding.sent(now, self.index, sequence, native(&packet, &inner));
            }
            let references = if written.reduced { link.reduce.references() } else { &[] };
            let use_of = (inner.traffic_class, lifetime(&packet));
            let is_stored = written.frame_type.is_stored();
            let copy = if !is_stored && out.len() <= builder.limit {
                Copy::Whole(written.frame_type, &mut packet)
            } else if is_stored && !is_worth_a_copy(&written) && link.reduce.remembers(REMEMBERED_BYTES) {
                Copy::Elsewhere(written.packet_bytes)
            } else {
                Copy::Frame(builder.session, written.frame_type, &out[start + 1..])
            };
            link.arq.keep(now, sequence, copy, use_of, references);
            if builder.is_shared
                && let (Some(member), Some(sharing)) = (link.roles.member_mut(), ctx.sharing.as_deref_mut())
            {
                let (whole, both) = ((sequence, start), (member, sharing));
                let heard = ctx.config.mesh.is_one().then_some(&mut ctx.effects);
                let form = builder.is_native.then_some(&mut builder.form);
                shared::share(now, both, (heard, form), whole, &mut written, &mut ctx.deliveries, out);
            }
            link.assembly.note_frame(written.frame_bytes);
            self.count_packet(sequence, &inner, &written, ctx);
            self.note_ratio(now, &inner, &written, ctx);
            self.unanswered.send(now);
            if out.len() > builder.limit {
                let frame = (sequence, written.frame_type);
                self.overflow(builder, frame, start, may_be_cut, packet, ctx, out);
                return None;
            }
            self.counters.packed_packets += u64::from(builder.packets > 1);
            self.queue.recycle(packet);
            last = Some(start);
            if !packs {
                return last;
            }
        }
    }

    /// Takes the frame from `start` on back out of the datagram, for the next one; or what there is no room
    /// for, if it may be cut.
    #[expect(clippy::too_many_arguments, reason = "the frame, its packet, and where it stands")]
    fn overflow(
        &mut self,
        builder: &PacketBuilder<'_>,
        (sequence, frame_type): (u64, FrameType),
        start: usize,
        may_be_cut: bool,
        packet: Vec<u8>,
        ctx: &mut Context,
        out: &mut Vec<u8>,
    ) {
        let Some(link) = &mut self.link else { return };
        let mut body = ctx.deliveries.buffer();
        body.extend_from_slice(&out[start + 1..]);
        let gone_bytes = if may_be_cut {
            frame::cut(start, builder.limit, out)
        } else {
            out.truncate(start);
            0
        };
        let (session, lane, class) = (builder.session, builder.lane, ecn::traffic_class(&packet));
        let rest = Overflow { sequence, lane, session, class, frame_type, body, gone_bytes, packet };
        link.assembly.keep_overflow(rest);
    }

    fn count_packet(&mut self, sequence: u64, inner: &Inner, written: &Written, ctx: &mut Context) {
        let &Written { reduced, shortened_bytes, packet_bytes, frame_bytes, chunk_bytes, .. } = written;
        self.counters.shared_packets += u64::from(written.frame_type == FrameType::Shared);
        self.counters.unstored_packets += u64::from(!written.frame_type.is_stored());
        self.counters.overheard_removed_bytes += chunk_bytes as u64;
        if let Some(sharing) = ctx.sharing.as_deref().filter(|_| chunk_bytes > 0) {
            self.counters.air_saved_nanoseconds += sharing.air_nanoseconds(self.index as u8, chunk_bytes);
        }
        self.counters.inner_sent_packets += 1;
        self.counters.inner_sent_bytes += packet_bytes as u64;
        if reduced {
            self.counters.reduced_packets += 1;
            let reduced_bytes = frame_bytes + shortened_bytes;
            self.counters.removed_bytes += (packet_bytes + 1).saturating_sub(reduced_bytes) as u64;
        }
        self.counters.shortened_bytes += shortened_bytes as u64;
        if ctx.config.trace {
            let references = self.link.as_ref().filter(|_| reduced).map(|link| link.reduce.references());
            ctx.events.push(Event::Sent(SentPacket {
                peer: self.index,
                sequence,
                flow: inner.flow,
                tcp_sequence: inner.tcp_sequence,
                payload_bytes: inner.payload_bytes(),
                packet_bytes,
                frame_bytes,
                references: references.unwrap_or_default().to_vec(),
            }));
        }
    }

    /// Tells what a boosted sender must know.
    fn note_ratio(&mut self, now: Duration, inner: &Inner, written: &Written, ctx: &mut Context) {
        let &Written { packet_bytes, frame_bytes, .. } = written;
        let is_bulk = self.is_bulk(packet_bytes);
        let Some(link) = self.link.as_mut().filter(|link| link.assembly.coalesces()) else { return };
        if !is_bulk {
            link.assembly.hurry();
        }
        if let Some(ratio) = self.ratios.leaves(now, inner, packet_bytes, frame_bytes) {
            ctx.events.push(Event::Ratio { flow: inner.flow, ratio });
        }
    }

    /// A packet that came as it was.
    pub(super) fn take_plain(
        &mut self,
        now: Duration,
        sequence: u64,
        packet: &[u8],
        to: Recipient,
        ctx: &mut Context,
    ) -> bool {
        let Some(link) = &mut self.link else { return false };
        link.arq.want_receipt(now, packet.len());
        let mut buffer = ctx.deliveries.buffer();
        buffer.extend_from_slice(packet);
        let was_parked = link.arq.take_parked(sequence);
        self.deliver(now, (sequence, Duration::ZERO), buffer, Outcome::after(was_parked), to, ctx);
        self.restore_dependents(now, sequence, ctx);
        true
    }

    /// A packet that came reduced.
    pub(super) fn take_reduced(
        &mut self,
        now: Duration,
        arrival: &Arrival<'_>,
        mac: &PacketMac,
        ctx: &mut Context,
    ) -> bool {
        let Some(link) = &mut self.link else { return false };
        let &Arrival { sequence, shape, body, to, .. } = arrival;
        link.arq.want_receipt(now, body.len());
        self.counters.reduced_received_packets += 1;
        let mut buffer = ctx.deliveries.buffer();
        match link.restore.restore(sequence, shape, body, mac, &mut buffer) {
            Ok(()) => {
                let was_parked = link.arq.take_parked(sequence);
                self.deliver(now, (sequence, Duration::ZERO), buffer, Outcome::after(was_parked), to, ctx);
                self.restore_dependents(now, sequence, ctx);
                true
            }
            Err(why) => {
                ctx.deliveries.recycle(buffer);
                self.counters.missed += 1;
                link.arq.miss(now);
                match why {
                    NotRestored::Malformed => return false,
                    NotRestored::OtherGeneration => self.counters.missed_other_generation += 1,
                    NotRestored::WrongBytes => self.counters.missed_wrong_bytes += 1,
                    NotRestored::Absent(_) => self.counters.missed_absent += 1,
                }
                let is_parked = link.arq.park(now, arrival, &why);
                let outcome = if is_parked { Outcome::Held } else { Outcome::Undecodable };
                self.arrived(sequence, outcome, ctx);
                true
            }
        }
    }

    /// Tries the held packets again, oldest first: their references have come as `sequence`, or come with one
    /// of the others.
    pub(super) fn restore_dependents(&mut self, now: Duration, sequence: u64, ctx: &mut Context) {
        let Some(link) = &self.link else { return };
        if !link.arq.has_parked() {
            return;
        }
        let mut from = link.restore.dependents_from(sequence);
        let mut came = vec![sequence];
        while let Some(link) = &mut self.link
            && let Some((sequence, held)) = link.arq.take_dependent(from, &came)
        {
            from = sequence + 1;
            let Some(session) = self.sessions.by_id(held.session) else {
                link.arq.give_up(sequence);
                continue;
            };
            let mut buffer = ctx.deliveries.buffer();
            match link.restore.restore(sequence, held.shape, &held.body, &session.receive_mac, &mut buffer) {
                Ok(()) => {
                    came.push(sequence);
                    self.deliver(now, (sequence, held.age(now)), buffer, Outcome::Repaired, held.to, ctx);
                }
                Err(why) => {
                    ctx.deliveries.recycle(buffer);
                    link.arq.park_again(now, sequence, held, why.absent());
                }
            }
        }
    }

    /// Delivers a packet whose bytes are proven, if it may come from this peer. `age`: how long it waited
    /// here.
    pub(super) fn deliver(
        &mut self,
        now: Duration,
        (sequence, age): (u64, Duration),
        mut packet: Vec<u8>,
        outcome: Outcome,
        to: Recipient,
        ctx: &mut Context,
    ) {
        let Some(link) = &mut self.link else { return };
        let Ok(inner) = Inner::parse(&packet) else {
            self.counters.bad_frames += 1;
            ctx.deliveries.recycle(packet);
            return;
        };
        if to.stores() {
            link.restore.store(sequence, &packet, &inner);
        }
        link.arq.hold(sequence);
        link.path_delay.came(now, &inner.flow, &packet);
        if outcome == Outcome::Repaired {
            self.counters.repaired += 1;
        }
        let is_old = age > SHORTEST && age > lifetime(&packet);
        self.counters.dropped_old += u64::from(is_old && to != Recipient::Store);
        let Some(ecn) = to.ecn().filter(|_| !is_old) else {
            ctx.deliveries.recycle(packet);
            return self.deliver_in_order(now, sequence, None, ctx);
        };
        if !ctx.may_come(inner.flow.source, self.index) {
            self.refuse_source(now, inner.flow.source, ctx);
            ctx.deliveries.recycle(packet);
            return self.deliver_in_order(now, sequence, None, ctx);
        }
        // only now: the store holds the bytes of the sender's store, and the MAC covers the sent header
        if !self.take_mark(&mut packet, ecn) {
            ctx.deliveries.recycle(packet);
            return self.deliver_in_order(now, sequence, None, ctx);
        }
        self.arrived(sequence, outcome, ctx);
        let packet = self.hand_on(now, packet, &inner, ctx);
        self.deliver_in_order(now, sequence, packet, ctx);
    }

    /// Tells a packet what its datagram was told on the way. `false`: it is to be dropped.
    pub(super) fn take_mark(&mut self, packet: &mut [u8], outer: u8) -> bool {
        let before = ecn::codepoint(packet);
        let combined = encapsulation::decapsulate(packet, outer);
        self.counters.ecn_odd += u64::from(combined.odd);
        self.counters.ecn_dropped += u64::from(combined.inner.is_none());
        self.counters.ecn_marked += u64::from(before != ecn::CE && combined.inner == Some(ecn::CE));
        combined.inner.is_some()
    }

    /// Hands a packet on, and what waited for it; in order where the peer repairs its losses.
    pub(super) fn deliver_in_order(
        &mut self,
        now: Duration,
        sequence: u64,
        packet: Option<Vec<u8>>,
        ctx: &mut Context,
    ) {
        let (counters, index) = (&mut self.counters, self.index);
        let mut hand_on = |sequence, packet: Vec<u8>| {
            counters.count_delivery(&packet);
            ctx.hand_on(now, index, Some(sequence), packet);
        };
        let Some(link) = &mut self.link else {
            return packet.into_iter().for_each(|packet| hand_on(sequence, packet));
        };
        link.arq.put_in_order(now, (sequence, packet), &mut hand_on);
        if link.arq.waits_in_order_since().is_some() {
            let patience = link.patience();
            link.arq.expire_order(now, patience, hand_on);
        }
    }

    fn arrived(&mut self, sequence: u64, outcome: Outcome, ctx: &mut Context) {
        if ctx.config.trace {
            ctx.events.push(Event::Arrived { peer: self.index, sequence, outcome });
        }
    }
}
