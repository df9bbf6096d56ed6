//! Room in a full buffer, by the cheapest means.

use super::Buffer;
use crate::block::Block;
use crate::choice::Counts;
use crate::field::{self, MAX_ROWS};
use crate::xor;

/// The most packets in one block, limited by a repair's names.
const MAX_COMBINED: usize = wire::coded::MAX_OTHERS + 1;
/// The most blocks among which the best pair is searched.
const MAX_COMPARED: usize = 20;

/// The allowed means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Means {
    /// Two blocks of one row become one.
    pub sums: bool,
    /// Plain packets become rows, and rows are dropped.
    pub rows: bool,
}

/// A way to make room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    /// The first block is merged into the second.
    Combine(usize, usize),
    /// All plain packets of `free` become a block with one row less.
    Encode,
    /// The oldest plain packet of `free` joins a block of several rows.
    Join(usize),
    /// A block loses a row.
    Drop(usize),
}

impl Buffer {
    /// Keeps a packet in a block of its own and returns the block. In a full buffer it first makes room by
    /// the cheapest means. It leaves blocks with a packet for which `is_wanted` (by start) holds.
    /// [`Buffer::moved`] gives the moves of other packets. `None` means that the packet is not kept, because
    /// room would cost more than its worth.
    pub(crate) fn keep_combining(
        &mut self,
        name: (u64, u64),
        header: &[u8],
        payload: &[u8],
        (counts, means, worth): (&Counts, Means, f32),
        is_wanted: impl Fn(u64) -> bool,
    ) -> Option<usize> {
        self.moved.0.clear();
        self.capacity += 1;
        let kept = self.keep(None, name, header, payload, true);
        self.capacity -= 1;
        let newest = kept?;
        if self.occupied <= self.capacity {
            return Some(newest);
        }
        let free = self.free(is_wanted);
        match self.cheapest(&free, counts, means, worth) {
            None => {
                self.clear_block(newest);
                return None;
            }
            Some(Room::Combine(from, into)) => self.combine(from, into),
            Some(Room::Encode) => self.encode(&free),
            Some(Room::Join(block)) => self.join(&free, block),
            Some(Room::Drop(block)) => self.drop_row(block),
        }
        Some(if self.moved.0.contains(&newest) { self.moved.1 } else { newest })
    }

    /// The blocks that the last packet made empty, and the block that has all their packets now.
    pub fn moved(&self) -> (&[usize], usize) {
        (&self.moved.0, self.moved.1)
    }

    /// The blocks that may change, by age.
    fn free(&self, is_wanted: impl Fn(u64) -> bool) -> Vec<usize> {
        let is_free = |block: &Block| {
            !block.components.is_empty()
                && !block.components.iter().any(|it| !it.delivered && is_wanted(it.start))
        };
        let mut free: Vec<usize> =
            (0..self.blocks.len()).filter(|&block| is_free(&self.blocks[block])).collect();
        free.sort_unstable_by_key(|&block| self.blocks[block].age);
        // Only the newest blocks: older packets are reported soon.
        free.drain(..free.len().saturating_sub(MAX_COMPARED));
        free
    }

    /// The plain packets of `free` that fit into one block.
    fn plain<'a>(&'a self, free: &'a [usize]) -> impl Iterator<Item = usize> + Clone + 'a {
        let plain = free.iter().copied().filter(|&block| self.blocks[block].is_plain());
        let last = plain.clone().next_back().map_or(0, |last| self.blocks[last].components[0].number);
        let skipped = plain.clone().count().saturating_sub(MAX_COMBINED.min(MAX_ROWS));
        plain.skip(skipped).filter(move |&block| self.blocks[block].spans(last))
    }

