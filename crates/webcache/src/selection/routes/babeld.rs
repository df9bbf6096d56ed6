//! babeld's local socket (`-g`/`-G`), read-only: what it answers to `dump`.
//!
//! ```text
//! add neighbour 5581e3 address fe80::1 if wlan0 reach ffff ureach 0000 rxcost 96 txcost 96 cost 96
//! add route 5581f0 prefix 10.0.0.9/32 from 0.0.0.0/0 installed yes id … metric 192 refmetric 96 via fe80::1 if wlan0
//! ok
//! ```
//!
//! It counts no hops; [`Routes::hops`](super::Routes::hops) says what is made of that.

use super::Route;
use ipnet::IpNet;
use std::collections::HashSet;
use std::net::IpAddr;

/// babeld's infinite cost: unreachable, or heard in one direction only.
const INFINITE: f64 = 65_535.0;

/// Reads a dump. `interface` gives the index of an interface by its name. Routes by neighbours that are not reached in
/// both directions, and routes that are not in use, are left out.
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
    let route = |line: &Vec<&str>| {
        let (via, name) = (value(line, "via")?, value(line, "if")?);
        let metric: f64 = value(line, "metric")?.parse().ok()?;
        let to: IpNet = value(line, "prefix")?.parse().ok()?;
        let refmetric: f64 = value(line, "refmetric")?.parse().ok()?;
        let used = value(line, "installed")? == "yes" && metric < INFINITE;
        // An IPv4 next hop is not how neighbours are named; its interface has to have one that is.
        let known = both_ways.contains(&(via.clone(), name.clone()))
            || via.parse::<IpAddr>().is_ok_and(|via| via.is_ipv4())
                && both_ways.iter().any(|(_, other)| *other == name);
        let next_hop: IpAddr = via.parse().ok()?;
        // What a neighbour announces as its own has no cost beyond the link.
        let is_neighbour = refmetric == 0.0 && next_hop.is_ipv4() && to.addr() == next_hop;
        let next_hop = if is_neighbour { None } else { Some(next_hop) };
        let hops = (refmetric == 0.0).then_some(1);
        (used && known).then(|| Route { to, next_hop, interface: interface(&name), metric, hops })
    };
    lines.iter().filter(|line| is(line, "route")).filter_map(route).take(super::MOST_ROUTES).collect()
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
            ("fd00::9/128".to_owned(), Some("fe80::2".to_owned())),
        ];
        assert_eq!(told, expected);
        assert!(routes.iter().all(|route| route.interface == 7));
    }
}
