//! Datagrams with parts of streams.

use super::Packed;
use crate::peer::Peer;
use crate::peer::streams::REPAIRED_BYTES;
use std::time::Duration;
use wire::frame;
use wire::unit::{TAG_BYTES, emit_header};

/// Headers around a datagram: UDP's, IPv6's, and Ethernet's.
const OUTER_BYTES: usize = 8 + 40 + 14;

impl Peer {
    /// A datagram with parts of streams, if some are to leave. Packets leave in turn with them.
    pub(super) fn pack_streams(
        &mut self,
        now: Duration,
        processor_is_short: bool,
        out: &mut Vec<u8>,
    ) -> Option<Packed> {
        let told = self.told_rate();
        let limit = self.path.limit() - TAG_BYTES;
        let it = self.streams.as_mut()?;
        let is_packets_turn = std::mem::take(&mut it.left_last) && !self.queue.is_empty();
        let link = self.link.as_mut()?;
        if is_packets_turn || !link.carries_streams() || self.closing {
            return None;
        }
        if let Some((shortest, _)) = link.arq.round_trips() {
            it.model.set_round_trip(shortest);
        }
        let with_data = it.streams.has_to_send() && it.model.admits(now, told) && !link.holds_packets(now);
        if !with_data && !it.streams.has_to_tell() {
            return None;
        }
        let session = self.sessions.sending(now)?;
        let (local_id, seal) = (session.local_id, session.next_seal());
        out.clear();
        emit_header(session.unit_kind(&seal), session.remote_id, None, out);
        let limit = limit - link.repair_bytes();
        let sequence = link.begin_datagram(now, None, processor_is_short);
        frame::emit_sequence(sequence, out);
        it.set_record_bytes(told);
        it.streams.set_processor_short(processor_is_short);
        it.streams.write(sequence, with_data, limit, out);
        let is_due = link.receipt_at().is_some_and(|at| at <= now);
        let is_last = !it.streams.has_to_send();
        it.model.note_sent(now, sequence, out.len() + TAG_BYTES + OUTER_BYTES, told, is_last);
        let is_repaired = it.streams.is_nearly_done(REPAIRED_BYTES);
        if is_repaired {
            it.note_repaired(sequence);
        }
        it.left_last = true;
        let room = self.path.limit() - TAG_BYTES;
        self.write_receipt(now, is_due, None, room, out);
        let packed = Packed { seal, class: 0, lane: 0 };
        if is_repaired {
            self.finish_unit(now, sequence, local_id, &packed, out);
        } else {
            self.finish_datagram(now, sequence, out.len() + TAG_BYTES, 0);
        }
        self.repair_streams(now, sequence, is_repaired, is_last);
        Some(packed)
    }

    /// A datagram of streams left. At the end of a burst that the far end waits for, repairs are due.
    fn repair_streams(&mut self, now: Duration, sequence: u64, is_repaired: bool, is_last: bool) {
        let told = self.told_rate();
        let outgoing = self.link.as_mut().and_then(|link| link.fec.outgoing.as_mut());
        let Some((outgoing, it)) = outgoing.zip(self.streams.as_mut()) else { return };
        if !is_repaired {
            outgoing.note_unrepaired(sequence);
            it.burst_from = None;
            return;
        }
        let from = *it.burst_from.get_or_insert(sequence);
        if is_last {
            it.burst_from = None;
            if it.streams.take_awaited() {
                it.allowance.refill(now, it.model.repair_rate(told));
                it.allowance.take(outgoing.repair_awaited(from, it.allowance.bytes()));
            }
        }
    }
}
