//! Payloads of earlier packets, within a bound.

use crate::packet::{Client, Packet};
use std::collections::VecDeque;

/// Size of a block of payloads; the oldest block is dropped as a whole.
const BLOCK_BYTES: usize = 4 << 20;

/// A stored payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stored<'a> {
    pub payload: &'a [u8],
    pub client: Client,
}

#[derive(Debug)]
struct Place {
    block: u64,
    start: u32,
    length: u32,
    client: Client,
}

/// A queue of payloads, each with a number.
#[derive(Debug)]
pub(super) struct PayloadStore {
    bound_packets: usize,
    /// The most packets, because the table of their places would otherwise exceed the payloads.
    room_packets: usize,
    bound_blocks: usize,
    blocks: VecDeque<Vec<u8>>,
    oldest_block: u64,
    places: VecDeque<Place>,
    oldest: u64,
    dropped_for_room: bool,
}

impl PayloadStore {
    /// A store for at most this many packets and bytes; the minimum is two blocks.
    pub(super) fn new(bound_packets: usize, bound_bytes: usize) -> Self {
        let bound_bytes = bound_bytes.max(2 * BLOCK_BYTES);
        PayloadStore {
            bound_packets,
            room_packets: bound_bytes / size_of::<Place>(),
            bound_blocks: bound_bytes / BLOCK_BYTES,
            blocks: VecDeque::new(),
            oldest_block: 0,
            places: VecDeque::new(),
            oldest: 0,
            dropped_for_room: false,
        }
    }

    /// The number of the next payload.
    pub(super) fn next(&self) -> u64 {
        self.oldest + self.places.len() as u64
    }

    /// The number of the oldest payload held.
    pub(super) fn oldest(&self) -> u64 {
        self.oldest
    }

    /// Whether the bound in bytes dropped payloads.
    pub(super) fn was_full(&self) -> bool {
        self.dropped_for_room
    }

    pub(super) fn get(&self, number: u64) -> Option<Stored<'_>> {
        let place = self.places.get(usize::try_from(number.checked_sub(self.oldest)?).ok()?)?;
        let block = &self.blocks[(place.block - self.oldest_block) as usize];
        let payload = &block[place.start as usize..][..place.length as usize];
        Some(Stored { payload, client: place.client })
    }

    /// Stores a packet's payload, and drops the oldest ones beyond the bounds. Returns whether a block was
    /// dropped, so that stale references can be removed.
    pub(super) fn push(&mut self, packet: &Packet<'_>) -> bool {
        let payload = packet.payload();
        let mut dropped_block = false;
        if self.blocks.back().is_none_or(|block| block.len() + payload.len() > BLOCK_BYTES) {
            if self.blocks.len() >= self.bound_blocks {
                self.dropped_for_room |=
                    self.places.front().is_some_and(|place| place.block == self.oldest_block);
                self.drop_oldest_block();
                dropped_block = true;
            }
            self.blocks.push_back(Vec::with_capacity(BLOCK_BYTES.max(payload.len())));
        }
        let block = self.oldest_block + self.blocks.len() as u64 - 1;
        let bytes = &mut self.blocks[(block - self.oldest_block) as usize];
        self.places.push_back(Place {
            block,
            start: bytes.len() as u32,
            length: payload.len() as u32,
            client: packet.client,
        });
        bytes.extend_from_slice(payload);
        while self.places.len() > self.bound_packets.min(self.room_packets) {
            self.dropped_for_room |= self.places.len() <= self.bound_packets;
            self.places.pop_front();
            self.oldest += 1;
        }
        dropped_block
    }

    fn drop_oldest_block(&mut self) {
        while self.places.front().is_some_and(|place| place.block == self.oldest_block) {
            self.places.pop_front();
            self.oldest += 1;
        }
        self.blocks.pop_front();
        self.oldest_block += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::Toward;
    use std::net::IpAddr;
    use wire::inner::{Flow, Inner, UDP};

    fn push(store: &mut PayloadStore, payload: &[u8], client: Client) -> bool {
        let address = IpAddr::from([10, 0, 0, 1]);
        let flow = Flow {
            source: address,
            destination: address,
            protocol: UDP,
            source_port: 1,
            destination_port: 2,
        };
        let inner = Inner { flow, tcp_sequence: None, payload_offset: 0, total_bytes: 0, traffic_class: 0 };
        let toward = Toward::Client;
        store.push(&Packet { bytes: payload, inner: &inner, client, toward, retransmitted: false })
    }

    #[test]
    fn what_was_stored_is_found_under_its_number_until_it_is_dropped() {
        let mut store = PayloadStore::new(usize::MAX, 2 * BLOCK_BYTES);
        let payload = |number: u64| vec![number as u8; 60_000];
        let mut dropped_blocks = 0;
        for number in 0..400 {
            assert_eq!(store.next(), number);
            dropped_blocks += u32::from(push(&mut store, &payload(number), number as Client));
        }
        assert!(dropped_blocks > 1 && store.was_full());
        assert!((400 - store.oldest()) * 60_000 <= 2 * BLOCK_BYTES as u64);
        for number in 0..400 {
            let expected = payload(number);
            let stored = Stored { payload: &expected, client: number as Client };
            assert_eq!(store.get(number), (number >= store.oldest()).then_some(stored));
        }
        assert_eq!(store.get(400), None);
    }

    #[test]
    fn a_bound_in_packets_is_kept_and_is_no_lack_of_memory() {
        let mut store = PayloadStore::new(10, 1 << 30);
        (0..100).for_each(|number| _ = push(&mut store, b"payload", number));
        assert_eq!((store.oldest(), store.next()), (90, 100));
        assert!(!store.was_full());
    }

    #[test]
    fn many_tiny_packets_are_bounded_too() {
        let mut store = PayloadStore::new(usize::MAX, 0);
        let room = (2 * BLOCK_BYTES / size_of::<Place>()) as u64;
        (0..room as Client + 5).for_each(|number| _ = push(&mut store, b"x", number));
        assert_eq!(store.next() - store.oldest(), room);
        assert!(store.was_full());
    }
}
