//! Detects prefixes with two owners.

use ipnet::IpNet;

/// A peer's name and its addresses.
pub type Claim<'a> = (&'a str, &'a [IpNet]);

/// One prefix of one peer.
pub type Claimed<'a> = (&'a str, IpNet);

/// The first prefix that two peers have. A prefix may contain others, because the longest one wins.
pub fn between_peers<'a>(claims: &[Claim<'a>]) -> Option<(Claimed<'a>, Claimed<'a>)> {
    for (at, (name, nets)) in claims.iter().enumerate() {
        for (other_name, other_nets) in &claims[at + 1..] {
            for net in *nets {
                let shared = other_nets.iter().find(|other| net.trunc() == other.trunc());
                if let Some(other) = shared {
                    return Some(((name, *net), (other_name, *other)));
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nets(list: &[&str]) -> Vec<IpNet> {
        list.iter().map(|net| net.parse().unwrap()).collect()
    }

    #[test]
    fn a_prefix_has_one_owner_and_may_hold_others() {
        let (a, b, c) = (nets(&["10.9.0.2/32", "fd00::2/128"]), nets(&["10.9.0.0/24"]), nets(&["0.0.0.0/0"]));
        assert_eq!(between_peers(&[("c", &c), ("a", &a), ("b", &b)]), None);
        let same = nets(&["10.9.0.7/24"]);
        let found = between_peers(&[("c", &c), ("a", &a), ("b", &b), ("d", &same)]);
        assert_eq!(found, Some((("b", b[0]), ("d", same[0]))));
        assert!(between_peers(&[("c", &c), ("d", &c)]).is_some());
    }
}
