//! Reference policies and forms that a configuration may name.

use re::{Form, Policy};

/// The policies and forms of a program.
pub trait Policies {
    /// The policy with this name.
    fn named(&self, name: &str) -> anyhow::Result<Policy>;

    /// The policy with this k; `None` if it takes none.
    fn with_k(&self, policy: Policy, k: u32) -> Option<Policy>;

    /// The form with this name.
    fn form(&self, name: &str) -> anyhow::Result<Form>;
}

/// The product's policies, which no loss can stall.
#[derive(Debug, Clone, Copy)]
pub struct Product;

/// The papers' policies except `naive`; only the laboratory has them.
const PUBLISHED: [&str; 5] = ["cache-flush", "tcp-seq", "k-distance", "informed-marking", "retrieve-on-miss"];

/// The papers' forms.
const PUBLISHED_FORMS: [&str; 2] = ["paper", "hashed"];

/// A policy or form for experiments only.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// One lost packet stalls a connection under this policy.
    #[error(
        "naive stalls a connection for good on the first packet that is lost, because what follows refers to it; take \
         it out for the default, \"adaptive\", which no loss can stall"
    )]
    Naive,
    /// Only the laboratory has this policy.
    #[error("{0} is a paper's policy, which only overheard-lab runs; use \"adaptive\", the default")]
    Published(&'static str),
    /// Only the laboratory has this form.
    #[error("{0} is a paper's form, which only overheard-lab writes and reads; use \"compact\", the default")]
    Form(&'static str),
}

impl Policies for Product {
    fn named(&self, name: &str) -> anyhow::Result<Policy> {
        if name == "naive" {
            return Err(Refused::Naive.into());
        }
        let of_paper = |policy: &&str| name.split('=').next() == Some(*policy);
        if let Some(policy) = PUBLISHED.into_iter().find(of_paper) {
            return Err(Refused::Published(policy).into());
        }
        Ok(name.parse()?)
    }

    fn with_k(&self, _: Policy, _: u32) -> Option<Policy> {
        None
    }

    fn form(&self, name: &str) -> anyhow::Result<Form> {
        match PUBLISHED_FORMS.into_iter().find(|form| *form == name) {
            Some(form) => Err(Refused::Form(form).into()),
            None => Ok(name.parse()?),
        }
    }
}
