//! What babeld answers to `dump`.

use crate::Seed;
use routing::babeld::parse;
use routing::{MOST_ROUTES, Routes};

/// Routes have a finite cost, and every question has an answer that the table knows.
pub fn check(bytes: &[u8]) -> bool {
    let Ok(dump) = std::str::from_utf8(bytes) else { return false };
    let routes = parse(dump, |name| name.len() as u32);
    assert!(routes.len() <= MOST_ROUTES);
    assert!(routes.iter().all(|route| route.metric < 65_535.0));
    let nodes: Vec<_> = routes.iter().map(|route| route.to.addr()).take(100).collect();
    let (any, table) = (!routes.is_empty(), Routes::new(routes, nodes.clone()));
    if let Some(gateway) = table.best_gateway() {
        assert!(nodes.contains(&gateway) && table.next_hop_for_node(gateway).is_some());
        assert!(table.best_gateway_hop_count().is_some_and(|hops| (1..=64).contains(&hops)));
    }
    for node in &nodes {
        assert!(table.neighbour_on_the_way(*node, &nodes).is_none_or(|neighbour| neighbour < nodes.len()));
    }
    any
}

/// A dump of two routes.
pub fn seeds() -> Vec<Seed> {
    let dump = "add neighbour 1 address fe80::2 if radio reach ffff ureach 0000 rxcost 96 txcost 96 cost 96\n\
        add route 3 prefix 10.0.0.2/32 from 0.0.0.0/0 installed yes id aa metric 96 refmetric 0 via 10.0.0.2 if radio\n\
        add route 4 prefix 10.0.0.9/32 from 0.0.0.0/0 installed yes id bb metric 192 refmetric 96 via 10.0.0.2 if radio\nok\n";
    vec![Seed { name: "two-routes", bytes: dump.as_bytes().to_vec() }]
}
