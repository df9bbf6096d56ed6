//! Control frames: pings, receipts, requests, and what they bring about.

use super::probe::{read_token, token};
use super::{AROUND_FRAMES, PendingControl};
use crate::arq::receipts::Fate;
use crate::context::Context;
use crate::path::endpoint::Endpoint;
use crate::peer::Peer;
use crate::peer::link::Link;
use crate::queue::Bounds;
use crate::roaming::Told;
use std::time::Duration;
use wire::frame::{self, FrameType};
use wire::receipt::Receipt;
use wire::request::Request;
use wire::store_bounds::StoreBounds;

impl Peer {
    pub(super) fn write_control(&mut self, now: Duration, due: &PendingControl, out: &mut Vec<u8>) {
        let Some(link) = &mut self.link else { return };
        if self.closing {
            frame::emit(FrameType::Close, &[], out);
        }
        if due.ping {
            frame::emit(FrameType::Ping, &token(now, 0), out);
            self.unanswered.send(now);
            if let Some(associated) = self.associated.filter(|_| !link.is_plain()) {
                frame::emit(FrameType::Associated, &[associated], out);
            }
        }
        for token in link.outbox.take_pongs() {
            frame::emit(FrameType::Pong, &token, out);
        }
        if link.outbox.take_flush() {
            frame::emit(FrameType::Flushed, &[link.restore.generation()], out);
        }
        let records_use = self.streams.as_ref().map_or(0, |it| it.streams.records().0.used_bytes());
        if let Some(bounds) = link.bounds.as_mut().and_then(|bounds| bounds.frame(now, records_use)) {
            let mut body = Vec::with_capacity(StoreBounds::MAX_BYTES);
            bounds.emit(&mut body);
            frame::emit(FrameType::StoreBounds, &body, out);
        }
        if !due.asked.is_empty() {
            let mut body = Vec::new();
            wire::request::emit(&due.asked, &mut body);
            frame::emit(FrameType::Request, &body, out);
            self.counters.requested += due.asked.len() as u64;
        }
    }

    /// Writes messages for another gateway into the room up to `limit`. The rest follows in the next
    /// datagram.
    pub(super) fn write_letters(&mut self, limit: usize, out: &mut Vec<u8>) {
        let Some(link) = &mut self.link else { return };
        while let Some(letter) = link.outbox.next_letter() {
            let has_frames = out.len() > AROUND_FRAMES;
            if out.len() + 1 + frame::MAX_LENGTH_BYTES + letter.len() > limit && has_frames {
                return;
            }
            if out.len() + 1 + frame::MAX_LENGTH_BYTES + letter.len() <= limit {
                frame::emit(FrameType::Neighbour, letter, out);
            }
            link.outbox.finish_letter();
        }
    }

    /// A receipt, if one is due or worth carrying, and there is room. `last`: where the last frame begins, if
    /// it says no length.
    pub(super) fn write_receipt(
        &mut self,
        now: Duration,
        due: bool,
        last: Option<usize>,
        limit: usize,
        out: &mut Vec<u8>,
    ) {
        let Some(link) = &mut self.link else { return };
        let (when, generation) = ((due, !link.is_plain()), link.restore.generation());
        let is_written =
            link.arq.write_receipt(now, when, generation, link.fec.incoming.covered(), (last, limit), out);
        self.counters.receipts_sent += u64::from(is_written);
    }

