//! Every k-th packet is a reference; others refer to it and to what came after it (byte-caching paper,
//! section V-C and Figure 9).
//!
//! A lost packet makes at most k - 1 others undecodable, of whatever protocol. Packets without enough payload
//! to be stored are not counted.

use super::ReferencePolicy;
use crate::store::Stored;
use wire::inner::Inner;

/// Refers to packets since the last reference.
#[derive(Debug, Clone, Copy)]
pub struct KDistance {
    k: u32,
    /// Packets since the last reference, itself included; `k` when the next one is due.
    since_reference: u32,
    reference: u64,
}

impl KDistance {
    /// One reference in `k` packets; a k of 0 is taken as 1.
    #[must_use]
    pub fn new(k: u32) -> Self {
        let k = k.max(1);
        KDistance { k, since_reference: k, reference: 0 }
    }
}

impl ReferencePolicy for KDistance {
    fn admit(&mut self, sequence: u64, _: &Inner) -> bool {
        let due = self.since_reference == self.k;
        if due {
            self.reference = sequence;
            self.since_reference = 0;
        }
        self.since_reference += 1;
        !due
    }

    fn may_refer(&self, stored: &Stored<'_>) -> bool {
        stored.sequence >= self.reference
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::tests::{datagram, stored};

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
}
