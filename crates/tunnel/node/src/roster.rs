//! The peers of a running node, by place.
//!
//! A peer's place is its index in the node's tables. It keeps that place while its public key stays. The
//! place of a removed peer is free, and a later change gives it to another peer.

use crate::config::{Config, Destination, Gateways, Mesh, PeerConfig};
use crate::keys::{PresharedKey, PublicKey};
use crate::route::Routes;
use ipnet::IpNet;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// The peers of a node, their places, and their keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roster {
    places: Vec<Option<PeerConfig>>,
    preshared_keys: BTreeMap<PublicKey, PresharedKey>,
    revoked: BTreeSet<PublicKey>,
    handshakes_above: u64,
}

/// The names of the peers that differ between two rosters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Differences {
    /// Peers of the later roster alone.
    pub added: Vec<String>,
    /// Peers of the earlier roster alone.
    pub removed: Vec<String>,
    /// Peers with another name, address or keepalive.
    pub changed: Vec<String>,
    /// Peers with another pre-shared key, or whose revocation changed. Their sessions begin anew or end.
    pub other_keys: Vec<String>,
}

impl Differences {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Differences::default()
    }
}

impl Roster {
    /// The roster of a node that starts with `config`.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        Roster {
            places: config.peers.iter().cloned().map(Some).collect(),
            preshared_keys: config.preshared_keys.clone(),
            revoked: config.revoked.clone(),
            handshakes_above: config.handshakes_above,
        }
    }

    /// The roster after this one, with the peers of `config`. New peers get free places. A place that this
    /// change frees stays free, because messages about its peer may be on their way between threads.
    #[must_use]
    pub fn followed_by(&self, config: &Config) -> Self {
        let mut next = Roster::of(config);
        let mut places = vec![None; self.places.len()];
        for peer in std::mem::take(&mut next.places).into_iter().flatten() {
            let has_key = |place: &Option<PeerConfig>| {
                place.as_ref().is_some_and(|it| it.public_key == peer.public_key)
            };
            let kept = self.places.iter().position(has_key);
            let is_free = |at: &usize| self.places.get(*at).is_none_or(Option::is_none);
            let free = || (0..places.len()).find(|at| is_free(at) && places[*at].is_none());
            match kept.or_else(free) {
                Some(at) => places[at] = Some(peer),
                None => places.push(Some(peer)),
            }
        }
        Roster { places, ..next }
    }

    /// Notes that a running node refuses a key.
    pub fn revoke(&mut self, key: PublicKey) {
        self.revoked.insert(key);
    }

    /// The peers by place; `None`: the place is free.
    #[must_use]
    pub fn places(&self) -> &[Option<PeerConfig>] {
        &self.places
    }

    /// The inner addresses of the peer at each place.
    pub fn allowed_ips(&self) -> impl Iterator<Item = &[IpNet]> {
        self.places.iter().map(|place| place.as_ref().map_or(&[][..], |peer| &peer.allowed_ips))
    }

    /// The configured addresses of the peers.
    pub fn endpoints(&self) -> impl Iterator<Item = IpAddr> {
        self.places.iter().flatten().filter_map(|peer| Some(peer.endpoint?.ip()))
    }

    /// What differs in a later roster.
    #[must_use]
    pub fn differences(&self, next: &Roster) -> Differences {
        let by_key = |roster: &Roster| -> BTreeMap<PublicKey, PeerConfig> {
            let peers = roster.places.iter().flatten();
            peers.map(|peer| (peer.public_key, peer.clone())).collect()
        };
        let (before, after) = (by_key(self), by_key(next));
        let mut all = Differences::default();
        for (key, peer) in &before {
            let name = || peer.name.clone();
            match after.get(key) {
                None => all.removed.push(name()),
                Some(later) if later != peer => all.changed.push(later.name.clone()),
                Some(_) => {}
            }
            let has_other_key = self.preshared_keys.get(key) != next.preshared_keys.get(key)
                || self.revoked.contains(key) != next.revoked.contains(key);
            if has_other_key && after.contains_key(key) {
                all.other_keys.push(name());
            }
        }
        let added = after.iter().filter(|(key, _)| !before.contains_key(key));
        all.added = added.map(|(_, peer)| peer.name.clone()).collect();
        all
    }

    pub(crate) fn place(&self, at: usize) -> Option<&PeerConfig> {
        self.places.get(at).and_then(Option::as_ref)
    }

    pub(crate) fn preshared_keys(&self) -> &BTreeMap<PublicKey, PresharedKey> {
        &self.preshared_keys
    }

    pub(crate) fn revoked(&self) -> &BTreeSet<PublicKey> {
        &self.revoked
    }

    pub(crate) fn handshakes_above(&self) -> u64 {
        self.handshakes_above
    }

    /// The routes to the peers, as `name` names their places.
    pub(crate) fn routes(&self, name: impl Fn(usize) -> usize) -> Routes {
        Routes::to(self.allowed_ips().enumerate().map(|(at, nets)| (nets, name(at))))
    }
}

