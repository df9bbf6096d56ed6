//! The sending side: the newest sources, and sums of them.

use super::{END, MAX_SPAN, factor};
use crate::field;
use std::collections::VecDeque;
use std::time::Duration;

#[derive(Debug)]
struct Source {
    number: u64,
    left_at: Duration,
    bytes: Vec<u8>,
}

/// The newest sources.
#[derive(Debug, Default)]
pub struct Encoder {
    /// By rising number.
    sources: VecDeque<Source>,
    /// From this number on every source is here: the numbers between them are no sources.
    complete_from: u64,
    spare: Vec<Vec<u8>>,
    /// The fewest spare ones since [`Encoder::trim`].
    least_spare: usize,
}

impl Encoder {
    /// Frees buffers that nobody needed since the last call.
    pub fn trim(&mut self) {
        self.spare.drain(..self.least_spare.min(self.spare.len()));
        self.least_spare = self.spare.len();
    }

    /// Bytes of memory now.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let sources = self.sources.iter().map(|source| source.bytes.capacity() + size_of::<Source>());
        sources.chain(self.spare.iter().map(Vec::capacity)).sum()
    }

    /// Keeps a source that leaves at `now`. Its number is above all before.
    pub fn push(&mut self, now: Duration, number: u64, source: &[u8]) {
        while self.sources.front().is_some_and(|oldest| oldest.number + MAX_SPAN <= number) {
            self.drop_oldest();
        }
        if self.sources.is_empty() {
            self.complete_from = number;
        }
        debug_assert!(self.sources.back().is_none_or(|newest| newest.number < number), "numbers rise");
        let mut bytes = self.spare.pop().unwrap_or_default();
        self.least_spare = self.least_spare.min(self.spare.len());
        bytes.clear();
        bytes.extend_from_slice(source);
        bytes.push(END);
        self.sources.push_back(Source { number, left_at: now, bytes });
    }

    fn drop_oldest(&mut self) {
        self.spare.extend(self.sources.pop_front().map(|oldest| oldest.bytes));
    }

    /// Forgets sources before this number.
    pub fn forget_before(&mut self, number: u64) {
        while self.sources.front().is_some_and(|oldest| oldest.number < number) {
            self.drop_oldest();
        }
    }

    /// Forgets one source.
    pub fn forget(&mut self, number: u64) {
        if let Ok(at) = self.sources.binary_search_by_key(&number, |source| source.number) {
            self.spare.extend(self.sources.remove(at).map(|gone| gone.bytes));
            self.complete_from = self.complete_from.max(number + 1);
        }
    }

    /// A source that is not kept has this number, above all before.
    pub fn skip(&mut self, number: u64) {
        self.complete_from = number + 1;
    }

    /// Whether this source is here.
    #[must_use]
    pub fn has(&self, number: u64) -> bool {
        self.sources.binary_search_by_key(&number, |source| source.number).is_ok()
    }

    /// How many sources there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sources.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Number of the newest source.
    #[must_use]
    pub fn newest(&self) -> Option<u64> {
        self.sources.back().map(|newest| newest.number)
    }

    /// When the newest source left.
    #[must_use]
    pub fn last_left_at(&self) -> Option<Duration> {
        self.sources.back().map(|newest| newest.left_at)
    }

    /// How many of the newest sources left since then.
    #[must_use]
    pub fn left_since(&self, then: Duration) -> usize {
        self.sources.iter().rev().take_while(|source| source.left_at >= then).count()
    }

    /// How many sources have this number or a higher one.
    #[must_use]
    pub fn len_from(&self, number: u64) -> usize {
        self.sources.len() - self.sources.partition_point(|source| source.number < number)
    }

    /// How many of the newest sources have none between them that is gone.
    #[must_use]
    pub fn complete(&self) -> usize {
        self.len_from(self.complete_from)
    }

    /// The numbers of the newest `most` sources, newest first.
    pub fn numbers(&self, most: usize) -> impl Iterator<Item = u64> + Clone + '_ {
        self.sources.iter().rev().take(most).map(|source| source.number)
    }

    /// Bytes of the longest among the newest `most` sources, [`END`] included.
    #[must_use]
    pub fn longest(&self, most: usize) -> usize {
        self.sources.iter().rev().take(most).map(|source| source.bytes.len()).max().unwrap_or(0)
    }

    /// The same of the sources with these numbers.
    #[must_use]
    pub fn longest_of(&self, numbers: &[u64]) -> usize {
        self.chosen(numbers).map(|source| source.bytes.len()).max().unwrap_or(0)
    }

    /// Appends the sum of the newest `most` sources under a key.
    pub fn write_sum(&self, key: u64, most: usize, out: &mut Vec<u8>) {
        write_sum(key, self.longest(most), self.sources.iter().rev().take(most), out);
    }

    /// Appends the sum of the sources with these numbers.
    pub fn write_sum_of(&self, key: u64, numbers: &[u64], out: &mut Vec<u8>) {
        write_sum(key, self.longest_of(numbers), self.chosen(numbers), out);
    }

    fn chosen(&self, numbers: &[u64]) -> impl Iterator<Item = &Source> {
        let at = |number: &u64| self.sources.binary_search_by_key(number, |source| source.number).ok();
        numbers.iter().filter_map(at).map(|at| &self.sources[at])
    }

    /// Forgets every source.
    pub fn clear(&mut self) {
        while !self.sources.is_empty() {
            self.drop_oldest();
        }
    }
}

fn write_sum<'a>(key: u64, longest: usize, sources: impl Iterator<Item = &'a Source>, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + longest, 0);
    let terms = sources.map(|source| (factor(key, source.number), source.bytes.as_slice()));
    field::over_all(&mut out[start..], terms);
}
