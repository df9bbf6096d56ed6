//! The gateway's model of a station's cache with fewer slots than its own.
//!
//! Several slots of the gateway share one slot of the station. The model records which one occupies it.

/// For each slot of the station, the gateway's slot that occupies it.
#[derive(Debug)]
pub struct NarrowCache {
    slot_bits: u8,
    /// The bits that the station's slot lacks, plus 1; 0 means empty.
    holders: Vec<u16>,
}

impl NarrowCache {
    /// An empty cache of 2^`slot_bits` slots.
    pub fn new(slot_bits: u8) -> Self {
        NarrowCache { slot_bits, holders: vec![0; 1 << slot_bits] }
    }

    /// The station's number of slots is two to this.
    pub fn slot_bits(&self) -> u8 {
        self.slot_bits
    }

    fn split(&self, slot: u32) -> (usize, u16) {
        // The gateway's slots have at most ten bits more.
        ((slot & ((1 << self.slot_bits) - 1)) as usize, (slot >> self.slot_bits) as u16 + 1)
    }

    /// Notes that the station stored the chunk of this gateway's slot.
    pub fn fill(&mut self, slot: u32) {
        let (narrow, holder) = self.split(slot);
        self.holders[narrow] = holder;
    }

    /// Whether the station has the chunk of this gateway's slot.
    pub fn holds(&self, slot: u32) -> bool {
        let (narrow, holder) = self.split(slot);
        self.holders[narrow] == holder
    }

    /// Notes that the station's cache is empty.
    pub fn clear(&mut self) {
        self.holders.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_slots_that_share_one_the_last_is_held() {
        let mut narrow = NarrowCache::new(14);
        let (first, second) = (5, 5 | 1 << 14 | 1 << 23);
        narrow.fill(first);
        assert!(narrow.holds(first) && !narrow.holds(second) && !narrow.holds(6));
        narrow.fill(second);
        assert!(!narrow.holds(first) && narrow.holds(second));
        narrow.clear();
        assert!(!narrow.holds(second));
    }
}