impl Config {
    /// Whether a running node of this configuration can take over the peers of `next`. It cannot if its role
    /// among gateways or in a mesh changes, if other peers are gateways or relays, or if the sharing with a
    /// group begins or ends. One of several gateways knows its stations from its start.
    #[must_use]
    pub fn can_change_peers(&self, next: &Config) -> bool {
        let knows_stations = matches!(self.gateways, Gateways::Neighbours(_));
        !knows_stations
            && self.mesh.destinations.is_empty()
            && self.role() == next.role()
            && self.sharing().is_some() == next.sharing().is_some()
    }

    /// The node's role among gateways and in a mesh. It names peers by their keys.
    #[must_use]
    pub fn role(&self) -> Role<'_> {
        let keys = |peers: &[usize]| -> Vec<PublicKey> {
            peers.iter().filter_map(|peer| Some(self.peers.get(*peer)?.public_key)).collect()
        };
        let Mesh { forwards, relays, codes, destinations } = &self.mesh;
        let neighbours = matches!(self.gateways, Gateways::Neighbours(_));
        Role {
            neighbours,
            gateways: keys(self.gateways.peers()),
            relays: keys(relays),
            forwards: *forwards,
            codes: *codes,
            destinations,
        }
    }
}

/// A node's role among gateways and in a mesh.
#[derive(Debug, PartialEq, Eq)]
pub struct Role<'a> {
    neighbours: bool,
    gateways: Vec<PublicKey>,
    relays: Vec<PublicKey>,
    forwards: bool,
    codes: bool,
    destinations: &'a [Destination],
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{NetworkKey, PrivateKey};
    use rand::SeedableRng;
    use rand_chacha::ChaCha12Rng;

    fn config(peers: &[u8]) -> Config {
        let rng = &mut ChaCha12Rng::seed_from_u64(1);
        let peer = |number: &u8| PeerConfig {
            name: format!("node {number}"),
            public_key: PublicKey::from_bytes([*number; 32]),
            endpoint: None,
            allowed_ips: vec![format!("10.0.0.{number}/32").parse().unwrap()],
            keepalive: None,
            bits_a_second: None,
        };
        let peers = peers.iter().map(peer).collect();
        Config::new(PrivateKey::generate(rng), NetworkKey::generate(rng), peers)
    }

    fn numbers(roster: &Roster) -> Vec<Option<u8>> {
        let key = |peer: &PeerConfig| peer.public_key.as_bytes()[0];
        roster.places().iter().map(|place| place.as_ref().map(key)).collect()
    }

    #[test]
    fn peers_keep_their_places_and_a_freed_place_waits_for_the_change_after_the_next() {
        let first = Roster::of(&config(&[1, 2, 3]));
        let second = first.followed_by(&config(&[3, 4, 1]));
        assert_eq!(numbers(&second), [Some(1), None, Some(3), Some(4)]);
        let third = second.followed_by(&config(&[5, 3, 4]));
        assert_eq!(numbers(&third), [None, Some(5), Some(3), Some(4)]);
        assert_eq!(numbers(&third.followed_by(&config(&[]))), [None; 4]);
    }

    #[test]
    fn peers_change_beside_gateways_and_relays_that_stay() {
        let of = |peers: &[u8], gateways: &[usize], relays: &[usize]| {
            let mesh = Mesh { relays: relays.to_vec(), ..Mesh::default() };
            Config { gateways: Gateways::Choice(gateways.to_vec()), mesh, ..config(peers) }
        };
        let before = of(&[1, 2, 3], &[0, 1], &[2]);
        assert!(before.can_change_peers(&of(&[4, 1, 2, 3], &[1, 2], &[3])), "by key");
        assert!(!before.can_change_peers(&of(&[1, 2, 3, 4], &[0, 3], &[2])), "another gateway");
        assert!(!before.can_change_peers(&of(&[1, 2, 3, 4], &[0, 1], &[3])), "another relay");
        let relay = |peers: &[u8]| {
            let mesh = Mesh { forwards: true, ..Mesh::default() };
            Config { mesh, ..config(peers) }
        };
        assert!(relay(&[1, 2]).can_change_peers(&relay(&[1, 2, 3])));
        assert!(!relay(&[1, 2]).can_change_peers(&config(&[1, 2, 3])));
        let neighbours = |peers: &[u8]| Config { gateways: Gateways::Neighbours(vec![0]), ..config(peers) };
        assert!(!neighbours(&[1, 2]).can_change_peers(&neighbours(&[1, 2, 3])), "it knows its stations");
    }

    #[test]
    fn each_difference_is_named_once() {
        let before = config(&[1, 2, 3, 4]);
        let mut after = config(&[1, 2, 4, 5]);
        after.peers[1].allowed_ips.clear();
        after.revoked.insert(PublicKey::from_bytes([4; 32]));
        let (before, after) = (Roster::of(&before), Roster::of(&before).followed_by(&after));
        let name = |number: u8| vec![format!("node {number}")];
        let expected =
            Differences { added: name(5), removed: name(3), changed: name(2), other_keys: name(4) };
        assert_eq!(before.differences(&after), expected);
        assert!(after.differences(&after).is_empty());
    }
}
