//! Search for repetitions of stored packets: here in the packet's own flow, to the byte.

mod across;

use crate::anchors::Anchor;
use crate::extent::{common_prefix, common_suffix};
use crate::index::{Entry, Index, Place};
use crate::policy::ReferencePolicy;
use crate::sharing::Sharing;
use crate::store::{PacketStore, Stored};
use std::cell::Cell;
use std::ops::Range;
use wire::shim::compact;

/// Anchors that are looked up together: as many memory accesses as a processor overlaps.
const TOGETHER: usize = 16;
/// Number of link sequences behind a stored packet in which its flow's next packet is searched.
const SUCCESSORS: u64 = 3;

/// A region of the packet that also occurs in a stored packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Match {
    /// Fingerprint of the window that led to the region.
    pub fingerprint: u64,
    /// Where the region starts in the packet.
    pub start: usize,
    /// Its length in bytes.
    pub length: usize,
    /// The stored packet.
    pub stored_sequence: u64,
    /// Where the region starts in the stored packet.
    pub stored_start: usize,
    /// Whether the region reaches the end of the stored packet's payload.
    pub ends_stored: bool,
}

impl Match {
    /// Where the region ends in the packet.
    #[must_use]
    pub fn end(&self) -> usize {
        self.start + self.length
    }

    /// The place behind the region in the stored packet.
    #[must_use]
    pub fn stored_end(&self) -> Place {
        Place { sequence: self.stored_sequence, offset: self.stored_start + self.length }
    }

    /// The region in the compact form, for a packet of this link sequence. `end_of_last` is the end of the
    /// region before.
    pub(super) fn to_compact(self, sequence: u64, end_of_last: usize) -> compact::Region {
        compact::Region {
            literal_bytes: (self.start - end_of_last) as u32,
            distance: (sequence - self.stored_sequence) as u32,
            offset: self.stored_start as u32,
            length: self.length as u32,
        }
    }
}

/// One packet's search.
#[derive(Debug)]
pub struct Search<'a> {
    /// Bytes of the sliding window.
    pub window_bytes: usize,
    /// The packet's anchors, front to back.
    pub anchors: &'a [Anchor],
    /// The latest stored packet of each fingerprint.
    pub index: &'a Index,
    /// The stored packets.
    pub store: &'a PacketStore,
    /// The policy that allows or forbids a reference to a stored packet.
    pub policy: &'a dyn ReferencePolicy,
    /// The packet's link sequence.
    pub sequence: u64,
    /// The packet.
    pub packet: &'a [u8],
    /// Range of the packet that is searched.
    pub payload: Range<usize>,
    /// Tag of its flow. Under [`Sharing::ToTheByte`] all flows have the same tag.
    pub(super) flow: u32,
    /// The other flows whose packets it may refer to.
    pub(super) sharing: Sharing,
    /// A key led to a packet that has left the store.
    pub(super) has_departed: Cell<bool>,
}

