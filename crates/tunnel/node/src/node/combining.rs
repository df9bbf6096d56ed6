//! Natives for several members leave as one frame ([`crate::group::coding`]).
//!
//! Nothing waits for a partner: when it is the turn of a member, and the first packet for another one can
//! share its frame, both leave. Each is written as if it were alone, and is sent so after all where that is
//! shorter, or where it turns out that nobody else could know it.

use super::{Node, Transmit};
use crate::group::Sharing;
use crate::group::coding::{Form, LEAST_BYTES};
use crate::peer::pack::{Native, natives_mac};
use mesh::cope::opportunity::gather;
use std::time::Duration;
use wire::group::FRONT_BYTES;
use wire::inner::Inner;
use wire::natives::{MAX_NATIVES, Name, Natives, Part};
use wire::unit::{SEALED_HEADER_BYTES, TAG_BYTES};

/// How likely each must have all the others' natives: nothing is guessed.
const CERTAIN: f64 = 1.0;
/// Packets with fewer bytes are small, and share a frame with small ones rather than with large ones.
const SMALL_BYTES: usize = 400;
/// Bytes of headers below ours that a datagram takes beside it: IP and UDP, and 802.11 with its encryption.
const AROUND_DATAGRAM: usize = 28 + 34 + 16;

/// A packet that is written as if it were alone.
struct Alone {
    peer: usize,
    name: Name,
    native: Native,
    datagram: Vec<u8>,
}

impl Node {
    /// By what others know the native of a packet that a peer sent.
    pub(super) fn name(&self, from: usize, sequence: u64, inner: &Inner) -> Option<Name> {
        self.ctx.coding.as_deref()?;
        let (overheard, is_known) = self.peers[from].name_of(sequence, inner)?;
        let is_known = is_known && inner.payload_bytes() >= LEAST_BYTES;
        let from = u8::try_from(from).ok().filter(|_| is_known)?;
        Some(Name { from, sequence: sequence as u32 & 0xff_ffff, overheard })
    }

    /// Relays are told what was overheard on its way to others.
    pub(super) fn tell_of_natives(&mut self, now: Duration) {
        let Some(coding) = &mut self.ctx.coding else { return };
        for (from, name) in coding.news.drain(..) {
            let others = self.peers.iter_mut().filter(|peer| peer.index() != from);
            others.for_each(|peer| peer.note_overheard(now, name));
        }
    }

    /// A frame with the first packet for this peer and those of others, if there is one; written into `out`.
    pub(super) fn combine(&mut self, now: Duration, first: usize, out: &mut Vec<u8>) -> Option<Transmit> {
        if !self.ctx.config.mesh.forwards || self.ctx.coding.is_none() {
            return None;
        }
        let chosen = self.partners(now, first)?;
        let alone: Vec<Alone> =
            chosen.iter().filter_map(|&(peer, name)| self.write_alone(now, peer, name)).collect();
        self.send_together(now, alone, out)
    }

    /// The peers whose first packets may share a frame, this one's among them; none if it stays alone.
    fn partners(&mut self, now: Duration, first: usize) -> Option<Vec<(usize, Name)>> {
        let (name, bytes) = self.peers[first].native_that_waits(now, true, &self.ctx)?;
        let count = self.peers.len();
        let turn = self.ctx.coding.as_deref()?.turn;
        let others = (0..count).map(|at| (at + turn) % count).filter(|at| *at != first);
        let mut waiting = vec![None; count];
        for at in others.clone() {
            waiting[at] = self.peers[at].native_that_waits(now, false, &self.ctx);
        }
        waiting[first] = Some((name, bytes));
        let is_small = |bytes: usize| bytes < SMALL_BYTES;
        let coding = self.ctx.coding.as_deref_mut()?;
        coding.turn = turn.wrapping_add(1);
        let mut chosen = Vec::new();
        let candidate = |of: u16, same_size: bool| {
            let (_, of_candidate) = waiting[usize::from(of)]?;
            ((is_small(of_candidate) == is_small(bytes)) == same_size).then_some(usize::from(of))
        };
        let has = |member: u16, of: usize| waiting[of].map_or(0.0, |(name, _)| coding.has(member, &name));
        let others = others.filter_map(|at| u16::try_from(at).ok());
        gather((first, first as u16), others, (MAX_NATIVES, CERTAIN), candidate, has, &mut chosen);
        let chosen: Vec<(usize, Name)> =
            chosen.into_iter().filter_map(|at| Some((at, waiting[at]?.0))).collect();
        if chosen.len() < 2 {
            self.count_alone(first);
            return None;
        }
        Some(chosen)
    }

