//! Packets whose TCP sequence is strictly lower (byte-caching paper, section V-B and Figure 7).
//!
//! A segment never refers to a later one or to itself. The paper compares sequences of stored packets without
//! their flows: [`TcpSeq::printed`]. Sequences of different connections have no order, so [`TcpSeq::in_flow`]
//! refers to packets of the same flow only; this is our change. Packets without TCP have no sequence and
//! refer to nothing.

use super::precedes;
use super::segment::Segment;
use re::policy::ReferencePolicy;
use re::store::Stored;
use wire::inner::Inner;

/// Refers to segments with a lower sequence.
#[derive(Debug, Clone, Copy)]
pub struct TcpSeq {
    /// Whether packets of other flows are excluded.
    is_in_flow: bool,
    newest: Option<Segment>,
}

impl TcpSeq {
    /// As Figure 7 has it: any packet with a lower sequence.
    #[must_use]
    pub fn printed() -> Self {
        TcpSeq { is_in_flow: false, newest: None }
    }

    /// With our change: packets of the same flow with a lower sequence.
    #[must_use]
    pub fn in_flow() -> Self {
        TcpSeq { is_in_flow: true, newest: None }
    }
}

impl ReferencePolicy for TcpSeq {
    fn admit(&mut self, _: u64, inner: &Inner) -> bool {
        self.newest = Segment::of(inner);
        self.newest.is_some()
    }

    fn may_refer(&self, stored: &Stored<'_>) -> bool {
        let Some(newest) = self.newest else { return false };
        if self.is_in_flow {
            return newest.follows(stored) == Some(true);
        }
        let other = Inner::parse(stored.packet).ok().and_then(|other| other.tcp_sequence);
        other.is_some_and(|other| precedes(other, newest.sequence()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::tests::{datagram, segment, stored};

    fn refers_to(policy: &TcpSeq, port: u16, sequence: u32) -> bool {
        policy.may_refer(&stored(1, &segment(port, sequence).0))
    }

    #[test]
    fn only_strictly_earlier_segments_are_referred_to() {
        for mut policy in [TcpSeq::printed(), TcpSeq::in_flow()] {
            assert!(policy.admit(9, &segment(80, 10).1));
            assert!(refers_to(&policy, 80, 9));
            assert!(!refers_to(&policy, 80, 10), "itself");
            assert!(!refers_to(&policy, 80, 11), "a later one");
            assert!(!policy.may_refer(&stored(1, &datagram().0)));
            // The sequence has wrapped.
            assert!(refers_to(&policy, 80, u32::MAX - 100));
            policy.admit(10, &segment(80, u32::MAX - 100).1);
            assert!(!refers_to(&policy, 80, 10));
            assert!(!policy.admit(11, &datagram().1));
            assert!(!refers_to(&policy, 80, 9));
        }
    }

    #[test]
    fn the_printed_rule_takes_other_flows_and_ours_does_not() {
        let refers = |mut policy: TcpSeq| {
            policy.admit(9, &segment(80, 10).1);
            [9, 10].map(|sequence| refers_to(&policy, 81, sequence))
        };
        assert_eq!(refers(TcpSeq::printed()), [true, false]);
        assert_eq!(refers(TcpSeq::in_flow()), [false, false]);
    }
}
