//! How many anchors are kept: fewer where what repeats is long, which fewer find as well.
//!
//! A region of `n` bytes has about `n` / 2^k anchors, and one is enough. Looking anchors up and entering them
//! is most of the work that is not the scan, because each waits for memory. An anchor that is kept when few
//! are is kept when many are, too, so that entries made at one density are found at another.

/// Anchors that a region of the mean length is to have: with five, one such region in 150 has none.
const ANCHORS_A_REGION: u32 = 5;
/// The number of anchors is halved at most this often.
const MOST_HALVINGS: u32 = 2;
/// The mean is over about so many regions.
const REGIONS: u32 = 32;

/// Follows the length of what repeats.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Density {
    sample_bits: u32,
    most_halvings: u32,
    /// Times [`REGIONS`].
    mean_bytes: u32,
}

impl Density {
    /// Of anchors of which one in 2^`sample_bits` windows has one at first.
    pub(crate) fn adaptive(sample_bits: u32) -> Self {
        Density { sample_bits, most_halvings: MOST_HALVINGS, mean_bytes: 0 }
    }

    /// Always the same.
    pub(crate) fn fixed() -> Self {
        Density { sample_bits: 0, most_halvings: 0, mean_bytes: 0 }
    }

    /// Notes that a region of so many bytes was found.
    pub(crate) fn found(&mut self, length: usize) {
        self.mean_bytes += length as u32;
        self.mean_bytes -= self.mean_bytes / REGIONS;
    }

    /// How often the number of anchors is to be halved now.
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
