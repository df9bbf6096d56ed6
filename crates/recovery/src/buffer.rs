//! The coded buffer of one flow (XBC, sections III and IV-B): room for so many packets, in which more are kept as sums.
//!
//! A *block* has the headers of one or several packets and one or several *rows*, which are sums of the packets' payloads and
//! take the room of one packet each. One row repairs any one lost packet of its block (XOR), several any as many (Reed-Solomon).
//! A row goes when there are more of them than packets under way: what is left of it helps nobody.

use crate::block::Block;
use crate::choice::Counts;
use crate::field::{self, MAX_ROWS};
use crate::settings::Replacement;
use crate::xor;
use highway::{HighwayHash as _, HighwayHasher};
use wire::coded::DIGEST_BYTES;

/// The most packets in one block: as many as a repair can name.
const MAX_COMBINED: usize = wire::coded::MAX_OTHERS + 1;
/// Of so many blocks the best two are looked for.
const MAX_COMPARED: usize = 20;

/// A flow's packets, or what they add up to.
#[derive(Debug)]
pub struct Buffer {
    /// In rows.
    capacity: usize,
    occupied: usize,
    replacement: Replacement,
    blocks: Vec<Block>,
    /// Blocks that are empty; their memory is kept, and so is that of rows.
    empty: Vec<usize>,
    spare: Vec<Vec<u8>>,
    /// What the last packet made empty, and where its packets are now.
    moved: (Vec<usize>, usize),
    bytes: usize,
    next_age: u64,
}

/// By what means room is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Means {
    /// Two blocks of one row become one.
    pub sums: bool,
    /// Packets become rows, and rows go.
    pub rows: bool,
}

/// How room is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    /// Everything of the first block goes into the second.
    Combine(usize, usize),
    /// All packets that `free` has as they are become a block with one row less.
    Encode,
    /// The oldest of those becomes part of a block of several rows.
    Join(usize),
    /// A block loses a row.
    Drop(usize),
}

/// The digest that a coded repair carries, over the original packet.
#[must_use]
pub fn digest(header: &[u8], payload: &[u8]) -> [u8; DIGEST_BYTES] {
    // no secret: the seal says who speaks, and this whether it was the same bytes
    let mut hasher = HighwayHasher::default();
    hasher.append(header);
    hasher.append(payload);
    hasher.finalize64().to_be_bytes()
}

/// A lost packet, as it can be sent again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kept<'a> {
    /// Its headers.
    pub header: &'a [u8],
    /// Its payload, or a row that it is part of.
    pub payload: &'a [u8],
    /// Of the original packet, if there are others.
    pub digest: [u8; DIGEST_BYTES],
    block: &'a Block,
    number: u64,
    start: u64,
}

impl<'a> Kept<'a> {
    /// Where the others begin that are coded with it, and by what they are scaled.
    pub fn others(&self) -> impl Iterator<Item = (u64, u8)> + Clone + use<'a> {
        let (start, turn) = (self.start, self.block.turn);
        let others = self.block.components.iter().filter(move |other| other.start != start);
        others.map(move |other| (other.start, field::scale(turn, other.number)))
    }

    /// How many those are.
    pub fn other_count(&self) -> usize {
        self.block.components.len() - 1
    }

    /// How many of the others may be missing too.
    pub fn spared(&self) -> usize {
        self.block.rows.len() - 1
    }

    /// By what it is scaled itself; `None` where nothing is.
    pub fn scale(&self) -> Option<u8> {
        (self.block.turn > 0).then(|| field::scale(self.block.turn, self.number))
    }
}

impl Buffer {
    /// An empty buffer for so many packets.
    #[must_use]
    pub fn new(capacity: usize, replacement: Replacement) -> Self {
        Buffer {
            capacity,
            occupied: 0,
            replacement,
            blocks: Vec::new(),
            empty: Vec::new(),
            spare: Vec::new(),
            moved: (Vec::new(), 0),
            bytes: 0,
            next_age: 0,
        }
    }

    /// Bytes of packets, coded or not, and of their headers.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Rows, which take the room of one packet each.
    #[must_use]
    pub fn occupied(&self) -> usize {
        self.occupied
    }

