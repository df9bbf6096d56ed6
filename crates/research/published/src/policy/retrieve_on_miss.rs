//! Any packet; a receiver that lacks one requests it (byte-caching paper, section VIII).
//!
//! References are as free as under `naive`. The difference is the handling of a miss: the receiver requests
//! the missing packets, and [`re::Encoder::original`] supplies them. An original is sent unchanged, which
//! ends the chain of dependencies.

use re::policy::ReferencePolicy;
use re::store::Stored;
use wire::inner::Inner;

/// Allows every reference.
#[derive(Debug, Clone, Copy)]
pub struct RetrieveOnMiss;

impl ReferencePolicy for RetrieveOnMiss {
    fn admit(&mut self, _: u64, _: &Inner) -> bool {
        true
    }

    fn may_refer(&self, _: &Stored<'_>) -> bool {
        true
    }
}
