//! Packets that the receiver has confirmed, and where the hop repairs its losses also those that are on their way.
//!
//! With hop ARQ a packet that the receiver lacks is one that it is about to get, and in-order release makes the end
//! hosts wait for it anyway: to refer to it costs nothing. Without, this is [`super::Acked`]. What was reported lost is
//! not referred to until it is confirmed, so that whatever ARQ gives up takes nothing along that was sent after.

use super::ReferencePolicy;
use crate::store::Stored;
use wire::inner::Inner;

/// Refers to what the receiver holds or is about to get.
#[derive(Debug, Clone, Copy, Default)]
pub struct Adaptive {
    losses_are_repaired: bool,
}

impl ReferencePolicy for Adaptive {
    fn admit(&mut self, _: u64, _: &Inner) -> bool {
        true
    }

    fn may_refer(&self, stored: &Stored<'_>) -> bool {
        stored.confirmed || (self.losses_are_repaired && !stored.lost)
    }

    fn waits_for_confirmation(&self) -> bool {
        !self.losses_are_repaired
    }

    fn losses_are_repaired(&mut self, repaired: bool) {
        self.losses_are_repaired = repaired;
    }
}
