//! Key ids: by which number each peer names each of our sessions, and we its. Whose a unit is takes one look
//! into a map, however many peers there are.

mod groups;

pub use groups::{GroupKeys, OfPeer, ReceiveKind};

use crate::keys::PublicKey;
use crate::session::shard::Shard;
use rand::Rng;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use wire::reset::RESET_TOKEN_BYTES;

/// The reset of a forgotten session: the key id in our units to the peer, and the peer's token.
pub type Shown = (u32, [u8; RESET_TOKEN_BYTES]);

/// The key ids in use, and whose they are (index of the peer).
#[derive(Debug, Default)]
pub struct Keyring {
    owners: BTreeMap<u32, Owner>,
    /// Sessions by what resets them, with the id of each.
    resets: BTreeSet<(Shown, u32)>,
    /// The keys of groups that this node is a member of.
    pub groups: GroupKeys,
    shard: Shard,
}

#[derive(Debug)]
struct Owner {
    peer: usize,
    /// The session's reset, after its handshake.
    shown: Option<Shown>,
}

impl Keyring {
    /// Of a node that holds the peers of `shard`.
    #[must_use]
    pub fn new(shard: Shard) -> Self {
        Keyring { shard, ..Keyring::default() }
    }

    /// The node's shard.
    #[must_use]
    pub fn shard(&self) -> &Shard {
        &self.shard
    }

    /// The peers of other shards are these from now on.
    pub fn set_elsewhere(&mut self, elsewhere: BTreeSet<PublicKey>) {
        self.shard.set_elsewhere(elsewhere);
    }

    /// A random id that is not in use, for `peer`.
    pub fn allocate(&mut self, rng: &mut impl Rng, peer: usize) -> u32 {
        loop {
            let id = self.shard.draw_id(24, rng);
            if let Entry::Vacant(place) = self.owners.entry(id) {
                place.insert(Owner { peer, shown: None });
                return id;
            }
        }
    }

    /// The session `id` is over when its peer shows this.
    pub fn reset_by(&mut self, id: u32, shown: Shown) {
        if let Some(owner) = self.owners.get_mut(&id) {
            if let Some(before) = owner.shown.replace(shown) {
                self.resets.remove(&(before, id));
            }
            self.resets.insert((shown, id));
        }
    }

    /// Gives `id` back.
    pub fn release(&mut self, id: u32) {
        if let Some(shown) = self.owners.remove(&id).and_then(|owner| owner.shown) {
            self.resets.remove(&(shown, id));
        }
    }

    /// Index of the peer with the key id `id`.
    #[must_use]
    pub fn owner(&self, id: u32) -> Option<usize> {
        self.owners.get(&id).map(|owner| owner.peer)
    }

    /// Indices of the peers with sessions that this resets. They are several only if a peer announces
    /// another's token as its own.
    pub fn owners_by_reset(&self, shown: Shown) -> impl Iterator<Item = usize> + '_ {
        let sessions = self.resets.range((shown, 0)..=(shown, u32::MAX));
        sessions.filter_map(|(_, id)| self.owner(*id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha12Rng;

    #[test]
    fn a_reset_finds_the_one_session_that_it_is_of_until_that_ends() {
        let rng = &mut ChaCha12Rng::seed_from_u64(1);
        let mut keyring = Keyring::default();
        let ids: Vec<u32> = (0..1000).map(|peer| keyring.allocate(rng, peer)).collect();
        // peers choose ids by themselves, and many may choose the same
        let shown = |peer: usize| (7, [(peer % 251) as u8, (peer / 251) as u8].repeat(8).try_into().unwrap());
        ids.iter().enumerate().for_each(|(peer, id)| keyring.reset_by(*id, shown(peer)));
        let owners = |keyring: &Keyring, shown| keyring.owners_by_reset(shown).collect::<Vec<_>>();
        assert_eq!(owners(&keyring, shown(500)), [500]);
        assert!(owners(&keyring, (8, shown(500).1)).is_empty());
        keyring.release(ids[500]);
        assert!(owners(&keyring, shown(500)).is_empty());
        assert_eq!(owners(&keyring, shown(501)), [501]);
    }

    #[test]
    fn a_peer_that_says_anothers_token_does_not_hide_that_ones_reset() {
        let rng = &mut ChaCha12Rng::seed_from_u64(2);
        let mut keyring = Keyring::default();
        let shown = (7, [1; 16]);
        for peer in [3, 1, 2] {
            let id = keyring.allocate(rng, peer);
            keyring.reset_by(id, shown);
        }
        let mut owners: Vec<usize> = keyring.owners_by_reset(shown).collect();
        owners.sort_unstable();
        assert_eq!(owners, [1, 2, 3]);
    }

    #[test]
    fn nothing_stays_of_what_was_given_back() {
        let rng = &mut ChaCha12Rng::seed_from_u64(3);
        let mut keyring = Keyring::default();
        for peer in 0..100 {
            let id = keyring.allocate(rng, peer);
            keyring.reset_by(id, (1, [1; 16]));
            keyring.reset_by(id, (2, [2; 16]));
            keyring.release(id);
        }
        assert!(keyring.owners.is_empty() && keyring.resets.is_empty());
    }
}
