//! Control frames: pings, receipts, requests, and what they bring about.

use super::probe::{read_token, token};
use super::{AROUND_FRAMES, PendingControl};
use crate::arq::receipts::Fate;
use crate::arq::sender::Sender;
use crate::context::Context;
use crate::link::Link;
use crate::path::endpoint::Endpoint;
use crate::peer::Peer;
use crate::roaming::Told;
use std::time::Duration;
use wire::frame::{self, FrameType};
use wire::receipt::Receipt;
use wire::request::Request;

impl Peer {
    pub(super) fn write_control(&mut self, now: Duration, due: &PendingControl, out: &mut Vec<u8>) {
        let Some(link) = &mut self.link else { return };
        if self.closing {
            frame::emit(FrameType::Close, &[], out);
        }
        if due.ping {
            frame::emit(FrameType::Ping, &token(now, 0), out);
            self.unanswered_since.get_or_insert(now);
            if let Some(associated) = self.associated.filter(|_| !link.is_plain) {
                frame::emit(FrameType::Associated, &[associated], out);
            }
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

    /// Writes messages for another gateway into the room up to `limit`. The rest follows in the next
    /// datagram.
    pub(super) fn write_letters(&mut self, limit: usize, out: &mut Vec<u8>) {
        let Some(link) = &mut self.link else { return };
        while let Some(letter) = link.letters.front() {
            let has_frames = out.len() > AROUND_FRAMES;
            if out.len() + 1 + frame::MAX_LENGTH_BYTES + letter.len() > limit && has_frames {
                return;
            }
            if out.len() + 1 + frame::MAX_LENGTH_BYTES + letter.len() <= limit {
                frame::emit(FrameType::Neighbour, letter, out);
            }
            link.letters.pop_front();
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
        if !link.received.has_unreported() || !due && (link.is_plain || !link.received.worth_carrying(now)) {
            return;
        }
        let room = limit.saturating_sub(out.len() + last.map_or(0, |_| frame::MAX_LENGTH_BYTES));
        let runs = link.received.runs_within(room);
        link.receipt_had_no_room = due && runs.is_none();
        if let Some(runs) = runs {
            if let Some(last) = last {
                frame::give_length(last, out);
            }
            link.received.write(now, link.restore.generation(), runs, out);
            self.counters.receipts_sent += 1;
        }
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
                let Link { outstanding, reduce, sender, member, .. } = link;
                let Some(newest) = outstanding.newest_of(&receipt) else { return false };
                if !reduce.adopt_generation(receipt.generation) {
                    return true;
                }
                let mut fates = std::mem::take(&mut self.fates);
                outstanding.receipt(now, &receipt, |sequence, fate| fates.push((sequence, fate)));
                let queue_is_long = outstanding.delay.queue_is_long();
                for (sequence, fate) in fates.drain(..) {
                    if let Some(member) = member.as_mut().filter(|_| fate != Fate::Parked) {
                        member.natives.fate(sequence, fate == Fate::Held);
                    }
                    match fate {
                        Fate::Held => {
                            reduce.confirm(sequence);
                            if let (Some(member), Some(sharing)) = (&mut *member, ctx.sharing.as_mut()) {
                                member.confirmed(now, sequence, sharing);
                            }
                            self.path.held(now, sequence);
                        }
                        Fate::Parked => {}
                        Fate::Lost => reduce.report_lost(sequence),
                    }
                    let Some(sender) = sender else { continue };
                    match fate {
                        Fate::Held => sender.confirmed(sequence, queue_is_long),
                        Fate::Parked => sender.parked(sequence),
                        Fate::Lost => sender.missing(sequence, queue_is_long),
                    }
                }
                self.fates = fates;
                if let (Some(nack), Some(srtt)) = (&mut link.nack, outstanding.srtt()) {
                    nack.set_round_trip(srtt);
                }
                if let (Some(sender), Some(srtt)) = (sender, outstanding.srtt()) {
                    sender.settle_before((newest + 1).saturating_sub(receipt.settled.into()));
                    sender.schedule();
                    sender.take_doubted(|sequence| reduce.report_lost(sequence));
                    sender.rearm(now, srtt);
                }
                true
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
                now.checked_sub(left_at).map(|sample| link.outstanding.delay.sample(now, sample)).is_some()
            }
            FrameType::Flushed => {
                let &[generation] = body else { return false };
                link.reduce.adopt_generation(generation);
                link.sender.iter_mut().for_each(Sender::clear);
                true
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
            FrameType::Packet
            | FrameType::ReducedCompact
            | FrameType::ReducedPaper
            | FrameType::ReducedHashed
            | FrameType::Reply
            | FrameType::AgainPacket
            | FrameType::AgainReduced
            | FrameType::StorePacket
            | FrameType::StoreReduced
            | FrameType::Short
            | FrameType::AgainShort
            | FrameType::StoreShort
            | FrameType::Head
            | FrameType::Tail
            | FrameType::Shared
            | FrameType::ChunkReply
            | FrameType::Coded
            | FrameType::Natives
            | FrameType::Notice => false,
        }
    }
}
