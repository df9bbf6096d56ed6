//! Any packet that the receiver has not reported lost (Lumezanu, Guo, Spring, Bhattacharjee, "The effect of
//! packet loss on redundancy elimination in cellular wireless networks", IMC 2010).
//!
//! Until the report arrives, which takes a round trip, packets still refer to the lost one. Worst is a
//! segment repeated alone after a timeout: nothing has followed the lost copy that could have reported it, so
//! the repetition would be encoded by means of that copy, be undecodable, and only its own repetition, a
//! doubled timeout later, would go out plain; at 20% loss half of the downloads stall that way. Hence, beyond
//! that paper, a segment refers to nothing of its own flow that does not come strictly before it, as under
//! TCP sequence number encoding.

use super::segment::Segment;
use re::policy::ReferencePolicy;
use re::store::Stored;
use wire::inner::Inner;

/// Refers to what is not known to be lost.
#[derive(Debug, Clone, Copy, Default)]
pub struct InformedMarking {
    /// The segment that is to refer; `None` for packets without TCP's sequence.
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
