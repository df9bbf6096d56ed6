//! Detects addresses with two owners.

use ipnet::IpNet;

/// A peer's name and its addresses.
pub type Claim<'a> = (&'a str, &'a [IpNet]);

/// One prefix of one peer.
pub type Claimed<'a> = (&'a str, IpNet);

/// The first two prefixes of different peers that overlap. A default route may contain others, because the
/// longest prefix wins.
pub fn between_peers<'a>(claims: &[Claim<'a>]) -> Option<(Claimed<'a>, Claimed<'a>)> {
    for (at, (name, nets)) in claims.iter().enumerate() {
        for (other_name, other_nets) in &claims[at + 1..] {
            for net in *nets {
                let shared = other_nets.iter().find(|other| overlap(*net, **other));
                if let Some(other) = shared {
                    return Some(((name, *net), (other_name, *other)));
                }
            }
        }
    }
    None
}

fn overlap(a: IpNet, b: IpNet) -> bool {
    let (a, b) = (a.trunc(), b.trunc());
    a == b || (a.prefix_len() > 0 && b.prefix_len() > 0 && (a.contains(&b) || b.contains(&a)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nets(list: &[&str]) -> Vec<IpNet> {
        list.iter().map(|net| net.parse().unwrap()).collect()
    }

    #[test]
    fn the_same_and_nested_prefixes_are_found_and_a_default_route_may_hold_others() {
        let (a, b, c) = (nets(&["10.9.0.2/32", "fd00::2/128"]), nets(&["10.9.0.0/24"]), nets(&["0.0.0.0/0"]));
        let found = between_peers(&[("c", &c), ("a", &a), ("b", &b)]);
        assert_eq!(found, Some((("a", a[0]), ("b", b[0]))));
        assert_eq!(between_peers(&[("a", &a), ("c", &c)]), None);
        assert!(between_peers(&[("c", &c), ("d", &c)]).is_some());
    }
}
