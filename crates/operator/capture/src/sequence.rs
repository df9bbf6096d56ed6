//! The captured bytes of a TCP stream: one direction of one connection.
//!
//! Sequence numbers are modulo 2^32 (RFC 9293, section 3.4). They are widened to 64 bits near the newest one,
//! so wrapping is harmless. Seen bytes are kept as intervals; a capture without gaps has one.

use std::ops::Range;

/// The most intervals. Beyond that, the oldest gap counts as seen.
const MAX_INTERVALS: usize = 64;
/// Distance behind the newest byte beyond which a byte is no retransmission, because no window is larger (RFC
/// 7323).
const MAX_WINDOW_BYTES: u64 = 1 << 30;
/// Position of the first byte seen in the widened space; it leaves room for earlier ones.
const ORIGIN: u64 = 1 << 32;

/// The seen bytes of one direction.
#[derive(Debug, Clone, Default)]
pub struct SequenceIntervals {
    /// The initial sequence number, if the connection's start was captured.
    initial: Option<u32>,
    /// The end of the highest interval, in both spaces.
    newest: Option<(u64, u32)>,
    /// Disjoint, non-adjacent intervals in ascending order.
    seen: Vec<Range<u64>>,
}

impl SequenceIntervals {
    /// Handles a SYN with this sequence number. Unless it repeats the opening one, a new empty stream begins.
    /// Returns whether one begins.
    pub fn open(&mut self, initial: u32) -> bool {
        let opens = self.initial != Some(initial);
        if opens {
            *self = SequenceIntervals { initial: Some(initial), ..Self::default() };
        }
        opens
    }

    fn unroll(&self, sequence: u32) -> u64 {
        match self.newest {
            None => ORIGIN,
            Some((newest, low)) => newest.saturating_add_signed(i64::from(sequence.wrapping_sub(low) as i32)),
        }
    }

    /// Marks `length` bytes from `sequence` on as seen. Replaces the contents of `fresh` by the ranges of the
    /// segment that are new.
    pub fn insert(&mut self, sequence: u32, length: usize, fresh: &mut Vec<Range<usize>>) {
        fresh.clear();
        if length == 0 {
            return;
        }
        let start = self.unroll(sequence);
        let end = start + length as u64;
        if self.newest.is_none_or(|(newest, _)| end > newest) {
            self.newest = Some((end, sequence.wrapping_add(length as u32)));
            let oldest = end.saturating_sub(MAX_WINDOW_BYTES);
            self.seen.retain(|seen| seen.end > oldest);
        }
        // The segment is merged with the intervals that it overlaps or touches.
        let first = self.seen.partition_point(|seen| seen.end < start);
        let behind = self.seen.partition_point(|seen| seen.start <= end);
        let mut at = start;
        let mut joined = start..end;
        for seen in &self.seen[first..behind] {
            if at < seen.start {
                fresh.push((at - start) as usize..(seen.start - start) as usize);
            }
            at = at.max(seen.end);
            joined = joined.start.min(seen.start)..joined.end.max(seen.end);
        }
        if at < end {
            fresh.push((at - start) as usize..length);
        }
        self.seen.splice(first..behind, [joined]);
        if self.seen.len() > MAX_INTERVALS {
            self.seen[1].start = self.seen[0].start;
            self.seen.remove(0);
        }
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)] // One range is meant, not its elements.
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn fresh(intervals: &mut SequenceIntervals, sequence: u32, length: usize) -> Vec<Range<usize>> {
        let mut fresh = Vec::new();
        intervals.insert(sequence, length, &mut fresh);
        fresh
    }

    #[test]
    fn a_repeated_segment_has_no_fresh_bytes_and_an_overlapping_one_only_its_tail() {
        let mut intervals = SequenceIntervals::default();
        assert_eq!(fresh(&mut intervals, 1000, 100), [0..100]);
        assert_eq!(fresh(&mut intervals, 1000, 100), []);
        assert_eq!(fresh(&mut intervals, 1050, 100), [50..100]);
        assert_eq!(fresh(&mut intervals, 900, 300), [0..100, 250..300]);
    }

    #[test]
    fn sequence_numbers_that_wrap_around_go_on() {
        let mut intervals = SequenceIntervals::default();
        assert_eq!(fresh(&mut intervals, u32::MAX - 9, 100), [0..100]);
        assert_eq!(fresh(&mut intervals, 90, 10), [0..10]);
        assert_eq!(fresh(&mut intervals, u32::MAX - 4, 105), [], "all of it was seen");
        assert_eq!(fresh(&mut intervals, 0, 5), []);
    }

    #[test]
    fn a_stream_longer_than_the_sequence_space_never_looks_retransmitted() {
        let mut intervals = SequenceIntervals::default();
        let step = 1 << 20;
        for number in 0..10_000u32 {
            let sequence = number.wrapping_mul(step);
            assert_eq!(fresh(&mut intervals, sequence, step as usize), [0..step as usize], "{number}");
            assert_eq!(fresh(&mut intervals, sequence, step as usize), []);
        }
    }

    #[test]
    fn a_new_connection_on_the_same_ports_starts_afresh_but_a_repeated_syn_does_not() {
        let mut intervals = SequenceIntervals::default();
        assert!(intervals.open(5));
        assert_eq!(fresh(&mut intervals, 6, 10), [0..10]);
        assert!(!intervals.open(5));
        assert_eq!(fresh(&mut intervals, 6, 10), []);
        assert!(intervals.open(3));
        assert_eq!(fresh(&mut intervals, 4, 10), [0..10]);
    }

    proptest! {
        #[test]
        fn intervals_agree_with_a_set_of_bytes(
            start: u32,
            segments in proptest::collection::vec((0u32..400, 0usize..60), 0..40),
        ) {
            let mut intervals = SequenceIntervals::default();
            let mut seen = HashSet::new();
            // The first segment is in the middle, so that others precede it.
            for (offset, length) in [(200, 10)].into_iter().chain(segments) {
                let sequence = start.wrapping_add(offset);
                let found: Vec<usize> = fresh(&mut intervals, sequence, length).into_iter().flatten().collect();
                let expected: Vec<usize> =
                    (0..length).filter(|&at| seen.insert(sequence.wrapping_add(at as u32))).collect();
                prop_assert_eq!(found, expected);
                prop_assert!(intervals.seen.len() <= MAX_INTERVALS);
            }
        }

        #[test]
        fn any_segments_keep_the_bound(segments in proptest::collection::vec((any::<u32>(), 0usize..70_000), 0..300)) {
            let mut intervals = SequenceIntervals::default();
            for (sequence, length) in segments {
                let fresh: usize = fresh(&mut intervals, sequence, length).iter().map(Range::len).sum();
                prop_assert!(fresh <= length);
                prop_assert!(intervals.seen.len() <= MAX_INTERVALS);
                prop_assert!(intervals.seen.windows(2).all(|pair| pair[0].end < pair[1].start));
            }
        }
    }
}
