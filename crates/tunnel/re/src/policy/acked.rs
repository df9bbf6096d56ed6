//! The default policy: only confirmed packets.
//!
//! The receiver holds a confirmed packet as long as the sender does (see [`crate::store`]), so every packet
//! that arrives can be restored. The cost: packets of the last round trip cannot be referred to.

use super::ReferencePolicy;
use crate::store::Stored;
use wire::inner::Inner;

/// Refers to packets that the receiver holds.
#[derive(Debug, Clone, Copy)]
pub struct Acked;

impl ReferencePolicy for Acked {
    fn admit(&mut self, _: u64, _: &Inner) -> bool {
        true
    }

    fn may_refer(&self, stored: &Stored<'_>) -> bool {
        stored.confirmed
    }

    fn waits_for_confirmation(&self) -> bool {
        true
    }

    fn always_waits(&self) -> bool {
        true
    }
}
