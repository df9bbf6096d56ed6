//! Any packet since the last TCP retransmission (byte-caching paper, section V-A).
//!
//! The paper flushes the cache on "any observed decrease in the TCP sequence number" of outgoing segments.
//! Two cases need care. A retransmission of the last segment has the same number, not a lower one, and would
//! refer to itself. A segment therefore counts as a retransmission if it starts before the end of its flow's
//! last segment. Flows are distinguished, because their numbers are unrelated. The table of flows is bounded.
//! A dropped flow flushes the cache, because its next retransmission would not be recognized.
//!
//! Only TCP reveals retransmissions, so other packets refer to nothing.

use super::precedes;
use re::policy::ReferencePolicy;
use re::store::Stored;
use std::collections::BTreeMap;
use wire::inner::{Flow, Inner};

/// The most flows distinguished.
const MAX_FLOWS: usize = 1024;

/// Refers to packets since the last flush.
#[derive(Debug, Clone, Default)]
pub struct CacheFlush {
    /// End of the last segment of each flow.
    ends: BTreeMap<Flow, u32>,
    /// The first packet since the last flush.
    first: u64,
}

impl ReferencePolicy for CacheFlush {
    fn admit(&mut self, sequence: u64, inner: &Inner) -> bool {
        let Some(start) = inner.tcp_sequence else { return false };
        if self.ends.len() >= MAX_FLOWS && !self.ends.contains_key(&inner.flow) {
            self.ends.clear();
            self.first = sequence;
        }
        let end = start.wrapping_add(inner.payload_bytes() as u32);
        if self.ends.insert(inner.flow, end).is_some_and(|last_end| precedes(start, last_end)) {
            self.first = sequence;
        }
        true
    }

    fn may_refer(&self, stored: &Stored<'_>) -> bool {
        stored.sequence >= self.first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::tests::{datagram, segment, stored};

    /// Sends a segment and returns whether it flushed the cache.
    fn flushes(policy: &mut CacheFlush, sequence: u64, port: u16, tcp_sequence: u32) -> bool {
        assert!(policy.admit(sequence, &segment(port, tcp_sequence).1));
        !policy.may_refer(&stored(sequence - 1, &segment(port, 0).0))
    }

    #[test]
    fn a_repetition_flushes_and_progress_does_not() {
        let mut policy = CacheFlush::default();
        assert!(!flushes(&mut policy, 1, 80, 1000));
        assert!(!flushes(&mut policy, 2, 80, 1100), "the next");
        assert!(!flushes(&mut policy, 3, 80, 1300), "a gap");
        assert!(flushes(&mut policy, 4, 80, 1200), "a decrease");
        assert!(flushes(&mut policy, 5, 80, 1200), "the same once more");
        assert!(flushes(&mut policy, 6, 80, 1250), "cut elsewhere");
        assert!(!flushes(&mut policy, 7, 81, 100), "another flow");
        assert!(!policy.may_refer(&stored(5, &segment(80, 0).0)), "what was flushed stays flushed");
        assert!(!policy.admit(8, &datagram().1));
    }

    #[test]
    fn sequences_go_round() {
        let mut policy = CacheFlush::default();
        assert!(!flushes(&mut policy, 1, 80, u32::MAX - 149));
        assert!(!flushes(&mut policy, 2, 80, u32::MAX - 49));
        assert!(!flushes(&mut policy, 3, 80, 50));
        assert!(flushes(&mut policy, 4, 80, u32::MAX - 49));
    }

    #[test]
    fn more_flows_than_can_be_told_apart_flush_once_and_are_bounded() {
        let mut policy = CacheFlush::default();
        for port in 0..MAX_FLOWS as u16 {
            assert!(!flushes(&mut policy, 1 + u64::from(port), port, 5));
        }
        assert!(flushes(&mut policy, 2000, 5000, 5));
        assert!(!flushes(&mut policy, 2001, 5001, 5));
        assert!(policy.ends.len() <= MAX_FLOWS);
    }
}
