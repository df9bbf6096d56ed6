//! Pack and unpack: the contents of a datagram for a peer, and the processing of the contents of a received
//! one.
//!
//! A packet that did not fit into the datagram before goes first, then [control] frames, then what
//! is sent [again], then [packets]. A receipt rides along in the room that they leave, and
//! goes alone when nothing else leaves in time; one that found no room goes before the packets of the next
//! datagram. Packets share a datagram only where its outer header can speak for all of them
//! ([`crate::encapsulation`]).

mod again;
mod coded;
mod control;
mod filling;
mod heads;
mod natives;
mod packets;
mod probe;
mod shared;

pub(crate) use coded::status as recover_status;
pub use filling::{Begun, Filling};
pub use heads::Heads;
pub(crate) use natives::{Native, natives_mac};
pub use packets::Overflow;
use packets::Row;
pub(crate) use shared::GroupUnit;
pub use shared::SHARING_BYTES;
#[cfg(test)]
pub(crate) use shared::unit_number;

use crate::encapsulation::OuterClass;
use crate::group::Member;
use crate::link::Link;
use crate::node::Outside;
use crate::peer::Peer;
use crate::reduce::Shape;
use crate::repair::{Arrival, Recipient};
use crate::seal::Seal;
use re::mac::PacketMac;
use std::time::Duration;
use wire::frame::{self, Frame, FrameType, Frames, SEQUENCE_BYTES};
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

/// The messages to the peer that are due, beside packets.
#[derive(Default)]
struct Due {
    lane: usize,
    /// There is something that is not for the group to hear.
    control: bool,
    ping: bool,
    /// The ping is to leave without packets, which would be lost with what is too large for the path.
    alone: bool,
    receipt: bool,
    asked: Vec<u64>,
}

impl Peer {
    /// Writes the next datagram for the peer into `out`, header and plaintext; `None` if there is nothing to
    /// send.
    pub(crate) fn pack(
        &mut self,
        now: Duration,
        outside: &mut Outside<'_>,
        out: &mut Vec<u8>,
    ) -> Option<Packed> {
        self.sessions.sending(now)?;
        if let Some(probe) = self.pack_probe(now, out) {
            return Some(probe);
        }
        self.take_out_too_large(now, outside);
        if let Some(begun) = self.link.as_mut().and_then(|link| link.begun.take()) {
            return self.go_on(now, begun, outside, out);
        }
        let mut due = self.due(now)?;
        // a packet that takes a receipt along would share no frame with another's
        due.control |= due.receipt && outside.coding.is_some();
        if let Some((packed, _)) = self.pack_shared(now, (&due, false), outside, out) {
            return Some(packed);
        }
        let is_shared = self.is_shared(outside);
        let lane_bytes = self.lane_bytes();
        let session = self.sessions.sending(now)?;
        let link = self.link.as_mut()?;
        let (session_id, seal, mac) = (session.local_id, session.next_seal(), session.send_mac.clone());
        out.clear();
        emit_header(session.unit_kind(&seal), session.remote_id, None, out);
        let limit = self.path.limit() - TAG_BYTES;
        let waits = |overflow: &Overflow| due.alone || is_shared && overflow.is_shared();
        let overflow = link.overflow.take_if(|overflow| !waits(overflow));
        let overflow = overflow.filter(|overflow| overflow.fits(limit - lane_bytes));
        let first = link.begin_datagram(now, overflow.as_ref(), outside.processor_is_short);
        frame::emit_sequence(first, out);
        if let port @ 1.. = self.lanes.source_port(due.lane) {
            frame::emit(FrameType::Lane, &[port as u8], out);
        }
        let class = OuterClass::new(outside.config.copies_dscp);
        let (lane, session) = (due.lane, session_id);
        let mut row = Row {
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
            self.write_overflow(&mut row, overflow, outside, out);
        }
        self.write_control(now, &due, out);
        self.write_letters(limit, out);
        self.write_notices(now, limit, out);
        self.write_group_control(now, outside, out);
        if self.queue.is_empty() || self.link.as_ref().is_some_and(|link| link.receipt_had_no_room) {
            self.write_receipt(now, due.receipt, None, limit, out);
        }
        let full = due.alone
            || self.write_coded(now, &mut row, out)
            || self.write_replies(&mut row, out)
            || self.write_again(now, &mut row, out);
        if !full {
            // what can be shared goes without control beside it
            let no_packets = is_shared && due.control;
            let last = if no_packets { None } else { self.write_packets(now, &mut row, None, outside, out) };
            if !due.control && !due.receipt && self.waits_to_be_filled(now, &row, out.len()) {
                let Row { first: free, lane, session, class, packets, .. } = row;
                let plaintext = std::mem::replace(out, outside.deliveries.buffer());
                let begun = Begun { seal, plaintext, first, free, lane, session, class, packets, last };
                self.link.as_mut()?.begun = Some(begun);
                return None;
            }
            self.write_receipt(now, due.receipt, last, limit, out);
        }
        self.has_left(now, first, out.len() + TAG_BYTES, due.lane);
        Some(Packed { seal, class: row.class.octet(), lane: due.lane })
    }

