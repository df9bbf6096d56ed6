//! Reasons why a packet is not restored.

use wire::Malformed;

/// Reason why a packet is not restored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Miss {
    /// The shim does not have the form that it claims.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The store lacks packets that a compact shim refers to.
    #[error("{} packets referred to are not in the store", sequences.as_slice().len())]
    Absent {
        /// Their link sequences.
        sequences: AbsentSequences,
    },
    /// A shim of another crate's form refers to bytes that no stored packet has, without a packet's name. The
    /// receiver can ask for the packet itself.
    #[error("no stored packet has what is referred to")]
    Unnamed,
    /// A region exceeds the stored packet, so this is not the sender's packet.
    #[error("a region reaches over the end of the stored packet")]
    OutOfRange,
}

/// Distinct link sequences that a packet needs and the store lacks, in the shim's order. Only the first
/// [`AbsentSequences::MAX`] are kept.
#[derive(Debug, Clone, Copy, Default)]
pub struct AbsentSequences {
    sequences: [u64; Self::MAX],
    count: usize,
}

impl AbsentSequences {
    /// The largest number of sequences kept.
    pub const MAX: usize = 12;

    /// Adds a sequence, unless it is present or the list is full.
    pub fn add(&mut self, sequence: u64) {
        if self.count < Self::MAX && !self.as_slice().contains(&sequence) {
            self.sequences[self.count] = sequence;
            self.count += 1;
        }
    }

    /// The sequences.
    #[must_use]
    pub fn as_slice(&self) -> &[u64] {
        &self.sequences[..self.count]
    }
}

impl PartialEq for AbsentSequences {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for AbsentSequences {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_sequences_are_distinct_and_bounded() {
        let mut absent = AbsentSequences::default();
        for sequence in [3, 3, 4, 3].into_iter().chain(10..100) {
            absent.add(sequence);
        }
        assert_eq!(absent.as_slice().len(), AbsentSequences::MAX);
        assert_eq!(absent.as_slice()[..3], [3, 4, 10]);
    }
}
