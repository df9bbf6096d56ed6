//! Slots of the stored packets, found by link sequence: a hash table that grows with their number.
//!
//! Eight neighbouring sequences form a group in memory, so that a flow's next packets are nearby. A hash
//! chooses the group's place and turns it, so that no pattern of sequences fills one lane. A slot that is
//! taken leads to the same lane of the next group. Sequences are truncated to 32 bits: the store's span is
//! shorter.

/// Slots of a group.
const LANES: usize = 8;
/// Groups of the smallest table.
const LEAST_GROUPS: usize = 8;
/// Tables that are tried for the slots held. If none serves, the present one stays.
const MOST_REBUILDS: usize = 4;
/// A table of fewer slots grows whenever a lane is full.
const SMALL_SLOTS: usize = 4096;
/// The most slots that a search looks at. Only a peer that chooses its sequences against the table meets it.
const MOST_STEPS: usize = 128;

/// A stored packet without its bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Slot {
    /// The low bits of its link sequence.
    pub sequence: u32,
    /// Place of its bytes.
    pub start: u32,
    /// Tag of its flow.
    pub flow: u32,
    /// Its bytes. Zero marks an empty slot.
    pub length: u16,
    pub payload_start: u16,
    pub payload_end: u16,
    pub confirmed: bool,
    pub lost: bool,
}

/// The table. At least one slot in three is empty.
#[derive(Debug, Clone)]
pub(super) struct Table {
    slots: Vec<Slot>,
    held: usize,
}

impl Table {
    /// An empty table.
    pub fn new() -> Self {
        Table { slots: vec![Slot::default(); LEAST_GROUPS * LANES], held: 0 }
    }

    /// Bytes of its memory.
    pub fn size_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>()
    }

    fn groups(&self) -> usize {
        self.slots.len() / LANES
    }

    /// Where the search for a sequence begins: group and lane.
    #[inline]
    fn home(&self, sequence: u32) -> (usize, usize) {
        let hash = u64::from(sequence / LANES as u32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let group = ((hash >> 32) * self.groups() as u64) >> 32;
        (group as usize, (sequence as usize ^ (hash >> 29) as usize) % LANES)
    }

    #[inline]
    fn next(&self, group: usize) -> usize {
        if group + 1 == self.groups() { 0 } else { group + 1 }
    }

    #[inline]
    fn find(&self, sequence: u32) -> Option<usize> {
        let (mut group, lane) = self.home(sequence);
        for _ in 0..MOST_STEPS.min(self.groups()) {
            let at = group * LANES + lane;
            let slot = &self.slots[at];
            if slot.length == 0 {
                return None;
            }
            if slot.sequence == sequence {
                return Some(at);
            }
            group = self.next(group);
        }
        None
    }

    /// The slot of this sequence.
    #[inline]
    pub fn get(&self, sequence: u32) -> Option<&Slot> {
        self.find(sequence).map(|at| &self.slots[at])
    }

    /// The slot of this sequence, for its marks and its place.
    pub fn get_mut(&mut self, sequence: u32) -> Option<&mut Slot> {
        self.find(sequence).map(|at| &mut self.slots[at])
    }

    /// Makes room for one more slot.
    pub fn reserve(&mut self) {
        if (self.held + 1) * 3 > self.slots.len() * 2 {
            self.grow();
        }
    }

    /// Inserts a slot whose sequence is absent. Returns whether there was room within a bounded search.
    pub fn insert(&mut self, slot: Slot) -> bool {
        for _ in 0..MOST_REBUILDS {
            if self.place(slot) {
                self.held += 1;
                return true;
            }
            if self.slots.len() >= SMALL_SLOTS && self.held * 4 < self.slots.len() {
                return false;
            }
            self.grow();
        }
        false
    }

    fn place(&mut self, slot: Slot) -> bool {
        let (mut group, lane) = self.home(slot.sequence);
        for _ in 0..MOST_STEPS.min(self.groups()) {
            let at = group * LANES + lane;
            if self.slots[at].length == 0 {
                self.slots[at] = slot;
                return true;
            }
            group = self.next(group);
        }
        false
    }

    /// Takes the slot of this sequence out, and closes the gap behind it.
    pub fn remove(&mut self, sequence: u32) -> Option<Slot> {
        let mut gap = self.find(sequence)?;
        let removed = std::mem::take(&mut self.slots[gap]);
        self.held -= 1;
        let (lane, groups) = (gap % LANES, self.groups());
        let mut group = self.next(gap / LANES);
        while self.slots[group * LANES + lane].length != 0 {
            let at = group * LANES + lane;
            let home = self.home(self.slots[at].sequence).0;
            // a slot fills the gap if its search passes there
            let distance = |from: usize, to: usize| if to < from { to + groups - from } else { to - from };
            if distance(home, group) >= distance(gap / LANES, group) {
                self.slots[gap] = std::mem::take(&mut self.slots[at]);
                gap = at;
            }
            group = self.next(group);
        }
        Some(removed)
    }

    fn grow(&mut self) {
        let groups = self.groups() + self.groups() / 2;
        self.rebuild(groups);
    }

    /// Moves the slots to a table of so many groups, or of more if a lane is too full.
    fn rebuild(&mut self, mut groups: usize) {
        for _ in 0..MOST_REBUILDS {
            let mut rebuilt = Table { slots: vec![Slot::default(); groups * LANES], held: self.held };
            if self.slots.iter().filter(|slot| slot.length != 0).all(|slot| rebuilt.place(*slot)) {
                *self = rebuilt;
                return;
            }
            groups += groups / 2;
        }
    }

    /// Returns memory that the slots held do not need.
    pub fn shrink(&mut self) {
        let groups = (self.held * 2).div_ceil(LANES).max(LEAST_GROUPS);
        if groups < self.groups() {
            self.rebuild(groups);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn slot(sequence: u32) -> Slot {
        Slot { sequence, length: 1, start: sequence, ..Slot::default() }
    }

    proptest! {
        #[test]
        fn what_is_inserted_and_not_removed_is_found(
            steps in prop::collection::vec((any::<u16>(), 0u32..64, any::<bool>()), 1..400),
            stride in prop::sample::select(vec![1u32, 8, 64, 1 << 20]),
        ) {
            let (mut table, mut model) = (Table::new(), BTreeSet::new());
            for (far, near, inserts) in steps {
                let sequence = (u32::from(far % 8) * 1000 + near).wrapping_mul(stride);
                if !inserts {
                    prop_assert_eq!(table.remove(sequence).is_some(), model.remove(&sequence));
                } else if model.insert(sequence) {
                    table.reserve();
                    prop_assert!(table.insert(slot(sequence)));
                }
                if near == 0 {
                    table.shrink();
                }
                for held in &model {
                    prop_assert_eq!(table.get(*held).map(|slot| slot.start), Some(*held));
                }
                prop_assert_eq!(table.held, model.len());
            }
        }
    }

    #[test]
    fn sequences_that_meet_in_one_lane_are_refused_before_a_search_gets_long() {
        let mut table = Table::new();
        for sequence in 0..30_000 {
            table.reserve();
            assert!(table.insert(slot(sequence)));
        }
        let size_bytes = table.size_bytes();
        let home = table.home(u32::MAX);
        let meeting = (1 << 20..u32::MAX).filter(|sequence| table.home(*sequence) == home).take(400);
        let meeting: Vec<u32> = meeting.collect();
        let entered = meeting.into_iter().filter(|sequence| table.insert(slot(*sequence))).count();
        assert!(entered < 400, "{entered}");
        assert!(table.size_bytes() < 3 * size_bytes);
    }
}
