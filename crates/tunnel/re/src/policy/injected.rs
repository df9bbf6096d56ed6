//! A policy that another crate brings.

use super::ReferencePolicy;
use std::fmt;
use std::hash::{Hash, Hasher};

/// A reference policy from outside this crate, and what others must know of it. Two are the same when their
/// names and parameters are.
#[derive(Clone, Copy)]
pub struct InjectedPolicy {
    /// Its name.
    pub name: &'static str,
    /// Its parameter; `None` if it takes none, or has its usual value.
    pub k: Option<u32>,
    /// Says which packets it lets others refer to, with its parameter.
    pub describe: fn(Option<u32>) -> String,
    /// Whether it works only if the sender answers requests for packets that the receiver lacks.
    pub answers_requests: bool,
    /// Whether the hop sends again what it lost, as it does under
    /// [`Policy::Adaptive`](crate::Policy::Adaptive).
    pub repairs_losses: bool,
    /// Makes the policy, with its parameter.
    pub make: fn(Option<u32>) -> Box<dyn ReferencePolicy>,
}

impl InjectedPolicy {
    /// Says which packets it lets others refer to.
    #[must_use]
    pub fn description(&self) -> String {
        (self.describe)(self.k)
    }

    /// Makes the policy.
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