    /// The cheapest way to make room, if it costs less than a packet's worth.
    fn cheapest(&self, free: &[usize], counts: &Counts, means: Means, worth: f32) -> Option<Room> {
        let mut best = (worth, None);
        if means.rows {
            let plain = self.plain(free).count();
            if plain >= 2 {
                consider((counts.cost_of_encoding(plain), Room::Encode), &mut best);
            }
            let oldest = self.plain(free).next().map(|block| self.blocks[block].components[0].number);
            for &index in free.iter().filter(|&&block| self.blocks[block].rows.len() >= 2) {
                let block = &self.blocks[index];
                let (under_way, rows) = (block.under_way().count(), block.rows.len());
                consider((counts.cost_of_row(under_way, rows), Room::Drop(index)), &mut best);
                let has_place = block.components.len() < MAX_COMBINED;
                if has_place && oldest.is_some_and(|number| block.spans(number)) {
                    consider((counts.cost_of_packet(under_way, rows), Room::Join(index)), &mut best);
                }
            }
        }
        if means.sums {
            let is_sum = |block: &Block| block.rows.len() == 1;
            let sums = free.iter().copied().filter(|&block| is_sum(&self.blocks[block]));
            let chances = counts.chances();
            for (at, one) in sums.clone().enumerate() {
                for other in sums.clone().skip(at + 1) {
                    let (a, b) = (&self.blocks[one], &self.blocks[other]);
                    if a.components.len() + b.components.len() > MAX_COMBINED {
                        continue;
                    }
                    let cost = chances.cost(a.under_way(), b.under_way(), best.0);
                    consider((cost, Room::Combine(one, other)), &mut best);
                }
            }
        }
        best.1
    }

    fn combine(&mut self, from: usize, into: usize) {
        let taken = std::mem::take(&mut self.blocks[from]);
        let block = &mut self.blocks[into];
        let before = block.bytes();
        block.take_components(&taken);
        // Both have only the first row, in which nothing is scaled.
        for (sum, row) in block.rows.iter_mut().zip(&taken.rows) {
            xor::into(sum, row);
        }
        self.bytes = self.bytes + block.bytes() - before;
        // Its memory is reused.
        self.blocks[from] = taken;
        self.clear_block(from);
        self.moved.0.push(from);
        self.moved.1 = into;
    }

    /// Turns all plain packets of `free` into one block, with one row less than packets.
    fn encode(&mut self, free: &[usize]) {
        let plain: Vec<usize> = self.plain(free).collect();
        let Some((&into, others)) = plain.split_first() else { return };
        let mut rows: Vec<Vec<u8>> = others.iter().map(|_| self.take_row()).collect();
        for &index in &plain {
            let block = &self.blocks[index];
            for (row, sum) in rows.iter_mut().enumerate() {
                field::add_scaled(sum, &block.rows[0], field::scale(row, block.components[0].number));
            }
        }
        self.bytes += rows.iter().map(Vec::len).sum::<usize>();
        self.drop_row(into);
        self.blocks[into].rows = rows;
        for &from in others {
            let taken = std::mem::take(&mut self.blocks[from]);
            self.blocks[into].take_components(&taken);
            self.bytes += taken.names_bytes();
            self.blocks[from] = taken;
            self.clear_block(from);
        }
        self.moved.0.extend_from_slice(others);
        self.moved.1 = into;
    }

    /// Moves the oldest plain packet of `free` into a block of several rows.
    fn join(&mut self, free: &[usize], into: usize) {
        let Some(from) = self.plain(free).next() else { return };
        let taken = std::mem::take(&mut self.blocks[from]);
        let block = &mut self.blocks[into];
        let before = block.bytes();
        for (row, sum) in block.rows.iter_mut().enumerate() {
            field::add_scaled(sum, &taken.rows[0], field::scale(row, taken.components[0].number));
        }
        block.take_components(&taken);
        self.bytes = self.bytes + block.bytes() - before;
        self.blocks[from] = taken;
        self.clear_block(from);
        self.moved.0.push(from);
        self.moved.1 = into;
    }
}

fn consider(one: (f32, Room), best: &mut (f32, Option<Room>)) {
    if one.0 < best.0 {
        *best = (one.0, Some(one.1));
    }
}
