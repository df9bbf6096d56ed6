//! Packets of the same flow whose TCP sequence is strictly lower (byte-caching paper, section V-B and Figure
//! 7).
//!
//! A segment is never encoded by means of a later one or of itself. The paper compares sequences without
//! saying whose; those of different connections have nothing to do with each other, so other flows are not
//! referred to. Packets that are not TCP have no sequence and refer to nothing.

use super::segment::Segment;
use re::policy::ReferencePolicy;
use re::store::Stored;
use wire::inner::Inner;

/// Refers to earlier segments of the same flow.
#[derive(Debug, Clone, Copy, Default)]
pub struct TcpSeq {
    newest: Option<Segment>,
}

impl ReferencePolicy for TcpSeq {
    fn admit(&mut self, _: u64, inner: &Inner) -> bool {
        self.newest = Segment::of(inner);
        self.newest.is_some()
    }

    fn may_refer(&self, stored: &Stored<'_>) -> bool {
        self.newest.and_then(|segment| segment.follows(stored)) == Some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::tests::{datagram, segment, stored};

    #[test]
    fn only_strictly_earlier_segments_of_the_same_flow_are_referred_to() {
        let mut policy = TcpSeq::default();
        assert!(policy.admit(9, &segment(80, 10).1));
        let refers_to =
            |policy: &TcpSeq, port, sequence| policy.may_refer(&stored(1, &segment(port, sequence).0));
        assert!(refers_to(&policy, 80, 9));
        assert!(!refers_to(&policy, 80, 10), "itself");
        assert!(!refers_to(&policy, 80, 11), "a later one");
        assert!(!refers_to(&policy, 81, 9), "another flow");
        assert!(!policy.may_refer(&stored(1, &datagram().0)));
        // The sequence has gone round.
        assert!(refers_to(&policy, 80, u32::MAX - 100));
        policy.admit(10, &segment(80, u32::MAX - 100).1);
        assert!(!refers_to(&policy, 80, 10));
        assert!(!policy.admit(11, &datagram().1));
        assert!(!refers_to(&policy, 80, 9));
    }
}
