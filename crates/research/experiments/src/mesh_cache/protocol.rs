//! The paper's architectures and cache selection protocols, as configurations of `overheard cache`.

use std::fmt;

/// Where content is kept, and how a copy is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Protocol {
    /// A1: a cache at the gateway.
    Default,
    /// A2.
    Thcp,
    Bcp,
    Ghcp,
    /// A3.
    PhThcp,
    PhBcp,
    PhGhcp,
    /// A3, searching where it pays: ours.
    Auto,
}

impl Protocol {
    pub(super) const PAPER: [Self; 7] =
        [Self::Default, Self::Thcp, Self::PhThcp, Self::Bcp, Self::PhBcp, Self::Ghcp, Self::PhGhcp];

    /// What the configuration calls architecture and selection.
    fn keys(self) -> (&'static str, &'static str) {
        match self {
            Self::Default => ("gateway", "tree"),
            Self::Thcp => ("access", "tree"),
            Self::Bcp => ("access", "broadcast"),
            Self::Ghcp => ("access", "grid"),
            Self::PhThcp => ("hop-by-hop", "tree"),
            Self::PhBcp => ("hop-by-hop", "broadcast"),
            Self::PhGhcp => ("hop-by-hop", "grid"),
            Self::Auto => ("hop-by-hop", "auto"),
        }
    }

    /// Whether a router that is neither the gateway nor anybody's access router has a cache.
    pub(super) fn is_everywhere(self) -> bool {
        ![Self::Default, Self::Thcp].contains(&self)
    }

    /// The lines of `[cache]` that say so.
    pub(super) fn lines(self) -> String {
        let (architecture, selection) = self.keys();
        format!("architecture = \"{architecture}\"\nselection = \"{selection}\"\n")
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Default => "Default",
            Self::Thcp => "THCP",
            Self::Bcp => "BCP",
            Self::Ghcp => "GHCP",
            Self::PhThcp => "PH-THCP",
            Self::PhBcp => "PH-BCP",
            Self::PhGhcp => "PH-GHCP",
            Self::Auto => "PH-auto",
        })
    }
}
