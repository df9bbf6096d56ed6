//! Key ids: by which number each peer names each of our sessions.

use crate::shards::Shard;
use rand::Rng;
use std::collections::BTreeMap;

/// The key ids in use, and whose they are (index of the peer).
#[derive(Debug, Default)]
pub struct Keyring {
    owners: BTreeMap<u32, usize>,
    shard: Shard,
}

impl Keyring {
    /// Of a node that holds the peers of `shard`.
    #[must_use]
    pub fn new(shard: Shard) -> Self {
        Keyring { owners: BTreeMap::new(), shard }
    }

    /// The node's shard.
    #[must_use]
    pub fn shard(&self) -> &Shard {
        &self.shard
    }

    /// A random id that is not in use, for `peer`.
    pub fn allocate(&mut self, rng: &mut impl Rng, peer: usize) -> u32 {
        loop {
            let id = self.shard.draw_id(24, rng);
            if let std::collections::btree_map::Entry::Vacant(place) = self.owners.entry(id) {
                place.insert(peer);
                return id;
            }
        }
    }

    /// Gives `id` back.
    pub fn release(&mut self, id: u32) {
        self.owners.remove(&id);
    }

    /// Whose `id` is.
    #[must_use]
    pub fn owner(&self, id: u32) -> Option<usize> {
        self.owners.get(&id).copied()
    }
}
