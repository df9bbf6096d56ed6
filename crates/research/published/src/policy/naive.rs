//! Spring and Wetherall's encoder as it is: any packet sent before.
//!
//! One lost packet stalls a TCP connection for good (byte-caching paper, section IV): the repetition of the
//! lost segment is encoded by means of a packet that was encoded by means of the lost segment, then by means
//! of itself.

use re::policy::ReferencePolicy;
use re::store::Stored;
use wire::inner::Inner;

/// Refers to anything.
#[derive(Debug, Clone, Copy)]
pub struct Naive;

impl ReferencePolicy for Naive {
    fn admit(&mut self, _: u64, _: &Inner) -> bool {
        true
    }

    fn may_refer(&self, _: &Stored<'_>) -> bool {
        true
    }
}
