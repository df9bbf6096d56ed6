//! Disjoint ranges of offsets in a stream.

use std::collections::BTreeMap;
use std::ops::Range;

/// A set of offsets, as ranges that do not touch each other.
#[derive(Debug, Default, Clone)]
pub struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Adds a range.
    pub fn insert(&mut self, Range { mut start, mut end }: Range<u64>) {
        if start >= end {
            return;
        }
        while let Some((&other_start, &other_end)) = self.0.range(..=end).next_back()
            && other_end >= start
        {
            self.0.remove(&other_start);
            start = start.min(other_start);
            end = end.max(other_end);
        }
        self.0.insert(start, end);
    }

    /// Takes a range out.
    pub fn remove(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        while let Some((&start, &end)) = self.0.range(..range.end).next_back()
            && end > range.start
        {
            self.0.remove(&start);
            if range.end < end {
                self.0.insert(range.end, end);
            }
            if start < range.start {
                self.0.insert(start, range.start);
            }
        }
    }

    /// The lowest range.
    #[must_use]
    pub fn first(&self) -> Option<Range<u64>> {
        self.0.first_key_value().map(|(&start, &end)| start..end)
    }

    /// The number of ranges.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The parts of a range that are missing here, from the lowest on.
    pub fn missing_in(&self, within: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let before = self.0.range(..=within.start).next_back().map_or(within.start, |(_, &end)| end);
        let end = within.end.max(within.start);
        let mut at = before.clamp(within.start, end);
        let mut later = self.0.range(at..end).map(|(&start, &end)| start..end);
        std::iter::from_fn(move || {
            while at < end {
                let next = later.next().unwrap_or(end..end);
                let gap = at..next.start;
                at = next.end.max(at);
                if !gap.is_empty() {
                    return Some(gap);
                }
            }
            None
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranges_are_a_set(changes in proptest::collection::vec((any::<bool>(), 0u64..60, 0u64..20), 0..40)) {
            let (mut ranges, mut model) = (Ranges::default(), [false; 100]);
            for (adds, start, bytes) in changes {
                let range = start..start + bytes;
                model[start as usize..(start + bytes) as usize].fill(adds);
                if adds { ranges.insert(range) } else { ranges.remove(range) }
                let has = |at: u64| ranges.0.iter().any(|(&start, &end)| (start..end).contains(&at));
                prop_assert!((0..100).all(|at| has(at) == model[at as usize]));
                let ends: Vec<_> = ranges.0.iter().map(|(&start, &end)| (start, end)).collect();
                prop_assert!(ends.windows(2).all(|pair| pair[0].1 < pair[1].0));
                for (start, end) in [(10, 50), (0, 5), (30, 30), (40, 20)] {
                    let within = start..end;
                    let missing: Vec<u64> = ranges.missing_in(within.clone()).flatten().collect();
                    let wanted: Vec<u64> = within.filter(|&at| !model[at as usize]).collect();
                    prop_assert_eq!(missing, wanted);
                }
            }
        }
    }
}
