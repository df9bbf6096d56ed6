//! Why a packet could not be restored.

use wire::Malformed;

/// Why a packet could not be restored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Miss {
    /// The shim has not the form it claims.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// Packets that a compact shim refers to are not in the store.
    #[error("{} packets referred to are not in the store", sequences.as_slice().len())]
    Absent {
        /// Their link sequences.
        sequences: AbsentSequences,
    },
    /// A shim in another crate's form refers to what no stored packet has, and does not say which packet the
    /// sender meant. A receiver that wants help can ask for the packet itself.
    #[error("no stored packet has what is referred to")]
    Unnamed,
    /// A region reaches over the end of the stored packet: this is not the packet that the sender meant.
    #[error("a region reaches over the end of the stored packet")]
    OutOfRange,
}

/// Distinct link sequences that a packet needs and the store lacks, in the order the shim names them; only
/// the first [`AbsentSequences::MAX`] are kept.
#[derive(Debug, Clone, Copy, Default)]
pub struct AbsentSequences {
    sequences: [u64; Self::MAX],
    count: usize,
}

impl AbsentSequences {
    /// How many are kept.
    pub const MAX: usize = 12;

    /// Adds one, unless it is there or too many are.
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
