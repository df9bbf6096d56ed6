//! Ways to treat redundancy: the paper's REfactor as printed, its comparators, and ours.

use std::fmt;

use overhear::boundaries::MinChunk;

/// A bar of the paper's figures 5 to 7, or one beyond them.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub enum Scheme {
    /// The paper's system as printed ([`as_printed`](super::as_printed)), with these estimates.
    AsPrinted(Estimates),
    /// The same, which removes all that the gateway's cache holds (*greedy RE*).
    GreedyAsPrinted,
    /// The same, in which everybody overhears everything (*perfect overhearing with collisions*).
    PerfectOverhearing,
    /// Whole chunks in caches without bounds, which everybody overhears (*perfect RE*).
    Perfect,
    /// Nothing (*no RE*).
    Nothing,
    /// Ours: exact receipts and an adaptive threshold.
    Receipts,
    /// Ours with whole chunks only.
    WholeChunks,
    /// Ours with the product's smallest chunk of 64 bytes. All others cut chunks of at least 32 bytes.
    LongerChunks,
    /// Ours, with several packets to one station in a datagram.
    Packed,
    /// Our codec, which removes all that the gateway's cache holds.
    Greedy,
    /// Our chunks and parts, with knowledge of each reception at once and at no cost.
    PerfectKnowledge,
    /// The ceiling: the longest match against all that the station has heard, with knowledge at no cost.
    MaxMatch,
    /// The paper's system with these additions.
    With(Additions),
}

/// The probability with which the gateway expects a station to overhear another's packet.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub enum Estimates {
    /// Section 3.2.1: by both stations' rates and the paper's Table 1.
    TableOne,
    /// The true probability for full packets, plus this many percentage points.
    TrueAnd(f64),
    /// The share of 512 earlier full packets that was overheard.
    Learnt,
}

/// Additions to the paper's system, one by one. All of them together are [`Scheme::Receipts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
pub struct Additions {
    /// Gear finds boundaries, not MAXP.
    pub gear: bool,
    /// The newer of two chunks takes the slot, and a MAC proves restored packets.
    pub replaces: bool,
    /// Parts of chunks are removed.
    pub parts: bool,
    /// Whether stations report overheard packets.
    pub receipts: bool,
    /// The threshold of the model adapts.
    pub adapts: bool,
    /// The cache has at least four slots for each chunk of the trace.
    pub roomy: bool,
}

impl Additions {
    /// No addition: the paper's system.
    pub const NONE: Self =
        Self { gear: false, replaces: false, parts: false, receipts: false, adapts: false, roomy: false };
    /// All additions.
    pub const ALL: Self =
        Self { gear: true, replaces: true, parts: true, receipts: true, adapts: true, roomy: true };
    /// How many there are.
    pub const COUNT: usize = 6;

    /// The additions by name.
    #[must_use]
    pub fn named(self) -> [(&'static str, bool); Self::COUNT] {
        let Self { gear, replaces, parts, receipts, adapts, roomy } = self;
        [
            ("Gear", gear),
            ("replacement and MAC", replaces),
            ("parts", parts),
            ("receipts", receipts),
            ("adaptive threshold", adapts),
            ("roomy cache", roomy),
        ]
    }

    /// The same with addition `number` (from 0) switched.
    #[must_use]
    pub fn switched(mut self, number: usize) -> Self {
        let additions = [
            &mut self.gear,
            &mut self.replaces,
            &mut self.parts,
            &mut self.receipts,
            &mut self.adapts,
            &mut self.roomy,
        ];
        if let Some(addition) = additions.into_iter().nth(number) {
            *addition = !*addition;
        }
        self
    }
}

impl Scheme {
    /// The paper's REfactor, on which the paper's claims are judged.
    pub const PAPER: Self = Self::AsPrinted(Estimates::TableOne);

    /// The paper's with the other reading of its cache: the trace does not fill it.
    pub const PAPER_ROOMY: Self = Self::With(Additions { roomy: true, ..Additions::NONE });

