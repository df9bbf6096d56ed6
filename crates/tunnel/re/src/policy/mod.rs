//! Reference policies: which stored packets a packet may refer to.
//!
//! A reference to a packet that the receiver lacks makes the packet that refers undecodable, which for TCP is
//! one more loss. A policy that refers to whatever was sent before can then go round in a circle and never
//! end: the repetition of a lost segment is encoded by means of what was encoded by means of the lost segment
//! (byte-caching paper, section IV). The policies here never refer to what the receiver may lack for good.
//!
//! Other crates bring policies of their own: a [`ReferencePolicy`], and an [`InjectedPolicy`] that makes it.

mod acked;
mod adaptive;
mod injected;
mod off;

pub use acked::Acked;
pub use adaptive::Adaptive;
pub use injected::InjectedPolicy;
pub use off::Off;

use crate::parameters::Policy;
use crate::store::Stored;
use std::fmt::Debug;
use wire::inner::Inner;

/// What a policy decides.
pub trait ReferencePolicy: Debug + Send {
    /// Takes notice of the next packet to be sent, and says whether it may refer to others at all. Called
    /// once for every packet that the store keeps, in order of link sequence, before
    /// [`may_refer`](ReferencePolicy::may_refer) is asked about it.
    fn admit(&mut self, sequence: u64, inner: &Inner) -> bool;

    /// Whether the packet admitted last may refer to this stored one.
    fn may_refer(&self, stored: &Stored<'_>) -> bool;

    /// Whether a packet's fingerprints should be entered into the index only once the packet is confirmed, so
    /// that a newer packet that may not be referred to yet does not hide an older one that may.
    fn waits_for_confirmation(&self) -> bool {
        false
    }

    /// Says whether what the air loses from now on is sent again beside the air, by hop ARQ.
    fn set_losses_repaired(&mut self, repaired: bool) {
        let _ = repaired;
    }
}

impl Policy {
    /// Makes the policy.
    #[must_use]
    pub fn build(self) -> Box<dyn ReferencePolicy> {
        match self {
            Policy::Off => Box::new(Off),
            Policy::Acked => Box::new(Acked),
            Policy::Adaptive => Box::new(Adaptive::default()),
            Policy::Injected(injected) => injected.build(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;

    #[test]
    fn marks_decide_under_acked_and_adaptive() {
        let mut packet = Vec::new();
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(80, 4242, 1, 1000);
        builder.write(&mut packet, &[7; 100]).unwrap();
        let mut inner = Inner::parse(&packet).unwrap();
        let sent =
            Stored { sequence: 1, packet: &packet, payload: 40..140, flow: 0, confirmed: false, lost: false };
        let confirmed = Stored { confirmed: true, ..sent.clone() };
        let lost = Stored { lost: true, ..sent.clone() };
        let late = Stored { confirmed: true, lost: true, ..sent.clone() };
        let allowed = |policy: &dyn ReferencePolicy| {
            [&sent, &confirmed, &lost, &late].map(|stored| policy.may_refer(stored))
        };
        assert_eq!(allowed(&Acked), [false, true, false, true]);
        assert_eq!(allowed(&Off), [false; 4]);
        let mut adaptive = Adaptive::default();
        assert_eq!(allowed(&adaptive), [false, true, false, true]);
        adaptive.set_losses_repaired(true);
        for is_tcp in [true, false] {
            inner.flow.protocol = if is_tcp { wire::inner::TCP } else { wire::inner::UDP };
            assert!(adaptive.admit(2, &inner));
            assert_eq!(allowed(&adaptive), [is_tcp, true, false, true]);
        }
    }
}
