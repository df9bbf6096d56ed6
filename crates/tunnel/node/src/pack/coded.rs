//! The repair of TCP segments, at both ends of the hop. Retransmissions of [`recovery`] overtake all waiting
//! packets, as the original packet or combined with others. The receiver undoes a combination with recently
//! delivered packets.
//!
//! Below it hop ARQ may be at work, which repairs any protocol's packets and is told by receipts what is
//! missing. Where it is, it has the first chance: a segment is then sent again from here only when it is
//! still missing after the hop's own repair should have come. Meanwhile the far sender is not told of it
//! either way.
//!
//! A combination is longer than the longest packet in it. What no datagram has room for is cut as packets are
//! ([`super::heads`]), and takes a link sequence then.

use super::AROUND_FRAMES;
use super::packets::{Overflow, Row};
use crate::link::Link;
use crate::node::Outside;
use crate::peer::Peer;
use crate::status::RecoverStatus;
use recovery::{NotRestored, Repair, Segment, Snoop, Statistics, Verdict};
use std::time::Duration;
use wire::coded::Coded;
use wire::frame::{self, FrameType};
use wire::inner::Inner;
use wire::notice::Notice;
use wire::unit::TAG_BYTES;

/// Repairs that wait to be sent at once; what exceeds them is as good as lost again.
const MAX_WAITING: usize = 1024;
/// Bytes around a coded repair in a frame that says its length.
const AROUND_CODED: usize = 1 + frame::MAX_LENGTH_BYTES;

/// Status of the repair.
pub(crate) fn status(snoop: &Snoop) -> RecoverStatus {
    let (packets, slots) = snoop.packets();
    RecoverStatus { flows: snoop.flows(), bytes: snoop.bytes(), packets, slots, loss: snoop.loss() }
}

impl Link {
    /// A packet leaves for the peer, perhaps as a repair.
    pub(super) fn note_segment(&mut self, now: Duration, packet: &[u8], inner: &Inner, is_repair: bool) {
        let keeps = self.repairs_segments() && !is_repair;
        if !keeps && self.upstream.is_none() {
            return;
        }
        let Some(segment) = Segment::parse(packet, inner) else { return };
        if let Some(snoop) = self.snoop.as_mut().filter(|_| keeps) {
            snoop.handle_departure(now, packet, &segment);
        }
        if let Some(upstream) = &mut self.upstream {
            upstream.handle_departure(&segment);
        }
    }

    /// Whether TCP segments are repaired from here. Where they are left to the hop, their stored segments are
    /// forgotten.
    fn repairs_segments(&mut self) -> bool {
        let left_to_hop = self.leaves_segments_to_hop();
        let Some(snoop) = &mut self.snoop else { return false };
        if left_to_hop && snoop.flows() > 0 {
            snoop.stand_back();
        }
        !left_to_hop
    }
}

impl Peer {
    /// Lets what is to be sent again wait before everything else.
    pub(crate) fn queue_repairs(&mut self, now: Duration, outside: &mut Outside<'_>) {
        let Some(Link { snoop: Some(snoop), coded, .. }) = &mut self.link else { return };
        loop {
            let mut buffer = outside.deliveries.buffer();
            let Some(repair) = snoop.poll_repair(now, &mut buffer) else {
                outside.deliveries.recycle(buffer);
                break;
            };
            match repair {
                _ if coded.len() + self.queue.ahead() >= MAX_WAITING => {
                    outside.deliveries.recycle(buffer);
                    self.counters.segment_repairs_dropped += 1;
                }
                Repair::Packet => self.queue.push_ahead(buffer),
                Repair::Coded { class } => coded.push_back((class, buffer)),
            }
        }
        let Statistics { repairs, coded_repairs, timeouts, suppressed, stripped, failures, segments: _ } =
            std::mem::take(&mut snoop.statistics);
        self.counters.segments_repaired += repairs;
        self.counters.segments_repaired_coded += coded_repairs;
        self.counters.segment_timeouts += timeouts;
        self.counters.acks_suppressed += suppressed;
        self.counters.acks_stripped += stripped;
        self.counters.segment_failures += failures;
    }

    /// Sends coded repairs, as far as there is room. Whether that filled the datagram to its end.
    pub(super) fn write_coded(&mut self, now: Duration, row: &mut Row<'_>, out: &mut Vec<u8>) -> bool {
        let limit = row.limit;
        let Some(link) = &mut self.link else { return false };
        while let Some((class, body)) = link.coded.front() {
            let fits = out.len() + AROUND_CODED + body.len() <= limit;
            let alone = out.len() + TAG_BYTES <= AROUND_FRAMES + row.lane_bytes;
            let is_cut = AROUND_FRAMES + row.lane_bytes + 1 + body.len() > limit + TAG_BYTES;
            if is_cut && !link.peer_joins {
                link.coded.pop_front();
                self.counters.segment_repairs_dropped += 1;
                continue;
            }
            let has_room = fits || alone || is_cut && link.overflow.is_none() && row.has_room_to_cut(out);
            if !has_room || !row.class.admit(*class) {
                break; // its turn comes in a datagram of its own
            }
            if is_cut {
                return self.cut_coded(now, row, out);
            }
            if fits {
                frame::emit(FrameType::Coded, body, out);
            } else {
                frame::emit_last(FrameType::Coded, out);
                out.extend_from_slice(body);
            }
            link.coded.pop_front();
            if !fits {
                return true;
            }
        }
        false
    }

