//! Forward error correction: repairs out, and restored units in.

use super::{Packed, Unpacked, fragments};
use crate::context::Context;
use crate::peer::Peer;
use re::mac::PacketMac;
use recovery::sliding::Restored;
use std::time::Duration;
use wire::frame;
use wire::repair::Repair;
use wire::unit::{TAG_BYTES, emit_header};

impl Peer {
    /// The repair that is due. It goes on the first lane.
    pub(super) fn pack_repair(&mut self, now: Duration, out: &mut Vec<u8>) -> Option<Packed> {
        let limit = self.path.limit() - TAG_BYTES;
        let session = self.sessions.sending(now)?;
        let outgoing = self.link.as_mut()?.fec.outgoing.as_mut()?;
        if !outgoing.is_due(now) {
            return None;
        }
        let (newest, of_session) = outgoing.newest()?;
        if of_session != session.local_id {
            outgoing.clear(); // its packets could not be proven under other keys
            return None;
        }
        let seal = session.next_seal();
        out.clear();
        emit_header(session.unit_kind(&seal), session.remote_id, None, out);
        frame::emit_sequence(newest, out);
        let room = limit.saturating_sub(out.len());
        if !outgoing.write(now, seal.counter(), room, out) {
            return None;
        }
        let class = outgoing.class();
        if let Some(controller) = self.link.as_mut().and_then(|link| link.hop.as_mut()) {
            controller.note_sent(now, None, out.len() + TAG_BYTES);
        }
        self.counters.repairs_sent += 1;
        self.sent(now, 0);
        Some(Packed { seal, class, lane: 0 })
    }

    /// A repair whose newest source has this number.
    pub(super) fn take_repair(&mut self, now: Duration, under: (u64, u32), newest: u64, body: &[u8]) {
        let Some(link) = &mut self.link else { return };
        let Ok(repair) = Repair::parse(body) else {
            self.counters.bad_frames += 1;
            return;
        };
        self.counters.repairs_received += 1;
        let is_new = link.fec.incoming.take_repair(now, under, newest, &repair);
        self.counters.repairs_used += u64::from(is_new);
    }

    /// Takes units that are restored now, as if they came under this session.
    pub(super) fn take_restored_units(
        &mut self,
        now: Duration,
        session: u32,
        mac: &PacketMac,
        ecn: u8,
        ctx: &mut Context,
    ) {
        loop {
            let Some(link) = &mut self.link else { return };
            let Some(Restored { number: first, bytes }) = link.fec.incoming.poll_restored() else { return };
            self.counters.restored += 1;
            let begins_with_tail = fragments::begins_with_tail(&bytes);
            link.arq.begin_restored(now, first);
            let cut = first.checked_sub(1).filter(|_| begins_with_tail);
            let unit = Unpacked { first, cut, session, mac, ecn, is_restored: true };
            self.take_frames(now, &unit, &bytes, ctx);
        }
    }
}
