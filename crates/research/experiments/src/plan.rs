//! The extent of a run.

use crate::cell::File;
use crate::scheme::Scheme;

/// The extent of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Everything, with enough seeds for narrow intervals.
    Whole,
    /// A few cells of every figure and few seeds: all of them in 20 minutes on two processors.
    Quick,
    /// A corner of every figure: for drivers in real time.
    Corner,
}

/// How much of the paper is run, and with how many seeds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// How much.
    pub extent: Extent,
    /// How many seeds in every cell; each figure's own number when absent.
    pub seeds: Option<u32>,
    /// Which run Figure 14 traces.
    pub trace: Traced,
}

/// A run with traced dependencies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Traced {
    /// The downloaded file.
    pub file: File,
    /// How.
    pub scheme: Scheme,
    /// Percent of packets lost.
    pub loss_percent: f64,
    /// The seed.
    pub seed: u64,
}

impl Default for Traced {
    /// The paper traces TCP sequence number encoding.
    fn default() -> Self {
        Self { file: File::One, scheme: Scheme::TCP_SEQ, loss_percent: 1.0, seed: 1 }
    }
}

impl Plan {
    /// One of three values, by extent.
    #[must_use]
    pub fn choose<T>(&self, whole: T, quick: T, corner: T) -> T {
        match self.extent {
            Extent::Whole => whole,
            Extent::Quick => quick,
            Extent::Corner => corner,
        }
    }

    /// How many seeds a cell gets, by extent, unless the user wants another number.
    #[must_use]
    pub fn seeds(&self, whole: u32, quick: u32, corner: u32) -> u32 {
        self.seeds.unwrap_or_else(|| self.choose(whole, quick, corner)).max(1)
    }
}