    /// Goes on with a datagram that waited to be filled. It leaves as it is where something else is to be
    /// said: that follows, and its receipt rides along.
    fn go_on(
        &mut self,
        now: Duration,
        mut begun: Begun,
        outside: &mut Outside<'_>,
        out: &mut Vec<u8>,
    ) -> Option<Packed> {
        std::mem::swap(out, &mut begun.plaintext);
        let limit = self.path.limit() - TAG_BYTES;
        let lane_bytes = self.lane_bytes();
        let mac = self.sessions.by_id(begun.session).map(|session| session.send_mac.clone());
        // under keys that are gone nothing is added, nor to what has become too large
        if let Some(mac) = mac.filter(|_| out.len() < limit) {
            let Begun { free: first, lane, session, class, packets, .. } = begun;
            let (is_shared, ends_whole, is_native, form) = (false, false, false, None);
            let mac = &mac;
            let mut row = Row {
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
            if self.is_quiet(now) {
                begun.last = self.write_packets(now, &mut row, begun.last, outside, out);
                (begun.free, begun.class, begun.packets) = (row.first, row.class, row.packets);
                if self.waits_to_be_filled(now, &row, out.len()) {
                    std::mem::swap(out, &mut begun.plaintext);
                    self.link.as_mut()?.begun = Some(begun);
                    return None;
                }
            }
            let is_due = self.link.as_ref().and_then(Link::receipt_at).is_some_and(|at| at <= now);
            self.write_receipt(now, is_due, begun.last, limit, out);
        }
        outside.deliveries.recycle(begun.plaintext);
        self.has_left(now, begun.first, out.len() + TAG_BYTES, begun.lane);
        Some(Packed { seal: begun.seal, class: begun.class.octet(), lane: begun.lane })
    }

    /// A datagram of so many bytes with packets from `first` on has been written.
    fn has_left(&mut self, now: Duration, first: u64, bytes: usize, lane: usize) {
        if let Some(link) = &mut self.link
            && let Some(recover) = &mut link.recover
            && let Some(srtt) = link.outstanding.srtt()
        {
            recover.rearm(now, srtt);
        }
        if let Some(Link { filling: Some(filling), .. }) = &mut self.link {
            filling.has_left();
        }
        self.path.sent(now, first, bytes);
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
        outside: &mut Outside<'_>,
    ) -> bool {
        if frame_type == FrameType::Shared {
            return self.take_shared(now, sequence, (session, mac), ecn, body, outside);
        }
        if frame_type == FrameType::Coded {
            self.link.iter_mut().for_each(|link| link.received.hold(sequence)); // no packet travels under it
            let understood = self.take_coded(now, body, ecn, outside);
            self.release(now, sequence, None, outside);
            return understood;
        }
        let to = Recipient::EndHosts { ecn };
        match Shape::of(frame_type) {
            Some(shape) => {
                let arrival = Arrival { sequence, shape, body, session, to };
                self.take_reduced(now, &arrival, mac, outside)
            }
            None => self.take_plain(now, sequence, body, to, outside),
        }
    }

    /// The due messages; `None` without any and without a waiting packet.
    fn due(&mut self, now: Duration) -> Option<Due> {
        // the rest of the earlier datagram stays on its lane; a ping keeps a lane open; else packets choose
        let first_pings = self.ping_at.is_some_and(|at| at <= now);
        let alone = first_pings && self.path.is_probing();
        let overflow = self.link.as_ref()?.overflow.as_ref().filter(|_| !alone);
        let left_over = overflow.map(|overflow| overflow.lane);
        let pinging = if first_pings { Some(0) } else { self.lanes.due(now) };
        let lane = left_over.or(pinging).unwrap_or_else(|| self.next_lane(now));
        let link = self.link.as_mut()?;
        let retry = link.retry_after();
        let mut due = Due {
            lane,
            control: false,
            ping: pinging.is_some_and(|port| port == self.lanes.source_port(lane)),
            alone,
            receipt: link.receipt_at().is_some_and(|at| at <= now),
            asked: link.repair.as_mut().map_or(Vec::new(), |repair| repair.ask(now, retry, MAX_SEQUENCES)),
        };
        due.control = due.ping
            || !due.asked.is_empty()
            || link.upstream.as_mut().is_some_and(|upstream| upstream.is_due(now))
            || link.has_to_say()
            || link.tells_of_groups_at().is_some_and(|at| at <= now)
            || self.closing;
        let chunks = link.member.as_ref().is_some_and(Member::has_replies);
        let said = due.control || due.receipt || chunks;
        (said || link.overflow.is_some() || !self.queue.is_empty()).then_some(due)
    }

    /// Whether there is nothing to be said now but packets.
    fn is_quiet(&self, now: Duration) -> bool {
        let Some(link) = &self.link else { return false };
        let times = [self.ping_at, self.lanes.timeout(), link.tells_at(), link.asks_at()];
        !self.closing && !link.has_to_say() && !times.into_iter().flatten().any(|at| at <= now)
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

    /// Takes the frames of an opened unit, which came in a datagram with the codepoint `ecn`.
    pub(crate) fn unpack(
        &mut self,
        now: Duration,
        session: u32,
        mac: &PacketMac,
        ecn: u8,
        mut plaintext: &[u8],
        outside: &mut Outside<'_>,
    ) {
        let Some(link) = &mut self.link else { return };
        let Ok(truncated) = frame::parse_sequence(&mut plaintext) else {
            self.counters.bad_frames += 1;
            return;
        };
        if let Some(Ok(Frame { frame_type: Some(FrameType::Probe), body })) = Frames::new(plaintext).next() {
            match body.first_chunk() {
                Some(token) => link.pong(*token),
                None => self.counters.bad_frames += 1,
            }
            return;
        }
        let first = link.received.widen(truncated);
        let mut next = first;
        let cut = first.checked_sub(1).filter(|_| heads::begins_with_tail(plaintext));
        link.received.reach(now, cut.unwrap_or(first));
        let is_plain = link.is_plain;
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
                link.received.arrive(now, sequence);
                next += 1;
            }
            let shape = frame_type.and_then(Shape::of);
            let to = Recipient::of(frame_type, ecn);
            let mut take = |peer: &mut Self, sequence, body: &[u8]| match shape {
                Some(shape) => {
                    let arrival = Arrival { sequence, shape, body, session, to };
                    peer.take_reduced(now, &arrival, mac, outside)
                }
                None => peer.take_plain(now, sequence, body, to, outside),
            };
            let understood = match frame_type {
                Some(FrameType::Shared) => {
                    self.take_shared(now, sequence, (session, mac), ecn, body, outside)
                }
                Some(FrameType::ChunkReply) => self.take_chunk_reply(now, body, outside),
                Some(FrameType::Coded) => self.take_coded(now, body, ecn, outside),
                Some(FrameType::Notice) => self.take_notice(now, body, outside),
                Some(frame_type) if frame_type.is_packet() => take(self, sequence, body),
                Some(frame_type) if frame_type.is_again() => self.take_again(now, body, take),
                Some(FrameType::Reply) => self.take_reply(now, body, to, outside),
                Some(FrameType::Head) => {
                    next += 1; // it arrives with its tail
                    self.take_head(sequence, session, ecn, body, outside)
                }
                Some(FrameType::Tail) => {
                    cut.is_some_and(|cut| self.take_tail(now, cut, (session, mac), ecn, body, outside))
                }
                Some(other) => self.take_control(now, other, body, outside),
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
                link.received.arrive(now, first);
                if all_understood {
                    link.received.hold(first);
                }
            }
            self.release(now, first, None, outside);
        }
    }
}
