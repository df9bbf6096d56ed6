//! The paper's architectures and cache selection protocols, as configurations of `overheard cache`.

use std::fmt;

/// Location of content, and method of finding a copy.
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

    /// Whether routers other than the gateway and access routers have a cache.
    pub(super) fn is_everywhere(self) -> bool {
        ![Self::Default, Self::Thcp].contains(&self)
    }

    /// The lines of `[cache]` for it.
    pub(super) fn lines(self) -> String {
        let (architecture, selection) = self.keys();
        format!("architecture = \"{architecture}\"\nselection = \"{selection}\"\n")
    }
}

/// What of ours is in a router's cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Form {
    /// Nothing: LRU, the gateway itself where no copy is nearer, and whole searches. Every router passes a
    /// search on once (section 4.2.2), and the searcher collects answers until the timeout (section 7.3).
    AsPrinted,
    /// A search ends when a neighbour has answered, and a router with the content does not pass it on.
    EarlyEnd,
    /// S3-FIFO replaces content.
    S3Fifo,
    /// A copy counts as near though it is farther than the gateway, by what the uplink is worth in hops.
    Uplink,
    /// All three.
    Ours,
}

impl Form {
    /// The policy of `[store]`.
    pub(super) fn policy(self) -> &'static str {
        if matches!(self, Self::S3Fifo | Self::Ours) { "s3-fifo" } else { "lru" }
    }

    /// Whether the uplink counts.
    pub(super) fn counts_uplink(self) -> bool {
        matches!(self, Self::Uplink | Self::Ours)
    }

    /// The program and its subcommand that run a cache. The laboratory's has whole searches.
    pub(super) fn program(self) -> &'static str {
        if matches!(self, Self::EarlyEnd | Self::Ours) { "{overheard} cache" } else { "{lab} cache" }
    }
}

/// A protocol in a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Variant(pub Protocol, pub Form);

impl Variant {
    /// Ours: what PH-BCP gains by each addition, and searching where it pays beside PH-THCP.
    pub(super) const OURS: [Self; 6] = [
        Self(Protocol::PhBcp, Form::EarlyEnd),
        Self(Protocol::PhBcp, Form::S3Fifo),
        Self(Protocol::PhBcp, Form::Uplink),
        Self(Protocol::PhBcp, Form::Ours),
        Self(Protocol::PhThcp, Form::Ours),
        Self(Protocol::Auto, Form::Ours),
    ];

    /// These protocols as printed, and ours.
    pub(super) fn with_ours(printed: &[Protocol]) -> Vec<Self> {
        printed.iter().map(|protocol| Self(*protocol, Form::AsPrinted)).chain(Self::OURS).collect()
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(protocol, form) = self;
        match form {
            Form::AsPrinted => protocol.fmt(f),
            Form::EarlyEnd => write!(f, "{protocol}, early end"),
            Form::S3Fifo => write!(f, "{protocol}, S3-FIFO"),
            Form::Uplink => write!(f, "{protocol}, uplink"),
            Form::Ours => write!(f, "{protocol}, ours"),
        }
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
