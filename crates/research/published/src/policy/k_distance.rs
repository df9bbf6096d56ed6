//! Every k-th packet is a reference; others refer to it and to later packets (byte-caching paper, section V-C
//! and Figure 9).
//!
//! A lost packet makes at most k - 1 others undecodable, for any protocol. Packets too short to be stored are
//! not counted.
//!
//! That is [`KDistance::printed`]. A segment retransmitted after the loss of its reference may refer to
//! itself until the next reference. [`KDistance::in_flow`] adds the rule of TCP sequence number encoding: a
//! segment refers to segments of its flow only with strictly lower sequences. Section V-C does not have this
//! rule, but section VII says that the policy matches that encoding for large k. This is our change.

use super::TcpSeq;
use re::policy::ReferencePolicy;
use re::store::Stored;
use wire::inner::Inner;

/// Refers to packets since the last reference.
#[derive(Debug, Clone, Copy)]
pub struct KDistance {
    k: u32,
    /// Packets since the last reference, itself included; `k` when the next one is due.
    since_reference: u32,
    reference: u64,
    /// Whether segments refer to earlier ones of their flow only.
    is_in_flow: bool,
    /// The referring segment under that rule; `None` without the rule, and for packets without a TCP
    /// sequence.
    segment: Option<TcpSeq>,
}

impl KDistance {
    /// Section V-C as printed, with one reference in `k` packets; k = 0 counts as 1.
    #[must_use]
    pub fn printed(k: u32) -> Self {
        let k = k.max(1);
        KDistance { k, since_reference: k, reference: 0, is_in_flow: false, segment: None }
    }

    /// With our change: a segment refers to earlier ones of its flow only.
    #[must_use]
    pub fn in_flow(k: u32) -> Self {
        KDistance { is_in_flow: true, ..Self::printed(k) }
    }
}

impl ReferencePolicy for KDistance {
    fn admit(&mut self, sequence: u64, inner: &Inner) -> bool {
        let due = self.since_reference == self.k;
        if due {
            self.reference = sequence;
            self.since_reference = 0;
        }
        self.since_reference += 1;
        if self.is_in_flow {
            let mut segment = TcpSeq::in_flow();
            self.segment = segment.admit(sequence, inner).then_some(segment);
        }
        !due
    }

    fn may_refer(&self, stored: &Stored<'_>) -> bool {
        stored.sequence >= self.reference && self.segment.is_none_or(|segment| segment.may_refer(stored))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::tests::{datagram, segment, stored};

    #[test]
    fn every_kth_packet_is_a_reference_and_the_others_reach_back_to_it() {
        let mut policy = KDistance::printed(3);
        let (packet, inner) = datagram();
        // Link sequences have gaps, because packets that are not stored use some.
        for (number, sequence) in (100..).step_by(2).take(12).enumerate() {
            let reference = sequence - 2 * (number as u64 % 3);
            assert_eq!(policy.admit(sequence, &inner), sequence != reference);
            assert!(policy.may_refer(&stored(reference, &packet)));
            assert!(!policy.may_refer(&stored(reference - 2, &packet)));
        }
    }

    #[test]
    fn a_distance_of_one_refers_to_nothing() {
        for k in [0, 1] {
            let mut policy = KDistance::printed(k);
            assert!((0..10).all(|sequence| !policy.admit(sequence, &datagram().1)));
        }
    }

    #[test]
    fn a_repeated_segment_may_refer_to_itself_as_printed() {
        let mut policy = KDistance::printed(8);
        policy.admit(1, &segment(80, 10).1);
        assert!(policy.admit(2, &segment(80, 10).1));
        assert!(policy.may_refer(&stored(1, &segment(80, 10).0)));
    }

    #[test]
    fn a_repeated_segment_refers_neither_to_itself_nor_to_later_ones() {
        let mut policy = KDistance::in_flow(8);
        policy.admit(1, &segment(80, 10).1);
        assert!(policy.admit(2, &segment(80, 10).1));
        assert!(!policy.may_refer(&stored(1, &segment(80, 10).0)));
        assert!(!policy.may_refer(&stored(1, &segment(80, 200).0)));
        assert!(policy.may_refer(&stored(1, &segment(80, 9).0)));
        assert!(policy.admit(3, &datagram().1));
        assert!(policy.may_refer(&stored(1, &segment(80, 200).0)));
    }
}
