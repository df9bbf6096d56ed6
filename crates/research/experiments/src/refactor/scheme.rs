//! What is done about redundancy: REfactor, and what the paper compares it with.

use std::fmt;

use overhear::boundaries::MinChunk;

/// A bar of the paper's figures 5 to 7, or one beyond them.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub enum Scheme {
    /// Nothing (*no RE*).
    Nothing,
    /// All that the gateway's cache holds is removed (*greedy RE*).
    Greedy,
    /// By the model of section 3.2.2, on what is taken to be overheard.
    Model(Estimates),
    /// The default: stations say what they overheard, and the threshold adapts.
    Receipts,
    /// The same without parts of chunks, as the paper has it.
    WholeChunks,
    /// Receipts with the default's smallest chunk of 64 bytes. All others here cut chunks of 32 bytes and
    /// more, 64 in the mean as the paper's are.
    LongerChunks,
    /// Receipts, and packets to the same station share a datagram.
    Packed,
    /// Everybody overhears everything, in caches that are too small (*perfect overhearing with collisions*).
    PerfectOverhearing,
    /// Everybody overhears everything, and keeps it (*perfect RE*).
    Perfect,
    /// The same of what each was sent and did overhear, which the access point knows at once and for nothing:
    /// what no knowledge of receptions can surpass.
    PerfectKnowledge,
}

/// How likely a station is taken to overhear what is sent to another.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub enum Estimates {
    /// Section 3.2.1: by the rates of both and the paper's Table 1.
    TableOne,
    /// What is true of full packets, and so many percentage points more.
    TrueAnd(f64),
    /// What was overheard of some full packets before.
    Learnt,
}

impl Scheme {
    /// Those of figures 5 to 7, in the order of a legend.
    pub const OF_FIGURES: [Self; 11] = [
        Self::Nothing,
        Self::Greedy,
        Self::Model(Estimates::TableOne),
        Self::Model(Estimates::Learnt),
        Self::Receipts,
        Self::WholeChunks,
        Self::LongerChunks,
        Self::Packed,
        Self::PerfectKnowledge,
        Self::PerfectOverhearing,
        Self::Perfect,
    ];

    /// Whether stations have to say what they overheard.
    #[must_use]
    pub fn needs_receipts(self) -> bool {
        matches!(self, Self::Receipts | Self::WholeChunks | Self::LongerChunks | Self::Packed)
    }

    /// The smallest chunk.
    #[must_use]
    pub fn min_chunk(self) -> MinChunk {
        if self == Self::LongerChunks { MinChunk::Bytes64 } else { MinChunk::Bytes32 }
    }

    /// Whether packets to the same station share a datagram.
    #[must_use]
    pub fn packs(self) -> bool {
        self == Self::Packed
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("no RE"),
            Self::Greedy => f.write_str("greedy RE"),
            Self::Model(estimates) => write!(f, "{estimates}"),
            Self::Receipts => f.write_str("receipts"),
            Self::WholeChunks => f.write_str("receipts, whole chunks"),
            Self::LongerChunks => f.write_str("receipts, chunks from 64 B on"),
            Self::Packed => f.write_str("receipts, packed"),
            Self::PerfectOverhearing => f.write_str("perfect overhearing with collisions"),
            Self::Perfect => f.write_str("perfect RE"),
            Self::PerfectKnowledge => f.write_str("perfect RE of what was heard"),
        }
    }
}

impl fmt::Display for Estimates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TableOne => f.write_str("Table 1's estimates"),
            Self::TrueAnd(0.0) => f.write_str("true estimates"),
            Self::TrueAnd(points) => write!(f, "estimates {points:+} points"),
            Self::Learnt => f.write_str("learnt estimates"),
        }
    }
}
