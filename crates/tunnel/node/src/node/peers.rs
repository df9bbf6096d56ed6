//! Changes of the peers of a running node.

use super::Node;
use crate::config::PeerConfig;
use crate::keys::PublicKey;
use crate::peer::Peer;
use crate::roster::Roster;
use crate::route::ELSEWHERE;
use crate::session::shard::Shard;
use crate::status::PeerStatus;
use rand::RngExt;
use std::net::SocketAddr;
use std::time::Duration;

impl Node {
    /// Takes over the peers of `roster`, which follows the node's present one. Peers without a difference
    /// keep sessions, stores and counters. A removed peer loses all of them. Another pre-shared key begins
    /// a new session with its peer alone. [`Config::can_change_peers`](crate::Config::can_change_peers) says
    /// where this is possible.
    pub fn adopt(&mut self, now: Duration, roster: &Roster) {
        let shard = self.ctx.keyring.shard().clone();
        let place = |index: usize| roster.place(shard.place(index));
        let count = (0..).take_while(|index| shard.place(*index) < roster.places().len()).count();
        for index in 0..self.peers.len() {
            let peer = &self.peers[index];
            let stays = place(index).is_some_and(|next| next.public_key == *peer.public_key());
            let is_pardoned = peer.is_revoked() && !roster.revoked().contains(peer.public_key());
            if !peer.is_vacant() && (!stays || is_pardoned) {
                self.vacate(now, index);
            }
        }
        let other_keys = self.other_preshared_keys(roster);
        self.identity.set_preshared_keys(roster.preshared_keys().clone());
        self.ctx.keyring.set_elsewhere(elsewhere(&shard, roster));
        self.ctx.routes = roster.routes(|at| shard.index_of(at).unwrap_or(ELSEWHERE));
        let config = &mut self.ctx.config;
        config.preshared_keys.clone_from(roster.preshared_keys());
        config.revoked.clone_from(roster.revoked());
        config.handshakes_above = roster.handshakes_above();
        config.peers = (0..count).filter_map(|index| place(index).cloned()).collect();
        for index in 0..count {
            match place(index) {
                Some(next) if self.has_peer(index) => {
                    self.peers[index].reconfigure(now, next, &mut self.ctx);
                    if roster.revoked().contains(&next.public_key) {
                        self.revoke_once(now, &next.public_key, index);
                    } else if other_keys.contains(&index) {
                        self.peers[index].begin_under_other_key(now, &mut self.ctx);
                    }
                }
                Some(next) => self.settle_in(index, next.clone()),
                None => self.make_vacant(index),
            }
        }
        self.settle(now);
    }

    fn revoke_once(&mut self, now: Duration, key: &PublicKey, index: usize) {
        if !self.peers[index].is_revoked() {
            self.revoke(now, key);
        }
    }

    fn has_peer(&self, index: usize) -> bool {
        self.peers.get(index).is_some_and(|peer| !peer.is_vacant())
    }

    /// Indices of the peers that stay with another pre-shared key, or without theirs.
    fn other_preshared_keys(&self, roster: &Roster) -> Vec<usize> {
        let (before, after) = (&self.ctx.config.preshared_keys, roster.preshared_keys());
        let differs = |key: &PublicKey| before.get(key) != after.get(key);
        self.by_public_key.iter().filter(|(key, _)| differs(key)).map(|(_, index)| *index).collect()
    }

    /// A new peer takes a place. It may have been a peer before, and still have a link with this node's boot:
    /// handshakes with it say another one.
    fn settle_in(&mut self, index: usize, config: PeerConfig) {
        let (boot, salt) = (self.rng.random(), self.rng.random());
        self.by_public_key.insert(config.public_key, index);
        let peer = Peer::new(index, config, &self.ctx.config, boot, salt);
        match self.peers.get_mut(index) {
            Some(place) => *place = peer,
            None => self.peers.push(peer),
        }
    }

    fn make_vacant(&mut self, index: usize) {
        if index == self.peers.len() {
            self.peers.push(Peer::vacant(index, &self.ctx.config));
        }
    }

    /// Ends all that there is with a peer, and frees its place.
    fn vacate(&mut self, now: Duration, index: usize) {
        self.by_public_key.remove(self.peers[index].public_key());
        self.peers[index].revoke(now, &mut self.ctx);
        self.settle(now);
        self.admission.answers.forget(index);
        if let Some(sharing) = &mut self.ctx.sharing {
            sharing.forget(index as u8);
        }
        self.peers[index] = Peer::vacant(index, &self.ctx.config);
    }

    /// Where the peers without an `endpoint` are, for the next start of this node.
    pub fn last_addresses(&self) -> impl Iterator<Item = (PublicKey, SocketAddr)> {
        let peers = self.peers.iter().filter(|peer| !peer.is_vacant());
        peers.filter_map(|peer| Some((*peer.public_key(), peer.last_address()?)))
    }

    /// A peer was at this address when the node ran last: a handshake begins, so that the peer learns at once
    /// where this node is now. Other peers' keys change nothing.
    pub fn find(&mut self, now: Duration, key: &PublicKey, address: SocketAddr) {
        let Some(index) = self.by_public_key.get(key).copied() else { return };
        if self.peers[index].suppose_at(address) {
            self.initiate(now, index);
        }
    }

    /// Status of the peers.
    pub(super) fn peers_status(&self, now: Duration) -> Vec<PeerStatus> {
        let peers = self.peers.iter().filter(|peer| !peer.is_vacant());
        peers.map(|peer| self.status_of(now, peer)).collect()
    }
}

/// The keys of the peers of other shards.
fn elsewhere(shard: &Shard, roster: &Roster) -> std::collections::BTreeSet<PublicKey> {
    let places = roster.places().iter().enumerate();
    let others = places.filter(|(at, _)| shard.index_of(*at).is_none());
    others.filter_map(|(_, peer)| Some(peer.as_ref()?.public_key)).collect()
}
