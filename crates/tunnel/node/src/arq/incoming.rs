//! The receiving side: sequences, receipts for them, packets that wait for their references, and order.

use super::Arq;
use super::nack::{Arrival, Held, Nack};
use crate::elimination::restore::NotRestored;
use re::AbsentSequences;
use std::time::Duration;
use wire::frame;

impl Arq {
    /// A datagram has come that begins with this truncated sequence; which it is in full.
    /// `begins_with_tail`: the rest of the packet before arrives with it, whose sequence comes second.
    pub fn begin_datagram(
        &mut self,
        now: Duration,
        truncated: u32,
        begins_with_tail: bool,
    ) -> (u64, Option<u64>) {
        let first = self.widen(truncated);
        let cut = first.checked_sub(1).filter(|_| begins_with_tail);
        self.received.reach(now, cut.unwrap_or(first));
        (first, cut)
    }

    /// The full sequence of a truncated one that the peer sent.
    #[must_use]
    pub fn widen(&self, truncated: u32) -> u64 {
        self.received.widen(truncated)
    }

    /// A sequence arrived.
    pub fn arrive(&mut self, now: Duration, sequence: u64) {
        self.received.arrive(now, sequence);
    }

    /// The unit that begins with this sequence is restored.
    pub fn begin_restored(&mut self, now: Duration, first: u64) {
        self.received.reach(now, first);
    }

    /// A sequence is restored: it did not arrive.
    pub fn restore(&mut self, now: Duration, sequence: u64) {
        self.received.restore(now, sequence);
    }

    /// A sequence is of use here: its packet is stored, or none travelled under it.
    pub fn hold(&mut self, sequence: u64) {
        self.received.hold(sequence);
    }

    /// Whether it is.
    #[must_use]
    pub fn holds(&self, sequence: u64) -> bool {
        self.received.holds(sequence)
    }

    /// A packet's frame of so many bytes came: the peer is to be told.
    pub fn want_receipt(&mut self, now: Duration, frame_bytes: usize) {
        self.received.want_receipt(now, frame_bytes);
    }

    /// A packet came that could not be restored.
    pub fn miss(&mut self, now: Duration) {
        self.received.miss(now);
    }

    /// Such a packet is to wait for what it refers to. Whether it does: if not, it counts as lost.
    pub fn park(&mut self, now: Duration, arrival: &Arrival<'_>, why: &NotRestored) -> bool {
        let received = &mut self.received;
        let Some(nack) = self.nack.as_mut().filter(|nack| nack.helps(why)) else { return false };
        received.park(arrival.sequence);
        let evicted = nack.hold(now, arrival, why.absent());
        evicted.into_iter().for_each(|sequence| received.unpark(sequence));
        true
    }

    /// A packet is whole that may have waited; whether it did.
    pub fn take_parked(&mut self, sequence: u64) -> bool {
        self.nack.as_mut().and_then(|nack| nack.remove_held(sequence)).is_some()
    }

    /// Whether packets wait for what they refer to.
    #[must_use]
    pub fn has_parked(&self) -> bool {
        self.nack.as_ref().is_some_and(|nack| !nack.is_empty())
    }

    /// Takes out the next waiting packet from `from` on that may need one of those that `came`.
    pub fn take_dependent(&mut self, from: u64, came: &[u64]) -> Option<(u64, Held)> {
        self.nack.as_mut()?.take_dependent(from, came)
    }

    /// Puts a packet back that still cannot be restored, and needs the sequences `absent` now.
    pub fn park_again(&mut self, now: Duration, sequence: u64, held: Held, absent: AbsentSequences) {
        if let Some(nack) = &mut self.nack {
            nack.put_back(now, sequence, held, absent);
        }
    }

    /// A packet that waited is given up.
    pub fn give_up(&mut self, sequence: u64) {
        self.received.unpark(sequence);
    }

    /// A packet waits for chunks.
    pub fn park_for_chunks(&mut self, now: Duration, sequence: u64, frame_bytes: usize) {
        self.received.want_receipt(now, frame_bytes);
        self.received.park(sequence);
    }

