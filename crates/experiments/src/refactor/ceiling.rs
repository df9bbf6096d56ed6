//! The paper's *perfect RE*: every station has every chunk that was ever sent, and no two chunks share a slot.
//!
//! What is emitted has the codec's own form, so that the ceiling pays for its shims too; nobody has to decode it.

use std::collections::HashSet;

use overhear::boundaries::Boundaries;
use wire::shim::slots::{MAC_BYTES, Run, Slots};

/// Chunks shorter than this cost more as slots.
const LEAST_CHUNK_BYTES: usize = 8;

/// Chunks by their own bytes, without end.
pub struct Ceiling {
    boundaries: Boundaries,
    known: HashSet<Box<[u8]>, foldhash::fast::FixedState>,
    runs: Vec<Run>,
    slots: Vec<u32>,
    literals: Vec<u8>,
}

/// How wide slots are taken to be.
const SLOT_BITS: u8 = 20;

impl Ceiling {
    /// Of chunks with these boundaries.
    #[must_use]
    pub fn new(boundaries: Boundaries) -> Self {
        let known = HashSet::default();
        Self { boundaries, known, runs: Vec::new(), slots: Vec::new(), literals: Vec::new() }
    }

    /// Writes a packet without what was ever sent; returns how many of its bytes are left out.
    pub fn encode(&mut self, payload: &[u8], out: &mut Vec<u8>) -> usize {
        self.runs.clear();
        self.slots.clear();
        self.literals.clear();
        let (mut literal_bytes, mut removed_bytes) = (0, 0);
        for chunk in self.boundaries.chunks(payload) {
            let chunk = &payload[chunk];
            if chunk.len() >= LEAST_CHUNK_BYTES && self.known.contains(chunk) {
                match self.runs.last_mut() {
                    Some(run) if literal_bytes == 0 => run.slots += 1,
                    _ => self.runs.push(Run { literal_bytes, slots: 1 }),
                }
                literal_bytes = 0;
                self.slots.push(0);
                removed_bytes += chunk.len();
            } else {
                literal_bytes += chunk.len() as u32;
                self.literals.extend_from_slice(chunk);
                self.known.insert(chunk.into());
            }
        }
        let mac = (!self.slots.is_empty()).then_some([0; MAC_BYTES]);
        Slots { slot_bits: SLOT_BITS, mac, runs: &self.runs, slots: &self.slots }.emit(out);
        out.extend_from_slice(&self.literals);
        removed_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Fresh;

    #[test]
    fn what_was_sent_once_costs_a_shim_ever_after() {
        let (mut ceiling, mut packet) = (Ceiling::new(Boundaries::default()), Vec::new());
        Fresh::random(1).read(0, 1360, &mut packet);
        let (mut first, mut second) = (Vec::new(), Vec::new());
        assert_eq!(ceiling.encode(&packet, &mut first), 0);
        assert_eq!(first[1..], packet);
        assert!(ceiling.encode(&packet, &mut second) > 1300 && second.len() < 100);
    }
}
