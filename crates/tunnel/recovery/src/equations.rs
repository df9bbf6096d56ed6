//! Rows of one flow that cannot be solved yet: equations for missing packets.
//!
//! Each is an equation over GF(2^8): a sum of scaled payloads of missing packets. The system stays in reduced
//! form (Gauss-Jordan): every equation has a *pivot*, a packet that is in no other equation. An equation of
//! one packet is that packet's payload. It becomes the packet when a repair has brought its headers.

use crate::field;
use std::collections::VecDeque;
use wire::coded::DIGEST_BYTES;

/// The most equations; the oldest one is dropped.
const MAX_EQUATIONS: usize = 16;
/// The largest cost of an equation beyond its payload, with a repair's headers, in bytes.
const COST_BYTES: usize = 256;

/// A sum of scaled payloads.
#[derive(Debug, Default)]
struct Equation {
    /// TCP sequence numbers and scale factors; the pivot is first, with factor 1.
    terms: Vec<(u32, u8)>,
    payload: Vec<u8>,
}

/// Headers and digest of the packet that a repair was sent for.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub sequence: u32,
    pub header: Vec<u8>,
    pub digest: [u8; DIGEST_BYTES],
}

/// Equations for a flow's missing packets.
#[derive(Debug, Default)]
pub(crate) struct Equations {
    equations: VecDeque<Equation>,
    wanted: VecDeque<Wanted>,
}

impl Equation {
    fn scale_of(&self, sequence: u32) -> Option<u8> {
        self.terms.iter().find(|term| term.0 == sequence).map(|term| term.1)
    }

    /// Adds a multiple of another equation.
    fn add(&mut self, other: &Equation, by: u8) {
        for &(sequence, scale) in &other.terms {
            let scale = field::multiply(scale, by);
            match self.terms.iter_mut().find(|term| term.0 == sequence) {
                Some(term) => term.1 ^= scale,
                None => self.terms.push((sequence, scale)),
            }
        }
        self.terms.retain(|term| term.1 != 0);
        field::add_scaled(&mut self.payload, &other.payload, by);
    }
}

impl Equations {
    pub fn is_empty(&self) -> bool {
        self.equations.is_empty() && self.wanted.is_empty()
    }

    pub fn bytes(&self) -> usize {
        let payloads: usize = self.equations.iter().map(|it| it.payload.len() + COST_BYTES).sum();
        payloads + self.wanted.len() * COST_BYTES
    }

    /// Adds the equation of a repair.
    pub fn learn(&mut self, wanted: Wanted, terms: Vec<(u32, u8)>, payload: Vec<u8>) {
        self.wanted.retain(|other| other.sequence != wanted.sequence);
        self.wanted.push_back(wanted);
        self.insert(Equation { terms, payload });
        while self.equations.len() > MAX_EQUATIONS {
            self.equations.pop_front();
        }
        while self.wanted.len() > MAX_EQUATIONS {
            self.wanted.pop_front();
        }
    }

    fn insert(&mut self, mut new: Equation) {
        for known in &self.equations {
            if let Some(by) = known.terms.first().and_then(|pivot| new.scale_of(pivot.0)) {
                new.add(known, by);
            }
        }
        let Some(&(pivot, scale)) = new.terms.first() else { return }; // nothing that was not known
        let by = field::inverse(scale);
        new.terms.iter_mut().for_each(|term| term.1 = field::multiply(term.1, by));
        field::multiply_all(&mut new.payload, by);
        for known in &mut self.equations {
            if let Some(by) = known.scale_of(pivot) {
                known.add(&new, by);
            }
        }
        self.equations.push_back(new);
    }

    /// Notes a packet that arrived, by any way.
    pub fn record_delivery(&mut self, sequence: u32, payload: &[u8]) {
        self.wanted.retain(|wanted| wanted.sequence != sequence);
        let mut again = Vec::new();
        let mut at = 0;
        while at < self.equations.len() {
            let known = &mut self.equations[at];
            let Some(term) = known.terms.iter().position(|term| term.0 == sequence) else {
                at += 1;
                continue;
            };
            let (_, scale) = known.terms.remove(term);
            field::add_scaled(&mut known.payload, payload, scale);
            if term == 0 {
                again.extend(self.equations.remove(at));
            } else {
                at += 1;
            }
        }
        again.into_iter().for_each(|equation| self.insert(equation));
    }

