//! The packets of one direction, by link sequence, within a bound in bytes.
//!
//! Both ends of a direction keep one. One rule keeps them equal without messages: *beyond the bound, the
//! lowest sequence is dropped first, in any order of arrival.* Let S be the sender's packets, and R, a subset
//! of S, the receiver's. The sender keeps the longest tail of S, by sequence, that fits. The receiver drops a
//! packet only if the packets of R from its sequence on do not fit; then those of S do not fit either. So the
//! receiver has every packet that the sender still has, if it received it.
//!
//! A delayed packet that newer ones overtook may refer to packets that have left the sender's store. The
//! receiver therefore keeps a little more than the sender ([`receiver_bytes`]).
//!
//! The bytes are in one ring, in order of arrival, and are freed from the oldest end. A packet with a high
//! sequence that arrived early is moved to the head when its place is freed. The ring exceeds the bound so
//! that moves are rare. Nothing is allocated per packet.

use crate::pages::Pages;
use prefetch_index::prefetch_index;
use std::collections::VecDeque;
use std::ops::Range;

/// Cost of a packet against the bound beyond its bytes: its share of the tables.
pub const OVERHEAD_BYTES: usize = 64;

/// Bytes of the ring that are fetched before they are written: a packet of the usual size.
const AHEAD_BYTES: usize = 1536;
/// Bytes that a processor fetches together.
const LINE_BYTES: usize = 64;

/// Bytes that a receiver keeps for a sender that keeps `store_bytes`. The surplus is an eighth, and at least
/// the size of a burst of overtaking packets.
#[must_use]
pub fn receiver_bytes(store_bytes: usize) -> usize {
    store_bytes.saturating_add((store_bytes / 8).max(256 << 10))
}

/// A stored packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored<'a> {
    /// Its link sequence.
    pub sequence: u64,
    /// The packet at the entry of the tunnel.
    pub packet: &'a [u8],
    /// Range of its transport payload.
    pub payload: Range<usize>,
    /// Tag of its flow; 0 where flows are not distinguished.
    pub flow: u32,
    /// The receiver holds the packet, by its latest report.
    pub confirmed: bool,
    /// The receiver has once reported the packet lost.
    pub lost: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    sequence: u64,
    start: u32,
    /// Zero marks an empty slot.
    length: u16,
    payload_start: u16,
    payload_end: u16,
    flow: u32,
    confirmed: bool,
    lost: bool,
}

/// The store.
#[derive(Debug, Clone)]
pub struct PacketStore {
    bound_bytes: usize,
    used_bytes: usize,
    /// Slots by sequence modulo `slot_count`, which is a power of two. Room for all is reserved. They are
    /// written with the first use, so that an idle peer takes no memory for them.
    slots: Vec<Slot>,
    slot_count: usize,
    /// One above the highest sequence inserted. With `span` it bounds the sequences that may be held.
    end: u64,
    /// Lower bound of the sequences held.
    lowest: u64,
    /// The largest distance of a sequence below `end`.
    span: u64,
    ring: Pages,
    head: usize,
    /// Contents of the ring, oldest first: sequence and start. Some entries may be stale.
    order: VecDeque<(u64, u32)>,
}

impl PacketStore {
    /// A store for at most `bound_bytes`, [`OVERHEAD_BYTES`] a packet included.
    #[must_use]
    pub fn new(bound_bytes: usize) -> Self {
        let bound_bytes = bound_bytes.min(1 << 30);
        let longest_packet = bound_bytes.min(usize::from(u16::MAX));
        // The quarter makes moves rare. The ring loses at most twice the longest packet where it wraps.
        let ring_bytes = bound_bytes + bound_bytes / 4 + 2 * longest_packet;
        // One slot for 256 bytes leaves room for sequences without a stored packet.
        let slot_count = (bound_bytes / 256).next_power_of_two().max(64);
        PacketStore {
            bound_bytes,
            used_bytes: 0,
            slots: Vec::with_capacity(slot_count),
            slot_count,
            end: 0,
            lowest: 0,
            span: (bound_bytes / 256).max(64) as u64,
            ring: Pages::zeroed(ring_bytes),
            head: 0,
            order: VecDeque::new(),
        }
    }

