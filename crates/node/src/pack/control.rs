//! Control frames: pings, receipts, requests, and what they bring about.

use super::Due;
use crate::link::Link;
use crate::peer::Peer;
use crate::receipts::Fate;
use crate::recover::Recover;
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
            let micros = u64::try_from(now.as_micros()).unwrap_or(u64::MAX);
            frame::emit(FrameType::Ping, &micros.to_be_bytes(), out);
            self.unanswered_since.get_or_insert(now);
        }
        if let Some(token) = link.pong.take() {
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
    pub(super) fn write_receipt(&mut self, now: Duration, due: bool, limit: usize, out: &mut Vec<u8>) {
        let Some(link) = &mut self.link else { return };
        let packet_bytes = self.queue.next_bytes(now).map_or(0, |bytes| bytes + 1);
        let room = limit.saturating_sub(out.len() + if due { 0 } else { packet_bytes });
        if (due || link.received.worth_carrying(now)) && link.received.frame_bytes() <= room {
            let mut body = Vec::with_capacity(link.received.frame_bytes());
            link.received.write(now, link.restore.generation(), &mut body);
            frame::emit(FrameType::Receipt, &body, out);
            self.counters.receipts_sent += 1;
        }
    }

    /// What is neither packet nor reply.
    pub(super) fn take_control(&mut self, now: Duration, frame_type: FrameType, body: &[u8]) -> bool {
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
                        Fate::Held => reduce.confirm(sequence),
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
                link.pong = body.try_into().ok();
                link.pong.is_some()
            }
            FrameType::Pong => {
                let Ok(token) = body.try_into() else { return false };
                let sent = Duration::from_micros(u64::from_be_bytes(token));
                now.checked_sub(sent).map(|sample| link.outstanding.delay.sample(now, sample)).is_some()
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
            FrameType::Padding => true,
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
