//! The part of a node's peers that one state machine has, and the ids that it may give.

use crate::keys::PublicKey;
use rand::{Rng, RngExt};
use std::collections::BTreeSet;

/// One of the shards of a node.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shard {
    index: u32,
    others: u32,
    /// The peers of the others.
    elsewhere: BTreeSet<PublicKey>,
    /// Secret of the cookies of all shards; `None` with one shard.
    cookie_secret: Option<[u8; 32]>,
}

impl Shard {
    /// Shard `index` beside `others` more. `elsewhere`: the peers of those.
    pub fn new(
        index: u32,
        others: u32,
        elsewhere: BTreeSet<PublicKey>,
        cookie_secret: Option<[u8; 32]>,
    ) -> Self {
        Shard { index, others, elsewhere, cookie_secret }
    }

    /// An id of fewer than `bits` bits, not 0, that this shard may give.
    pub fn draw_id(&self, bits: u32, rng: &mut impl Rng) -> u32 {
        let id = rng.random_range(1..(1 << bits) - self.others);
        let own = id - id % (self.others + 1) + self.index;
        if own == 0 { self.others + 1 } else { own }
    }

    /// Whether this one speaks for all.
    pub fn is_first(&self) -> bool {
        self.index == 0
    }

    /// Secret of the cookies of all shards.
    pub fn cookie_secret(&self) -> Option<[u8; 32]> {
        self.cookie_secret
    }

    /// The place among all peers of the one with this index here.
    pub fn place(&self, index: usize) -> usize {
        index * (self.others as usize + 1) + self.index as usize
    }

    /// The index here of the peer at a place; `None`: another shard has it.
    pub fn index_of(&self, place: usize) -> Option<usize> {
        let count = self.others as usize + 1;
        (place % count == self.index as usize).then_some(place / count)
    }

    /// The peers of the others are these from now on.
    pub fn set_elsewhere(&mut self, elsewhere: BTreeSet<PublicKey>) {
        self.elsewhere = elsewhere;
    }

    /// Whether another shard knows this peer.
    pub fn is_elsewhere(&self, key: &PublicKey) -> bool {
        self.elsewhere.contains(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha12Rng;

    proptest! {
        #[test]
        fn an_id_names_the_shard_that_drew_it(count in 1u32..20, index in 0u32..20, seed: u64) {
            let shard = Shard::new(index % count, count - 1, BTreeSet::new(), None);
            let rng = &mut ChaCha12Rng::seed_from_u64(seed);
            for bits in [6, 24] {
                let id = shard.draw_id(bits, rng);
                prop_assert_eq!(id % count, index % count);
                prop_assert!((1..1 << bits).contains(&id));
            }
        }
    }
}
