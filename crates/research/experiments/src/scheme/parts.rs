//! The parts of the default tunnel, which are switched one by one.

use std::fmt;

use published::policy::ARQ_ONLY;
use re::Policy;

/// A part of the default tunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Redundancy elimination.
    Reduce,
    /// Compression of literals by zstd, each packet for itself.
    Literals,
    /// Headers as differences from confirmed ones.
    Headers,
    /// Several packets in one datagram.
    Packing,
    /// The hop's repair of its losses (ARQ).
    Repair,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Reduce, Self::Literals, Self::Headers, Self::Packing, Self::Repair];
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reduce => "RE",
            Self::Literals => "literals",
            Self::Headers => "headers",
            Self::Packing => "packing",
            Self::Repair => "ARQ",
        })
    }
}

/// The parts that are on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Parts(u8);

impl Parts {
    /// None: the plain tunnel.
    pub const NONE: Self = Self(0);
    /// All: the default tunnel.
    pub const ALL: Self = Self((1 << Part::ALL.len()) - 1);

    /// With a part on.
    #[must_use]
    pub const fn with(self, part: Part) -> Self {
        Self(self.0 | 1 << part as u8)
    }

    /// With a part off.
    #[must_use]
    pub const fn without(self, part: Part) -> Self {
        Self(self.0 & !(1 << part as u8))
    }

    /// Whether a part is on.
    #[must_use]
    pub fn has(self, part: Part) -> bool {
        self.0 & 1 << part as u8 != 0
    }

    /// None, each part alone, each part left out, and all.
    pub fn one_by_one() -> impl Iterator<Item = Self> + Clone {
        let alone = Part::ALL.into_iter().map(|part| Self::NONE.with(part));
        let left_out = Part::ALL.into_iter().map(|part| Self::ALL.without(part));
        std::iter::once(Self::NONE).chain(alone).chain(left_out).chain([Self::ALL])
    }

    /// The policy of nodes with these parts. Without repair the default equals `acked`.
    #[must_use]
    pub fn policy(self) -> Policy {
        match (self.has(Part::Reduce), self.has(Part::Repair)) {
            (true, true) => Policy::Adaptive,
            (true, false) => Policy::Acked,
            (false, true) => ARQ_ONLY,
            (false, false) => Policy::Off,
        }
    }

    /// The lines of a node's configuration after the policy.
    #[must_use]
    pub fn settings(self) -> String {
        let [headers, literals, packing] =
            [Part::Headers, Part::Literals, Part::Packing].map(|part| self.has(part));
        format!("[shorten]\nheaders = {headers}\nliterals = {literals}\npacking = {packing}")
    }
}

impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |on| {
            let parts = Part::ALL.into_iter().filter(|part| self.has(*part) == on);
            parts.map(|part| part.to_string()).collect::<Vec<_>>()
        };
        match (names(true), names(false)) {
            (on, _) if on.is_empty() => f.write_str("off"),
            (_, off) if off.is_empty() => f.write_str("adaptive"),
            (on, off) if on.len() < off.len() => write!(f, "off with {}", on.join(" + ")),
            (_, off) => write!(f, "adaptive without {}", off.join(" + ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn parts_that_are_switched_one_by_one_differ_in_name_and_configuration() {
        let parts: Vec<Parts> = Parts::one_by_one().collect();
        let names: BTreeSet<String> = parts.iter().map(Parts::to_string).collect();
        let nodes: BTreeSet<String> =
            parts.iter().map(|parts| format!("{} {}", parts.policy(), parts.settings())).collect();
        assert_eq!((names.len(), nodes.len()), (12, 12));
        assert!(names.contains("off with ARQ") && names.contains("adaptive without RE"));
    }

    #[test]
    fn what_is_on_is_named_where_it_is_less() {
        let parts = Parts::NONE.with(Part::Literals).with(Part::Repair);
        assert_eq!(parts.to_string(), "off with literals + ARQ");
        assert_eq!(parts.without(Part::Literals).without(Part::Repair).to_string(), "off");
    }
}
