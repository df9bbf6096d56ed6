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
//! Short packets are many and repeat little. They have a share of the bound to themselves ([`Keeping`]), so
//! that they push out no long ones. The rule holds in each share.
//!
//! Long packets have the bound minus s. The sender's s is the sum of all short packets that ever entered, at
//! most their share. So s only grows. The receiver's s counts a subset of them, and its bound is as large at
//! least.
//!
//! Memory grows with the contents, in blocks ([`blocks`]). Nothing is allocated per packet once it is full.

mod blocks;
mod class;
mod table;

use blocks::Blocks;
use class::{Class, SEQUENCE_BITS, stands};
use std::ops::Range;
use table::{Slot, Table};
use wire::number::widen;

/// Cost of a packet against the bound beyond its bytes: its share of the tables.
pub const OVERHEAD_BYTES: usize = 64;

/// Packets with a shorter payload are short.
pub const SHORT_BYTES: usize = 256;
/// Short packets have this part of the bound: one in so many bytes.
const SHORT_SHARE: usize = 8;
/// The longest span of sequences. Truncated sequences are unique within it, and the distance of a reference
/// has 32 bits on the air.
const MOST_SPAN: u64 = 1 << 30;

/// Bytes that a receiver keeps for a sender that keeps `store_bytes`. The surplus is an eighth, and at least
/// the size of a burst of overtaking packets.
#[must_use]
pub fn receiver_bytes(store_bytes: usize) -> usize {
    store_bytes.saturating_add((store_bytes / 8).max(256 << 10))
}

/// Which packets share a bound. Both ends of a direction must have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Keeping {
    /// All of them, and one sequence for 256 bytes of the bound: as in nodes without
    /// [`wire::hello::KEEPS_APART`], and in the papers.
    Together,
    /// Those with payloads of [`SHORT_BYTES`] and more have seven eighths, and what shorter ones have not
    /// used yet of the rest.
    #[default]
    Apart,
}

impl Keeping {
    /// The bounds of the classes, for a store of so many bytes, after so many bytes of short packets.
    fn bounds(self, bound_bytes: usize, short_bytes: usize) -> [usize; CLASSES] {
        match self {
            Keeping::Together => [bound_bytes, 0],
            Keeping::Apart => {
                let share_bytes = bound_bytes / SHORT_SHARE;
                [bound_bytes - share_bytes.min(short_bytes), share_bytes]
            }
        }
    }

    /// The class of a packet with so many bytes of payload.
    fn class_of(self, payload_bytes: usize) -> usize {
        usize::from(self == Keeping::Apart && payload_bytes < SHORT_BYTES)
    }

    /// The largest distance of a sequence from the newest.
    fn span(self, bound_bytes: usize) -> u64 {
        match self {
            Keeping::Together => (bound_bytes / 256).max(64) as u64,
            Keeping::Apart => MOST_SPAN,
        }
    }
}

/// Number of classes.
const CLASSES: usize = 2;
/// The class of short packets.
const SHORT: usize = 1;

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

/// The store.
#[derive(Debug, Clone)]
pub struct PacketStore {
    keeping: Keeping,
    bound_bytes: usize,
    table: Table,
    blocks: Blocks,
    classes: [Class; CLASSES],
    /// Bytes of short packets that ever entered, or since [`PacketStore::count_short_again`].
    short_bytes: usize,
    /// One above the highest sequence inserted. With `span` it bounds the sequences that may be held.
    end: u64,
    /// The largest distance of a sequence below `end`.
    span: u64,
}

impl PacketStore {
    /// A store for at most `bound_bytes`, [`OVERHEAD_BYTES`] a packet included.
    #[must_use]
    pub fn new(bound_bytes: usize, keeping: Keeping) -> Self {
        let bound_bytes = bound_bytes.min(1 << 30);
        PacketStore {
            keeping,
            bound_bytes,
            table: Table::new(),
            blocks: Blocks::new(bound_bytes),
            classes: keeping.bounds(bound_bytes, 0).map(Class::new),
            short_bytes: 0,
            end: 0,
            span: keeping.span(bound_bytes),
        }
    }

