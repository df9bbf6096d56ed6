//! Confirmed packets, and sent ones where the hop repairs its losses.
//!
//! With hop ARQ the receiver gets a lacking packet soon, and TCP waits for it in any case, because it
//! delivers in order. A reference to it is therefore free. Without hop ARQ, and for packets that are not TCP,
//! the policy equals [`super::Acked`]: a datagram does not wait for the loss of another. A packet reported
//! lost is not referred to before its confirmation, so a packet that ARQ gives up affects no later one.

use super::ReferencePolicy;
use crate::store::Stored;
use wire::inner::{Inner, TCP};

/// Refers to packets that the receiver holds or gets soon.
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
        !(self.losses_are_repaired && self.may_wait)
    }

    fn always_waits(&self) -> bool {
        !self.losses_are_repaired
    }

    fn set_losses_repaired(&mut self, repaired: bool) {
        self.losses_are_repaired = repaired;
    }
}
