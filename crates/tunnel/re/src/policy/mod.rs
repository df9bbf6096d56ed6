//! Reference policies: which stored packets a packet may refer to.
//!
//! A reference to a packet that the receiver lacks makes the packet that refers undecodable, which for TCP
//! is one more loss. Under [`naive`], and only there, this can go round in a circle and never end: the
//! repetition of a lost segment is encoded by means of what was encoded by means of the lost segment
//! (byte-caching paper, section IV). Every other policy breaks the circle in its own way.

mod acked;
mod adaptive;
mod cache_flush;
mod informed_marking;
mod k_distance;
mod naive;
mod off;
mod retrieve_on_miss;
mod segment;
mod tcp_seq;

pub use acked::Acked;
pub use adaptive::Adaptive;
pub use cache_flush::CacheFlush;
pub use informed_marking::InformedMarking;
pub use k_distance::KDistance;
pub use naive::Naive;
pub use off::Off;
pub use retrieve_on_miss::RetrieveOnMiss;
pub use tcp_seq::TcpSeq;

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
    fn losses_are_repaired(&mut self, repaired: bool) {
        let _ = repaired;
    }
}

impl Policy {
    /// Makes the policy.
    #[must_use]
    pub fn build(self) -> Box<dyn ReferencePolicy> {
        match self {
            Policy::Off => Box::new(Off),
            Policy::Naive => Box::new(Naive),
            Policy::CacheFlush => Box::new(CacheFlush::default()),
            Policy::TcpSeq => Box::new(TcpSeq::default()),
            Policy::KDistance { k } => Box::new(KDistance::new(k)),
            Policy::InformedMarking => Box::new(InformedMarking::default()),
            Policy::RetrieveOnMiss => Box::new(RetrieveOnMiss),
            Policy::Acked => Box::new(Acked),
            Policy::Adaptive => Box::new(Adaptive::default()),
        }
    }
}

/// Whether TCP sequence `a` comes strictly before `b`, the sequences being taken modulo 2^32 (RFC 9293,
/// section 3.4).
fn precedes(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;

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

    /// As the store would give it.
    pub(super) fn stored(sequence: u64, packet: &[u8]) -> Stored<'_> {
        Stored { sequence, packet, payload: 40..140, confirmed: false, lost: false }
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
        adaptive.losses_are_repaired(true);
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
