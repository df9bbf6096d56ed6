//! Rows of one flow that cannot be solved yet: equations for missing packets.
//!
//! Each is an equation over GF(2^8): a sum of scaled payloads of missing packets ([`System`]). An equation of
//! one packet is that packet's payload. It becomes the packet when a repair has brought its headers.

use crate::linear::System;
use std::collections::VecDeque;
use wire::coded::DIGEST_BYTES;

/// The most equations; the oldest one is dropped.
const MAX_EQUATIONS: usize = 16;
/// The largest cost of an equation beyond its payload, with a repair's headers, in bytes.
const COST_BYTES: usize = 256;

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
    system: System<u32>,
    wanted: VecDeque<Wanted>,
}

impl Equations {
    pub fn is_empty(&self) -> bool {
        self.system.is_empty() && self.wanted.is_empty()
    }

    pub fn bytes(&self) -> usize {
        self.system.bytes() + (self.system.len() + self.wanted.len()) * COST_BYTES
    }

    /// Adds the equation of a repair.
    pub fn learn(&mut self, wanted: Wanted, terms: Vec<(u32, u8)>, payload: Vec<u8>) {
        self.wanted.retain(|other| other.sequence != wanted.sequence);
        self.wanted.push_back(wanted);
        let _ = self.system.insert(terms, payload); // it may say nothing new
        while self.system.len() > MAX_EQUATIONS {
            self.system.drop_oldest();
        }
        while self.wanted.len() > MAX_EQUATIONS {
            self.wanted.pop_front();
        }
    }

    /// Notes a packet that arrived, by any way.
    pub fn record_delivery(&mut self, sequence: u32, payload: &[u8]) {
        self.wanted.retain(|wanted| wanted.sequence != sequence);
        self.system.substitute(sequence, payload);
    }

    /// The next packet with known headers and payload. Its payload may end with surplus zeros.
    pub fn poll_solved(&mut self) -> Option<(Wanted, &[u8])> {
        let which = self.wanted.iter().position(|wanted| self.system.value(wanted.sequence).is_some())?;
        let wanted = self.wanted.remove(which)?;
        let payload = self.system.value(wanted.sequence)?;
        Some((wanted, payload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::{self, MAX_ROWS, scale};
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
                prop_assert!(equations.system.len() <= MAX_EQUATIONS && equations.wanted.len() <= MAX_EQUATIONS);
                prop_assert!(equations.system.is_reduced());
            }
        }
    }
}
