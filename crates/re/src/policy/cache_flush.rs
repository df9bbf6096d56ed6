//! Any packet since the last TCP retransmission (byte-caching paper, section V-A).
//!
//! The paper flushes the cache on "any observed decrease in the TCP sequence number" of outgoing segments.
//! Two cases need care. A repetition of the segment that was sent last has the same number, not a lower one,
//! and would be encoded by means of itself: a segment counts as repeated when it starts before the end of
//! the one sent last in its flow. And flows are told apart, since their numbers have nothing to do with
//! each other. The table of flows is bounded; a flow that must be forgotten takes the cache with it, because
//! its next retransmission could not be recognised.
//!
//! Only TCP shows its repetitions, so other packets refer to nothing.

use super::{ReferencePolicy, precedes};
use crate::store::Stored;
use std::collections::BTreeMap;
use wire::inner::{Flow, Inner};

/// The most flows told apart.
const MAX_FLOWS: usize = 1024;

/// Refers to packets since the last flush.
#[derive(Debug, Clone, Default)]
pub struct CacheFlush {
    /// Where the segment sent last in each flow ended.
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
