//! Any packet that the receiver has not reported lost (Lumezanu, Guo, Spring, Bhattacharjee, "The effect of
//! packet loss on redundancy elimination in cellular wireless networks", IMC 2010).
//!
//! Before the report arrives, a round trip later, packets still refer to the lost one. The worst case is a
//! segment retransmitted alone after a timeout: no later packet could have reported the lost copy. The
//! retransmission would refer to that copy and be undecodable, and only the next one, a doubled timeout
//! later, would be sent plain; at 20% loss half of the downloads stall that way. Beyond that paper, a segment
//! therefore refers to segments of its own flow only if they come strictly before it, as under TCP sequence
//! number encoding.

use super::segment::Segment;
use re::policy::ReferencePolicy;
use re::store::Stored;
use wire::inner::Inner;

/// Refers to packets that are not known to be lost.
#[derive(Debug, Clone, Copy, Default)]
pub struct InformedMarking {
    /// The referring segment; `None` for packets without a TCP sequence.
    newest: Option<Segment>,
}

impl ReferencePolicy for InformedMarking {
    fn admit(&mut self, _: u64, inner: &Inner) -> bool {
        self.newest = Segment::of(inner);
        true
    }

    fn may_refer(&self, stored: &Stored<'_>) -> bool {
        !stored.lost && self.newest.and_then(|segment| segment.follows(stored)) != Some(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::tests::{datagram, segment, stored};

    #[test]
    fn a_repeated_segment_refers_neither_to_itself_nor_to_later_ones() {
        let mut policy = InformedMarking::default();
        assert!(policy.admit(2, &segment(80, 10).1));
        let refers_to = |policy: &InformedMarking, port, sequence| {
            policy.may_refer(&stored(1, &segment(port, sequence).0))
        };
        assert!(refers_to(&policy, 80, 9));
        assert!(!refers_to(&policy, 80, 10), "an earlier copy of itself");
        assert!(!refers_to(&policy, 80, 11), "a later one");
        assert!(refers_to(&policy, 81, 11), "another flow");
        assert!(policy.admit(3, &datagram().1));
        assert!(refers_to(&policy, 80, 11), "a datagram has no sequence");
    }
}
