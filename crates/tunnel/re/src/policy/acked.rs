//! Packets that the receiver has confirmed: the default.
//!
//! What the receiver confirmed it holds, and goes on holding for as long as the sender does (see
//! [`crate::store`]), so every packet that arrives can be restored. The price is that what was sent within
//! the last round trip cannot be referred to.

use super::ReferencePolicy;
use crate::store::Stored;
use wire::inner::Inner;

/// Refers to what the receiver holds.
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
}
