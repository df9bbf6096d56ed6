//! Any packet; a receiver that lacks one asks for it (byte-caching paper, section VIII).
//!
//! As free as `naive` in what it refers to. The difference lies in what happens on a miss: the receiver asks
//! for the missing packets, and [`re::Encoder::original`] has them. An original is sent as it is, so that
//! the chain of what depends on what ends there.

use re::policy::ReferencePolicy;
use re::store::Stored;
use wire::inner::Inner;

/// Refers to anything.
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
