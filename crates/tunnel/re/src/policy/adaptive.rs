//! Packets that the receiver has confirmed, and where the hop repairs its losses also those that are on their
//! way.
//!
//! With hop ARQ a packet that the receiver lacks is one that it is about to get, and TCP, which hands nothing
//! on out of order, waits for it anyway: to refer to it costs nothing. Without, this is [`super::Acked`], and
//! so it is for whatever is not TCP: a datagram that is not lost itself is not made to wait for another. What
//! was reported lost is not referred to until it is confirmed, so that whatever ARQ gives up takes nothing
//! along that was sent after.

use super::ReferencePolicy;
use crate::store::Stored;
use wire::inner::{Inner, TCP};

/// Refers to what the receiver holds or is about to get.
#[derive(Debug, Clone, Copy, Default)]
pub struct Adaptive {
    losses_are_repaired: bool,
    may_wait: bool,
}

impl ReferencePolicy for Adaptive {
    fn admit(&mut self, _: u64, inner: &Inner) -> bool {
        self.may_wait = inner.flow.protocol == TCP;
        true
    }

    fn may_refer(&self, stored: &Stored<'_>) -> bool {
        stored.confirmed || (self.losses_are_repaired && self.may_wait && !stored.lost)
    }

    fn waits_for_confirmation(&self) -> bool {
        !self.losses_are_repaired
    }

    fn set_losses_repaired(&mut self, repaired: bool) {
        self.losses_are_repaired = repaired;
    }
}
