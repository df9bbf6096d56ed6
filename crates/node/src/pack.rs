//! Pack and unpack: what goes into a datagram for a peer, and what is done with what comes out of one.
//!
//! Control frames go first, the packet last, since the last frame needs no length. A receipt rides along when there
//! is room, and alone when nothing else leaves in time. Packets share a datagram only where its outer header can speak
//! for all of them ([`crate::encapsulation`]).

use crate::ecn;
use crate::encapsulation::{self, OuterClass};
use crate::event::{Event, Outcome, SentPacket};
use crate::link::Link;
use crate::mac::PacketMac;
use crate::node::Outside;
use crate::peer::Peer;
use crate::receipts::Fate;
use crate::recover::Recover;
use crate::reduce::{NotRestored, Shape};
use crate::repair::{Arrival, Held, Recipient};
use crate::seal::Seal;
use re::AbsentSequences;
use std::time::Duration;
use wire::frame::{self, Frame, FrameType, Frames, SEQUENCE_BYTES};
use wire::inner::Inner;
use wire::number::{from_u24, to_u24};
use wire::receipt::Receipt;
use wire::request::{MAX_SEQUENCES, Request};
use wire::unit::{SEALED_HEADER_BYTES, TAG_BYTES, emit_header};

/// Bytes around the frames of a unit.
pub const AROUND_FRAMES: usize = SEALED_HEADER_BYTES + SEQUENCE_BYTES + TAG_BYTES;
/// The most bytes around an inner packet that is alone in a datagram: sent again on request, it is named.
pub const AROUND_PACKET: usize = AROUND_FRAMES + 1 + SEQUENCE_BYTES;
/// Bytes that a datagram says its lane with.
pub const LANE_BYTES: usize = 3;
/// The part of a ping's token that says when it left.
const TOKEN_MICROS: u64 = (1 << 48) - 1;
/// Bytes around a reply's packet in a frame that says its length.
const AROUND_REPLY: usize = 1 + 5 + SEQUENCE_BYTES;

/// A datagram that has been written.
pub(crate) struct Packed {
    pub seal: Seal,
    /// The outer header's traffic class.
    pub class: u8,
    pub lane: usize,
}

/// What a ping asks to be told again: when it left, in microseconds, below how large a probe it was, 0 for none.
fn token(now: Duration, probe_bytes: usize) -> [u8; 8] {
    let micros = now.as_micros() as u64 & TOKEN_MICROS; // nine years
    ((probe_bytes as u64) << TOKEN_MICROS.count_ones() | micros).to_be_bytes()
}

fn read_token(token: [u8; 8]) -> (Duration, usize) {
    let token = u64::from_be_bytes(token);
    (Duration::from_micros(token & TOKEN_MICROS), (token >> TOKEN_MICROS.count_ones()) as usize)
}

/// What is to be said to the peer now, beside packets.
struct Due {
    lane: usize,
    ping: bool,
    receipt: bool,
    asked: Vec<u64>,
}

