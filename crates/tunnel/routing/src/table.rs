//! The four questions of MeshCache's cross-layer module (section 7), and the neighbour on the way, answered
//! from one table for any source.
//!
//! The table has only routers that are reachable in both directions, because a TCP connection needs both.

use ipnet::IpNet;
use serde::Serialize;
use std::net::IpAddr;

/// The most routes; further ones are ignored.
pub const MOST_ROUTES: usize = 16_384;

/// A route to some addresses.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Route {
    /// The destination.
    pub to: IpNet,
    /// The next router; `None` if the destination is a neighbour.
    pub next_hop: Option<IpAddr>,
    /// The next router by the source's name, possibly a link-local address, if the source gives it.
    pub via: Option<IpAddr>,
    /// The interface of a link-local next hop.
    pub interface: u32,
    /// The cost of the route; smaller is better.
    pub metric: f64,
    /// Number of hops, if the source counts them.
    pub hops: Option<u32>,
}

/// The table, and the routers with an uplink.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Routes {
    routes: Vec<Route>,
    gateways: Vec<IpAddr>,
    /// The cost of one hop: the cheapest neighbour's cost.
    hop_cost: f64,
}

impl Routes {
    /// A table of these routes. The routers in `gateways` have an uplink.
    #[must_use]
    pub fn new(mut routes: Vec<Route>, gateways: Vec<IpAddr>) -> Self {
        routes.truncate(MOST_ROUTES);
        routes.retain(|route| route.metric.is_finite() && route.metric >= 0.0);
        // The longest prefix wins, then the least metric.
        routes.sort_by(|a, b| b.to.prefix_len().cmp(&a.to.prefix_len()).then(a.metric.total_cmp(&b.metric)));
        let is_neighbour = |route: &&Route| route.next_hop.is_none() || route.hops == Some(1);
        let neighbours = routes.iter().filter(is_neighbour).filter(|route| route.metric > 0.0);
        let hop_cost = neighbours.map(|route| route.metric).min_by(f64::total_cmp).unwrap_or(1.0);
        Routes { routes, gateways, hop_cost }
    }

