//! Kinds of traffic: the shares of repetition, their receivers, and the pieces.

use std::fmt;

use crate::papers;

/// The paper's three traces (section 5.3), by how much of the traffic repeats across clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mix {
    /// 49% across clients, 1% within a client.
    High,
    /// 23% and 24%.
    Medium,
    /// 4% and 46%.
    Low,
}

impl Mix {
    /// All of them, in the order of the paper's figures 5, 6 and 7.
    pub const ALL: [Self; 3] = [Self::High, Self::Low, Self::Medium];

    /// The shares of the paper: of all bytes, those that only the other client received before, and those
    /// that the same client did.
    #[must_use]
    pub fn inter_and_intra(self) -> (f64, f64) {
        let (inter, intra) = match self {
            Self::High => ("section-5.3/trace-high/inter", "section-5.3/trace-high/intra"),
            Self::Medium => ("section-5.3/trace-medium/inter", "section-5.3/trace-medium/intra"),
            Self::Low => ("section-5.3/trace-low/inter", "section-5.3/trace-low/intra"),
        };
        let share = |id| papers::REFACTOR.value(id).number().share().get();
        (share(inter), share(intra))
    }

    /// The chances that something fresh comes again, at the other client and at the same, if what belongs to
    /// a flow alone takes this share of all bytes. Each repeats once at most, so that both together are at
    /// most 1.
    pub(super) fn chances(self, own_share: f64) -> (f64, f64) {
        let (inter, intra) = self.inter_and_intra();
        let fresh = 1.0 - own_share - inter - intra;
        let scale = 1.0 / (inter + intra).max(fresh);
        (inter * scale, intra * scale)
    }

    /// As on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The pieces in which content repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Objects of 4 to 60 KB.
    Whole,
    /// Pieces of 80 to 780 bytes.
    Fine,
}

impl Kind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Whole, Self::Fine];

    /// As on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Fine => "fine",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
