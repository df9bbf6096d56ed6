//! Number of anchors: fewer where repetitions are long, because fewer anchors find them as well.
//!
//! A region of `n` bytes has about `n` / 2^k anchors, and one suffices. Apart from the scan, most of the work
//! is to look anchors up and to enter them, because each access waits for memory. A sparse set of anchors is
//! a subset of a dense one, so entries made at one density are found at another.

/// Anchors that a region of mean length has. With five, one such region in 150 has none.
const ANCHORS_A_REGION: u32 = 5;
/// Number of regions that the mean covers.
const REGIONS: u32 = 32;

/// Mean length of regions, and the density that follows from it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Density {
    sample_bits: u32,
    most_halvings: u32,
    /// Mean length in bytes, multiplied by [`REGIONS`].
    mean_bytes: u32,
}

/// The largest number of halvings.
const MOST_HALVINGS: u32 = 2;

impl Density {
    /// A density that starts with one anchor in 2^`sample_bits` windows and adapts.
    pub(crate) fn adaptive(sample_bits: u32) -> Self {
        Density { sample_bits, most_halvings: MOST_HALVINGS, mean_bytes: 0 }
    }

    /// A density that never changes.
    pub(crate) fn fixed() -> Self {
        Density { sample_bits: 0, most_halvings: 0, mean_bytes: 0 }
    }

    /// Notes a region of `length` bytes.
    pub(crate) fn found(&mut self, length: usize) {
        self.mean_bytes += length as u32;
        self.mean_bytes -= self.mean_bytes / REGIONS;
    }

    /// Number of halvings at the lowest density.
    pub(crate) fn most_halvings(&self) -> u32 {
        self.most_halvings
    }

    /// Number of halvings for the next packet.
    pub(crate) fn halvings(&self) -> u32 {
        let anchors = (self.mean_bytes / REGIONS) >> self.sample_bits;
        (anchors / ANCHORS_A_REGION).checked_ilog2().unwrap_or(0).min(self.most_halvings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_regions_need_few_anchors_and_short_ones_all() {
        let mut density = Density::adaptive(4);
        assert_eq!(density.halvings(), 0, "nothing is known yet");
        let mut after = |length, count| {
            (0..count).for_each(|_| density.found(length));
            density.halvings()
        };
        assert_eq!(after(400, 200), 2);
        assert_eq!(after(200, 200), 1);
        assert_eq!(after(65_535, 1000), 2, "the most");
        assert_eq!(after(60, 400), 0);
        assert_eq!(Density::fixed().halvings(), 0);
    }
}