    /// Its chunks did not come in time: now it counts as lost.
    pub fn give_up_chunks(&mut self, now: Duration, sequence: u64) {
        self.received.unpark(sequence);
        self.received.miss(now);
    }

    /// Whether this node asked for a packet.
    #[must_use]
    pub fn is_wanted(&self, sequence: u64) -> bool {
        self.nack.as_ref().is_some_and(|nack| nack.is_wanted(sequence))
    }

    /// A packet came that this node asked for. As what it waited before, if it did.
    pub fn take_reply(&mut self, sequence: u64) -> Option<Held> {
        let nack = self.nack.as_mut()?;
        nack.satisfied(sequence);
        nack.remove_held(sequence)
    }

    /// The sequences to ask for now, at most `limit`.
    pub fn ask(&mut self, now: Duration, limit: usize) -> Vec<u64> {
        let retry = self.retry_after();
        self.nack.as_mut().map_or(Vec::new(), |nack| nack.ask(now, retry, limit))
    }

    /// When to ask or to give up next.
    #[must_use]
    pub fn ask_at(&self) -> Option<Duration> {
        self.nack.as_ref().and_then(Nack::timeout)
    }

    /// Gives up what waited for its references too long.
    pub fn give_up_parked(&mut self, now: Duration) {
        let Arq { nack, received, .. } = self;
        if let Some(nack) = nack {
            nack.give_up(now, |sequence| received.unpark(sequence));
        }
    }

    /// Hands a packet on, and what waited for it; in order where the peer repairs its losses.
    pub fn put_in_order(
        &mut self,
        now: Duration,
        (sequence, packet): (u64, Option<Vec<u8>>),
        mut hand_on: impl FnMut(u64, Vec<u8>),
    ) {
        let Some(reorder) = &mut self.reorder else {
            return packet.into_iter().for_each(|packet| hand_on(sequence, packet));
        };
        reorder.arrived(now, sequence, packet, &mut hand_on);
    }

    /// Hands on what has waited for `patience` behind a gap.
    pub fn expire_order(&mut self, now: Duration, patience: Duration, mut hand_on: impl FnMut(u64, Vec<u8>)) {
        if let Some(reorder) = &mut self.reorder {
            reorder.expire(now, patience, &mut hand_on);
        }
    }

    /// Since when the first packet behind a gap has waited.
    #[must_use]
    pub fn waits_in_order_since(&self) -> Option<Duration> {
        self.reorder.as_ref()?.first_waits_since()
    }

    /// When a receipt goes out on its own.
    #[must_use]
    pub fn receipt_at(&self) -> Option<Duration> {
        self.received.alone_at()
    }

    /// Whether a receipt was due and found no room.
    #[must_use]
    pub fn receipt_had_no_room(&self) -> bool {
        self.receipt_had_no_room
    }

    /// Writes a receipt that tells `covered` sequences as parked, if one is due or `may_ride` and is worth
    /// carrying, and there is room. `last`: where the last frame begins, if it says no length. Whether it
    /// did.
    pub fn write_receipt(
        &mut self,
        now: Duration,
        (is_due, may_ride): (bool, bool),
        generation: u8,
        covered: impl Iterator<Item = u64>,
        (last, limit): (Option<usize>, usize),
        out: &mut Vec<u8>,
    ) -> bool {
        let received = &self.received;
        if !received.has_unreported() || !(is_due || may_ride && received.worth_carrying(now)) {
            return false;
        }
        let patience = self.retry_after();
        let received = &mut self.received;
        let room = limit.saturating_sub(out.len() + last.map_or(0, |_| frame::MAX_LENGTH_BYTES));
        received.cover(now, covered, patience);
        let runs = received.runs_within(room);
        self.receipt_had_no_room = is_due && runs.is_none();
        let Some(runs) = runs else { return false };
        if let Some(last) = last {
            frame::give_length(last, out);
        }
        received.write(now, generation, runs, out);
        true
    }

    /// The store of what came is lost.
    pub fn forget_received(&mut self) {
        self.received.forget();
    }
}
