//! The peer of an inner address, by longest prefix.

use crate::config::PeerConfig;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use prefix_trie::PrefixMap;
use std::cell::Cell;
use std::net::IpAddr;

/// In a shard's routes, a peer of another shard.
pub(crate) const ELSEWHERE: usize = usize::MAX;

/// Length of a prefix, and its peer.
type Owner = (u8, usize);

/// The peers' addresses.
#[derive(Default)]
pub struct Routes {
    v4: PrefixMap<Ipv4Net, usize>,
    v6: PrefixMap<Ipv6Net, usize>,
    /// The latest answer: most packets have the addresses of the packet before.
    latest: Cell<Option<(IpAddr, Option<Owner>)>>,
}

impl Routes {
    /// The routes of these peers, which are named by their index.
    #[must_use]
    pub fn new(peers: &[PeerConfig]) -> Self {
        Self::by(peers, |index| index)
    }

    /// The routes of these peers to whatever `name` makes of their index.
    #[must_use]
    pub fn by(peers: &[PeerConfig], name: impl Fn(usize) -> usize) -> Self {
        let nets = peers.iter().map(|peer| peer.allowed_ips.as_slice()).enumerate();
        Self::to(nets.map(|(index, nets)| (nets, name(index))))
    }

    /// The routes to whatever has these prefixes.
    pub fn to<'a>(all: impl Iterator<Item = (&'a [IpNet], usize)>) -> Self {
        let mut routes = Routes::default();
        for (nets, name) in all {
            for net in nets {
                match net.trunc() {
                    IpNet::V4(net) => routes.v4.insert(net, name),
                    IpNet::V6(net) => routes.v6.insert(net, name),
                };
            }
        }
        routes
    }

    /// The peer that `address` belongs to.
    #[must_use]
    pub fn peer(&self, address: IpAddr) -> Option<usize> {
        self.longest(address).map(|(_, peer)| peer)
    }

    /// The length of the longest prefix that holds `address`, and whose it is.
    #[must_use]
    pub fn longest(&self, address: IpAddr) -> Option<Owner> {
        if let Some((_, owner)) = self.latest.get().filter(|(of, _)| *of == address) {
            return owner;
        }
        let owner = self.search(address);
        self.latest.set(Some((address, owner)));
        owner
    }

    fn search(&self, address: IpAddr) -> Option<Owner> {
        match address {
            IpAddr::V4(address) => {
                self.v4.get_lpm(&Ipv4Net::from(address)).map(|(net, &peer)| (net.prefix_len(), peer))
            }
            IpAddr::V6(address) => {
                self.v6.get_lpm(&Ipv6Net::from(address)).map(|(net, &peer)| (net.prefix_len(), peer))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::PublicKey;

    #[test]
    fn the_longest_prefix_wins() {
        let peer = |nets: &[&str]| PeerConfig {
            name: nets.join(" "),
            public_key: PublicKey::from_bytes([0; 32]),
            endpoint: None,
            allowed_ips: nets.iter().map(|net| net.parse().unwrap()).collect(),
            keepalive: None,
            bits_a_second: None,
        };
        let routes = Routes::new(&[peer(&["0.0.0.0/0", "::/0"]), peer(&["10.1.0.7/16", "fd00::/64"])]);
        for (address, expected) in [("10.1.255.1", 1), ("10.2.0.1", 0), ("fd00::1", 1), ("fd01::1", 0)] {
            for _ in 0..2 {
                assert_eq!(routes.peer(address.parse().unwrap()), Some(expected), "{address}");
            }
        }
        assert_eq!(Routes::new(&[]).peer("10.0.0.1".parse().unwrap()), None);
    }
}
