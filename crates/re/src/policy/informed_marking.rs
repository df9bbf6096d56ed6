//! Any packet that the receiver has not reported lost (Lumezanu, Guo, Spring, Bhattacharjee, "The effect of
//! packet loss on redundancy elimination in cellular wireless networks", IMC 2010).
//!
//! Until the report arrives, which takes a round trip, packets still refer to the lost one.

use super::ReferencePolicy;
use crate::store::Stored;
use wire::inner::Inner;

/// Refers to what is not known to be lost.
#[derive(Debug, Clone, Copy)]
pub struct InformedMarking;

impl ReferencePolicy for InformedMarking {
    fn admit(&mut self, _: u64, _: &Inner) -> bool {
        true
    }

    fn may_refer(&self, stored: &Stored<'_>) -> bool {
        !stored.lost
    }
}