    /// The first packet for this peer leaves alone, although it could share a frame.
    fn count_alone(&mut self, first: usize) {
        let others_wait = self.peers.iter().any(|peer| peer.index() != first && peer.has_packets());
        let counters = self.peers[first].counters_mut();
        match others_wait {
            true => counters.natives_with_unfit_partner += 1,
            false => counters.natives_without_partner += 1,
        }
    }

    fn write_alone(&mut self, now: Duration, peer: usize, name: Name) -> Option<Alone> {
        let mut datagram = self.ctx.deliveries.buffer();
        let native = self.peers[peer].pack_native(now, &mut self.ctx, &mut datagram);
        self.settle(now);
        Some(Alone { peer, name, native: native?, datagram })
    }

    /// Sends as many of them as one frame as can be, and the others as they are.
    fn send_together(&mut self, now: Duration, alone: Vec<Alone>, out: &mut Vec<u8>) -> Option<Transmit> {
        let class = alone.first()?.native.packed.class;
        let (mut together, mut apart): (Vec<Alone>, Vec<Alone>) =
            alone.into_iter().partition(|it| it.native.form.is_some() && it.native.packed.class == class);
        self.addressee_first(&mut together);
        while together.len() > 1 && !self.write_together(&together, out) {
            apart.extend(together.pop());
        }
        if together.len() < 2 {
            apart.splice(..0, together.drain(..));
        }
        let transmit = self.count_together(now, together, out);
        for Alone { peer, native, datagram, .. } in apart {
            if let Some(transmit) = self.transmit(now, peer, native.packed, datagram.len()) {
                self.ready.push_back((transmit, datagram));
            }
        }
        transmit.or_else(|| {
            let (transmit, datagram) = self.ready.pop_front()?;
            self.ctx.deliveries.recycle(std::mem::replace(out, datagram));
            Some(transmit)
        })
    }

    /// It goes to the one that hears worst, since its radio sends it again; among equals each has its turn.
    fn addressee_first(&self, together: &mut [Alone]) {
        let turn = self.ctx.coding.as_deref().map_or(0, |coding| coding.turn);
        together.rotate_left(turn % together.len().max(1));
        let loss = |at: usize| self.peers[together[at].peer].loss().unwrap_or(0.0);
        let worst = (0..together.len()).reduce(|worst, at| if loss(at) > loss(worst) { at } else { worst });
        if let Some(worst) = worst {
            together.swap(0, worst);
        }
    }

    /// Writes them as one frame; `false`: it does not fit, or would not be shorter than all of them.
    fn write_together(&self, together: &[Alone], out: &mut Vec<u8>) -> bool {
        let Some(first) = together.first() else { return false };
        let parts: Option<Vec<Part<'_>>> = together
            .iter()
            .map(|it| {
                let Form { frame_type, front, number, literals, removed } = it.native.form.as_ref()?;
                let (to, name) = ((u8::try_from(it.peer).ok()?, it.native.sequence), it.name);
                Some(Part { to, name, frame_type: *frame_type, number: *number, front, literals, removed })
            })
            .collect();
        let Some(parts) = parts else { return false };
        let counter = first.native.packed.seal.counter();
        let Some(key_id) = self.ctx.sharing.as_deref().map(Sharing::key_id) else { return false };
        out.clear();
        out.extend_from_slice(&first.datagram[..=SEALED_HEADER_BYTES]);
        out.resize(SEALED_HEADER_BYTES + FRONT_BYTES, 0);
        let mac_of = |at: usize, bytes: &[u8]| natives_mac(&together[at].native, key_id, counter, bytes);
        let mac = Natives::emit(&parts, mac_of, out);
        out[SEALED_HEADER_BYTES + 1..SEALED_HEADER_BYTES + FRONT_BYTES].copy_from_slice(&mac);
        let limit = together.iter().map(|it| self.peers[it.peer].datagram_limit()).min().unwrap_or(0);
        let around = AROUND_DATAGRAM + TAG_BYTES;
        let apart: usize = together.iter().map(|it| it.datagram.len() + around).sum();
        out.len() + TAG_BYTES <= limit && out.len() + around < apart
    }

    /// The frame in `out` leaves.
    fn count_together(&mut self, now: Duration, together: Vec<Alone>, out: &[u8]) -> Option<Transmit> {
        let mut apart = 0;
        for it in &together {
            apart += it.datagram.len() + TAG_BYTES;
            self.peers[it.peer].note_native(it.native.sequence);
        }
        let mut transmit = None;
        for Alone { peer, native, datagram, .. } in together {
            if transmit.is_none() {
                let counters = self.peers[peer].counters_mut();
                counters.natives_datagrams += 1;
                counters.natives_saved_bytes += apart.saturating_sub(out.len() + TAG_BYTES) as u64;
                transmit = Some(self.transmit(now, peer, native.packed, out.len()));
            }
            self.ctx.deliveries.recycle(datagram);
        }
        transmit.flatten()
    }
}
