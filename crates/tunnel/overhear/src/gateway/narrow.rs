//! The cache of a station that has fewer slots than its gateway, as the gateway sees it.
//!
//! Several of the gateway's slots share one of the station's. Which of them stands there, the gateway must
//! remember.

/// Which of the gateway's slots each of the station's slots holds.
#[derive(Debug)]
pub struct NarrowCache {
    slot_bits: u8,
    /// The bits that the station's slot lacks, plus 1; 0: none.
    holders: Vec<u16>,
}

impl NarrowCache {
    /// An empty cache of 2^`slot_bits` slots.
    pub fn new(slot_bits: u8) -> Self {
        NarrowCache { slot_bits, holders: vec![0; 1 << slot_bits] }
    }

    /// How many bits the station's slots have.
    pub fn slot_bits(&self) -> u8 {
        self.slot_bits
    }

    fn split(&self, slot: u32) -> (usize, u16) {
        // the gateway has at most ten bits more
        ((slot & ((1 << self.slot_bits) - 1)) as usize, (slot >> self.slot_bits) as u16 + 1)
    }

    /// The station keeps the chunk of this slot of the gateway, in place of another.
    pub fn fill(&mut self, slot: u32) {
        let (narrow, holder) = self.split(slot);
        self.holders[narrow] = holder;
    }

    /// Whether it is this slot's chunk that the station keeps.
    pub fn holds(&self, slot: u32) -> bool {
        let (narrow, holder) = self.split(slot);
        self.holders[narrow] == holder
    }

    /// The station's cache is empty.
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
