//! The peer that told a group's key, found by the key's id without a question to every peer.

use std::collections::{BTreeMap, BTreeSet};

/// The way on which a unit arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiveKind {
    /// It was sent to this node.
    Sent,
    /// It was sent to another.
    Overheard,
}

/// The keys of groups that this node is a member of. A gateway names its keys itself: several may give
/// theirs the same id, and the first one in the configuration has it.
#[derive(Debug, Default)]
pub struct GroupKeys {
    /// Keys of a peer's own group.
    own: BTreeSet<(u32, usize)>,
    /// Keys of other gateways' groups, and the peer that told of them.
    others: BTreeSet<(u32, usize)>,
    /// The same by peer. Each has a bounded number.
    of_peers: BTreeMap<usize, OfPeer>,
}

/// The ids of the keys that one peer told of.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct OfPeer {
    /// Of its own group.
    pub own: Vec<u32>,
    /// Of other gateways' groups.
    pub others: Vec<u32>,
}

impl GroupKeys {
    /// A peer told of these, and no others.
    pub fn set(&mut self, peer: usize, keys: OfPeer) {
        self.remove(peer);
        self.own.extend(keys.own.iter().map(|key_id| (*key_id, peer)));
        self.others.extend(keys.others.iter().map(|key_id| (*key_id, peer)));
        self.of_peers.insert(peer, keys);
    }

    /// This node is no member of a peer's group any more.
    pub fn remove(&mut self, peer: usize) {
        let before = self.of_peers.remove(&peer).unwrap_or_default();
        for key_id in before.own {
            self.own.remove(&(key_id, peer));
        }
        for key_id in before.others {
            self.others.remove(&(key_id, peer));
        }
    }

    /// The peer whose membership opens a unit that came by this way. What another gateway sends to this node
    /// it sends under their pairwise key.
    pub fn of_unit(&self, key_id: u32, way: ReceiveKind) -> Option<usize> {
        let first = |keys: &BTreeSet<(u32, usize)>| {
            keys.range((key_id, 0)..=(key_id, usize::MAX)).next().map(|(_, peer)| *peer)
        };
        match way {
            ReceiveKind::Sent => first(&self.own),
            ReceiveKind::Overheard => first(&self.own).into_iter().chain(first(&self.others)).min(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of_peer() -> impl Strategy<Value = OfPeer> {
        let ids = || proptest::collection::vec(0u32..20, 0..3);
        (ids(), ids()).prop_map(|(own, others)| OfPeer { own, others })
    }

    proptest! {
        /// The map says what a walk over all peers would find.
        #[test]
        fn a_unit_is_whose_it_would_be_if_every_peer_were_asked(
            changes in proptest::collection::vec((0usize..6, proptest::option::of(of_peer())), 0..30)
        ) {
            let mut keys = GroupKeys::default();
            let mut walked: [OfPeer; 6] = Default::default();
            for (peer, change) in changes {
                walked[peer] = change.clone().unwrap_or_default();
                match change {
                    Some(change) => keys.set(peer, change),
                    None => keys.remove(peer),
                }
                for key_id in 0..20 {
                    let own = |it: &OfPeer| it.own.contains(&key_id);
                    let any = |it: &OfPeer| own(it) || it.others.contains(&key_id);
                    prop_assert_eq!(keys.of_unit(key_id, ReceiveKind::Sent), walked.iter().position(own));
                    prop_assert_eq!(keys.of_unit(key_id, ReceiveKind::Overheard), walked.iter().position(any));
                }
            }
            (0..6).for_each(|peer| keys.remove(peer));
            prop_assert!(keys.own.is_empty() && keys.others.is_empty() && keys.of_peers.is_empty());
        }
    }
}
