//! The coded buffer of one flow (XBC, sections III and IV-B). Its room is a number of packets; it keeps more
//! packets as sums.
//!
//! A *block* has the headers of one or several packets, and one or several *rows*. A row is a sum of the
//! packets' payloads and takes the room of one packet. One row repairs any one lost packet of its block
//! (XOR); n rows repair any n (Reed-Solomon). A row beyond the number of packets in flight is useless and is
//! dropped.

mod room;

pub(crate) use room::Means;

use crate::block::Block;
use crate::field;
use crate::settings::Replacement;
use highway::{HighwayHash as _, HighwayHasher};
use wire::coded::DIGEST_BYTES;

/// A flow's packets and sums.
#[derive(Debug)]
pub struct Buffer {
    /// Capacity in rows.
    capacity: usize,
    occupied: usize,
    replacement: Replacement,
    blocks: Vec<Block>,
    /// Empty blocks; their memory is reused, and so is that of rows.
    empty: Vec<usize>,
    spare: Vec<Vec<u8>>,
    /// The blocks that the last packet made empty, and the block that has their packets now.
    moved: (Vec<usize>, usize),
    bytes: usize,
    next_age: u64,
}

/// Digest over the original packet, for a coded repair.
#[must_use]
pub fn digest(header: &[u8], payload: &[u8]) -> [u8; DIGEST_BYTES] {
    // The key is no secret: the seal authenticates the sender, and the digest detects other bytes.
    let mut hasher = HighwayHasher::default();
    hasher.append(header);
    hasher.append(payload);
    hasher.finalize64().to_be_bytes()
}

/// A lost packet in a form that can be sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kept<'a> {
    /// Its headers.
    pub header: &'a [u8],
    /// Its payload, or a row that contains it.
    pub payload: &'a [u8],
    /// Digest of the original packet, if the row contains other packets.
    pub digest: [u8; DIGEST_BYTES],
    block: &'a Block,
    number: u64,
    start: u64,
}

impl<'a> Kept<'a> {
    /// Starts and scale factors of the other packets in the row.
    pub fn others(&self) -> impl Iterator<Item = (u64, u8)> + Clone + use<'a> {
        let (start, turn) = (self.start, self.block.turn);
        let others = self.block.components.iter().filter(move |other| other.start != start);
        others.map(move |other| (other.start, field::scale(turn, other.number)))
    }

    /// Number of other packets in the row.
    pub fn other_count(&self) -> usize {
        self.block.components.len() - 1
    }

    /// Number of other packets that may be missing as well.
    pub fn spared(&self) -> usize {
        self.block.rows.len() - 1
    }

    /// Its own scale factor; `None` in the first row, which is not scaled.
    pub fn scale(&self) -> Option<u8> {
        (self.block.turn > 0).then(|| field::scale(self.block.turn, self.number))
    }
}

impl Buffer {
    /// An empty buffer for `capacity` packets.
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

    /// Bytes of packets, coded or not, and of all headers and records.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Number of rows; each takes the room of one packet.
    #[must_use]
    pub fn occupied(&self) -> usize {
        self.occupied
    }

    /// Keeps a packet and returns its block; `None` without room. The name is the packet's number and start
    /// in the flow. With a group, the packet is combined with the others of the group.
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
        self.bytes -= block.names_bytes();
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

    /// The packet that begins at `start`, if it is still in this block.
    #[must_use]
    pub(crate) fn get(&self, block: usize, start: u64) -> Option<Kept<'_>> {
        let (block, which) = self.at(block, start)?;
        let component = &block.components[which];
        let header = &block.headers[component.header_at..component.header_at + component.header_bytes];
        let payload = block.rows.get(block.turn)?;
        let (digest, number) = (component.digest, component.number);
        Some(Kept { header, payload, digest, block, number, start })
    }

    /// Selects another row for the block's next repair.
    pub fn advance_row(&mut self, block: usize) {
        if let Some(block) = self.blocks.get_mut(block)
            && !block.rows.is_empty()
        {
            block.turn = (block.turn + 1) % block.rows.len();
        }
    }

    /// Notes a packet's delivery. Surplus rows are dropped; after the last packet the block is empty.
    pub fn record_delivery(&mut self, block: usize, start: u64) {
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

    /// Drops the block, because it can no longer restore the packet or any other.
    pub fn give_up(&mut self, block: usize, start: u64) {
        if self.at(block, start).is_some() {
            self.clear_block(block);
        }
    }

    /// Numbers of packets and of rows.
    #[must_use]
    pub fn packets(&self) -> (usize, usize) {
        (self.blocks.iter().map(|block| block.components.len()).sum(), self.occupied())
    }

    /// Empties the buffer and frees its memory.
    pub fn clear(&mut self) {
        *self = Buffer::new(self.capacity, self.replacement);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Pattern;
    use crate::xor;
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
        buffer.record_delivery(slots[0].unwrap(), 0);
        assert!(buffer.get(slots[2].unwrap(), 200).is_some(), "its other packet may still be lost");
        buffer.record_delivery(slots[2].unwrap(), 200);
        assert_eq!((buffer.occupied(), buffer.get(slots[2].unwrap(), 200).is_none()), (1, true));
    }

    #[test]
    fn the_oldest_goes_with_all_that_is_coded_with_it() {
        let mut buffer = Buffer::new(2, Replacement::Lru);
        let slots: Vec<_> = (0..5).map(|number| keep(&mut buffer, number, &[number as u8; 9])).collect();
        assert!(buffer.get(slots[0].unwrap(), 0).is_none() && buffer.get(slots[2].unwrap(), 200).is_none());
        assert!(buffer.get(slots[1].unwrap(), 100).is_some() && buffer.get(slots[4].unwrap(), 400).is_some());
    }

    #[test]
    fn a_sum_counts_the_headers_and_records_of_all_its_packets() {
        let mut buffer = Buffer::new(1, Replacement::None);
        // Numbers 0 and 2 are in one group.
        for number in [0, 2] {
            keep(&mut buffer, number, &[7; 9]).expect("there is room");
        }
        assert_eq!(buffer.bytes(), 9 + 2 * (1 + size_of::<crate::block::Component>()));
    }

    proptest! {
        /// After any sequence of keeping, delivering and giving up: the slots stay within their bound, the
        /// byte count is exact, and a slot is the sum of its packets.
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
                        if what == 2 { buffer.record_delivery(slot, old * 100) } else { buffer.give_up(slot, old * 100) }
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