    /// Sends what there is room for of the next coded repair; the rest goes into the next datagram.
    fn cut_coded(&mut self, now: Duration, row: &mut Row<'_>, out: &mut Vec<u8>) -> bool {
        let Some(link) = &mut self.link else { return false };
        let Some((class, body)) = link.coded.pop_front() else { return false };
        let sequence = row.first.take().unwrap_or_else(|| link.outstanding.send(now));
        let start = out.len();
        frame::emit_last(FrameType::Coded, out);
        out.extend_from_slice(&body);
        let gone_bytes = frame::cut(start, row.limit, out);
        link.overflow = Some(Overflow::rest_of(sequence, row, class, (FrameType::Coded, body), gone_bytes));
        true
    }

    /// Tells of TCP segments that were lost on their way here, as far as there is room.
    pub(super) fn write_notices(&mut self, now: Duration, limit: usize, out: &mut Vec<u8>) {
        let Some(link) = &mut self.link else { return };
        let retry = link.retry_after();
        let Some(upstream) = &mut link.upstream else { return };
        while out.len() + AROUND_CODED + wire::notice::MAX_BYTES <= limit
            && let Some((flow, stretches)) = upstream.poll_notice(now, retry)
        {
            let mut body = Vec::with_capacity(wire::notice::MAX_BYTES);
            Notice::emit(&flow, stretches, &mut body);
            frame::emit(FrameType::Notice, &body, out);
            self.counters.notices_sent += 1;
        }
    }

    /// Takes the peer's report of TCP segments that were lost on their way to it.
    pub(super) fn take_notice(&mut self, now: Duration, body: &[u8], outside: &mut Outside<'_>) -> bool {
        let Ok(notice) = Notice::parse(body) else { return false };
        let Some(Link { snoop: Some(snoop), .. }) = &mut self.link else { return false };
        for (start, length) in notice.stretches() {
            snoop.handle_notice(now, &notice.flow, start, length);
        }
        self.counters.notices_received += 1;
        self.queue_repairs(now, outside);
        true
    }

    /// A coded repair came, in a datagram with the codepoint `ecn`.
    pub(super) fn take_coded(
        &mut self,
        now: Duration,
        body: &[u8],
        ecn: u8,
        outside: &mut Outside<'_>,
    ) -> bool {
        let Some(Link { history: Some(history), .. }) = &mut self.link else { return false };
        let Ok(coded) = Coded::parse(body) else { return false };
        let mut packet = outside.deliveries.buffer();
        match history.restore(&coded, &mut packet) {
            Ok(()) => self.take_restored(now, packet, Some(ecn), outside),
            Err(why) => {
                self.counters.coded_not_restored += u64::from(why != NotRestored::Waits);
                outside.deliveries.recycle(packet);
            }
        }
        self.take_late(now, outside);
        true
    }

    /// Takes repairs that other packets completed.
    fn take_late(&mut self, now: Duration, outside: &mut Outside<'_>) {
        while let Some(Link { history: Some(history), .. }) = &mut self.link
            && let Some(packet) = history.poll_restored()
        {
            self.take_restored(now, packet, None, outside);
        }
    }

    /// A packet is whole again, by a datagram with the codepoint `ecn` or by several.
    fn take_restored(
        &mut self,
        now: Duration,
        mut packet: Vec<u8>,
        ecn: Option<u8>,
        outside: &mut Outside<'_>,
    ) {
        let Ok(inner) = Inner::parse(&packet) else {
            self.counters.coded_not_restored += 1;
            return outside.deliveries.recycle(packet);
        };
        if !outside.may_come(inner.flow.source, self.index) {
            self.counters.wrong_source += 1;
            return outside.deliveries.recycle(packet);
        }
        if ecn.is_some_and(|ecn| !self.take_mark(&mut packet, ecn)) {
            return outside.deliveries.recycle(packet);
        }
        self.counters.coded_restored += 1;
        if let Some(packet) = self.hand_on(now, packet, &inner, outside) {
            self.counters.count_delivery(&packet);
            outside.deliveries.push_buffer(packet);
        }
    }

    /// A packet is about to be handed on: remembers it for coded repairs, and reads its acknowledgment.
    /// `None`: it goes no further.
    pub(super) fn hand_on(
        &mut self,
        now: Duration,
        mut packet: Vec<u8>,
        inner: &Inner,
        outside: &mut Outside<'_>,
    ) -> Option<Vec<u8>> {
        if let Some(link) = &mut self.link {
            if let Some(history) = &mut link.history {
                history.record_delivery(&packet, inner);
            }
            let repairs = link.repairs_segments();
            let reads = repairs || link.upstream.is_some();
            let segment = reads.then(|| Segment::parse(&packet, inner)).flatten();
            if let (Some(upstream), Some(segment)) = (&mut link.upstream, &segment) {
                upstream.handle_arrival(now, segment);
            }
            let hop_repairs =
                link.repairs_losses().then(|| link.retry_after() + crate::recover::RECEIPT_DELAY);
            if let (Some(snoop), Some(segment), true) = (&mut link.snoop, &segment, repairs) {
                snoop.hold_off(hop_repairs.unwrap_or(Duration::ZERO));
                let verdict = snoop.handle_arrival(now, &mut packet, segment);
                self.queue_repairs(now, outside);
                if verdict == Verdict::Suppress {
                    outside.deliveries.recycle(packet);
                    return None;
                }
            }
        }
        // what waited for this one is older, and goes before it
        self.take_late(now, outside);
        Some(packet)
    }
}
