//! Finding what a packet repeats of stored ones.

use crate::anchors::Anchor;
use crate::extent::{common_prefix, common_suffix};
use crate::index::Index;
use crate::policy::ReferencePolicy;
use crate::store::PacketStore;
use std::ops::Range;
use wire::shim::paper::FIELD_BYTES;

/// A region of the packet that stands in a stored one, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Match {
    /// Of the window that led here.
    pub fingerprint: u64,
    /// Where the region starts in the packet.
    pub start: usize,
    /// Its length in bytes.
    pub length: usize,
    /// The stored packet.
    pub stored_sequence: u64,
    /// Where the region starts in the stored packet.
    pub stored_start: usize,
}

impl Match {
    fn end(&self) -> usize {
        self.start + self.length
    }
}

/// One packet's search.
#[derive(Debug)]
pub(super) struct Search<'a> {
    pub window_bytes: usize,
    pub anchors: &'a [Anchor],
    pub index: &'a Index,
    pub store: &'a PacketStore,
    pub policy: &'a dyn ReferencePolicy,
    pub sequence: u64,
    pub packet: &'a [u8],
    pub payload: Range<usize>,
}

impl Search<'_> {
    /// What stands in a stored packet around this anchor, if the policy lets us refer to that packet. The
    /// region does not reach back before `free_from`, nor out of either payload.
    fn match_at(&self, anchor: &Anchor, free_from: usize) -> Option<Match> {
        let place = self.index.find(anchor.fingerprint, self.store.newest())?;
        let stored = self.store.get(place.sequence).filter(|stored| stored.sequence < self.sequence)?;
        let at = usize::from(anchor.offset);
        let theirs = &stored.packet[stored.payload.clone()];
        let split = place.offset.checked_sub(stored.payload.start)?;
        let (before, behind) = theirs.split_at_checked(split)?;
        let forwards = common_prefix(&self.packet[at..self.payload.end], behind);
        if forwards < self.window_bytes || !self.policy.may_refer(&stored) {
            return None;
        }
        let backwards = common_suffix(&self.packet[free_from.min(at)..at], before);
        Some(Match {
            fingerprint: anchor.fingerprint,
            start: at - backwards,
            length: backwards + forwards,
            stored_sequence: stored.sequence,
            stored_start: place.offset - backwards,
        })
    }

    /// The byte-caching paper's procedure B (Figure 2): anchors from front to back, each region longer than
    /// an encoding field replaced, and on with the first window behind it.
    ///
    /// Figure 2 moves the pointer "by (len + w) bytes", and by two more in lines 12 and 14. Where the pointer
    /// stands at that moment is not said. It is the window's end, by line 2; moved from there, it passes over
    /// more than the region. Moved from the region's start, it comes to the end of the first window behind
    /// the region, which is what is done here.
    pub(super) fn for_paper_form(&self, matches: &mut Vec<Match>) {
        let mut free_from = self.payload.start;
        for anchor in self.anchors {
            if usize::from(anchor.offset) < free_from {
                continue;
            }
            if let Some(found) = self.match_at(anchor, free_from).filter(|found| found.length > FIELD_BYTES) {
                free_from = found.end();
                matches.push(found);
            }
        }
    }

    /// The same for the compact form, where a region is worth replacing when it is longer than its numbers.
    pub(super) fn for_compact_form(&self, matches: &mut Vec<Match>) {
        let mut free_from = self.payload.start;
        for anchor in self.anchors {
            if usize::from(anchor.offset) < free_from {
                continue;
            }
            if let Some(found) = self.match_at(anchor, free_from) {
                free_from = found.end();
                matches.push(found);
            }
        }
    }
}
