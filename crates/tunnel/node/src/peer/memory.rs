//! A peer's part in the node's memory.

use super::Peer;
use super::link::{Allotment, Link};
use crate::memory::{Account, Allowance, Kind, MOST_BOUND};
use std::time::Duration;

impl Peer {
    /// Bounds of the stores now, in bytes; `None`: there is no such store.
    pub(crate) fn store_bounds(&self) -> [Option<usize>; 4] {
        let Some(link) = &self.link else { return [None; 4] };
        let start = link.store_bytes();
        let (writer, reader) = match self.streams.as_ref().filter(|_| link.carries_streams()) {
            Some(it) => {
                let (writer, reader) = it.streams.records();
                (writer.has_store(), reader.has_store())
            }
            None => (false, false),
        };
        let packets = link.bounds.as_ref().map(|bounds| bounds.packets());
        let records = link.bounds.as_ref().and_then(|bounds| bounds.records());
        [
            link.reduce.has_store().then(|| packets.map_or(start, |pair| pair.uses())),
            link.restore.has_store().then(|| packets.map_or(start, |pair| pair.kept())),
            writer.then(|| records.map_or(start, |pair| pair.uses())),
            reader.then(|| records.map_or(start, |pair| pair.kept())),
        ]
    }

    /// Bytes of memory of the stores now.
    pub(crate) fn store_memory_bytes(&self) -> [usize; 4] {
        let Some(link) = &self.link else { return [0; 4] };
        let records = self.streams.as_ref().map(|it| it.streams.records());
        let (writer, reader) =
            records.map_or((0, 0), |(it, other)| (it.memory_bytes(), other.memory_bytes()));
        [link.reduce.store_memory_bytes(), link.restore.store_memory_bytes(), writer, reader]
    }

    /// Bytes to the peer that repeated what had left the stores, by an estimate.
    pub(crate) fn departed_bytes(&self) -> u64 {
        let packets = self.link.as_ref().map_or(0, |link| link.reduce.departed_bytes());
        packets + self.streams.as_ref().map_or(0, |it| it.streams.records().0.departed_bytes())
    }

    /// The accounts of its stores, in the order of [`Kind::ALL`]. `most`: the most bytes of one bound.
    pub(crate) fn accounts(&mut self, now: Duration, most: usize) -> [Account; 4] {
        let bounds = self.store_bounds();
        let Some(link) = &self.link else { return [Account::default(); 4] };
        let records = self.streams.as_ref().map(|it| it.streams.records());
        let tallies = [
            link.reduce.tally(),
            link.restore.tally(),
            records.map_or_else(Default::default, |(writer, _)| writer.tally()),
            records.map_or_else(Default::default, |(_, reader)| reader.tally()),
        ];
        let taken = self.store_memory_bytes();
        let mut accounts = [Account::default(); 4];
        for (at, kind) in Kind::ALL.into_iter().enumerate() {
            let Some(bound) = bounds[at] else { continue };
            let usage = &mut self.usages[at];
            let is_busy = usage.update(now, tallies[at]);
            let pair = link.bounds.as_ref().and_then(|bounds| match kind {
                Kind::SentPackets | Kind::ReceivedPackets => Some(bounds.packets()),
                Kind::SentRecords | Kind::ReceivedRecords => bounds.records(),
            });
            // a store that is less than half full needs no more, and no message about it
            let is_filled = 2 * taken[at] >= kind.memory_bytes(bound);
            // without an agreement the bound stays
            let (most, most_alone) = match (pair, kind) {
                (None, _) => (bound, bound),
                (Some(_), Kind::SentPackets | Kind::SentRecords) if !is_filled => (bound, bound),
                (Some(pair), Kind::SentPackets | Kind::SentRecords) => (most.min(pair.peer_keeps()), most),
                (Some(pair), Kind::ReceivedPackets | Kind::ReceivedRecords) => {
                    (most.min(pair.peer_wishes()), most)
                }
            };
            accounts[at] = Account {
                held: kind.memory_bytes(bound),
                weight: usage.weight(),
                most: kind.memory_bytes(most),
                most_alone: kind.memory_bytes(most_alone),
                is_active: usage.is_active() && pair.is_some(),
                is_busy,
            };
        }
        accounts
    }

    /// Takes what its stores may have from now on, in the order of [`Kind::ALL`].
    pub(crate) fn allow(&mut self, now: Duration, allowances: &[Allowance; 4]) {
        let bounds = self.store_bounds();
        let Some(agreement) = self.link.as_mut().and_then(|link| link.bounds.as_mut()) else { return };
        let bound = |at: usize| {
            let (kind, Some(before)) = (Kind::ALL[at], bounds[at]) else { return 0 };
            // what costs as much as before stays to the byte
            let bytes = allowances[at].bytes;
            if bytes == kind.memory_bytes(before) { before } else { kind.bound(bytes) }
        };
        let wish = |at: usize| Kind::ALL[at].bound(allowances[at].wish).min(MOST_BOUND);
        let pair =
            |sent: usize| Allotment { sent: bound(sent), wishes: wish(sent), received: bound(sent + 1) };
        let records = agreement.records().is_some().then(|| pair(2));
        agreement.allot(now, pair(0), records);
        self.apply_bounds();
    }

    /// Whether it has a link.
    pub(crate) fn has_link(&self) -> bool {
        self.link.is_some()
    }

    /// Whether a stream is open.
    pub(crate) fn has_open_streams(&self) -> bool {
        self.streams.as_ref().is_some_and(|it| it.streams.memory_bytes() > 0)
    }

    /// Bounds what is kept beside stores: the queue, and bytes of streams. Frees buffers that nobody needs.
    pub(crate) fn bound_others(&mut self, queue_bytes: usize, stream_bytes: usize) {
        self.queue.set_limit(queue_bytes);
        self.queue.trim();
        if let Some(link) = &mut self.link {
            link.arq.trim();
            link.fec.trim();
        }
        if let Some(it) = &mut self.streams {
            it.streams.set_memory_bytes(stream_bytes);
        }
    }

    /// Bytes of memory beside stores.
    pub(crate) fn other_memory_bytes(&self) -> usize {
        let streams = self.streams.as_ref().map_or(0, |it| it.streams.memory_bytes() as usize);
        let link = self.link.as_ref().map_or(0, Link::other_memory_bytes);
        size_of::<Peer>() + self.queue.memory_bytes() + streams + link
    }

    /// Sets the bounds of the stores to what was agreed.
    pub(super) fn apply_bounds(&mut self) {
        let Some(link) = &mut self.link else { return };
        let Link { bounds: Some(bounds), reduce, restore, .. } = link else { return };
        reduce.set_store_bytes(bounds.packets().uses());
        restore.set_store_bytes(bounds.packets().kept());
        if let Some((pair, it)) = bounds.records().zip(self.streams.as_mut()) {
            it.streams.writer_mut().set_store_bytes(pair.uses());
            it.streams.reader_mut().set_store_bytes(pair.kept());
        }
    }

    /// Does what is due for the bounds.
    pub(super) fn handle_bounds_timeout(&mut self, now: Duration) {
        let records_use = self.streams.as_ref().map_or(0, |it| it.streams.records().0.used_bytes());
        let Some(link) = &mut self.link else { return };
        let round_trip = link.arq.srtt();
        let Some(bounds) = &mut link.bounds else { return };
        bounds.handle_timeout(now, round_trip, records_use);
        self.apply_bounds();
    }
}
