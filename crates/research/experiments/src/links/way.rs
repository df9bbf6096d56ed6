//! The compared ways over the link: what carries the packets, and the TCP of both ends.

use std::collections::BTreeMap;
use std::fmt;

use crate::pair::Carrier;
use crate::scheme::Scheme;

/// One way over the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Way {
    /// What carries the packets.
    pub scheme: Scheme,
    /// The congestion control of both ends.
    pub control: &'static str,
}

impl Way {
    /// Nothing of ours, with Linux's usual congestion control.
    pub const BARE: Self = Self::with(Scheme::Bare, "cubic");
    /// The same with bbr.
    pub const BARE_BBR: Self = Self::with(Scheme::Bare, "bbr");
    /// A tunnel that removes and repairs nothing.
    pub const OFF: Self = Self::with(Scheme::OFF, "cubic");
    /// The default tunnel.
    pub const DEFAULT: Self = Self::with(Scheme::ADAPTIVE, "cubic");
    /// The same with bbr inside.
    pub const DEFAULT_BBR: Self = Self::with(Scheme::ADAPTIVE, "bbr");
    /// All of them.
    pub const ALL: [Self; 5] = [Self::BARE, Self::BARE_BBR, Self::OFF, Self::DEFAULT, Self::DEFAULT_BBR];

    const fn with(scheme: Scheme, control: &'static str) -> Self {
        Self { scheme, control }
    }

    /// What carries the packets.
    pub fn carrier(self) -> Carrier {
        self.scheme.into()
    }

    /// Kernel parameters of both ends.
    pub fn parameters(self) -> BTreeMap<String, String> {
        [("net.ipv4.tcp_congestion_control".to_owned(), self.control.to_owned())].into()
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.scheme, self.control)
    }
}
