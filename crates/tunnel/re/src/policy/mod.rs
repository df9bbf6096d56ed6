//! Reference policies: which stored packets a packet may refer to.
//!
//! A reference to a packet that the receiver lacks makes the referring packet undecodable, which TCP treats
//! as another loss. A policy that allows every sent packet can create an endless circle. The retransmission
//! of a lost segment then depends on packets that depend on the lost segment (byte-caching paper, section
//! IV). The policies here never refer to packets that the receiver may lack permanently.
//!
//! Other crates add a [`ReferencePolicy`] and an [`InjectedPolicy`] that makes it.

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

/// Decisions of a policy.
pub trait ReferencePolicy: Debug + Send {
    /// Notes the next packet, and decides whether it may refer to others at all. It is called once for every
    /// stored packet, in order of link sequence, before [`may_refer`](ReferencePolicy::may_refer).
    fn admit(&mut self, sequence: u64, inner: &Inner) -> bool;

    /// Whether the packet admitted last may refer to this stored one.
    fn may_refer(&self, stored: &Stored<'_>) -> bool;

    /// Whether the fingerprints of the packet admitted last are entered at its confirmation. It then does not
    /// hide an older packet with the same content that others may refer to.
    fn waits_for_confirmation(&self) -> bool {
        false
    }

    /// Whether all packets wait so now.
    fn always_waits(&self) -> bool {
        false
    }

    /// Sets whether hop ARQ retransmits the losses from now on.
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
