//! Search for repetitions of other flows: whole pieces ([`crate::pieces`]).
//!
//! A *run* is a common stretch of the packet and of consecutive stored packets of one flow. It begins and
//! ends at boundaries of both, and has at least [`LEAST_BYTES`]. Between its ends it may cross stored packets
//! at any byte.
//!
//! One kind of run begins without a boundary: the flow's last packet ended inside a run. Its bytes agreed to
//! the end with the bytes before the place where this packet begins. The question is then asked as a whole,
//! by both packets together.
//!
//! Every decision here uses whole pieces. Agreement beyond them changes neither the chosen run nor the result
//! behind it.

use super::{Match, SUCCESSORS, Search, TOGETHER};
use crate::anchors::Anchor;
use crate::extent::{common_prefix, common_suffix};
use crate::flow::{addresses, goes_on};
use crate::index::{Entry, Place};
use crate::pieces::{LEAST_BYTES, first_boundary, is_boundary, last_boundary};
use crate::sharing::Sharing;
use crate::store::Stored;
use std::ops::Range;

impl Search<'_> {
    /// Takes all regions of `own`, and the runs of `spans` in the gaps behind `matches`. Returns the place
    /// behind the payload's end, if a run reaches it.
    pub(in super::super) fn across(
        &self,
        spans: &[Anchor],
        own: &[Match],
        matches: &mut Vec<Match>,
    ) -> Option<Place> {
        let (mut own, mut reached, mut spans) = (own, None, spans);
        let mut free_from = matches.last().map_or(self.payload.start, Match::end);
        while let Some(next) = spans.iter().position(|span| usize::from(span.offset) >= free_from) {
            let (together, rest) = spans[next..].split_at(TOGETHER.min(spans.len() - next));
            let mut entries = [Entry::default(); TOGETHER];
            for (entry, span) in entries.iter_mut().zip(together) {
                *entry = self.index.entry(span.fingerprint);
            }
            for (span, entry) in together.iter().zip(entries) {
                let at = usize::from(span.offset);
                if at < free_from {
                    continue;
                }
                while let Some((first, rest)) = own.split_first().filter(|(first, _)| first.end() <= at) {
                    matches.push(*first);
                    own = rest;
                }
                free_from = matches.last().map_or(self.payload.start, Match::end);
                let free_to = own.first().map_or(self.payload.end, |first| first.start);
                if at >= free_from && at + LEAST_BYTES <= free_to {
                    let place = entry.place(self.store.newest(), self.store.recent_from());
                    if place.is_none() {
                        self.note_departed(entry);
                    }
                    reached = place
                        .and_then(|place| self.run_around(at, place, free_from..free_to, matches))
                        .or(reached);
                    free_from = matches.last().map_or(self.payload.start, Match::end);
                }
            }
            spans = rest;
        }
        matches.extend_from_slice(own);
        reached
    }

    /// Takes the region at the beginning of the payload that starts at this place of another flow.
    pub(super) fn go_on_across(&self, place: Place, matches: &mut Vec<Match>) -> Option<Place> {
        let (first, payload) = (matches.len(), self.payload.clone());
        let behind = self.run_on(place, payload.clone(), matches);
        let reached = matches.last().filter(|last| last.end() == payload.end).and(behind);
        self.keep_pieces(first, matches);
        reached
    }

    /// Whether the packet may refer to this stored packet of any flow.
    fn may_share(&self, stored: &Stored<'_>) -> bool {
        let shares = match self.sharing {
            Sharing::Host => addresses(stored.packet) == addresses(self.packet),
            Sharing::Station => true,
            Sharing::Flow | Sharing::ToTheByte => false,
        };
        shares && self.policy.may_refer(stored)
    }

    /// Takes the run around the span at `at`, if the stored bytes at this place agree. Returns the place
    /// behind the payload's end, if the bytes agree up to it.
    fn run_around(
        &self,
        at: usize,
        place: Place,
        free: Range<usize>,
        matches: &mut Vec<Match>,
    ) -> Option<Place> {
        let Some(stored) = self.stored(place.sequence) else {
            self.has_departed.set(true);
            return None;
        };
        let theirs = &stored.packet[stored.payload.clone()];
        let (before, behind) = theirs.split_at_checked(place.offset.checked_sub(stored.payload.start)?)?;
        let forwards = common_prefix(&self.packet[at..free.end], behind);
        let is_boundary_there = is_boundary(stored.packet, &stored.payload, place.offset);
        if forwards < LEAST_BYTES || !is_boundary_there || !self.may_share(&stored) {
            return None;
        }
        let backwards = common_suffix(&self.packet[free.start..at], before);
        let from = at - backwards;
        let begins_at_once = is_boundary(self.packet, &self.payload, from)
            && is_boundary(stored.packet, &stored.payload, place.offset - backwards);
        let start = if begins_at_once { from } else { first_boundary(self.packet, from..at).unwrap_or(at) };
        let first = matches.len();
        matches.push(Match {
            fingerprint: 0,
            start,
            length: at + forwards - start,
            stored_sequence: stored.sequence,
            stored_start: place.offset - (at - start),
            ends_stored: forwards == behind.len(),
        });
        let mut reached = matches.last().map(Match::stored_end);
        if forwards == behind.len() {
            reached = self.run_on(reached?, at + forwards..free.end, matches).or(reached);
        }
        let reached = reached.filter(|_| matches.last().is_some_and(|last| last.end() == self.payload.end));
        self.keep_pieces(first, matches).then_some(())?;
        reached
    }

    /// Takes the bytes of this range that agree with the store from this place on, across consecutive packets
    /// of the stored flow. Returns the place behind them.
    fn run_on(&self, place: Place, range: Range<usize>, matches: &mut Vec<Match>) -> Option<Place> {
        let (mut at, mut place, mut behind) = (range.start, place, None);
        while at < range.end {
            let Some(stored) = self.stored(place.sequence) else { break };
            let is_over = place.offset >= stored.payload.end;
            let next = if is_over { self.next_of(&stored) } else { Some(stored) };
            let Some(next) = next.filter(|next| self.may_share(next)) else { break };
            let offset = if is_over { next.payload.start } else { place.offset };
            let Some(found) = self.match_in(&next, offset, at..range.end) else { break };
            matches.push(found);
            (at, place) = (found.end(), found.stored_end());
            behind = Some(place);
            if !found.ends_stored {
                break;
            }
        }
        behind
    }

    /// The stored packet that continues the flow of this one.
    fn next_of(&self, stored: &Stored<'_>) -> Option<Stored<'_>> {
        let successors = stored.sequence + 1..=stored.sequence + SUCCESSORS;
        successors.filter_map(|sequence| self.stored(sequence)).find(|next| goes_on(stored, next))
    }

    /// Cuts the run, which is the matches from `first` on, at its last boundary. Removes all of it if the
    /// rest is too short or no longer than its encoding. Returns whether some is left.
    fn keep_pieces(&self, first: usize, matches: &mut Vec<Match>) -> bool {
        while matches.len() > first
            && let Some(last) = matches.last_mut()
        {
            if let Some(boundary) = last_boundary(self.packet, last.start..last.end()) {
                last.ends_stored &= boundary == last.end();
                last.length = boundary - last.start;
                break;
            }
            matches.pop();
        }
        let (before, run) = matches.split_at(first);
        let mut end_of_last = before.last().map_or(0, Match::end);
        let (mut run_bytes, mut number_bytes) = (0, 0);
        for found in run {
            number_bytes += found.to_compact(self.sequence, end_of_last).encoded_len();
            run_bytes += found.length;
            end_of_last = found.end();
        }
        let is_kept = run_bytes >= LEAST_BYTES && run_bytes > number_bytes;
        if !is_kept {
            matches.truncate(first);
        }
        is_kept
    }
}
