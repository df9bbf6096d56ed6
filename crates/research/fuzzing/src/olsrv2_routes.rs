//! What olsrd2 answers when it is asked for its routes.

use crate::Seed;
use routing::olsrv2::parse;
use routing::{MOST_ROUTES, Routes};

/// Routes have a finite cost, and every question has an answer that the table knows.
pub fn check(bytes: &[u8]) -> bool {
    let Some(routes) = std::str::from_utf8(bytes).ok().and_then(parse) else { return false };
    assert!(routes.len() <= MOST_ROUTES);
    assert!(routes.iter().all(|route| route.metric.is_finite() && route.metric >= 0.0));
    let nodes: Vec<_> = routes.iter().map(|route| route.to.addr()).collect();
    let (any, table) = (!routes.is_empty(), Routes::new(routes, nodes.clone()));
    if let Some(gateway) = table.best_gateway() {
        assert!(nodes.contains(&gateway) && table.next_hop_for_node(gateway).is_some());
        assert!(table.best_gateway_hop_count().is_some_and(|hops| (1..=255).contains(&hops)));
    }
    any
}

/// An answer of two routes.
pub fn seeds() -> Vec<Seed> {
    let answer = r#"{"route": [
{"route_dst":"10.0.0.2","route_gw":"10.0.0.2","route_if":"radio","route_ifindex":5,"domain_metric_out_raw":2240,"domain_path_hops":1},
{"route_dst":"fd00::9","route_gw":"fe80::2","route_if":"radio","route_ifindex":5,"domain_metric_out_raw":"4480","domain_path_hops":2}]}"#;
    vec![Seed { name: "two-routes", bytes: answer.as_bytes().to_vec() }]
}
