//! The papers' reference policies, and every policy that the laboratory compares.
//!
//! Each policy except [`Naive`] breaks the circle of dependent packets ([`re::policy`]) in its own way. They
//! bound the damage of a loss; the product refers to no packet that the receiver may lack, and so goes beyond
//! them.
//!
//! | policy | of |
//! |---|---|
//! | [`NAIVE`] | Spring and Wetherall, SIGCOMM 2000 |
//! | [`CACHE_FLUSH`] | byte-caching paper, section V-A |
//! | [`TCP_SEQ`] | byte-caching paper, section V-B |
//! | [`TCP_SEQ_IN_FLOW`] | the same, within a flow: our change |
//! | [`K_DISTANCE`], [`k_distance()`] | byte-caching paper, section V-C |
//! | [`K_DISTANCE_IN_FLOW`] | the same with tcp-seq's rule: our change |
//! | [`INFORMED_MARKING`] | Lumezanu et al., IMC 2010 |
//! | [`RETRIEVE_ON_MISS`] | byte-caching paper, section VIII |
//! | [`ARQ_ONLY`] | nothing: a baseline that repairs and does not remove |

mod cache_flush;
mod informed_marking;
mod k_distance;
mod naive;
mod named;
mod retrieve_on_miss;
mod segment;
mod tcp_seq;

pub use cache_flush::CacheFlush;
pub use informed_marking::InformedMarking;
pub use k_distance::KDistance;
pub use naive::Naive;
pub use named::{
    ALL, ARQ_ONLY, CACHE_FLUSH, CHANGED, INFORMED_MARKING, K_DISTANCE, K_DISTANCE_IN_FLOW, NAIVE,
    ON_CAPTURES, PAPER_K, PUBLISHED, RETRIEVE_ON_MISS, TCP_SEQ, TCP_SEQ_IN_FLOW, UnknownPolicy, distance,
    k_distance, named,
};
pub use retrieve_on_miss::RetrieveOnMiss;
pub use tcp_seq::TcpSeq;

/// Whether TCP sequence `a` comes strictly before `b`, the sequences being taken modulo 2^32 (RFC 9293,
/// section 3.4).
fn precedes(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;
    use re::policy::{Acked, Adaptive, Off, ReferencePolicy};
    use re::store::Stored;
    use wire::inner::Inner;

    /// A TCP segment with 100 bytes of payload.
    pub(super) fn segment(port: u16, tcp_sequence: u32) -> (Vec<u8>, Inner) {
        let builder =
            PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(port, 4242, tcp_sequence, 1000);
        let mut packet = Vec::new();
        builder.write(&mut packet, &[7; 100]).unwrap();
        let inner = Inner::parse(&packet).unwrap();
        (packet, inner)
    }

    /// A UDP datagram.
    pub(super) fn datagram() -> (Vec<u8>, Inner) {
        let mut packet = Vec::new();
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(80, 4242);
        builder.write(&mut packet, &[7; 100]).unwrap();
        let inner = Inner::parse(&packet).unwrap();
        (packet, inner)
    }

    /// The packet in the form of the store.
    pub(super) fn stored(sequence: u64, packet: &[u8]) -> Stored<'_> {
        Stored { sequence, packet, payload: 40..140, flow: 0, confirmed: false, lost: false }
    }

    #[test]
    fn sequences_are_compared_around_the_circle() {
        assert!(precedes(1, 2) && !precedes(2, 1) && !precedes(2, 2));
        assert!(precedes(u32::MAX, 0) && !precedes(0, u32::MAX));
    }

    #[test]
    fn marks_decide_under_acked_and_informed_marking() {
        let packet = segment(80, 1).0;
        let sent = stored(1, &packet);
        let confirmed = Stored { confirmed: true, ..sent.clone() };
        let lost = Stored { lost: true, ..sent.clone() };
        let late = Stored { confirmed: true, lost: true, ..sent.clone() };
        let allowed = |policy: &dyn ReferencePolicy| {
            [&sent, &confirmed, &lost, &late].map(|stored| policy.may_refer(stored))
        };
        assert_eq!(allowed(&Acked), [false, true, false, true]);
        let mut adaptive = Adaptive::default();
        assert_eq!(allowed(&adaptive), [false, true, false, true]);
        adaptive.set_losses_repaired(true);
        let mut inner = segment(80, 1).1;
        for is_tcp in [true, false] {
            inner.flow.protocol = if is_tcp { wire::inner::TCP } else { wire::inner::UDP };
            assert!(adaptive.admit(2, &inner));
            assert_eq!(allowed(&adaptive), [is_tcp, true, false, true]);
        }
        assert_eq!(allowed(&InformedMarking::default()), [true, true, false, false]);
        assert_eq!(allowed(&RetrieveOnMiss), [true; 4]);
        assert_eq!(allowed(&Naive), [true; 4]);
        assert_eq!(allowed(&Off), [false; 4]);
    }
}