    /// Bytes of its memory.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        let of_classes: usize = self.classes.iter().map(Class::size_bytes).sum();
        self.blocks.size_bytes() + self.table.size_bytes() + of_classes
    }

    /// Whether a packet with this sequence may be held: no other one with the same low bits is.
    fn is_in_span(&self, sequence: u64) -> bool {
        sequence < self.end && sequence >= self.end.saturating_sub(self.span)
    }

    fn slot(&self, sequence: u64) -> Option<&Slot> {
        if self.is_in_span(sequence) { self.table.get(sequence as u32) } else { None }
    }

    fn slot_mut(&mut self, sequence: u64) -> Option<&mut Slot> {
        if self.is_in_span(sequence) { self.table.get_mut(sequence as u32) } else { None }
    }

    /// The packet with this link sequence, if it is held.
    #[must_use]
    pub fn get(&self, sequence: u64) -> Option<Stored<'_>> {
        let slot = self.slot(sequence)?;
        Some(Stored {
            sequence,
            packet: self.blocks.get(slot.start, usize::from(slot.length)),
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

    /// Whether a packet is confirmed, and newer than the middle of the sequences from `lowest` on. Both ends
    /// then keep it for as many more packets.
    #[must_use]
    pub fn stays(&self, sequence: u64, lowest: u64) -> bool {
        let is_young = sequence >= lowest + self.end.saturating_sub(lowest) / 2;
        is_young && self.slot(sequence).is_some_and(|slot| slot.confirmed)
    }

    /// The highest link sequence inserted; 0 before the first.
    #[must_use]
    pub fn newest(&self) -> u64 {
        self.end.saturating_sub(1)
    }

    /// The lowest link sequence among long packets; the next one if there is none.
    pub fn lowest(&mut self) -> u64 {
        self.classes[0].lowest(&self.table, self.end.saturating_sub(1)).unwrap_or(self.end)
    }

    /// The bytes held, [`OVERHEAD_BYTES`] a packet included; never more than the bound.
    #[must_use]
    pub fn used_bytes(&self) -> usize {
        self.classes.iter().map(|class| class.used_bytes).sum()
    }

    /// The link sequences held, in order of arrival in each class.
    pub fn sequences_by_arrival(&self) -> impl Iterator<Item = u64> + '_ {
        let all = self.classes.iter().flat_map(Class::order);
        all.filter(|&(sequence, start)| stands(&self.table, sequence, start))
            .map(|(sequence, _)| widen(u64::from(sequence), SEQUENCE_BITS, self.newest()))
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

    /// Inserts a packet and drops the lowest sequences of its class, possibly this one, until the bound
    /// holds. A packet that is present stays unchanged. Returns whether the packet was inserted.
    pub fn insert(&mut self, sequence: u64, packet: &[u8], payload: Range<usize>) -> bool {
        self.insert_of_flow(sequence, 0, packet, payload)
    }

    /// As [`insert`](PacketStore::insert), with the tag of its flow.
    pub fn insert_of_flow(&mut self, sequence: u64, flow: u32, packet: &[u8], payload: Range<usize>) -> bool {
        let class = self.keeping.class_of(payload.len());
        let cost = packet.len() + OVERHEAD_BYTES;
        let Ok(length) = u16::try_from(packet.len()) else { return false };
        let oldest_allowed = self.end.saturating_sub(self.span);
        let bound_bytes = self.classes[class].bound_bytes;
        if length == 0 || cost > bound_bytes || sequence < oldest_allowed || self.holds(sequence) {
            return false;
        }
        let Some(end) = sequence.checked_add(1) else { return false };
        if end > self.end {
            self.advance(end);
        }
        let newest = self.newest();
        if class == SHORT {
            self.note_short(cost);
        }
        while self.classes[class].used_bytes + cost > bound_bytes {
            match self.classes[class].lowest(&self.table, newest) {
                Some(lowest) if lowest < sequence => self.remove(class, lowest),
                _ => return false,
            }
        }
        let payload_end = payload.end.min(packet.len()) as u16;
        let slot = Slot {
            sequence: sequence as u32,
            start: 0,
            flow,
            length,
            payload_start: payload_end.min(payload.start.min(packet.len()) as u16),
            payload_end,
            confirmed: false,
            lost: false,
        };
        self.table.reserve();
        let start = self.classes[class].make_room(packet.len(), &mut self.table, &mut self.blocks);
        if !self.table.insert(Slot { start, ..slot }) {
            return false;
        }
        self.blocks.write(start, packet);
        let class = &mut self.classes[class];
        class.arrived(sequence, start);
        class.enter(sequence, newest);
        class.used_bytes += cost;
        true
    }

    /// Long packets leave room for one more short packet.
    #[inline]
    fn note_short(&mut self, cost: usize) {
        let is_share_full = self.short_bytes >= self.classes[SHORT].bound_bytes;
        self.short_bytes = self.short_bytes.saturating_add(cost);
        if !is_share_full {
            self.apply_bounds();
        }
    }

    /// Counts only the short packets that are held. For receivers: where packets left, the same ones may
    /// enter again, and would count twice.
    pub fn count_short_again(&mut self) {
        self.short_bytes = self.classes[SHORT].used_bytes;
        self.apply_bounds();
    }

    /// Drops the lowest sequences of each class until its bound holds.
    fn apply_bounds(&mut self) {
        let newest = self.newest();
        let bounds = self.keeping.bounds(self.bound_bytes, self.short_bytes);
        for (class, bound_bytes) in bounds.into_iter().enumerate() {
            self.classes[class].bound_bytes = bound_bytes;
            while self.classes[class].used_bytes > bound_bytes
                && let Some(lowest) = self.classes[class].lowest(&self.table, newest)
            {
                self.remove(class, lowest);
            }
        }
    }

    /// Moves the end to `end`, and drops what is beyond the span then.
    fn advance(&mut self, end: u64) {
        let (before, newest) = (self.end, self.newest());
        self.end = end;
        let oldest_allowed = end.saturating_sub(self.span);
        if before > 0 && self.used_bytes() > 0 && end - before >= MOST_SPAN {
            return self.drop_all(end);
        }
        if oldest_allowed == 0 {
            return;
        }
        for class in 0..CLASSES {
            while self.classes[class].may_hold_below(oldest_allowed, newest)
                && let Some(lowest) = self.classes[class].lowest(&self.table, newest)
                && lowest < oldest_allowed
            {
                self.remove(class, lowest);
            }
        }
    }

    /// Changes the bound, drops the lowest sequences until it holds, and returns the memory beyond it.
    pub fn set_bound(&mut self, bound_bytes: usize) {
        let bound_bytes = bound_bytes.min(1 << 30);
        let is_less = bound_bytes < self.bound_bytes;
        self.bound_bytes = bound_bytes;
        self.span = self.keeping.span(bound_bytes);
        if self.used_bytes() == 0 {
            self.blocks = Blocks::new(bound_bytes);
            self.classes = [Class::new(0), Class::new(0)];
        }
        self.apply_bounds();
        if is_less && self.used_bytes() * 4 < self.blocks.size_bytes() {
            self.rebuild();
        } else if is_less {
            self.classes.iter_mut().for_each(|class| class.shrink(&self.table, &mut self.blocks));
            self.blocks.shrink();
            self.table.shrink();
        }
    }

    /// Copies the packets held to a store of their own, because pieces of memory are larger than they.
    fn rebuild(&mut self) {
        let mut rebuilt = PacketStore::new(self.bound_bytes, self.keeping);
        (rebuilt.end, rebuilt.span) = (self.end, self.span);
        for sequence in self.sequences_by_arrival() {
            let Some(stored) = self.get(sequence) else { continue };
            rebuilt.insert_of_flow(sequence, stored.flow, stored.packet, stored.payload.clone());
            if let Some(slot) = rebuilt.slot_mut(sequence) {
                (slot.confirmed, slot.lost) = (stored.confirmed, stored.lost);
            }
        }
        rebuilt.short_bytes = self.short_bytes;
        rebuilt.apply_bounds();
        *self = rebuilt;
    }

    /// The most bytes held.
    #[must_use]
    pub fn bound_bytes(&self) -> usize {
        self.bound_bytes
    }

    /// Forgets every packet, and returns the memory. The room for short packets stays.
    pub fn clear(&mut self) {
        let short_bytes = self.short_bytes;
        *self = PacketStore { short_bytes, ..PacketStore::new(self.bound_bytes, self.keeping) };
        self.apply_bounds();
    }

    fn drop_all(&mut self, end: u64) {
        self.clear();
        self.end = end;
    }

    fn remove(&mut self, class: usize, sequence: u64) {
        self.classes[class].remove(sequence as u32, &mut self.table, &mut self.blocks);
    }
}