    /// Those of figures 5 to 7, in the order of a legend: the paper's five, its other readings, ours.
    pub const OF_FIGURES: [Self; 14] = [
        Self::PAPER,
        Self::GreedyAsPrinted,
        Self::PerfectOverhearing,
        Self::Perfect,
        Self::Nothing,
        Self::PAPER_ROOMY,
        Self::AsPrinted(Estimates::TrueAnd(0.0)),
        Self::Receipts,
        Self::WholeChunks,
        Self::LongerChunks,
        Self::Packed,
        Self::Greedy,
        Self::PerfectKnowledge,
        Self::MaxMatch,
    ];

    /// The additions to the paper's system; none where there is no codec.
    #[must_use]
    pub fn additions(self) -> Option<Additions> {
        match self {
            Self::AsPrinted(_) | Self::GreedyAsPrinted | Self::PerfectOverhearing => Some(Additions::NONE),
            Self::With(additions) => Some(additions),
            Self::Receipts | Self::LongerChunks | Self::Packed | Self::Greedy => Some(Additions::ALL),
            Self::WholeChunks => Some(Additions { parts: false, ..Additions::ALL }),
            Self::Perfect | Self::Nothing | Self::PerfectKnowledge | Self::MaxMatch => None,
        }
    }

    /// Whether stations report overheard packets.
    #[must_use]
    pub fn needs_receipts(self) -> bool {
        self != Self::Greedy && self.additions().is_some_and(|additions| additions.receipts)
    }

    /// Whether a MAC proves restored packets.
    #[must_use]
    pub fn has_mac(self) -> bool {
        self.additions().is_some_and(|additions| additions.replaces)
    }

    /// Whether the cache is the paper's, scaled, and not one with room for the whole trace.
    #[must_use]
    pub fn has_scaled_cache(self) -> bool {
        self.additions().is_some_and(|additions| !additions.roomy)
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
            Self::AsPrinted(estimates) => write!(f, "as printed, {estimates}"),
            Self::GreedyAsPrinted => f.write_str("as printed, greedy RE"),
            Self::PerfectOverhearing => f.write_str("as printed, perfect overhearing with collisions"),
            Self::Perfect => f.write_str("as printed, perfect RE"),
            Self::Nothing => f.write_str("no RE"),
            Self::Receipts => f.write_str("receipts"),
            Self::WholeChunks => f.write_str("receipts, whole chunks"),
            Self::LongerChunks => f.write_str("receipts, chunks from 64 B on"),
            Self::Packed => f.write_str("receipts, packed"),
            Self::Greedy => f.write_str("our codec, greedy RE"),
            Self::PerfectKnowledge => f.write_str("our codec, perfect knowledge"),
            Self::MaxMatch => f.write_str("ceiling, max-match of what was heard"),
            Self::With(additions) => additions.fmt(f),
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

impl fmt::Display for Additions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |wanted: bool| {
            let named = self.named().into_iter().filter(move |(_, is)| *is == wanted);
            named.map(|(name, _)| name).collect::<Vec<_>>()
        };
        match (of(true), of(false)) {
            (with, _) if with.is_empty() => f.write_str("as printed"),
            (_, without) if without.is_empty() => f.write_str("ours"),
            (with, without) if with.len() <= without.len() => {
                write!(f, "as printed with {}", with.join(", "))
            }
            (_, without) => write!(f, "ours without {}", without.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_addition_is_switched_by_itself_and_has_a_name() {
        for number in 0..Additions::COUNT {
            let (alone, without) = (Additions::NONE.switched(number), Additions::ALL.switched(number));
            let name = alone.named()[number].0;
            assert_eq!(alone.to_string(), format!("as printed with {name}"));
            assert_eq!(without.to_string(), format!("ours without {name}"));
            assert_eq!(alone.named().iter().filter(|(_, is)| *is).count(), 1);
        }
    }

    #[test]
    fn the_papers_schemes_have_nothing_of_ours_and_stand_first() {
        for scheme in &Scheme::OF_FIGURES[..5] {
            assert!(scheme.additions().is_none_or(|additions| additions == Additions::NONE), "{scheme}");
            assert!(!scheme.needs_receipts() && !scheme.has_mac() && !scheme.packs(), "{scheme}");
        }
        assert_eq!(Scheme::OF_FIGURES[0], Scheme::PAPER);
    }
}
