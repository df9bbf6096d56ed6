//! The output queue: one queue, with a virtual queue for each neighbour and size (COPE, section 3.3).
//!
//! Only the heads of virtual queues are possible partners. A search thus costs one step for each neighbour,
//! and packets of one flow stay in order.

use std::collections::{BTreeMap, BTreeSet};

use mesh::cope::PacketId;

/// The sent form of a native.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// Its part in the XOR: head and remaining literals.
    pub literals: Vec<u8>,
    /// The data beside the XOR ([`super::frame::Beside`]); empty if nothing was removed.
    pub beside: Vec<u8>,
}

/// A native for a next hop.
#[derive(Debug, Clone)]
pub struct Waiting {
    /// Its name.
    pub id: PacketId,
    /// Its next hop.
    pub next_hop: u16,
    /// The previous hop; this node if it began here.
    pub previous: u16,
    /// The native; empty after its form is made.
    pub native: Vec<u8>,
    /// Its sent form, after the first transmission.
    pub form: Option<Form>,
    /// Expected length in the XOR.
    pub expected_bytes: usize,
    /// Its latest sequence on the hop.
    pub sequence: Option<u16>,
    /// Number of transmissions.
    pub tries: u8,
}

impl Waiting {
    /// A native before its first transmission, with these hops.
    pub fn new(
        id: PacketId,
        (previous, next_hop): (u16, u16),
        native: Vec<u8>,
        expected_bytes: usize,
    ) -> Self {
        Waiting { id, next_hop, previous, native, form: None, expected_bytes, sequence: None, tries: 0 }
    }
}

/// A position in the queue.
pub type Place = i64;

/// The queue.
#[derive(Debug, Default)]
pub struct OutputQueue {
    small_bytes: usize,
    waiting: BTreeMap<Place, Waiting>,
    virtual_queues: BTreeMap<(u16, bool), BTreeSet<Place>>,
    first: Place,
    last: Place,
}

impl OutputQueue {
    /// An empty queue; natives with fewer bytes in the XOR than this are small.
    pub fn new(small_bytes: usize) -> Self {
        OutputQueue { small_bytes, ..Self::default() }
    }

    /// Whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Number of natives.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    fn is_small(&self, waiting: &Waiting) -> bool {
        waiting.expected_bytes < self.small_bytes
    }

    fn insert(&mut self, place: Place, waiting: Waiting) {
        let key = (waiting.next_hop, self.is_small(&waiting));
        self.virtual_queues.entry(key).or_default().insert(place);
        self.waiting.insert(place, waiting);
    }

    /// Adds a native at the end.
    pub fn push(&mut self, waiting: Waiting) {
        self.last += 1;
        self.insert(self.last, waiting);
    }

    /// Adds a native at the front, for a retransmission.
    pub fn push_front(&mut self, waiting: Waiting) {
        self.insert(self.first, waiting);
        self.first -= 1;
    }

    /// The first position.
    pub fn head(&self) -> Option<Place> {
        self.waiting.keys().next().copied()
    }

    /// The native at a position.
    pub fn get(&self, place: Place) -> Option<&Waiting> {
        self.waiting.get(&place)
    }

    /// The first native for a neighbour, of the same size as this one or of the other.
    pub fn head_for(&self, neighbour: u16, like: &Waiting, same_size: bool) -> Option<Place> {
        let small = self.is_small(like) == same_size;
        self.virtual_queues.get(&(neighbour, small))?.first().copied()
    }

    /// Neighbours with waiting natives.
    pub fn next_hops(&self) -> impl Iterator<Item = u16> + '_ {
        let mut last = None;
        let of_queues = self.virtual_queues.keys().map(|(neighbour, _)| *neighbour);
        of_queues.filter(move |neighbour| last.replace(*neighbour) != Some(*neighbour))
    }

    /// Removes a native.
    pub fn take(&mut self, place: Place) -> Option<Waiting> {
        let waiting = self.waiting.remove(&place)?;
        let key = (waiting.next_hop, self.is_small(&waiting));
        if let Some(queue) = self.virtual_queues.get_mut(&key) {
            queue.remove(&place);
            if queue.is_empty() {
                self.virtual_queues.remove(&key);
            }
        }
        Some(waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(number: u32, next_hop: u16, bytes: usize) -> Waiting {
        Waiting::new(PacketId { source: 1, number }, (1, next_hop), vec![0; bytes], bytes)
    }

    #[test]
    fn heads_are_the_oldest_for_a_neighbour_and_size_and_what_is_sent_again_comes_first() {
        let mut queue = OutputQueue::new(100);
        for (number, next_hop, bytes) in [(1, 7, 1400), (2, 8, 50), (3, 8, 1400), (4, 8, 60)] {
            queue.push(waiting(number, next_hop, bytes));
        }
        let number = |queue: &OutputQueue, place: Option<Place>| {
            place.map(|place| queue.get(place).unwrap().id.number)
        };
        let like = waiting(9, 7, 1000);
        assert_eq!(number(&queue, queue.head()), Some(1));
        assert_eq!(number(&queue, queue.head_for(8, &like, true)), Some(3));
        assert_eq!(number(&queue, queue.head_for(8, &like, false)), Some(2));
        assert_eq!(queue.head_for(7, &like, false), None);
        let again = queue.take(queue.head().unwrap()).unwrap();
        assert_eq!(queue.next_hops().collect::<Vec<_>>(), [8]);
        queue.push_front(again);
        assert_eq!(number(&queue, queue.head()), Some(1));
        assert_eq!((queue.len(), queue.next_hops().collect::<Vec<_>>()), (4, vec![7, 8]));
    }
}
