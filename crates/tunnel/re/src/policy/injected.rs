//! A policy of another crate.

use super::ReferencePolicy;
use std::fmt;
use std::hash::{Hash, Hasher};

/// A reference policy from another crate. Two policies are equal if their names and parameters are.
#[derive(Clone, Copy)]
pub struct InjectedPolicy {
    /// Its name.
    pub name: &'static str,
    /// Its parameter; `None` if it takes none or uses the default.
    pub k: Option<u32>,
    /// Describes, for a parameter, the packets that may be referred to.
    pub describe: fn(Option<u32>) -> String,
    /// Whether the sender must answer requests for packets that the receiver lacks.
    pub answers_requests: bool,
    /// Whether the hop retransmits its losses, as under [`Policy::Adaptive`](crate::Policy::Adaptive).
    pub repairs_losses: bool,
    /// Makes the policy with its parameter.
    pub make: fn(Option<u32>) -> Box<dyn ReferencePolicy>,
}

impl InjectedPolicy {
    /// Describes the packets that may be referred to.
    #[must_use]
    pub fn description(&self) -> String {
        (self.describe)(self.k)
    }

    /// Makes the policy with its parameter.
    #[must_use]
    pub fn build(&self) -> Box<dyn ReferencePolicy> {
        (self.make)(self.k)
    }
}

impl PartialEq for InjectedPolicy {
    fn eq(&self, other: &Self) -> bool {
        (self.name, self.k) == (other.name, other.k)
    }
}

impl Eq for InjectedPolicy {}

impl Hash for InjectedPolicy {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.name, self.k).hash(state);
    }
}

impl fmt::Display for InjectedPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.k {
            None => f.write_str(self.name),
            Some(k) => write!(f, "{}={k}", self.name),
        }
    }
}

impl fmt::Debug for InjectedPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
