//! The packets of one class: their bound, their order by sequence, and their blocks in order of arrival.

use super::blocks::Blocks;
use super::table::Table;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use wire::number::widen;

/// Low bits of a sequence that are kept.
pub(super) const SEQUENCE_BITS: u32 = 32;

/// The packets of one class.
#[derive(Debug, Clone, Default)]
pub(super) struct Class {
    /// The most bytes, [`super::OVERHEAD_BYTES`] a packet included.
    pub bound_bytes: usize,
    /// The bytes held, counted likewise.
    pub used_bytes: usize,
    /// Sequences that arrived above all before them, truncated. Some of both may be stale.
    rising: VecDeque<u32>,
    /// The other sequences.
    late: BinaryHeap<Reverse<u64>>,
    /// Contents of the blocks, oldest first: truncated sequence and place. Some entries may be stale.
    order: VecDeque<(u32, u32)>,
    /// Blocks in order of arrival. The last one is being filled.
    blocks: VecDeque<u32>,
    /// Bytes of the last block that are filled.
    filled_bytes: usize,
}

/// Appends with a small surplus of memory.
fn append<T>(to: &mut VecDeque<T>, value: T) {
    if to.len() == to.capacity() {
        to.reserve_exact(to.len() / 4 + 64);
    }
    to.push_back(value);
}

impl Class {
    /// A class without packets.
    pub fn new(bound_bytes: usize) -> Self {
        Class { bound_bytes, ..Class::default() }
    }

    /// Bytes of memory beside the blocks.
    pub fn size_bytes(&self) -> usize {
        self.rising.capacity() * size_of::<u32>()
            + self.late.capacity() * size_of::<u64>()
            + self.order.capacity() * size_of::<(u32, u32)>()
            + self.blocks.capacity() * size_of::<u32>()
    }

    /// Notes a sequence. `newest` is the highest one in the store.
    pub fn enter(&mut self, sequence: u64, newest: u64) {
        let above = |last: &u32| widen(u64::from(*last), SEQUENCE_BITS, newest) < sequence;
        if self.rising.back().is_none_or(above) {
            append(&mut self.rising, sequence as u32);
        } else {
            self.late.push(Reverse(sequence));
        }
    }

    /// Whether a sequence below `limit` may be held. Stale ones count.
    pub fn may_hold_below(&self, limit: u64, newest: u64) -> bool {
        let is_below = |low: &u32| widen(u64::from(*low), SEQUENCE_BITS, newest) < limit;
        self.rising.front().is_some_and(is_below)
            || self.late.peek().is_some_and(|Reverse(sequence)| *sequence < limit)
    }

    /// The lowest sequence held. It forgets the stale ones below.
    pub fn lowest(&mut self, table: &Table, newest: u64) -> Option<u64> {
        loop {
            let rising = self.rising.front().map(|low| widen(u64::from(*low), SEQUENCE_BITS, newest));
            let late = self.late.peek().map(|Reverse(sequence)| *sequence);
            let is_late = late.is_some_and(|late| rising.is_none_or(|rising| late < rising));
            let lowest = if is_late { late? } else { rising? };
            if table.get(lowest as u32).is_some() {
                return Some(lowest);
            }
            if is_late {
                self.late.pop();
            } else {
                self.rising.pop_front();
            }
        }
    }

    /// Reserves `count` bytes, in a new block if the last one is full. Blocks without packets are given back.
    /// Few packets do not keep a block: they move to the last one.
    pub fn make_room(&mut self, count: usize, table: &mut Table, blocks: &mut Blocks) -> u32 {
        let block_bytes = blocks.block_bytes();
        let mut may_evacuate = true;
        loop {
            if let Some(&last) = self.blocks.back()
                && self.filled_bytes + count <= block_bytes
            {
                let start = blocks.place(last, self.filled_bytes);
                self.filled_bytes += count;
                return start;
            }
            self.give_back(table, blocks);
            let enough = (self.used_bytes + self.used_bytes / 8) / block_bytes + 3;
            if self.blocks.len() > 2 * enough {
                self.empty_oldest(table, blocks, Self::drop_packet);
            }
            self.blocks.push_back(blocks.take());
            self.filled_bytes = 0;
            if self.blocks.len() > enough && std::mem::take(&mut may_evacuate) {
                self.evacuate(table, blocks);
            }
        }
    }

