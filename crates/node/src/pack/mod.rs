//! Pack and unpack: what goes into a datagram for a peer, and what is done with what comes out of one.
//!
//! A packet that did not fit into the datagram before goes first, then [control](control) frames, then what is sent
//! [again](again), then [packets](packets), since a last frame needs no length. A receipt rides along when there is
//! room, and alone when nothing else leaves in time.

mod again;
mod control;
mod packets;

pub use packets::Overflow;
use packets::Row;

use crate::mac::PacketMac;
use crate::node::Outside;
use crate::peer::Peer;
use crate::recover::Recover;
use crate::reduce::Shape;
use crate::repair::{Arrival, Recipient};
use crate::seal::Seal;
use std::time::Duration;
use wire::frame::{self, Frame, FrameType, Frames, SEQUENCE_BYTES};
use wire::request::MAX_SEQUENCES;
use wire::unit::{Kind, SEALED_HEADER_BYTES, TAG_BYTES, emit_header};

/// Bytes around the frames of a unit.
pub const AROUND_FRAMES: usize = SEALED_HEADER_BYTES + SEQUENCE_BYTES + TAG_BYTES;
/// The most bytes around an inner packet that is alone in a datagram: sent again on request, it is named.
pub const AROUND_PACKET: usize = AROUND_FRAMES + 1 + SEQUENCE_BYTES;

/// What is to be said to the peer now, beside packets.
struct Due {
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
    ) -> Option<Seal> {
        self.sessions.sending(now)?;
        let due = self.due(now)?;
        let session = self.sessions.sending(now)?;
        let link = self.link.as_mut()?;
        let (session_id, seal, mac) = (session.local_id, session.next_seal(), session.send_mac.clone());
        out.clear();
        emit_header(Kind::Sealed { counter: seal.counter() as u32 }, session.remote_id, None, out);
        let overflow = link.overflow.take();
        let first =
            overflow.as_ref().map_or_else(|| link.outstanding.send(now), |overflow| overflow.sequence);
        frame::emit_sequence(first, out);
        link.reduce.losses_are_repaired(link.repairs_losses());
        let limit = outside.config.max_datagram_bytes - TAG_BYTES;
        let mut row = Row { first: Some(first), session: session_id, mac: &mac, limit };
        if let Some(overflow) = overflow {
            self.write_overflow(&mut row, overflow, outside, out);
        }
        self.write_control(now, &due, out);
        self.write_receipt(now, due.receipt, limit, out);
        let full = self.write_replies(limit, out) || self.write_again(now, limit, out);
        if !full {
            self.write_packets(now, row, outside, out);
        }
        if let Some(link) = &mut self.link
            && let Some(recover) = &mut link.recover
            && let Some(srtt) = link.outstanding.srtt()
        {
            recover.rearm(now, srtt);
        }
        self.sent(now);
        Some(seal)
    }

    /// What is to be said now; `None` if there is nothing and no packet waits either.
    fn due(&mut self, now: Duration) -> Option<Due> {
        let link = self.link.as_mut()?;
        let retry = link.retry_after();
        let due = Due {
            ping: self.ping_at.is_some_and(|at| at <= now),
            receipt: link.received.alone_at().is_some_and(|at| at <= now),
            asked: link.repair.as_mut().map_or(Vec::new(), |repair| repair.ask(now, retry, MAX_SEQUENCES)),
        };
        let anything = due.ping
            || due.receipt
            || !due.asked.is_empty()
            || !link.replies.is_empty()
            || link.recover.as_ref().is_some_and(Recover::has_again)
            || link.pong.is_some()
            || link.flushed
            || link.overflow.is_some()
            || self.closing
            || !self.queue.is_empty();
        anything.then_some(due)
    }

    /// Takes the frames of an opened unit.
    pub(crate) fn unpack(
        &mut self,
        now: Duration,
        session: u32,
        mac: &PacketMac,
        mut plaintext: &[u8],
        outside: &mut Outside<'_>,
    ) {
        let Some(link) = &mut self.link else { return };
        let Ok(truncated) = frame::parse_sequence(&mut plaintext) else {
            self.counters.bad_frames += 1;
            return;
        };
        let first = link.received.widen(truncated);
        let mut next = first;
        link.received.arrive(now, first);
        for frame in Frames::new(plaintext) {
            let Ok(Frame { frame_type, body }) = frame else {
                self.counters.bad_frames += 1;
                break;
            };
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
            let to = Recipient::of(frame_type);
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
                Some(FrameType::Reply) => self.take_reply(now, body, outside),
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
}
