//! Every k-th packet is a reference; others refer to it and to what came after it (byte-caching paper,
//! section V-C and Figure 9).
//!
//! A lost packet makes at most k - 1 others undecodable, of whatever protocol. Packets without enough payload
//! to be stored are not counted.
//!
//! A TCP segment moreover refers to nothing but segments of its flow with strictly lower sequences. Section
//! V-C does not say so, but section VII has the policy match TCP sequence number encoding for large k, and
//! without the rule it would match naive encoding: a segment repeated after its reference was lost would be
//! encoded by means of itself until the next reference is due, which TCP's doubling timeouts put off for
//! minutes.

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
    /// The segment that is to refer; `None` for packets without TCP's sequence.
    segment: Option<TcpSeq>,
}

impl KDistance {
    /// One reference in `k` packets; a k of 0 is taken as 1.
    #[must_use]
    pub fn new(k: u32) -> Self {
        let k = k.max(1);
        KDistance { k, since_reference: k, reference: 0, segment: None }
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
        let mut segment = TcpSeq::default();
        self.segment = segment.admit(sequence, inner).then_some(segment);
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
        let mut policy = KDistance::new(3);
        let (packet, inner) = datagram();
        // Link sequences have gaps: packets that the store does not keep take some.
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
            let mut policy = KDistance::new(k);
            assert!((0..10).all(|sequence| !policy.admit(sequence, &datagram().1)));
        }
    }

    #[test]
    fn a_repeated_segment_refers_neither_to_itself_nor_to_later_ones() {
        let mut policy = KDistance::new(8);
        policy.admit(1, &segment(80, 10).1);
        assert!(policy.admit(2, &segment(80, 10).1));
        assert!(!policy.may_refer(&stored(1, &segment(80, 10).0)));
        assert!(!policy.may_refer(&stored(1, &segment(80, 200).0)));
        assert!(policy.may_refer(&stored(1, &segment(80, 9).0)));
        assert!(policy.admit(3, &datagram().1));
        assert!(policy.may_refer(&stored(1, &segment(80, 200).0)));
    }
}