    /// Notes where a packet lies.
    pub fn arrived(&mut self, sequence: u64, start: u32) {
        append(&mut self.order, (sequence as u32, start));
    }

    /// The truncated sequences in order of arrival, with stale ones.
    pub fn order(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.order.iter().copied()
    }

    /// Gives back blocks at the old end without packets.
    fn give_back(&mut self, table: &Table, blocks: &mut Blocks) {
        while self.order.front().is_some_and(|&(sequence, start)| !stands(table, sequence, start)) {
            self.order.pop_front();
        }
        while let Some(&oldest) = self.blocks.front()
            && blocks.live_bytes(oldest) == 0
        {
            blocks.give_back(oldest);
            self.blocks.pop_front();
        }
    }

    /// Moves the packets of the oldest block to the last one, if that frees a good part of a block.
    fn evacuate(&mut self, table: &mut Table, blocks: &mut Blocks) {
        let Some(&oldest) = self.blocks.front() else { return };
        if blocks.live_bytes(oldest) <= blocks.block_bytes() / 4 * 3 {
            self.empty_oldest(table, blocks, Self::move_to_last);
        }
    }

    /// Takes every packet from the oldest block, and gives the block back.
    fn empty_oldest(
        &mut self,
        table: &mut Table,
        blocks: &mut Blocks,
        take: fn(&mut Self, (u32, u32), &mut Table, &mut Blocks),
    ) {
        let Some(&oldest) = self.blocks.front() else { return };
        while let Some(&(sequence, start)) = self.order.front()
            && (blocks.block_of(start) == oldest || !stands(table, sequence, start))
        {
            self.order.pop_front();
            if stands(table, sequence, start) {
                take(self, (sequence, start), table, blocks);
            }
        }
        self.give_back(table, blocks);
    }

    fn drop_packet(&mut self, (sequence, _): (u32, u32), table: &mut Table, blocks: &mut Blocks) {
        self.remove(sequence, table, blocks);
    }

    fn move_to_last(&mut self, (sequence, start): (u32, u32), table: &mut Table, blocks: &mut Blocks) {
        let Some(slot) = table.get_mut(sequence) else { return };
        let length = usize::from(slot.length);
        let Some(&last) = self.blocks.back() else { return };
        if self.filled_bytes + length > blocks.block_bytes() {
            return self.remove(sequence, table, blocks);
        }
        let to = blocks.place(last, self.filled_bytes);
        slot.start = to;
        blocks.relocate(start, to, length);
        self.filled_bytes += length;
        append(&mut self.order, (sequence, to));
    }

    /// Removes a packet.
    pub fn remove(&mut self, sequence: u32, table: &mut Table, blocks: &mut Blocks) {
        if let Some(slot) = table.remove(sequence) {
            let length = usize::from(slot.length);
            self.used_bytes -= length + super::OVERHEAD_BYTES;
            blocks.remove(slot.start, length);
        }
    }

    /// Returns memory that the packets held do not need.
    pub fn shrink(&mut self, table: &Table, blocks: &mut Blocks) {
        self.give_back(table, blocks);
        self.rising.shrink_to_fit();
        self.late.shrink_to_fit();
        self.order.shrink_to_fit();
    }
}

/// Whether a packet of the order is there, and at this place.
pub(super) fn stands(table: &Table, sequence: u32, start: u32) -> bool {
    table.get(sequence).is_some_and(|slot| slot.start == start)
}
