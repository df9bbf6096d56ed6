//! The stored packets of one generation, by sequence.
//!
//! Slots are dense and in order. A group tells which of its 64 sequences have one, and where the first of
//! them is. A sequence without a stored packet costs a byte.

use super::log::Location;
use std::collections::VecDeque;

/// Sequences of a group.
const GROUP: u64 = 64;
/// The rank of a sequence without a slot.
const NONE: u8 = u8::MAX;

/// A stored packet without its bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Slot {
    pub(super) at: Location,
    pub(super) flow: u32,
    pub(super) length: u16,
    pub(super) payload_start: u16,
    pub(super) payload_end: u16,
    pub(super) confirmed: bool,
    pub(super) lost: bool,
}

#[derive(Debug, Clone, Copy)]
struct Group {
    /// Of each sequence with a slot, how many slots of the group came before its own.
    ranks: [u8; GROUP as usize],
    /// A bit for each sequence with a slot, the lowest first.
    present: u64,
    /// Number of the group's first slot, counted from the beginning. It may have left.
    first: u32,
    /// The rank behind the last one.
    next: u8,
}

impl Group {
    fn new(first: u32) -> Self {
        Group { ranks: [NONE; GROUP as usize], present: 0, first, next: 0 }
    }

    /// Number of a sequence's slot.
    fn number(&self, sequence: u64) -> Option<u32> {
        let rank = self.ranks[(sequence % GROUP) as usize];
        (rank != NONE).then(|| self.first.wrapping_add(rank.into()))
    }

    /// Gives a sequence its rank, and returns the number of its slot.
    fn insert(&mut self, sequence: u64) -> u32 {
        let at = sequence % GROUP;
        let mut higher = self.present & !(u64::MAX >> (GROUP - 1 - at));
        let mut rank = self.next;
        if higher != 0 {
            rank = self.ranks[higher.trailing_zeros() as usize];
        }
        while higher != 0 {
            self.ranks[higher.trailing_zeros() as usize] += 1;
            higher &= higher - 1;
        }
        self.ranks[at as usize] = rank;
        self.present |= 1 << at;
        self.next += 1;
        self.first.wrapping_add(rank.into())
    }

    /// Takes the lowest sequence out.
    fn pop_lowest(&mut self) {
        if self.present != 0 {
            self.ranks[self.present.trailing_zeros() as usize] = NONE;
            self.present &= self.present - 1;
        }
    }
}

/// The slots and groups.
#[derive(Debug, Clone, Default)]
pub(super) struct Directory {
    slots: VecDeque<Slot>,
    /// Number of the first slot.
    front: u32,
    groups: VecDeque<Group>,
    /// Number of the first group: its sequences divided by 64.
    base: u64,
}

impl Directory {
    /// Bytes of memory.
    pub(super) fn size_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>() + self.groups.capacity() * size_of::<Group>()
    }

    fn position(&self, sequence: u64) -> Option<usize> {
        let group = (sequence / GROUP).checked_sub(self.base)?;
        let number = self.groups.get(usize::try_from(group).ok()?)?.number(sequence)?;
        Some(number.wrapping_sub(self.front) as usize)
    }

    pub(super) fn get(&self, sequence: u64) -> Option<&Slot> {
        self.slots.get(self.position(sequence)?)
    }

    pub(super) fn get_mut(&mut self, sequence: u64) -> Option<&mut Slot> {
        let position = self.position(sequence)?;
        self.slots.get_mut(position)
    }

    /// Enters a sequence that is not there. The caller bounds its distance from the others.
    pub(super) fn insert(&mut self, sequence: u64, slot: Slot) {
        let number = sequence / GROUP;
        if self.groups.is_empty() {
            self.base = number;
        }
        while number < self.base {
            self.groups.push_front(Group::new(self.front));
            self.base -= 1;
        }
        let at = (number - self.base) as usize;
        while self.groups.len() <= at {
            self.groups.push_back(Group::new(self.front.wrapping_add(self.slots.len() as u32)));
        }
        let position = self.groups[at].insert(sequence).wrapping_sub(self.front) as usize;
        if position == self.slots.len() {
            self.slots.push_back(slot);
        } else {
            self.slots.insert(position, slot);
        }
        for group in self.groups.range_mut(at + 1..) {
            group.first = group.first.wrapping_add(1);
        }
    }

    /// The lowest sequence.
    pub(super) fn lowest(&self) -> Option<u64> {
        let at = self.groups.iter().position(|group| group.present != 0)?;
        Some((self.base + at as u64) * GROUP + u64::from(self.groups[at].present.trailing_zeros()))
    }

    /// Takes the lowest sequence out.
    pub(super) fn pop_lowest(&mut self) -> Option<(u64, Slot)> {
        let lowest = self.lowest()?;
        self.forget_groups_below(lowest);
        let slot = self.slots.pop_front()?;
        self.groups.front_mut()?.pop_lowest();
        self.front = self.front.wrapping_add(1);
        Some((lowest, slot))
    }

    /// Forgets the groups of lower sequences only. They have no slots.
    pub(super) fn forget_groups_below(&mut self, sequence: u64) {
        while self.base < sequence / GROUP && self.groups.pop_front().is_some() {
            self.base += 1;
        }
    }

    /// All sequences, in order.
    pub(super) fn sequences(&self) -> impl Iterator<Item = u64> + '_ {
        (self.base..).zip(&self.groups).flat_map(|(number, group)| {
            (0..GROUP).filter(|bit| group.present & 1 << bit != 0).map(move |bit| number * GROUP + bit)
        })
    }

    /// Gives memory back that a smaller store does not need.
    pub(super) fn shrink(&mut self) {
        self.slots.shrink_to(self.slots.len() + self.slots.len() / 4);
        self.groups.shrink_to(self.groups.len() + self.groups.len() / 4);
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        *self = Directory::default();
    }
}
