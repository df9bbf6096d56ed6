//! The switches of mechanisms.

use std::fmt;

/// What can be switched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// Redundancy elimination between a node and its peer.
    Reduce,
    /// Removal of what stations have overheard.
    Overhear,
    /// Repair of TCP segments beside the air.
    Recover,
    /// The web cache at the gateway.
    Cache,
    /// Congestion control that knows the removed bytes.
    Boost,
}

impl Mechanism {
    /// All of them; those that any kernel has first.
    pub const ALL: [Self; 5] = [Self::Reduce, Self::Overhear, Self::Recover, Self::Cache, Self::Boost];
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reduce => "RE",
            Self::Overhear => "overhearing",
            Self::Recover => "recovery",
            Self::Cache => "cache",
            Self::Boost => "boost",
        })
    }
}

/// A set of mechanisms: those that are on, by their place in [`Mechanism::ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Combination(u8);

impl Combination {
    /// Nothing but the tunnel.
    pub const NOTHING: Self = Self(0);

    /// Every combination of the first `count` mechanisms.
    pub fn of_first(count: usize) -> impl Iterator<Item = Self> {
        (0..1 << count).map(Self)
    }

    /// The first `count` mechanisms together.
    pub fn all_of_first(count: usize) -> Self {
        Self((1 << count) - 1)
    }

    /// Whether a mechanism is on.
    pub fn has(self, mechanism: Mechanism) -> bool {
        self.0 & bit(mechanism) != 0
    }

    /// With a mechanism switched.
    pub fn switched(self, mechanism: Mechanism) -> Self {
        Self(self.0 ^ bit(mechanism))
    }
}

fn bit(mechanism: Mechanism) -> u8 {
    1 << mechanism as u8
}

impl fmt::Display for Combination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NOTHING {
            return f.write_str("nothing");
        }
        let on: Vec<String> =
            Mechanism::ALL.into_iter().filter(|it| self.has(*it)).map(|it| it.to_string()).collect();
        f.write_str(&on.join(" + "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_are_all_different_and_named_for_what_is_on() {
        let names: std::collections::BTreeSet<String> =
            Combination::of_first(5).map(|combination| combination.to_string()).collect();
        assert_eq!(names.len(), 32);
        let all = Combination::all_of_first(4);
        assert_eq!(all.to_string(), "RE + overhearing + recovery + cache");
        assert_eq!(all.switched(Mechanism::Overhear).to_string(), "RE + recovery + cache");
        assert_eq!(Combination::NOTHING.to_string(), "nothing");
    }
}
