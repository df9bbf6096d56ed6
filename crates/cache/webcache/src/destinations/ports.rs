//! Ports and port ranges.

use std::ops::RangeInclusive;
use std::str::FromStr;

/// A set of ports.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ports(Vec<RangeInclusive<u16>>);

/// The text is neither a port nor a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no port and no range of ports")]
pub struct NoPorts;

impl Ports {
    /// Whether the set contains a port.
    #[must_use]
    pub fn contains(&self, port: u16) -> bool {
        self.0.iter().any(|range| range.contains(&port))
    }
}

impl From<Vec<u16>> for Ports {
    fn from(ports: Vec<u16>) -> Self {
        Ports(ports.into_iter().map(|port| port..=port).collect())
    }
}

impl FromIterator<Ports> for Ports {
    fn from_iter<I: IntoIterator<Item = Ports>>(sets: I) -> Self {
        Ports(sets.into_iter().flat_map(|set| set.0).collect())
    }
}

/// Parses "80" or "1025-65535".
impl FromStr for Ports {
    type Err = NoPorts;

    fn from_str(text: &str) -> Result<Self, NoPorts> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let port = |digits: &str| digits.trim().parse().map_err(|_| NoPorts);
        let (first, last): (u16, u16) = (port(first)?, port(last)?);
        if first == 0 || first > last { Err(NoPorts) } else { Ok(Ports(vec![first..=last])) }
    }
}