    /// Keeps the packet of this name (number, and where it begins in the flow): in which block. `None`: there was no room.
    /// With a group it is combined with the others of that group.
    pub fn keep(
        &mut self,
        group: Option<u64>,
        name: (u64, u64),
        header: &[u8],
        payload: &[u8],
        is_coded: bool,
    ) -> Option<usize> {
        let joined = group.and_then(|group| self.blocks.iter().position(|block| block.group == Some(group)));
        let index = match joined {
            Some(index) => index,
            None => self.take_block()?,
        };
        let block = &mut self.blocks[index];
        let before = block.bytes();
        block.group = group;
        let digest = if is_coded { digest(header, payload) } else { [0; DIGEST_BYTES] };
        block.add(name, header, payload, digest);
        self.bytes += block.bytes() - before;
        Some(index)
    }

    /// A block with one row.
    fn take_block(&mut self) -> Option<usize> {
        while self.occupied >= self.capacity {
            if self.replacement == Replacement::None {
                return None;
            }
            let used = self.blocks.iter().enumerate().filter(|(_, block)| !block.components.is_empty());
            let (oldest, _) = used.min_by_key(|(_, block)| block.age)?;
            self.clear_block(oldest);
        }
        let index = self.empty.pop().unwrap_or_else(|| {
            self.blocks.push(Block::default());
            self.blocks.len() - 1
        });
        self.blocks[index].age = self.next_age;
        self.next_age += 1;
        let row = self.take_row();
        self.blocks[index].rows.push(row);
        Some(index)
    }

    fn take_row(&mut self) -> Vec<u8> {
        self.occupied += 1;
        self.spare.pop().unwrap_or_default()
    }

    fn drop_row(&mut self, index: usize) {
        let block = &mut self.blocks[index];
        let Some(mut row) = block.rows.pop() else { return };
        if block.turn >= block.rows.len() {
            block.turn = 0;
        }
        self.bytes -= row.len();
        self.occupied -= 1;
        row.clear();
        if self.spare.len() < self.capacity {
            self.spare.push(row);
        }
    }

    fn clear_block(&mut self, index: usize) {
        if self.blocks[index].components.is_empty() {
            return;
        }
        while !self.blocks[index].rows.is_empty() {
            self.drop_row(index);
        }
        let block = &mut self.blocks[index];
        self.bytes -= block.headers.len();
        (block.group, block.turn) = (None, 0);
        block.components.clear();
        block.headers.clear();
        self.empty.push(index);
    }

    fn at(&self, block: usize, start: u64) -> Option<(&Block, usize)> {
        let block = self.blocks.get(block)?;
        let which = block.components.iter().position(|component| component.start == start)?;
        Some((block, which))
    }