    /// The next packet with known headers and payload. Its payload may end with surplus zeros.
    pub fn poll_solved(&mut self) -> Option<(Wanted, &[u8])> {
        let is_solved = |sequence: u32| move |it: &Equation| it.terms.len() == 1 && it.terms[0].0 == sequence;
        let (which, found) = self.wanted.iter().enumerate().find_map(|(which, wanted)| {
            Some((which, self.equations.iter().position(is_solved(wanted.sequence))?))
        })?;
        let wanted = self.wanted.remove(which)?;
        Some((wanted, &self.equations[found].payload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::{MAX_ROWS, scale};
    use proptest::prelude::*;

    proptest! {
        /// For any missing packets, and any order of rows and arrivals: n rows restore n missing packets, and
        /// fewer rows restore none (XBC, section III-E).
        #[test]
        fn all_are_restored_if_and_only_if_there_are_as_many_rows(
            payloads in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..40), 2..16),
            missing in 1usize..16,
            rows in proptest::sample::subsequence((0..MAX_ROWS).collect::<Vec<_>>(), 1..MAX_ROWS),
            first: u32,
            late in 0usize..4,
        ) {
            let missing = missing.min(payloads.len());
            let number = |at: usize| u64::from(first) + at as u64;
            let mut equations = Equations::default();
            let mut restored = Vec::new();
            for (at, &row) in rows.iter().enumerate() {
                let mut sum = Vec::new();
                // The last packets arrive on their own, some of them after the first row.
                let late = if at == 0 { late } else { 0 };
                let unknown = (missing + late).min(payloads.len());
                for (which, payload) in payloads.iter().enumerate() {
                    field::add_scaled(&mut sum, payload, scale(row, number(which)));
                }
                for (which, payload) in payloads.iter().enumerate().skip(unknown) {
                    field::over_scaled(&mut sum, payload, scale(row, number(which)));
                }
                let terms = (0..unknown).map(|which| (which as u32, scale(row, number(which)))).collect();
                let wanted = Wanted { sequence: (at % missing) as u32, header: Vec::new(), digest: [0; 8] };
                equations.learn(wanted, terms, sum);
                for (late, payload) in payloads.iter().enumerate().take(unknown).skip(missing) {
                    equations.record_delivery(late as u32, payload);
                }
                while let Some((wanted, payload)) = equations.poll_solved() {
                    let original = &payloads[wanted.sequence as usize];
                    prop_assert_eq!(&payload[..original.len()], &original[..]);
                    prop_assert!(payload[original.len()..].iter().all(|&byte| byte == 0));
                    restored.push(wanted.sequence);
                }
                prop_assert!(at + 1 >= missing || restored.is_empty());
            }
            restored.sort_unstable();
            restored.dedup();
            let enough = rows.len() >= missing;
            prop_assert_eq!(restored.len(), if enough { missing } else { 0 });
        }

        /// For any input: bounds hold, and every equation has a pivot of its own.
        #[test]
        fn any_rows_are_taken(
            steps in proptest::collection::vec(
                (any::<bool>(), proptest::collection::btree_map(0u32..40, 1u8.., 1..16), proptest::collection::vec(any::<u8>(), 0..8)),
                1..80,
            ),
        ) {
            let mut equations = Equations::default();
            for (comes, terms, payload) in steps {
                let sequence = *terms.keys().next().unwrap();
                if comes {
                    equations.record_delivery(sequence, &payload);
                } else {
                    let wanted = Wanted { sequence, header: Vec::new(), digest: [0; 8] };
                    equations.learn(wanted, terms.into_iter().collect(), payload);
                }
                while equations.poll_solved().is_some() {}
                prop_assert!(equations.equations.len() <= MAX_EQUATIONS && equations.wanted.len() <= MAX_EQUATIONS);
                for (at, one) in equations.equations.iter().enumerate() {
                    let (pivot, scale) = one.terms[0];
                    prop_assert_eq!(scale, 1);
                    let others = equations.equations.iter().enumerate().filter(|other| other.0 != at);
                    prop_assert!(others.into_iter().all(|(_, other)| other.scale_of(pivot).is_none()));
                }
            }
        }
    }
}
