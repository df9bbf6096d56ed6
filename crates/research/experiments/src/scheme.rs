//! The compared systems: no tunnel, a tunnel without redundancy elimination, and a tunnel with each policy.

mod parts;

pub use parts::{Part, Parts};

use std::fmt;
use std::str::FromStr;

use published::form::PAPER;
use published::policy::{self, CACHE_FLUSH, INFORMED_MARKING, NAIVE, RETRIEVE_ON_MISS, TCP_SEQ, distance};
use re::{Form, Policy};

use crate::pair::Carrier;

/// One side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// No tunnel at all.
    Bare,
    /// The tunnel with some parts of [`Scheme::ADAPTIVE`].
    Parts(Parts),
    /// The tunnel, with this policy and this way of writing references.
    Tunnel {
        /// The packets that may be referred to.
        policy: Policy,
        /// Encoding of references.
        form: Form,
    },
}

impl Scheme {
    /// The tunnel with redundancy elimination and all else off: what the papers are measured against.
    pub const OFF: Self = Self::Tunnel { policy: Policy::Off, form: Form::Compact };
    /// References to confirmed packets only.
    pub const ACKED: Self = Self::Tunnel { policy: Policy::Acked, form: Form::Compact };
    /// The project's default: references to packets in flight, because the hop repairs its losses.
    pub const ADAPTIVE: Self = Self::Tunnel { policy: Policy::Adaptive, form: Form::Compact };
    /// What needs no redundancy elimination of it: zstd of each packet, and the hop's repair of its losses.
    pub const OFF_ZSTD_ARQ: Self = Self::Parts(Parts::NONE.with(Part::Literals).with(Part::Repair));
    /// The default without the compression of literals.
    pub const ADAPTIVE_WITHOUT_LITERALS: Self = Self::Parts(Parts::ALL.without(Part::Literals));
    /// The policy of the byte-caching paper, section V-A.
    pub const CACHE_FLUSH: Self = Self::paper(CACHE_FLUSH);
    /// Section V-B as printed: references reach every flow.
    pub const TCP_SEQ: Self = Self::paper(TCP_SEQ);
    /// The same within a flow: our change.
    pub const TCP_SEQ_IN_FLOW: Self = Self::paper(policy::TCP_SEQ_IN_FLOW);
    /// Section V-C as printed, with the k of Table II.
    pub const K_DISTANCE: Self = Self::paper(policy::K_DISTANCE);
    /// The same with tcp-seq-in-flow's rule for segments: our change.
    pub const K_DISTANCE_IN_FLOW: Self = Self::paper(policy::K_DISTANCE_IN_FLOW);
    /// Section IV: no policy at all.
    pub const NAIVE: Self = Self::paper(NAIVE);

    /// The paper's three policies as printed, which its claims are judged on.
    pub const PAPERS: [Self; 3] = [Self::CACHE_FLUSH, Self::TCP_SEQ, Self::K_DISTANCE];

    /// All that the grid compares but for naive: the three baselines, the paper's policies, and others.
    pub const COMPARED: [Self; 12] = [
        Self::OFF,
        Self::Bare,
        Self::OFF_ZSTD_ARQ,
        Self::CACHE_FLUSH,
        Self::TCP_SEQ,
        Self::K_DISTANCE,
        Self::TCP_SEQ_IN_FLOW,
        Self::K_DISTANCE_IN_FLOW,
        Self::paper(INFORMED_MARKING),
        // It requests packets by number, which the paper's fields do not have.
        Self::Tunnel { policy: RETRIEVE_ON_MISS, form: Form::Compact },
        Self::paper(Policy::Acked),
        Self::ACKED,
    ];

    /// A policy that writes the paper's fields of 14 bytes.
    #[must_use]
    pub const fn paper(policy: Policy) -> Self {
        Self::Tunnel { policy, form: PAPER }
    }

    /// k-distance with any k.
    #[must_use]
    pub const fn k_distance(k: u32) -> Self {
        Self::paper(policy::k_distance(k))
    }

