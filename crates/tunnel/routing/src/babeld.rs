//! babeld's local socket (`-g`/`-G`), read-only: its answer to `dump`.
//!
//! ```text
//! add neighbour 5581e3 address fe80::1 if wlan0 reach ffff ureach 0000 rxcost 96 txcost 96 cost 96
//! add route 5581f0 prefix 10.0.0.9/32 from 0.0.0.0/0 installed yes id … metric 192 refmetric 96 via fe80::1 if wlan0
//! ok
//! ```
//!
//! babeld does not count hops; [`Routes::hops`](crate::Routes::hops) estimates them.

use crate::table::{MOST_ROUTES, Route};
use ipnet::IpNet;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

/// babeld's infinite cost: unreachable, or reachable in one direction only.
const INFINITE: f64 = 65_535.0;

/// Parses a dump. `interface` returns an interface's index by its name. Routes by unidirectional neighbours
/// and unused routes are left out.
pub fn parse(dump: &str, mut interface: impl FnMut(&str) -> u32) -> Vec<Route> {
    let lines: Vec<Vec<&str>> = dump.lines().map(|line| line.split_ascii_whitespace().collect()).collect();
    let value = |line: &[&str], name: &str| -> Option<String> {
        let at = line.iter().position(|word| *word == name)?;
        line.get(at + 1).map(|value| (*value).to_owned())
    };
    let is = |line: &[&str], what: &str| line.first() == Some(&"add") && line.get(1) == Some(&what);
    let mut both_ways: HashSet<(String, String)> = HashSet::new();
    for line in lines.iter().filter(|line| is(line, "neighbour")) {
        let cost = value(line, "cost").and_then(|cost| cost.parse::<f64>().ok());
        if cost.is_some_and(|cost| cost < INFINITE)
            && let (Some(address), Some(name)) = (value(line, "address"), value(line, "if"))
        {
            both_ways.insert((address, name));
        }
    }
    // babeld names a neighbour by its link-local address. A host route that it announces at no cost of its
    // own is the neighbour itself.
    let mut own: HashMap<(String, String, bool), IpAddr> = HashMap::new();
    for line in lines.iter().filter(|line| is(line, "route")) {
        let to: Option<IpNet> = value(line, "prefix").and_then(|prefix| prefix.parse().ok());
        let Some(to) = to.filter(|to| to.prefix_len() == to.max_prefix_len()) else { continue };
        if let (Some(via), Some(name), Some("0")) =
            (value(line, "via"), value(line, "if"), value(line, "refmetric").as_deref())
        {
            own.entry((via, name, to.addr().is_ipv4())).or_insert(to.addr());
        }
    }
    let route = |line: &Vec<&str>| {
        let (via, name) = (value(line, "via")?, value(line, "if")?);
        let metric: f64 = value(line, "metric")?.parse().ok()?;
        let to: IpNet = value(line, "prefix")?.parse().ok()?;
        let used = value(line, "installed")? == "yes" && metric < INFINITE;
        let next_hop: IpAddr = via.parse().ok()?;
        let known = both_ways.contains(&(via.clone(), name.clone()))
            || next_hop.is_ipv4() && both_ways.iter().any(|(_, other)| *other == name);
        let hops = (value(line, "refmetric")? == "0").then_some(1);
        let (index, by) = (interface(&name), next_hop);
        let next_hop = own.get(&(via, name, to.addr().is_ipv4())).copied().unwrap_or(next_hop);
        let next_hop = Some(next_hop).filter(|next_hop| *next_hop != to.addr());
        (used && known).then_some(Route { to, next_hop, via: Some(by), interface: index, metric, hops })
    };
    lines.iter().filter(|line| is(line, "route")).filter_map(route).take(MOST_ROUTES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_gives_the_routes_in_use_by_neighbours_heard_both_ways() {
        let dump = "\
BABEL 1.0
ok
add neighbour 1 address fe80::2 if radio reach ffff ureach 0000 rxcost 96 txcost 96 cost 96
add neighbour 2 address fe80::3 if other reach ffff ureach 0000 rxcost 96 txcost 65535 cost 65535
add xroute 10.0.0.1/32-::/0 prefix 10.0.0.1/32 from ::/0 metric 0
add route 3 prefix 10.0.0.2/32 from 0.0.0.0/0 installed yes id aa metric 96 refmetric 0 via 10.0.0.2 if radio
add route 4 prefix 10.0.0.9/32 from 0.0.0.0/0 installed yes id bb metric 192 refmetric 96 via 10.0.0.2 if radio
add route 5 prefix 10.0.0.8/32 from 0.0.0.0/0 installed no id cc metric 192 refmetric 96 via 10.0.0.2 if radio
add route 6 prefix 10.0.0.3/32 from 0.0.0.0/0 installed yes id dd metric 96 refmetric 0 via 10.0.0.3 if other
add route 9 prefix fd00::2/128 from ::/0 installed yes id aa metric 96 refmetric 0 via fe80::2 if radio
add route 7 prefix fd00::9/128 from ::/0 installed yes id bb metric 192 refmetric 96 via fe80::2 if radio
add route 8 prefix nonsense
ok
";
        let routes = parse(dump, |name| u32::from(name == "radio") * 7);
        let told: Vec<_> = routes
            .iter()
            .map(|route| (route.to.to_string(), route.next_hop.map(|next| next.to_string())))
            .collect();
        let expected = [
            ("10.0.0.2/32".to_owned(), None),
            ("10.0.0.9/32".to_owned(), Some("10.0.0.2".to_owned())),
            ("fd00::2/128".to_owned(), None),
            ("fd00::9/128".to_owned(), Some("fd00::2".to_owned())),
        ];
        assert_eq!(told, expected);
        assert!(routes.iter().all(|route| route.interface == 7));
    }
}