    /// Takes a frame that is neither packet nor reply.
    pub(super) fn take_control(
        &mut self,
        now: Duration,
        frame_type: FrameType,
        body: &[u8],
        ctx: &mut Context,
    ) -> bool {
        let Some(link) = &mut self.link else { return false };
        match frame_type {
            FrameType::Receipt => {
                let Ok(receipt) = Receipt::parse(body) else { return false };
                self.counters.receipts_received += 1;
                let Link { arq, fec, hop, path_delay, reduce, roles, .. } = link;
                if !arq.knows(&receipt) {
                    if arq.is_at_odds() {
                        self.begin_again(now);
                    }
                    return false;
                }
                if !reduce.adopt_generation(receipt.generation) {
                    return true;
                }
                if let Some(outgoing) = &mut fec.outgoing {
                    arq.settled_by(&receipt).into_iter().for_each(|settled| outgoing.forget_before(settled));
                    outgoing.set_loss(arq.air_loss(), arq.air_units());
                    arq.set_corrected(outgoing.is_on(), outgoing.may_repair_again());
                }
                let mut sharing = ctx.sharing.as_deref_mut();
                let streams = &mut self.streams;
                arq.take_receipt(now, &receipt, |sequence, fate| {
                    streams.iter_mut().for_each(|streams| streams.note_fate(sequence, fate));
                    let mut member = roles.member_mut();
                    if let (Some(member), Fate::Held | Fate::Lost) = (&mut member, fate) {
                        member.natives.fate(sequence, fate == Fate::Held);
                    }
                    match fate {
                        Fate::Held => {
                            reduce.confirm(sequence);
                            fec.outgoing.iter_mut().for_each(|outgoing| outgoing.forget(sequence));
                            if let Some((member, sharing)) = member.zip(sharing.as_deref_mut()) {
                                member.confirmed(now, sequence, sharing);
                            }
                            self.path.held(now, sequence);
                        }
                        Fate::Unrestored => {
                            reduce.report_lost(sequence);
                            let outgoing = fec.outgoing.as_mut();
                            return outgoing.is_some_and(|outgoing| outgoing.repair_again(sequence));
                        }
                        Fate::Parked => {}
                        Fate::Late | Fate::Lost | Fate::Doubted => reduce.report_lost(sequence),
                    }
                    false
                });
                let signals = arq.take_signals();
                if arq.queue_is_short() {
                    self.queue.end_signals();
                } else {
                    self.queue.signal(signals);
                }
                if let Some((controller, progress)) = hop.as_mut().zip(arq.progress()) {
                    controller.note_receipt(now, &progress);
                    let path =
                        path_delay.shortest().or(progress.delay.shortest()).filter(|_| controller.is_bound());
                    self.queue.set_bounds(match controller.is_trying() {
                        true => Bounds::PATIENT,
                        false => path.map_or(Bounds::USUAL, Bounds::for_changing_rate),
                    });
                }
                let is_at_odds = arq.is_at_odds();
                self.settle_streams(now, ctx);
                if is_at_odds {
                    self.begin_again(now);
                }
                true
            }
            FrameType::Request => {
                let Ok(request) = Request::parse(body) else { return false };
                link.arq.take_request(&request);
                true
            }
            FrameType::Ping => {
                let token = body.try_into();
                token.map(|token| link.outbox.push_pong(token)).is_ok()
            }
            FrameType::Pong => {
                let Ok(token) = body.try_into() else { return false };
                if Endpoint::is_token(&token) {
                    if let Some(moved) = self.endpoint.answered(&token) {
                        self.move_to(moved, ctx);
                    }
                    return true;
                }
                let (left_at, probe_bytes) = read_token(token);
                if probe_bytes > 0 {
                    self.path.answered(now, probe_bytes);
                    return true;
                }
                self.path.answered_ping(left_at);
                now.checked_sub(left_at).map(|sample| link.arq.sample_round_trip(now, sample)).is_some()
            }
            FrameType::Flushed => {
                let &[generation] = body else { return false };
                link.reduce.adopt_generation(generation);
                link.arq.clear_sent();
                true
            }
            FrameType::StoreBounds => {
                let Ok(said) = StoreBounds::parse(body) else { return false };
                let Some(bounds) = &mut link.bounds else { return false };
                let makes_sense = bounds.take(now, &said);
                self.apply_bounds();
                ctx.memory.look_sooner(now);
                makes_sense
            }
            FrameType::Close => {
                self.closed = true;
                true
            }
            FrameType::Neighbour => {
                ctx.tell(self.index, Told::Message(body.to_vec()));
                true
            }
            FrameType::Associated => {
                let &[association] = body else { return false };
                ctx.tell(self.index, Told::Associated(association));
                true
            }
            FrameType::Membership
            | FrameType::Joined
            | FrameType::Heard
            | FrameType::ChunkRequest
            | FrameType::OtherGroup
            | FrameType::HeardOfOther => self.take_group_control(now, frame_type, body, ctx),
            FrameType::Padding | FrameType::Probe | FrameType::Lane => true,
            // packets, and what brings them again, are no control
            _ => false,
        }
    }
}