    /// Number of routes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.routes.len()
    }

    /// Whether the table is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.routes.is_empty()
    }

    fn to(&self, node: IpAddr) -> Option<&Route> {
        self.routes.iter().find(|route| route.to.contains(&node))
    }

    /// The cost of the route to a router.
    #[must_use]
    pub fn metric(&self, node: IpAddr) -> Option<f64> {
        self.to(node).map(|route| route.metric)
    }

    /// *BestGateway()*: the gateway at the least cost.
    #[must_use]
    pub fn best_gateway(&self) -> Option<IpAddr> {
        self.best_node(&self.gateways)
    }

    /// *BestGatewayHopCount()*. If the source does not count hops, it is the cost divided by the cheapest
    /// neighbour's cost. With an increasing metric that is never too small.
    #[must_use]
    pub fn best_gateway_hop_count(&self) -> Option<u32> {
        self.best_gateway().and_then(|gateway| self.hops(gateway))
    }

    /// Number of hops to a router.
    #[must_use]
    pub fn hops(&self, node: IpAddr) -> Option<u32> {
        let route = self.to(node)?;
        Some(match (route.hops, route.next_hop) {
            (Some(hops), _) => hops.max(1),
            (None, None) => 1,
            // Costs are small numbers, and a search never reaches 64 hops.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            (None, Some(_)) => (route.metric / self.hop_cost).ceil().clamp(2.0, 64.0) as u32,
        })
    }

    /// The cost of one hop: the cheapest neighbour's cost.
    #[must_use]
    pub fn hop_cost(&self) -> f64 {
        self.hop_cost
    }

    /// *BestNode(list)*: the node at the least cost.
    #[must_use]
    pub fn best_node(&self, nodes: &[IpAddr]) -> Option<IpAddr> {
        let reached = nodes.iter().filter_map(|node| Some((*node, self.metric(*node)?)));
        reached.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(node, _)| node)
    }

    /// *GetNextHopForNode(node)*: the neighbour on the way, and the interface to it.
    #[must_use]
    pub fn next_hop_for_node(&self, node: IpAddr) -> Option<(IpAddr, u32)> {
        let route = self.to(node)?;
        // A neighbour is its own next hop, whichever of its addresses the routing protocol uses.
        let next_hop = route.next_hop.filter(|_| route.hops != Some(1));
        Some((next_hop.unwrap_or(node), route.interface))
    }

    /// The index of the neighbour on the way to `node`, among these routers with one address each. `node` may
    /// be one of them.
    ///
    /// A neighbour has several addresses, and the source uses one of them. An address is the same neighbour's
    /// if its route takes one hop by the same next router on the same interface. Without hop counts (the
    /// kernel's routes), this must hold for exactly one neighbour.
    #[must_use]
    pub fn neighbour_on_the_way(&self, node: IpAddr, neighbours: &[IpAddr]) -> Option<usize> {
        let route = self.to(node)?;
        let (next_hop, _) = self.next_hop_for_node(node)?;
        let named = |address: IpAddr| neighbours.iter().position(|it| *it == address);
        if let Some(found) = named(next_hop).or_else(|| named(route.via?)) {
            return Some(found);
        }
        let link = (route.via?, route.interface);
        let beside = |most_hops: Option<u32>| {
            let same = move |neighbour: &IpAddr| {
                self.routes.iter().any(|it| {
                    it.to == IpNet::from(*neighbour)
                        && it.via.is_some_and(|via| (via, it.interface) == link)
                        && it.hops == most_hops
                })
            };
            neighbours.iter().enumerate().filter(move |(_, it)| same(it)).map(|(index, _)| index)
        };
        let untold = || {
            // A source that marks any route as one hop would have marked this one.
            let tells = self.routes.iter().any(|it| it.hops.is_some());
            let mut untold = beside(None);
            untold.next().filter(|_| !tells && untold.next().is_none())
        };
        beside(Some(1)).next().or_else(untold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(to: &str, next_hop: Option<&str>, metric: f64) -> Route {
        let next_hop = next_hop.map(|next| next.parse().unwrap());
        Route { to: to.parse().unwrap(), next_hop, via: next_hop, interface: 0, metric, hops: None }
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn table() -> Routes {
        let routes = vec![
            route("10.0.0.0/8", Some("10.0.0.2"), 900.0),
            route("10.0.0.2/32", None, 96.0),
            route("10.0.0.9/32", Some("10.0.0.2"), 280.0),
            route("10.0.0.8/32", Some("10.0.0.3"), 500.0),
        ];
        Routes::new(routes, vec![address("10.0.0.8"), address("10.0.0.9")])
    }

    #[test]
    fn the_four_questions_are_answered_by_cost() {
        let table = table();
        assert_eq!(table.best_gateway(), Some(address("10.0.0.9")));
        assert_eq!(table.best_gateway_hop_count(), Some(3));
        assert_eq!(table.next_hop_for_node(address("10.0.0.9")).unwrap().0, address("10.0.0.2"));
        assert_eq!(table.next_hop_for_node(address("10.0.0.2")).unwrap().0, address("10.0.0.2"));
        assert_eq!(table.best_node(&[address("10.0.0.8"), address("10.0.0.2")]), Some(address("10.0.0.2")));
        assert_eq!(table.next_hop_for_node(address("10.7.7.7")).unwrap().0, address("10.0.0.2"), "by prefix");
        assert_eq!(table.best_node(&[address("192.0.2.1")]), None);
    }
    /// Routes to host addresses, each with its next router in the source's form and its hops.
    fn by(lines: &[(&str, Option<&str>, &str, Option<u32>)]) -> Routes {
        let line = |(to, next_hop, via, hops): &(&str, Option<&str>, &str, Option<u32>)| Route {
            to: address(to).into(),
            next_hop: next_hop.map(address),
            via: Some(address(via)),
            interface: 7,
            metric: 1.0,
            hops: *hops,
        };
        Routes::new(lines.iter().map(line).collect(), Vec::new())
    }

    #[test]
    fn the_neighbour_on_the_way_is_found_by_any_of_its_addresses() {
        let neighbours = ["fd00::2", "fd00::3"].map(address);
        // fe80::2 announces two addresses of its own, and the source uses the one that is unknown here.
        let table = by(&[
            ("fd00::2", None, "fe80::2", Some(1)),
            ("fd99::2", None, "fe80::2", Some(1)),
            ("fd00::3", Some("fd99::2"), "fe80::2", None),
            ("fd00::9", Some("fd99::2"), "fe80::2", None),
        ]);
        assert_eq!(table.neighbour_on_the_way(address("fd00::9"), &neighbours), Some(0));
        assert_eq!(table.neighbour_on_the_way(address("fd00::2"), &neighbours), Some(0), "itself");
        assert_eq!(table.neighbour_on_the_way(address("fd00::3"), &neighbours), Some(0), "by another one");
        assert_eq!(table.neighbour_on_the_way(address("fd00::8"), &neighbours), None, "no route");
        assert_eq!(
            table.neighbour_on_the_way(address("fd00::9"), &neighbours[1..]),
            None,
            "no neighbour of ours"
        );
    }

    #[test]
    fn where_hops_are_not_told_a_link_local_next_hop_has_to_be_one_neighbours_alone() {
        let neighbours = ["fd00::2", "fd00::3"].map(address);
        let far = ("fd00::9", Some("fe80::2"), "fe80::2", None);
        let near = ("fd00::2", Some("fe80::2"), "fe80::2", None);
        let alone = by(&[far, near]);
        assert_eq!(alone.neighbour_on_the_way(address("fd00::9"), &neighbours), Some(0));
        let two = by(&[far, near, ("fd00::3", Some("fe80::2"), "fe80::2", None)]);
        assert_eq!(two.neighbour_on_the_way(address("fd00::9"), &neighbours), None);
        let by_name = by(&[("10.0.0.9", Some("10.0.0.2"), "10.0.0.2", None)]);
        assert_eq!(by_name.neighbour_on_the_way(address("10.0.0.9"), &[address("10.0.0.2")]), Some(0));
    }
}
