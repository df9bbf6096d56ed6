//! The receiving side: sources that arrived, and equations for those that did not.

use super::{END, MAX_SPAN, factor};
use crate::field;
use crate::linear::System;
use std::collections::VecDeque;

/// How far back sources are kept, in numbers: a window, and reordering.
const KEPT_SPAN: u64 = MAX_SPAN + 64;
/// The most bytes of sources kept.
const MAX_BYTES: usize = 1 << 20;
/// The most equations.
const MAX_EQUATIONS: usize = 64;
/// The most sources that one repair may lack: more are not restored in time.
const MAX_UNKNOWN: usize = 64;

#[derive(Debug)]
struct Source {
    number: u64,
    /// With [`END`].
    bytes: Vec<u8>,
}

/// A lost source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// Its number.
    pub number: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Sources that arrived, and repairs that wait.
#[derive(Debug, Default)]
pub struct Decoder {
    /// By rising number.
    sources: VecDeque<Source>,
    bytes: usize,
    newest: u64,
    system: System<u64>,
    spare: Vec<Vec<u8>>,
}

impl Decoder {
    /// Takes a source that arrived. Whether it is new here: it did not arrive before, nor was it restored.
    pub fn take_source(&mut self, number: u64, source: &[u8]) -> bool {
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(source);
        bytes.push(END);
        self.keep(number, bytes)
    }

    /// A number that is no source's: sums have nothing of it.
    pub fn take_empty(&mut self, number: u64) {
        self.keep(number, Vec::new());
    }

    fn keep(&mut self, number: u64, bytes: Vec<u8>) -> bool {
        let is_newest = self.sources.back().is_none_or(|newest| newest.number < number);
        let at = match is_newest {
            true => self.sources.len(),
            false => self.sources.partition_point(|kept| kept.number < number),
        };
        let is_known = self.sources.get(at).is_some_and(|kept| kept.number == number);
        if is_known || number + KEPT_SPAN < self.newest {
            self.spare.push(bytes);
            return !is_known;
        }
        self.system.substitute(number, &bytes);
        self.newest = self.newest.max(number);
        self.bytes += bytes.len();
        self.sources.insert(at, Source { number, bytes });
        let oldest = self.newest.saturating_sub(KEPT_SPAN);
        while self.sources.front().is_some_and(|it| it.number < oldest || self.bytes > MAX_BYTES) {
            let gone = self.sources.pop_front();
            self.bytes -= gone.as_ref().map_or(0, |gone| gone.bytes.len());
            self.spare.extend(gone.map(|gone| gone.bytes).filter(|_| self.spare.len() < 16));
        }
        true
    }

    /// Takes a repair of the sources with these numbers. Whether it says something new: not if all of them
    /// are here, and not if too many are missing.
    pub fn take_repair(&mut self, key: u64, numbers: impl Iterator<Item = u64> + Clone, sum: &[u8]) -> bool {
        let missing = numbers.clone().filter(|&number| !self.has(number)).take(MAX_UNKNOWN + 1).count();
        if missing == 0 || missing > MAX_UNKNOWN {
            return false;
        }
        self.newest = numbers.clone().fold(self.newest, u64::max);
        let oldest = self.newest.saturating_sub(KEPT_SPAN);
        if numbers.clone().any(|number| number < oldest) {
            return false;
        }
        let mut rest = self.spare.pop().unwrap_or_default();
        rest.clear();
        rest.extend_from_slice(sum);
        let known = numbers.clone().filter_map(|number| Some((factor(key, number), self.source(number)?)));
        field::over_all(&mut rest, known);
        let unknown = numbers.filter(|&number| !self.has(number));
        let terms = unknown.map(|number| (number, factor(key, number))).collect();
        self.system.give_up(|number| number < oldest);
        while self.system.len() >= MAX_EQUATIONS {
            self.system.drop_oldest();
        }
        match self.system.insert(terms, rest) {
            Ok(()) => true,
            Err(buffer) => {
                self.spare.push(buffer);
                false
            }
        }
    }

    /// The next lost source that is known now.
    pub fn poll_restored(&mut self) -> Option<Restored> {
        loop {
            let (number, mut bytes) = self.system.take_solved()?;
            let Some(end) = bytes.iter().rposition(|&byte| byte != 0) else {
                self.take_empty(number);
                continue;
            };
            if bytes[end] != END {
                continue; // a sum of a liar
            }
            bytes.truncate(end + 1);
            let restored = Restored { number, bytes: bytes[..end].to_vec() };
            self.keep(number, bytes);
            return Some(restored);
        }
    }

    /// Lost sources that need no repair of their own: the repairs that wait restore them once the other lost
    /// ones are here.
    pub fn covered(&self) -> impl Iterator<Item = u64> {
        self.system.pivots()
    }

    fn has(&self, number: u64) -> bool {
        self.source(number).is_some()
    }

    fn source(&self, number: u64) -> Option<&[u8]> {
        let at = self.sources.partition_point(|kept| kept.number < number);
        self.sources.get(at).filter(|kept| kept.number == number).map(|kept| kept.bytes.as_slice())
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Self { newest: self.newest, ..Self::default() };
    }

    /// How many sources are here.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.sources.len()
    }

    /// Bytes that it keeps.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes + self.system.bytes() + self.spare.iter().map(Vec::capacity).sum::<usize>()
    }
}
