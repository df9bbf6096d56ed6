//! The packets of all flows in one table, those of a flow chained in order.
//!
//! A queue of its own for each of a thousand flows would keep a thousand times the memory of the longest;
//! here a slot that one flow leaves is the next one's. The table grows to the most packets that ever waited
//! at once.

use std::time::Duration;
use wire::natives::Name;

/// A packet that waits, and since when.
#[derive(Debug, Default)]
pub struct Waiting {
    /// The packet.
    pub packet: Vec<u8>,
    /// When it came.
    pub arrived: Duration,
    /// By what its native is known to others.
    pub name: Option<Name>,
}

/// One flow's packets in the table.
#[derive(Debug, Default)]
pub struct Chain {
    /// The slots of its first and last packet.
    ends: Option<(usize, usize)>,
    /// Bytes of its packets.
    pub bytes: usize,
}

#[derive(Debug)]
struct Slot {
    waiting: Waiting,
    next: Option<usize>,
}

/// The table.
#[derive(Debug, Default)]
pub struct Slots {
    slots: Vec<Slot>,
    free: Vec<usize>,
}

impl Slots {
    /// Packets in all chains.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Bytes of memory of the table, without packets.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>() + self.free.capacity() * size_of::<usize>()
    }

    /// Appends a packet to `chain`.
    pub fn push(&mut self, chain: &mut Chain, waiting: Waiting) {
        chain.bytes += waiting.packet.len();
        let slot = Slot { waiting, next: None };
        let index = match self.free.pop() {
            Some(index) => {
                self.slots[index] = slot;
                index
            }
            None => {
                self.slots.push(slot);
                self.slots.len() - 1
            }
        };
        match &mut chain.ends {
            Some((_, last)) => {
                self.slots[*last].next = Some(index);
                *last = index;
            }
            None => chain.ends = Some((index, index)),
        }
    }

    /// A flow's oldest packet.
    pub fn first(&self, chain: &Chain) -> Option<&Waiting> {
        let (first, _) = chain.ends?;
        Some(&self.slots[first].waiting)
    }

    /// Takes the first packet of `chain`.
    pub fn pop(&mut self, chain: &mut Chain) -> Option<Waiting> {
        let (first, last) = chain.ends?;
        let slot = &mut self.slots[first];
        let waiting = std::mem::take(&mut slot.waiting);
        chain.ends = slot.next.map(|next| (next, last));
        chain.bytes -= waiting.packet.len();
        self.free.push(first);
        Some(waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_keep_their_order_and_share_their_slots() {
        let (mut slots, mut odd, mut even) = (Slots::default(), Chain::default(), Chain::default());
        for round in 0..3u8 {
            for number in 0..10 {
                let chain = if number % 2 == 0 { &mut even } else { &mut odd };
                slots.push(chain, Waiting { packet: vec![round, number], ..Waiting::default() });
            }
            assert_eq!((slots.len(), odd.bytes, even.bytes), (10, 10, 10));
            for number in [0, 2, 4, 6, 8] {
                assert_eq!(slots.pop(&mut even).unwrap().packet, [round, number]);
            }
            assert!(slots.pop(&mut even).is_none());
            for number in [1, 3, 5, 7, 9] {
                assert_eq!(slots.pop(&mut odd).unwrap().packet, [round, number]);
            }
            assert_eq!((slots.len(), odd.bytes, slots.slots.len()), (0, 0, 10));
        }
    }
}
