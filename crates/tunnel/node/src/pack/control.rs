//! Control frames: pings, receipts, requests, and what they bring about.

use super::probe::{read_token, token};
use super::{AROUND_FRAMES, Due};
use crate::endpoint::Endpoint;
use crate::link::Link;
use crate::node::Outside;
use crate::peer::Peer;
use crate::receipts::Fate;
use crate::recover::Recover;
use crate::roaming::Told;
use std::time::Duration;
use wire::frame::{self, FrameType};
use wire::receipt::Receipt;
use wire::request::Request;

impl Peer {
    pub(super) fn write_control(&mut self, now: Duration, due: &Due, out: &mut Vec<u8>) {
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
            let begun = out.len() > AROUND_FRAMES;
            if out.len() + 1 + frame::MAX_LENGTH_BYTES + letter.len() > limit && begun {
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
        outside: &mut Outside<'_>,
    ) -> bool {
        let Some(link) = &mut self.link else { return false };
        match frame_type {
            FrameType::Receipt => {
                let Ok(receipt) = Receipt::parse(body) else { return false };
                self.counters.receipts_received += 1;
                let Link { outstanding, reduce, recover, member, .. } = link;
                if !outstanding.is_sent(&receipt) {
                    return false;
                }
                if !reduce.generation(receipt.generation) {
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
                            if let (Some(member), Some(sharing)) =
                                (&mut *member, outside.sharing.as_deref_mut())
                            {
                                member.confirmed(now, sequence, sharing);
                            }
                            self.path.held(now, sequence);
                        }
                        Fate::Parked => {}
                        Fate::Lost => reduce.report_lost(sequence),
                    }
                    let Some(recover) = recover else { continue };
                    match fate {
                        Fate::Held => recover.confirmed(sequence, queue_is_long),
                        Fate::Parked => recover.parked(sequence),
                        Fate::Lost => recover.missing(sequence, queue_is_long),
                    }
                }
                self.fates = fates;
                if let (Some(repair), Some(srtt)) = (&mut link.repair, outstanding.srtt()) {
                    repair.round_trip_is(srtt);
                }
                if let (Some(recover), Some(srtt)) = (recover, outstanding.srtt()) {
                    let newest = outstanding.widen(receipt.newest);
                    recover.told_from((newest + 1).saturating_sub(receipt.settled.into()));
                    recover.schedule();
                    recover.take_doubted(|sequence| reduce.report_lost(sequence));
                    recover.rearm(now, srtt);
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
                        self.has_moved(moved, outside);
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
                link.reduce.generation(generation);
                link.recover.iter_mut().for_each(Recover::clear);
                true
            }
            FrameType::Close => {
                self.closed = true;
                true
            }
            FrameType::Neighbour => {
                outside.tell(self.index, Told::Message(body.to_vec()));
                true
            }
            FrameType::Associated => {
                let &[association] = body else { return false };
                outside.tell(self.index, Told::Associated(association));
                true
            }
            FrameType::Membership
            | FrameType::Joined
            | FrameType::Heard
            | FrameType::ChunkRequest
            | FrameType::OtherGroup
            | FrameType::HeardOfOther => self.take_group_control(now, frame_type, body, outside),
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