    /// Sets another bound. If it is smaller, the lowest sequences leave.
    pub fn set_bound_bytes(&mut self, bound_bytes: usize) {
        if bound_bytes.min(1 << 30) == self.bound_bytes {
            return;
        }
        let mut held: Vec<u64> = self.sequences_by_arrival().collect();
        held.sort_unstable();
        let mut next = PacketStore::new(bound_bytes);
        for sequence in held {
            let Some(stored) = self.get(sequence) else { continue };
            if next.insert_of_flow(sequence, stored.flow, stored.packet, stored.payload.clone())
                && let Some(slot) = next.slot_mut(sequence)
            {
                (slot.confirmed, slot.lost) = (stored.confirmed, stored.lost);
            }
        }
        next.end = next.end.max(self.end);
        *self = next;
    }

    /// Bytes of memory now.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.ring.len()
            + self.slots.capacity() * size_of::<Slot>()
            + self.order.capacity() * size_of::<(u64, u32)>()
    }

    /// Bytes of memory of a store that has been full.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.ring.len() + self.slot_count * size_of::<Slot>()
    }

    fn slot_of(&self, sequence: u64) -> usize {
        sequence as usize & (self.slot_count - 1)
    }

    fn slot(&self, sequence: u64) -> Option<&Slot> {
        let slot = self.slots.get(self.slot_of(sequence))?;
        (slot.length != 0 && slot.sequence == sequence).then_some(slot)
    }

    fn slot_mut(&mut self, sequence: u64) -> Option<&mut Slot> {
        let at = self.slot_of(sequence);
        let slot = self.slots.get_mut(at)?;
        (slot.length != 0 && slot.sequence == sequence).then_some(slot)
    }

    /// The packet with this link sequence, if it is held.
    #[must_use]
    pub fn get(&self, sequence: u64) -> Option<Stored<'_>> {
        let slot = self.slot(sequence)?;
        let start = slot.start as usize;
        Some(Stored {
            sequence,
            packet: &self.ring[start..start + usize::from(slot.length)],
            payload: usize::from(slot.payload_start)..usize::from(slot.payload_end),
            flow: slot.flow,
            confirmed: slot.confirmed,
            lost: slot.lost,
        })
    }

    /// Whether the packet with this link sequence is held.
    #[must_use]
    pub fn holds(&self, sequence: u64) -> bool {
        self.slot(sequence).is_some()
    }

    /// Whether a packet is confirmed and in the newer half of the sequences that may be held. Both ends then
    /// keep it for as many more packets.
    #[must_use]
    pub fn stays(&self, sequence: u64) -> bool {
        let is_young = sequence >= self.lowest + (self.end - self.lowest) / 2;
        is_young && self.slot(sequence).is_some_and(|slot| slot.confirmed)
    }

    /// The highest link sequence inserted; 0 before the first.
    #[must_use]
    pub fn newest(&self) -> u64 {
        self.end.saturating_sub(1)
    }

    /// The bytes held, [`OVERHEAD_BYTES`] a packet included; never more than the bound.
    #[must_use]
    pub fn used_bytes(&self) -> usize {
        self.used_bytes
    }

    /// The link sequences held, in order of arrival.
    pub fn sequences_by_arrival(&self) -> impl Iterator<Item = u64> + '_ {
        self.order
            .iter()
            .filter(|&&(sequence, start)| self.stands_at(sequence, start))
            .map(|&(sequence, _)| sequence)
    }

    /// Marks the packet confirmed. Returns whether it was not before.
    pub fn confirm(&mut self, sequence: u64) -> bool {
        self.slot_mut(sequence).is_some_and(|slot| !std::mem::replace(&mut slot.confirmed, true))
    }

    /// Marks the packet lost and no longer confirmed. Returns whether it was not lost before. A later
    /// confirmation is possible, because a packet reported missing may only be late.
    pub fn report_lost(&mut self, sequence: u64) -> bool {
        self.slot_mut(sequence).is_some_and(|slot| {
            slot.confirmed = false;
            !std::mem::replace(&mut slot.lost, true)
        })
    }

    /// Inserts a packet and drops the lowest sequences, possibly this one, until the bound holds. A packet
    /// that is present stays unchanged. Returns whether the packet was inserted.
    pub fn insert(&mut self, sequence: u64, packet: &[u8], payload: Range<usize>) -> bool {
        self.insert_of_flow(sequence, 0, packet, payload)
    }

    /// As [`insert`](PacketStore::insert), with the tag of its flow.
    pub fn insert_of_flow(&mut self, sequence: u64, flow: u32, packet: &[u8], payload: Range<usize>) -> bool {
        let cost = packet.len() + OVERHEAD_BYTES;
        let Ok(length) = u16::try_from(packet.len()) else { return false };
        let oldest_allowed = self.end.saturating_sub(self.span);
        if length == 0 || cost > self.bound_bytes || sequence < oldest_allowed || self.holds(sequence) {
            return false;
        }
        let Some(end) = sequence.checked_add(1) else { return false };
        self.end = self.end.max(end);
        self.drop_below(self.end.saturating_sub(self.span));
        while self.used_bytes + cost > self.bound_bytes {
            if sequence <= self.lowest {
                return false;
            }
            self.remove(self.lowest);
            self.lowest += 1;
        }
        let Some(start) = self.make_room(packet.len()) else { return false };
        self.lowest = self.lowest.min(sequence);
        self.ring[start..start + packet.len()].copy_from_slice(packet);
        self.order.push_back((sequence, start as u32));
        self.used_bytes += cost;
        for ahead in (0..AHEAD_BYTES).step_by(LINE_BYTES) {
            prefetch_index(&self.ring[..], self.head + ahead);
        }
        let payload_end = payload.end.min(packet.len()) as u16;
        let at = self.slot_of(sequence);
        if at >= self.slots.len() {
            self.slots.resize(at + 1, Slot::default());
        }
        self.slots[at] = Slot {
            sequence,
            start: start as u32,
            length,
            payload_start: payload_end.min(payload.start.min(packet.len()) as u16),
            payload_end,
            flow,
            confirmed: false,
            lost: false,
        };
        true
    }

    /// Forgets every packet.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.order.clear();
        (self.used_bytes, self.end, self.lowest, self.head) = (0, 0, 0, 0);
    }

    fn drop_below(&mut self, oldest_allowed: u64) {
        while self.lowest < oldest_allowed {
            if self.used_bytes == 0 {
                self.lowest = oldest_allowed;
                break;
            }
            self.remove(self.lowest);
            self.lowest += 1;
        }
    }

    fn remove(&mut self, sequence: u64) {
        if let Some(slot) = self.slot_mut(sequence) {
            let length = std::mem::take(&mut slot.length);
            self.used_bytes -= usize::from(length) + OVERHEAD_BYTES;
        }
    }

    fn stands_at(&self, sequence: u64, start: u32) -> bool {
        self.slot(sequence).is_some_and(|slot| slot.start == start)
    }

    /// Reserves `count` bytes at the ring's head, and frees its oldest bytes as needed.
    fn make_room(&mut self, count: usize) -> Option<usize> {
        loop {
            if let Some(start) = self.take_room(count) {
                return Some(start);
            }
            let (sequence, start) = self.order.pop_front()?;
            if self.stands_at(sequence, start) {
                self.move_to_head(sequence, start as usize);
            }
        }
    }

    /// Moves a packet from the ring's oldest end to its head. Its former place guarantees room.
    fn move_to_head(&mut self, sequence: u64, start: usize) {
        let length = self.slot(sequence).map_or(0, |slot| usize::from(slot.length));
        if let Some(to) = self.take_room(length) {
            self.ring.copy_within(start..start + length, to);
            self.order.push_back((sequence, to as u32));
            if let Some(slot) = self.slot_mut(sequence) {
                slot.start = to as u32;
            }
        } else {
            self.remove(sequence);
        }
    }

    /// Reserves `count` free bytes at the ring's head, or at its start if the end is too near.
    fn take_room(&mut self, count: usize) -> Option<usize> {
        let (free_at_head, free_at_start) = match self.order.front() {
            None => (0, self.ring.len()),
            Some(&(_, oldest)) if self.head <= oldest as usize => (oldest as usize - self.head, 0),
            Some(&(_, oldest)) => (self.ring.len() - self.head, oldest as usize),
        };
        let start = if count <= free_at_head {
            self.head
        } else if count <= free_at_start {
            0
        } else {
            return None;
        };
        self.head = start + count;
        Some(start)
    }
}