    /// The packet that begins at `start`, if it is still in that block.
    #[must_use]
    pub(crate) fn get(&self, block: usize, start: u64) -> Option<Kept<'_>> {
        let (block, which) = self.at(block, start)?;
        let component = &block.components[which];
        let header = &block.headers[component.header_at..component.header_at + component.header_bytes];
        let payload = block.rows.get(block.turn)?;
        let (digest, number) = (component.digest, component.number);
        Some(Kept { header, payload, digest, block, number, start })
    }

    /// A repair was made of the block: the next one is made of another row.
    pub fn turn(&mut self, block: usize) {
        if let Some(block) = self.blocks.get_mut(block)
            && !block.rows.is_empty()
        {
            block.turn = (block.turn + 1) % block.rows.len();
        }
    }

    /// The packet has been delivered: fewer rows are enough, and none with the last.
    pub fn delivered(&mut self, block: usize, start: u64) {
        let Some((_, which)) = self.at(block, start) else { return };
        self.blocks[block].components[which].delivered = true;
        let under_way = self.blocks[block].under_way().count();
        if under_way == 0 {
            self.clear_block(block);
        }
        while self.blocks[block].rows.len() > under_way {
            self.drop_row(block);
        }
    }

    /// The packet cannot be had of its block any more, nor can any other in it.
    pub fn give_up(&mut self, block: usize, start: u64) {
        if self.at(block, start).is_some() {
            self.clear_block(block);
        }
    }

    /// Keeps a packet by itself, and makes room if that is one more than there is room for: in the way that costs least, and
    /// without touching what `is_wanted` (by starts) as it is. In which block it is now; of others [`Buffer::moved`] tells.
    /// `None`: it is not kept, for that would cost more than it is worth.
    pub(crate) fn keep_combining(
        &mut self,
        name: (u64, u64),
        header: &[u8],
        payload: &[u8],
        (counts, means): (&Counts, Means),
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
        match self.cheapest(&free, counts, means) {
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

    /// The blocks that the last packet made empty, and the one where all their packets are now.
    pub fn moved(&self) -> (&[usize], usize) {
        (&self.moved.0, self.moved.1)
    }

    /// The blocks that may be touched, by age.
    fn free(&self, is_wanted: impl Fn(u64) -> bool) -> Vec<usize> {
        let is_free = |block: &Block| {
            !block.components.is_empty()
                && !block.components.iter().any(|it| !it.delivered && is_wanted(it.start))
        };
        let mut free: Vec<usize> =
            (0..self.blocks.len()).filter(|&block| is_free(&self.blocks[block])).collect();
        free.sort_unstable_by_key(|&block| self.blocks[block].age);
        // the newest of many: what has been on its way for longer is told of sooner
        free.drain(..free.len().saturating_sub(MAX_COMPARED));
        free
    }

    /// Of these the packets that are kept as they were: those that one block can have.
    fn plain<'a>(&'a self, free: &'a [usize]) -> impl Iterator<Item = usize> + Clone + 'a {
        let plain = free.iter().copied().filter(|&block| self.blocks[block].is_plain());
        let last = plain.clone().next_back().map_or(0, |last| self.blocks[last].components[0].number);
        let skipped = plain.clone().count().saturating_sub(MAX_COMBINED.min(MAX_ROWS));
        plain.skip(skipped).filter(move |&block| self.blocks[block].spans(last))
    }

    /// What costs least to make room, if that is less than a packet is worth.
    fn cheapest(&self, free: &[usize], counts: &Counts, means: Means) -> Option<Room> {
        // combined, it holds its room until others have come, too: the longer, the more is lost
        let mut best = (1.0 - counts.loss(), None);
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
        // both have one row, the first, in which nothing is scaled
        for (sum, row) in block.rows.iter_mut().zip(&taken.rows) {
            xor::into(sum, row);
        }
        self.bytes = self.bytes + block.bytes() - before;
        // its memory is used again
        self.blocks[from] = taken;
        self.clear_block(from);
        self.moved.0.push(from);
        self.moved.1 = into;
    }

    /// All of these that are packets as they were become one block, with one row less than packets.
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
            self.bytes += taken.headers.len();
            self.blocks[from] = taken;
            self.clear_block(from);
        }
        self.moved.0.extend_from_slice(others);
        self.moved.1 = into;
    }

    /// The oldest of these that is a packet as it was becomes part of a block of several rows.
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

    /// Packets, in how many rows.
    #[must_use]
    pub fn packets(&self) -> (usize, usize) {
        (self.blocks.iter().map(|block| block.components.len()).sum(), self.occupied())
    }

    /// Forgets everything, and gives the memory back.
    pub fn clear(&mut self) {
        *self = Buffer::new(self.capacity, self.replacement);
    }
}