    /// Whether it is a baseline, not something to be judged by one.
    #[must_use]
    pub fn is_baseline(self) -> bool {
        self == Self::OFF_ZSTD_ARQ || matches!(self, Self::Bare | Self::Tunnel { policy: Policy::Off, .. })
    }
}

impl From<Parts> for Scheme {
    /// All and none are the default and off.
    fn from(parts: Parts) -> Self {
        match parts {
            Parts::ALL => Self::ADAPTIVE,
            Parts::NONE => Self::OFF,
            _ => Self::Parts(parts),
        }
    }
}

impl From<Scheme> for Carrier {
    fn from(scheme: Scheme) -> Self {
        match scheme {
            Scheme::Bare => Self::Bare,
            Scheme::Parts(parts) => {
                Self::Tunnel { policy: parts.policy().to_string(), settings: parts.settings() }
            }
            Scheme::Tunnel { policy, form } => match (distance(policy), form) {
                (Some(k), form) => Self::Tunnel {
                    policy: policy::K_DISTANCE.to_string(),
                    settings: format!("k = {k}\nform = \"{form}\""),
                },
                (None, Form::Compact) => Self::tunnel(&policy.to_string()),
                (None, form) => {
                    Self::Tunnel { policy: policy.to_string(), settings: format!("form = \"{form}\"") }
                }
            },
        }
    }
}

impl FromStr for Scheme {
    type Err = String;

    /// Reads the name of a scheme, or a policy with any k.
    fn from_str(name: &str) -> Result<Self, String> {
        let known = Self::COMPARED
            .into_iter()
            .chain([Self::NAIVE, Self::ADAPTIVE])
            .chain(Parts::one_by_one().map(Self::from));
        if let Some(scheme) = known.clone().find(|scheme| scheme.to_string() == name) {
            return Ok(scheme);
        }
        match policy::named(name).ok().and_then(distance) {
            Some(k) => Ok(Self::k_distance(k)),
            None => {
                let names: Vec<String> = known.map(|scheme| scheme.to_string()).collect();
                Err(format!("no scheme is called {name:?}; there are {} and k-distance=K", names.join(", ")))
            }
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bare => f.write_str("bare"),
            Self::Parts(parts) => parts.fmt(f),
            Self::Tunnel { policy: Policy::Acked, form } if *form == PAPER => {
                f.write_str("acked (paper form)")
            }
            Self::Tunnel { policy, .. } => policy.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_schemes_bear_one_name() {
        let schemes = Scheme::COMPARED.into_iter().chain([Scheme::NAIVE, Scheme::k_distance(50)]);
        let names: HashSet<String> = schemes.map(|scheme| scheme.to_string()).collect();
        assert_eq!(names.len(), Scheme::COMPARED.len() + 2);
        assert!(names.contains("k-distance") && names.contains("k-distance=50"));
    }

    #[test]
    fn the_fair_baseline_compresses_and_repairs_and_removes_nothing() {
        let Carrier::Tunnel { policy, settings } = Carrier::from(Scheme::OFF_ZSTD_ARQ) else {
            panic!("a tunnel");
        };
        assert_eq!(policy, "arq-only");
        assert_eq!(settings, "[shorten]\nheaders = false\nliterals = true\npacking = false");
        assert!(Scheme::OFF_ZSTD_ARQ.is_baseline());
    }

    #[test]
    fn every_scheme_reads_back_its_own_name() {
        for scheme in Scheme::COMPARED.into_iter().chain([Scheme::NAIVE, Scheme::k_distance(50)]) {
            assert_eq!(scheme.to_string().parse(), Ok(scheme));
        }
        assert!("k-distance=x".parse::<Scheme>().unwrap_err().contains("cache-flush"));
    }

    #[test]
    fn every_scheme_is_one_that_a_node_accepts() {
        for scheme in Scheme::COMPARED.into_iter().chain([Scheme::NAIVE]) {
            if let Scheme::Tunnel { policy, form } = scheme {
                re::Parameters { policy, form, ..re::Parameters::default() }.validate().unwrap();
            }
        }
    }
}