impl Search<'_> {
    /// An earlier packet.
    fn stored(&self, sequence: u64) -> Option<Stored<'_>> {
        self.store.get(sequence).filter(|stored| stored.sequence < self.sequence)
    }

    /// An earlier packet of this packet's flow.
    fn own(&self, sequence: u64) -> Option<Stored<'_>> {
        self.stored(sequence).filter(|stored| stored.flow == self.flow)
    }

    /// Notes that an entry without a place leads to a packet that has left.
    #[inline]
    fn note_departed(&self, entry: Entry) {
        if entry.is_of_a_recent() {
            self.has_departed.set(true);
        }
    }

    /// The region around this anchor in the stored packet of `entry`, if the policy allows it. It begins at
    /// `free_from` or later and stays inside both payloads.
    fn match_at(&self, anchor: &Anchor, entry: Entry, free_from: usize) -> Option<Match> {
        let Some(place) = entry.place(self.store.newest(), self.store.recent_from()) else {
            self.note_departed(entry);
            return None;
        };
        let Some(stored) = self.own(place.sequence) else {
            self.has_departed.set(true);
            return None;
        };
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
            ends_stored: forwards == behind.len(),
        })
    }

    /// The common bytes of the payload from `at` on and the store from this place on.
    fn match_on(&self, place: Place, at: usize) -> Option<Match> {
        let stored = self.own(place.sequence)?;
        self.match_in(&stored, place.offset, at..self.payload.end)
    }

    /// The common bytes of the packet's `range` and a stored packet from `offset` on.
    fn match_in(&self, stored: &Stored<'_>, offset: usize, range: Range<usize>) -> Option<Match> {
        let theirs = stored.packet.get(offset..stored.payload.end)?;
        let at = range.start;
        let length = common_prefix(&self.packet[range], theirs);
        let found = Match {
            fingerprint: 0,
            start: at,
            length,
            stored_sequence: stored.sequence,
            stored_start: offset,
            ends_stored: length == theirs.len(),
        };
        (length > 0 && self.policy.may_refer(stored)).then_some(found)
    }

    /// Takes the region at the beginning of the payload, if the flow's last packet ended directly before this
    /// place in the store. Returns the place behind the payload's end if it is known now, even if the policy
    /// forbids the bytes before it.
    pub(super) fn go_on(&self, place: Place, matches: &mut Vec<Match>) -> Option<Place> {
        if self.own(place.sequence).is_some() {
            self.follow(place, matches);
            return None;
        }
        if !self.sharing.has_pieces() {
            return None;
        }
        self.go_on_across(place, matches)
    }

    /// Takes the bytes that agree with the store from this place on, across the stored packets of the flow.
    fn follow(&self, mut place: Place, matches: &mut Vec<Match>) {
        let mut at = matches.last().map_or(self.payload.start, Match::end);
        while at < self.payload.end {
            let is_over =
                self.store.get(place.sequence).is_none_or(|stored| place.offset >= stored.payload.end);
            let found =
                if is_over { self.match_behind(place.sequence, at) } else { self.match_on(place, at) };
            let Some(found) = found.filter(|found| self.is_worth_it(found, at)) else { return };
            matches.push(found);
            if !found.ends_stored {
                return;
            }
            (at, place) = (found.end(), found.stored_end());
        }
    }

    /// The common bytes of the payload from `at` on and one of the flow's packets stored directly behind this
    /// one.
    fn match_behind(&self, sequence: u64, at: usize) -> Option<Match> {
        let successors = sequence + 1..=sequence + SUCCESSORS;
        let matches = successors.filter_map(|sequence| {
            let stored = self.own(sequence)?;
            self.match_in(&stored, stored.payload.start, at..self.payload.end)
        });
        matches.max_by_key(|found| found.length)
    }

    /// Whether a region is longer than its encoding in the compact form.
    fn is_worth_it(&self, found: &Match, end_of_last: usize) -> bool {
        found.to_compact(self.sequence, end_of_last).encoded_len() < found.length
    }

    /// Takes anchors from front to back and each worthwhile region. It continues with the first window behind
    /// that region.
    pub fn run(&self, matches: &mut Vec<Match>, mut take: impl FnMut(&mut Vec<Match>, Match) -> bool) {
        let mut free_from = matches.last().map_or(self.payload.start, Match::end);
        let mut anchors = self.anchors;
        while let Some(next) = anchors.iter().position(|anchor| usize::from(anchor.offset) >= free_from) {
            let (together, rest) = anchors[next..].split_at(TOGETHER.min(anchors.len() - next));
            let mut entries = [Entry::default(); TOGETHER];
            for (entry, anchor) in entries.iter_mut().zip(together) {
                *entry = self.index.entry(anchor.fingerprint);
            }
            for (anchor, entry) in together.iter().zip(entries) {
                if usize::from(anchor.offset) >= free_from
                    && let Some(found) = self.match_at(anchor, entry, free_from)
                    && take(matches, found)
                {
                    free_from = matches.last().map_or(free_from, Match::end);
                }
            }
            anchors = rest;
        }
    }

    /// The byte-caching paper's procedure B (Figure 2) for the compact form. It replaces a region that is
    /// longer than its encoding, and follows it across stored packets.
    pub(super) fn for_compact_form(&self, matches: &mut Vec<Match>) {
        self.run(matches, |matches, found| {
            let is_worth_it = self.is_worth_it(&found, matches.last().map_or(0, Match::end));
            if is_worth_it {
                matches.push(found);
                if found.ends_stored {
                    self.follow(found.stored_end(), matches);
                }
            }
            is_worth_it
        });
    }
}