impl Peer {
    /// Writes the next datagram for the peer into `out`, header and plaintext; `None` if there is nothing to send.
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
        let due = self.due(now)?;
        let session = self.sessions.sending(now)?;
        let link = self.link.as_mut()?;
        let (seal, mac) = (session.next_seal(), session.send_mac.clone());
        out.clear();
        emit_header(session.unit_kind(&seal), session.remote_id, None, out);
        let sequence = link.outstanding.send(now);
        frame::emit_sequence(sequence, out);
        link.reduce.losses_are_repaired(link.repairs_losses());
        if let port @ 1.. = self.lanes.source_port(due.lane) {
            frame::emit(FrameType::Lane, &[port as u8], out);
        }
        let limit = self.path.limit() - TAG_BYTES;
        self.write_control(now, &due, out);
        self.write_receipt(now, due.receipt, limit, out);
        let mut class = OuterClass::new(outside.config.copies_dscp);
        let full =
            self.write_replies(limit, &mut class, out) || self.write_again(now, limit, &mut class, out);
        if !full {
            self.write_packet(now, sequence, &mac, limit, (due.lane, &mut class), outside, out);
        }
        if let Some(link) = &mut self.link
            && let Some(recover) = &mut link.recover
            && let Some(srtt) = link.outstanding.srtt()
        {
            recover.rearm(now, srtt);
        }
        self.path.sent(now, sequence, out.len() + TAG_BYTES);
        self.sent(now, due.lane);
        Some(Packed { seal, class: class.octet(), lane: due.lane })
    }

    /// A datagram of the size that is to be tried on the path, if one is. Its token says when it left and how large it
    /// was; the ping that follows tells a path that is too narrow from one that is cut.
    fn pack_probe(&mut self, now: Duration, out: &mut Vec<u8>) -> Option<Packed> {
        self.link.as_ref()?;
        let bytes = self.path.has_probe().then(|| self.path.take_probe(now))??;
        let session = self.sessions.sending(now)?;
        let seal = session.next_seal();
        out.clear();
        emit_header(session.unit_kind(&seal), session.remote_id, None, out);
        frame::emit_sequence(0, out);
        frame::emit_last(FrameType::Probe, out);
        out.extend_from_slice(&token(now, bytes));
        out.resize(bytes - TAG_BYTES, 0);
        self.ping_at = Some(now);
        Some(Packed { seal, class: 0, lane: 0 })
    }

    /// What is to be said now; `None` if there is nothing and no packet waits either.
    fn due(&mut self, now: Duration) -> Option<Due> {
        let first_pings = self.ping_at.is_some_and(|at| at <= now);
        let pinging = if first_pings { Some(0) } else { self.lanes.due(now) };
        let lane = pinging.unwrap_or_else(|| self.next_lane(now));
        let link = self.link.as_mut()?;
        let retry = link.retry_after();
        let due = Due {
            lane,
            ping: pinging.is_some(),
            receipt: link.receipt_at().is_some_and(|at| at <= now),
            asked: link.repair.as_mut().map_or(Vec::new(), |repair| repair.ask(now, retry, MAX_SEQUENCES)),
        };
        let anything = due.ping
            || due.receipt
            || !due.asked.is_empty()
            || !link.replies.is_empty()
            || link.recover.as_ref().is_some_and(Recover::has_again)
            || !link.pongs.is_empty()
            || link.flushed
            || self.closing
            || !self.queue.is_empty();
        anything.then_some(due)
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

    fn write_control(&mut self, now: Duration, due: &Due, out: &mut Vec<u8>) {
        let Some(link) = &mut self.link else { return };
        if self.closing {
            frame::emit(FrameType::Close, &[], out);
        }
        if due.ping {
            frame::emit(FrameType::Ping, &token(now, 0), out);
            self.unanswered_since.get_or_insert(now);
        }
        for token in link.pongs.drain(..) {
            frame::emit(FrameType::Pong, &token, out);
        }
        if std::mem::take(&mut link.flushed) {
            frame::emit(FrameType::Flushed, &[link.restore.generation()], out);
        }
        if !due.asked.is_empty() {
            let mut body = Vec::new();
            wire::request::emit(&due.asked, &mut body);
            frame::emit(FrameType::Request, &body, out);
            self.counters.requested += due.asked.len() as u64;
        }
    }

    /// A receipt that is due goes before everything; one that is only worth carrying leaves the waiting packet its
    /// room.
    fn write_receipt(&mut self, now: Duration, due: bool, limit: usize, out: &mut Vec<u8>) {
        let Some(link) = &mut self.link else { return };
        let packet_bytes = self.queue.next_bytes(now).map_or(0, |bytes| bytes + 1);
        let room = limit.saturating_sub(out.len() + if due { 0 } else { packet_bytes });
        if (due || !link.is_plain && link.received.worth_carrying(now)) && link.received.frame_bytes() <= room
        {
            let mut body = Vec::with_capacity(link.received.frame_bytes());
            link.received.write(now, link.restore.generation(), &mut body);
            frame::emit(FrameType::Receipt, &body, out);
            self.counters.receipts_sent += 1;
        }
    }

    /// Sends again what was asked for, as far as there is room. Whether that filled the datagram to its end.
    fn write_replies(&mut self, limit: usize, class: &mut OuterClass, out: &mut Vec<u8>) -> bool {
        let lane_bytes = self.lane_bytes();
        let Some(link) = &mut self.link else { return false };
        while let Some(&wanted) = link.replies.front() {
            let Some(original) = link.reduce.original(wanted) else {
                link.replies.pop_front();
                continue;
            };
            let fits = out.len() + AROUND_REPLY + original.len() <= limit;
            if original.len() + AROUND_PACKET + lane_bytes > limit + TAG_BYTES {
                link.replies.pop_front(); // the path has become too narrow for it
                continue;
            }
            let alone = out.len() + TAG_BYTES <= AROUND_FRAMES + lane_bytes;
            if !fits && !alone || !class.admit(ecn::traffic_class(original)) {
                break; // its turn comes in a datagram of its own
            }
            let mut body = to_u24(wanted).to_vec();
            body.extend_from_slice(original);
            link.replies.pop_front();
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
    fn write_again(
        &mut self,
        now: Duration,
        limit: usize,
        class: &mut OuterClass,
        out: &mut Vec<u8>,
    ) -> bool {
        let lane_bytes = self.lane_bytes();
        let Some(Link { recover: Some(recover), reduce, outstanding, .. }) = &mut self.link else {
            return false;
        };
        while let Some(again) = recover.next_again() {
            let original = reduce.original(again.sequence).filter(|_| again.as_it_was);
            let frame_type = if original.is_some() { FrameType::Packet } else { again.frame_type };
            let body = original.unwrap_or(again.body);
            let fits = out.len() + AROUND_REPLY + body.len() <= limit;
            if body.len() + AROUND_PACKET + lane_bytes > limit + TAG_BYTES {
                recover.sent_again(); // the path has become too narrow for it: as good as lost
                continue;
            }
            let alone = out.len() + TAG_BYTES <= AROUND_FRAMES + lane_bytes;
            if !fits && !alone || !class.admit(again.class) {
                break; // its turn comes in a datagram of its own
            }
            let frame_type = match (again.store_only, frame_type) {
                (false, FrameType::Short) => FrameType::AgainShort,
                (false, FrameType::ReducedCompact) => FrameType::AgainReduced,
                (false, _) => FrameType::AgainPacket,
                (true, FrameType::Short) => FrameType::StoreShort,
                (true, FrameType::ReducedCompact) => FrameType::StoreReduced,
                (true, _) => FrameType::StorePacket,
            };
            if fits {
                frame::emit_front(frame_type, SEQUENCE_BYTES + body.len(), out);
            } else {
                frame::emit_last(frame_type, out);
            }
            frame::emit_sequence(again.sequence, out);
            out.extend_from_slice(body);
            outstanding.send_again(now, again.sequence);
            recover.sent_again();
            self.counters.recovered += 1;
            if !fits {
                return true;
            }
        }
        false
    }

    /// The packet whose turn it is, if it fits.
    fn write_packet(
        &mut self,
        now: Duration,
        sequence: u64,
        mac: &PacketMac,
        limit: usize,
        (lane, class): (usize, &mut OuterClass),
        outside: &mut Outside<'_>,
        out: &mut Vec<u8>,
    ) {
        let Some(link) = &mut self.link else { return };
        let lanes = self.lanes.count();
        if lanes > 1
            && let Some(Ok(Inner { flow, .. })) = self.queue.peek(now).map(Inner::parse)
            && self.queue.lane_of(&flow, lanes) != lane
        {
            return; // its turn comes in a datagram on its own lane
        }
        let fits =
            |packet: &[u8]| out.len() + 1 + packet.len() <= limit && class.admit(ecn::traffic_class(packet));
        if !self.queue.peek(now).is_some_and(fits) {
            return;
        }
        let Some(packet) = self.queue.pop(now) else { return };
        if let Ok(inner) = Inner::parse(&packet) {
            let start = out.len();
            let written = link.reduce.write(sequence, &packet, &inner, mac, out);
            let repairs_losses = link.repairs_losses();
            if let Some(recover) = link.recover.as_mut().filter(|_| repairs_losses) {
                let frame_type = written.frame_type;
                recover.keep(now, sequence, frame_type, inner.traffic_class, &out[start + 1..]);
            }
            self.counters.inner_sent_packets += 1;
            self.counters.inner_sent_bytes += packet.len() as u64;
            if written.reduced {
                self.counters.reduced_packets += 1;
                let frame_bytes = written.frame_bytes + written.shortened_bytes;
                self.counters.removed_bytes += (packet.len() + 1).saturating_sub(frame_bytes) as u64;
            }
            self.counters.shortened_bytes += written.shortened_bytes as u64;
            if outside.config.trace {
                let references = if written.reduced { link.reduce.references() } else { &[] };
                outside.events.push(Event::Sent(SentPacket {
                    peer: self.index,
                    sequence,
                    flow: inner.flow,
                    tcp_sequence: inner.tcp_sequence,
                    payload_bytes: inner.payload_bytes(),
                    packet_bytes: written.packet_bytes,
                    frame_bytes: written.frame_bytes,
                    references: references.to_vec(),
                }));
            }
            self.unanswered_since.get_or_insert(now);
        }
        self.queue.recycle(packet);
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
        link.received.arrive(now, first);
        let is_plain = link.is_plain;
        for frame in Frames::new(plaintext) {
            let Ok(Frame { frame_type, body }) = frame else {
                self.counters.bad_frames += 1;
                break;
            };
            // what is not of the session's version is as unknown as what no version has yet
            let frame_type = frame_type.filter(|known| !is_plain || known.is_plain());
            let sequence = next;
            if frame_type.is_some_and(FrameType::is_packet) {
                if next != first
                    && let Some(link) = &mut self.link
                {
                    link.received.arrive(now, sequence);
                }
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
                Some(frame_type) if frame_type.is_packet() => take(self, sequence, body),
                Some(frame_type) if frame_type.is_again() => self.take_again(now, body, take),
                Some(FrameType::Reply) => self.take_reply(now, body, to, outside),
                Some(other) => self.take_control(now, other, body),
                None => true,
            };
            if !understood {
                self.counters.bad_frames += 1;
            }
        }
        if next == first {
            if let Some(link) = &mut self.link {
                link.received.hold(first); // nothing of it is missing
            }
            self.release(now, first, None, outside);
        }
    }

    /// A packet that came as it was.
    fn take_plain(
        &mut self,
        now: Duration,
        sequence: u64,
        packet: &[u8],
        to: Recipient,
        outside: &mut Outside<'_>,
    ) -> bool {
        let Some(link) = &mut self.link else { return false };
        link.received.want_receipt(now);
        let mut buffer = outside.deliveries.buffer();
        buffer.extend_from_slice(packet);
        let was_parked = link.repair.as_mut().and_then(|repair| repair.remove_held(sequence)).is_some();
        self.deliver(now, sequence, buffer, Outcome::after(was_parked), to, outside);
        self.restore_held(now, sequence + 1, outside); // packets refer to earlier ones only
        true
    }

    /// A packet that was lost and comes again; `take` does what is done with one that comes for the first time.
    fn take_again(
        &mut self,
        now: Duration,
        mut body: &[u8],
        take: impl FnOnce(&mut Self, u64, &[u8]) -> bool,
    ) -> bool {
        let Some(link) = &mut self.link else { return false };
        let Ok(truncated) = frame::parse_sequence(&mut body) else { return false };
        let sequence = link.received.widen(truncated);
        link.received.want_receipt(now);
        // a copy that was on its way when the first one was given up for lost
        link.received.holds(sequence) || take(self, sequence, body)
    }

    /// A packet that came reduced.
    fn take_reduced(
        &mut self,
        now: Duration,
        arrival: &Arrival<'_>,
        mac: &PacketMac,
        outside: &mut Outside<'_>,
    ) -> bool {
        let Some(link) = &mut self.link else { return false };
        let &Arrival { sequence, shape, body, to, .. } = arrival;
        link.received.want_receipt(now);
        self.counters.reduced_received_packets += 1;
        let mut buffer = outside.deliveries.buffer();
        match link.restore.restore(sequence, shape, body, mac, &mut buffer) {
            Ok(()) => {
                let was_parked =
                    link.repair.as_mut().and_then(|repair| repair.remove_held(sequence)).is_some();
                self.deliver(now, sequence, buffer, Outcome::after(was_parked), to, outside);
                self.restore_held(now, sequence + 1, outside);
                true
            }
            Err(why) => {
                outside.deliveries.recycle(buffer);
                self.counters.missed += 1;
                link.received.miss(now);
                let mut absent = AbsentSequences::default();
                match why {
                    NotRestored::Malformed => return false,
                    NotRestored::OtherGeneration => self.counters.missed_other_generation += 1,
                    NotRestored::WrongBytes => self.counters.missed_wrong_bytes += 1,
                    NotRestored::Absent(sequences) => {
                        self.counters.missed_absent += 1;
                        absent = sequences;
                    }
                }
                let outcome = match &mut link.repair {
                    Some(repair) => {
                        link.received.park(sequence);
                        let evicted = repair.hold(now, arrival, absent.as_slice());
                        evicted.into_iter().for_each(|sequence| link.received.unpark(sequence));
                        Outcome::Held
                    }
                    None => Outcome::Undecodable,
                };
                self.arrived(sequence, outcome, outside);
                true
            }
        }
    }

    /// A packet that was asked for.
    fn take_reply(&mut self, now: Duration, body: &[u8], to: Recipient, outside: &mut Outside<'_>) -> bool {
        let Some((front, packet)) = body.split_first_chunk::<3>() else { return false };
        let Some(link) = &mut self.link else { return false };
        let sequence = link.received.widen(from_u24(*front));
        let Some(repair) = link.repair.as_mut().filter(|repair| repair.is_wanted(sequence)) else {
            return true; // late, or never asked for: nothing to do
        };
        let Ok(inner) = Inner::parse(packet) else { return false };
        repair.satisfied(sequence);
        let held = repair.remove_held(sequence);
        link.restore.store(sequence, packet, &inner);
        link.received.hold(sequence);
        if let Some(held) = held {
            let marked = Recipient::EndHosts { ecn: ecn::CE };
            let to = if held.to == marked { marked } else { to };
            let mut buffer = outside.deliveries.buffer();
            buffer.extend_from_slice(packet);
            self.deliver(now, sequence, buffer, Outcome::Repaired, to, outside);
        }
        // in the paper's form what a fingerprint leads to may be any packet
        self.restore_held(now, 0, outside);
        true
    }

    /// Tries what is held from the sequence `from` on again, oldest first: what it needs has come, or comes with one of
    /// the others.
    fn restore_held(&mut self, now: Duration, mut from: u64, outside: &mut Outside<'_>) {
        while let Some(link) = &mut self.link
            && let Some(repair) = &mut link.repair
            && let Some((sequence, held)) = repair.take_held(from)
        {
            from = sequence + 1;
            let Some(session) = self.sessions.by_id(held.session) else {
                link.received.unpark(sequence);
                continue;
            };
            let mut buffer = outside.deliveries.buffer();
            match link.restore.restore(sequence, held.shape, &held.body, &session.receive_mac, &mut buffer) {
                Ok(()) => self.deliver(now, sequence, buffer, Outcome::Repaired, held.to, outside),
                Err(why) => {
                    outside.deliveries.recycle(buffer);
                    if let NotRestored::Absent(absent) = why {
                        let Held { shape, ref body, session, to, .. } = held;
                        repair.hold(now, &Arrival { sequence, shape, body, session, to }, absent.as_slice());
                    } else {
                        repair.put_back(sequence, held);
                    }
                }
            }
        }
    }

    /// Delivers a packet whose bytes are proven, if it may come from this peer.
    fn deliver(
        &mut self,
        now: Duration,
        sequence: u64,
        mut packet: Vec<u8>,
        outcome: Outcome,
        to: Recipient,
        outside: &mut Outside<'_>,
    ) {
        let Some(link) = &mut self.link else { return };
        let Ok(inner) = Inner::parse(&packet) else {
            self.counters.bad_frames += 1;
            outside.deliveries.recycle(packet);
            return;
        };
        link.restore.store(sequence, &packet, &inner);
        link.received.hold(sequence);
        if outcome == Outcome::Repaired {
            self.counters.repaired += 1;
        }
        let Recipient::EndHosts { ecn } = to else {
            outside.deliveries.recycle(packet);
            return self.release(now, sequence, None, outside);
        };
        if outside.routes.peer(inner.flow.source) != Some(self.index) {
            self.counters.wrong_source += 1;
            outside.deliveries.recycle(packet);
            return self.release(now, sequence, None, outside);
        }
        // only now: what is stored is what the sender stored, and its header what the MAC was made over
        if !self.take_mark(&mut packet, ecn) {
            outside.deliveries.recycle(packet);
            return self.release(now, sequence, None, outside);
        }
        self.counters.inner_received_packets += 1;
        self.counters.inner_received_bytes += packet.len() as u64;
        self.arrived(sequence, outcome, outside);
        self.release(now, sequence, Some(packet), outside);
    }

    /// Tells a packet what its datagram was told on the way. `false`: it is to be dropped.
    fn take_mark(&mut self, packet: &mut [u8], outer: u8) -> bool {
        let before = ecn::codepoint(packet);
        let combined = encapsulation::decapsulate(packet, outer);
        self.counters.ecn_odd += u64::from(combined.odd);
        self.counters.ecn_dropped += u64::from(combined.inner.is_none());
        self.counters.ecn_marked += u64::from(before != ecn::CE && combined.inner == Some(ecn::CE));
        combined.inner.is_some()
    }

    /// Hands a packet on, and what waited for it; in order where the peer repairs its losses.
    fn release(&mut self, now: Duration, sequence: u64, packet: Option<Vec<u8>>, outside: &mut Outside<'_>) {
        let mut hand_on = |packet| outside.deliveries.push_buffer(packet);
        let Some(Link { release: Some(release), .. }) = &mut self.link else {
            return packet.into_iter().for_each(hand_on);
        };
        release.arrived(now, sequence, packet, &mut hand_on);
    }

    fn arrived(&mut self, sequence: u64, outcome: Outcome, outside: &mut Outside<'_>) {
        if outside.config.trace {
            outside.events.push(Event::Arrived { peer: self.index, sequence, outcome });
        }
    }

    /// What is neither packet nor reply.
    fn take_control(&mut self, now: Duration, frame_type: FrameType, body: &[u8]) -> bool {
        let Some(link) = &mut self.link else { return false };
        match frame_type {
            FrameType::Receipt => {
                let Ok(receipt) = Receipt::parse(body) else { return false };
                self.counters.receipts_received += 1;
                let Link { outstanding, reduce, recover, .. } = link;
                if !reduce.generation(receipt.generation) {
                    return true;
                }
                let mut fates = std::mem::take(&mut self.fates);
                let understood =
                    outstanding.receipt(now, &receipt, |sequence, fate| fates.push((sequence, fate)));
                let congested = outstanding.delay.is_congested();
                for (sequence, fate) in fates.drain(..) {
                    match fate {
                        Fate::Held => {
                            reduce.confirm(sequence);
                            self.path.held(now, sequence);
                        }
                        Fate::Parked => {}
                        Fate::Lost => reduce.report_lost(sequence),
                    }
                    let Some(recover) = recover else { continue };
                    match fate {
                        Fate::Held => recover.confirmed(sequence),
                        Fate::Parked => recover.parked(sequence),
                        Fate::Lost => recover.missing(sequence, congested),
                    }
                }
                self.fates = fates;
                if let (Some(recover), Some(srtt)) = (recover, outstanding.srtt()) {
                    let newest = outstanding.widen(receipt.newest);
                    recover.told_from((newest + 1).saturating_sub(receipt.span()));
                    recover.schedule();
                    recover.take_doubted(|sequence| reduce.report_lost(sequence));
                    recover.rearm(now, srtt);
                }
                understood
            }
            FrameType::Request => {
                let Ok(request) = Request::parse(body) else { return false };
                for truncated in request.sequences() {
                    let sequence = link.outstanding.widen(truncated);
                    link.reply(sequence);
                }
                true
            }
            FrameType::Ping => {
                let token = body.try_into();
                token.map(|token| link.pong(token)).is_ok()
            }
            FrameType::Pong => {
                let Ok(token) = body.try_into() else { return false };
                let (left_at, probe_bytes) = read_token(token);
                if probe_bytes > 0 {
                    self.path.answered(now, probe_bytes);
                    return true;
                }
                self.path.answered_ping(left_at);
                now.checked_sub(left_at).map(|sample| link.outstanding.delay.sample(now, sample)).is_some()
            }
            FrameType::Flushed => {
                let &[generation] = body else { return false };
                link.reduce.generation(generation);
                link.recover.iter_mut().for_each(Recover::clear);
                true
            }
            FrameType::Close => {
                self.closed = true;
                true
            }
            FrameType::Padding | FrameType::Probe | FrameType::Lane => true,
            FrameType::Packet
            | FrameType::ReducedCompact
            | FrameType::ReducedPaper
            | FrameType::Reply
            | FrameType::AgainPacket
            | FrameType::AgainReduced
            | FrameType::StorePacket
            | FrameType::StoreReduced
            | FrameType::Short
            | FrameType::AgainShort
            | FrameType::StoreShort => false,
        }
    }
}