fn consider(one: (f32, Room), best: &mut (f32, Option<Room>)) {
    if one.0 < best.0 {
        *best = (one.0, Some(one.1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Pattern;
    use proptest::prelude::*;

    const PAIRS: Pattern = Pattern { degree: 2, distance: 2 };

    fn keep(buffer: &mut Buffer, number: u64, payload: &[u8]) -> Option<usize> {
        buffer.keep(Some(PAIRS.group(number)), (number, number * 100), &[number as u8], payload, true)
    }

    #[test]
    fn two_packets_of_a_group_share_a_slot_and_either_comes_out_of_it() {
        let mut buffer = Buffer::new(2, Replacement::None);
        let slots: Vec<_> = [&b"zero"[..], b"one", b"two...", b"three", b"four"]
            .iter()
            .zip(0..)
            .map(|(payload, number)| keep(&mut buffer, number, payload))
            .collect();
        assert_eq!(slots[0], slots[2]);
        assert_eq!(slots[1], slots[3]);
        assert_eq!(slots[4], None, "two slots");
        let kept = buffer.get(slots[2].unwrap(), 200).unwrap();
        assert_eq!(kept.header, [2]);
        assert_eq!(kept.others().collect::<Vec<_>>(), [(0, 1)]);
        let mut payload = kept.payload.to_vec();
        xor::into(&mut payload, b"zero");
        assert_eq!(payload, b"two...");
        assert_eq!(kept.digest, digest(&[2], &payload));
        buffer.delivered(slots[0].unwrap(), 0);
        assert!(buffer.get(slots[2].unwrap(), 200).is_some(), "its other packet may still be lost");
        buffer.delivered(slots[2].unwrap(), 200);
        assert_eq!((buffer.occupied(), buffer.get(slots[2].unwrap(), 200).is_none()), (1, true));
    }

    #[test]
    fn the_oldest_goes_with_all_that_is_coded_with_it() {
        let mut buffer = Buffer::new(2, Replacement::Lru);
        let slots: Vec<_> = (0..5).map(|number| keep(&mut buffer, number, &[number as u8; 9])).collect();
        assert!(buffer.get(slots[0].unwrap(), 0).is_none() && buffer.get(slots[2].unwrap(), 200).is_none());
        assert!(buffer.get(slots[1].unwrap(), 100).is_some() && buffer.get(slots[4].unwrap(), 400).is_some());
    }

    proptest! {
        /// Whatever is kept, delivered and given up: never more slots than there are, bytes are those of what is in them, and
        /// what is in a slot is what adds up to it.
        #[test]
        fn a_slot_is_the_sum_of_its_packets(
            lru: bool,
            capacity in 1usize..6,
            degree in 1u8..4,
            distance in 1u8..4,
            steps in proptest::collection::vec((0u8..4, 0u64..40, 0usize..30), 1..120),
        ) {
            let replacement = if lru { Replacement::Lru } else { Replacement::None };
            let mut buffer = Buffer::new(capacity, replacement);
            let pattern = Pattern { degree, distance };
            let mut slots = std::collections::BTreeMap::new();
            let payload = |number: u64, bytes: usize| vec![number as u8 + 1; bytes];
            for (number, (what, old, bytes)) in steps.into_iter().enumerate() {
                let number = number as u64;
                match what {
                    0 | 1 => {
                        let group = Some(pattern.group(number));
                        let kept = buffer.keep(group, (number, number * 100), &[number as u8], &payload(number, bytes), true);
                        slots.insert(number, (kept, bytes));
                    }
                    _ => {
                        let Some(&(Some(slot), _)) = slots.get(&old) else { continue };
                        if what == 2 { buffer.delivered(slot, old * 100) } else { buffer.give_up(slot, old * 100) }
                    }
                }
                prop_assert!(buffer.occupied() <= capacity);
                let sum: usize = buffer.blocks.iter().map(Block::bytes).sum();
                prop_assert_eq!(buffer.bytes(), sum);
                for (&number, &(slot, bytes)) in &slots {
                    let Some(kept) = slot.and_then(|slot| buffer.get(slot, number * 100)) else { continue };
                    prop_assert!(kept.other_count() < usize::from(degree));
                    let mut sum = kept.payload.to_vec();
                    for (other, _) in kept.others() {
                        xor::into(&mut sum, &payload(other / 100, slots[&(other / 100)].1));
                    }
                    prop_assert_eq!(&sum[..bytes], &payload(number, bytes)[..]);
                    prop_assert!(sum[bytes..].iter().all(|&byte| byte == 0));
                    prop_assert_eq!(kept.digest, digest(kept.header, &sum[..bytes]));
                }
            }
        }
    }
}
