//! Spring and Wetherall's encoder unchanged: any earlier packet.
//!
//! One lost packet stalls a TCP connection permanently (byte-caching paper, section IV). The retransmission
//! of the lost segment refers to a packet that refers to the lost segment, and then to itself.

use re::policy::ReferencePolicy;
use re::store::Stored;
use wire::inner::Inner;

/// Allows every reference.
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
