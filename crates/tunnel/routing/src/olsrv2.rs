//! Routes of OLSRv2 (RFC 7181) from olsrd2: its telnet port's answer to `/olsrv2info jsonraw route`.
//!
//! ```text
//! {"route": [{"route_dst":"10.0.0.9","route_gw":"10.0.0.2","route_metric":2,"route_if":"wlan0","route_ifindex":5, …
//!             "domain":0,"domain_metric_out_raw":4480,"domain_path_hops":2}, …]}
//! ```
//!
//! It counts hops, and routes only by links that work in both directions (section 3.1: *symmetric*).

use crate::table::{MOST_ROUTES, Route};
use ipnet::IpNet;
use serde_json::Value;
use std::collections::HashMap;
use std::net::IpAddr;

/// The request. The slash makes the connection end after the answer.
pub const QUESTION: &[u8] = b"/olsrv2info jsonraw route\n";

/// Parses an answer; `None` if it is malformed. Invalid routes are left out.
#[must_use]
pub fn parse(answer: &str) -> Option<Vec<Route>> {
    let answer: Value = serde_json::from_str(answer.trim()).ok()?;
    let lines = answer.get("route")?.as_array()?;
    let all: Vec<Route> = lines.iter().take(MOST_ROUTES).filter_map(route).collect();
    // IPv6 neighbours are next hops under link-local addresses. A host one hop away by such an address is
    // that neighbour.
    let mut own: HashMap<(IpAddr, u32), IpAddr> = HashMap::new();
    for route in &all {
        let alone = route.to.prefix_len() == route.to.max_prefix_len();
        if let (Some(next_hop), Some(1), true) = (route.next_hop, route.hops, alone) {
            own.entry((next_hop, route.interface)).or_insert(route.to.addr());
        }
    }
    let named = |mut route: Route| {
        let next_hop = route.next_hop.map(|via| own.get(&(via, route.interface)).copied().unwrap_or(via));
        route.next_hop = next_hop.filter(|next_hop| *next_hop != route.to.addr());
        route
    };
    Some(all.into_iter().map(named).collect())
}

fn route(line: &Value) -> Option<Route> {
    let text = |name: &str| line.get(name)?.as_str();
    // Numbers are bare in one form of the answer and quoted in the other.
    let number = |name: &str| {
        let value = line.get(name)?;
        value.as_u64().or_else(|| value.as_str()?.parse().ok())
    };
    let to = text("route_dst")?;
    let to: IpNet = to.parse().ok().or_else(|| to.parse::<IpAddr>().ok().map(IpNet::from))?;
    let metric = number("domain_metric_out_raw").or_else(|| number("route_metric"))?;
    // "-" means none.
    let via = text("route_gw").and_then(|gateway| gateway.parse().ok());
    Some(Route {
        to,
        next_hop: via,
        via,
        interface: number("route_ifindex").and_then(|index| u32::try_from(index).ok()).unwrap_or(0),
        // Path metrics have slightly more than 24 bits (RFC 7181 section 6.2).
        metric: f64::from(u32::try_from(metric).ok()?),
        hops: number("domain_path_hops")
            .and_then(|hops| u32::try_from(hops).ok())
            .filter(|hops| *hops <= 255),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Routes;

    const ANSWER: &str = r#"
{"route": [
{"route_dst":"10.0.0.2","route_gw":"10.0.0.2","route_src_ip":"10.0.0.1","route_src_prefix":"-","route_metric":2,
 "route_table":254,"route_proto":100,"route_if":"wlan0","route_ifindex":5,"route_lasthop":"10.0.0.1","domain":0,
 "domain_metric":"ff_dat_metric","domain_metric_out":"2.2kbit/s (1 hop)","domain_metric_out_raw":2240,"domain_path_hops":1},
{"route_dst":"10.0.0.9","route_gw":"10.0.0.2","route_ifindex":5,"domain_metric_out_raw":"4480","domain_path_hops":"2"},
{"route_dst":"0.0.0.0/0","route_gw":"10.0.0.2","route_ifindex":5,"domain_metric_out_raw":4481,"domain_path_hops":2},
{"route_dst":"fd00::2","route_gw":"fe80::2","route_ifindex":5,"domain_metric_out_raw":2240,"domain_path_hops":1},
{"route_dst":"fd00::9","route_gw":"fe80::2","route_ifindex":5,"domain_metric_out_raw":4480,"domain_path_hops":2},
{"route_dst":"nonsense","route_gw":"10.0.0.2","domain_metric_out_raw":1}
]}
"#;

    #[test]
    fn an_answer_gives_next_hops_costs_and_hops() {
        let routes = parse(ANSWER).unwrap();
        assert_eq!(routes.len(), 5);
        let table = Routes::new(routes, vec!["10.0.0.9".parse().unwrap(), "fd00::9".parse().unwrap()]);
        let next = |node: &str| table.next_hop_for_node(node.parse().unwrap()).unwrap();
        assert_eq!(next("10.0.0.9"), ("10.0.0.2".parse().unwrap(), 5));
        assert_eq!(next("10.0.0.2"), ("10.0.0.2".parse().unwrap(), 5));
        assert_eq!(
            next("fd00::9"),
            ("fd00::2".parse().unwrap(), 5),
            "by an address that reaches farther than the link"
        );
        assert_eq!(table.best_gateway_hop_count(), Some(2));
        assert_eq!(table.metric("10.0.0.9".parse().unwrap()), Some(4480.0));
    }

    #[test]
    fn what_is_no_answer_is_none() {
        for text in ["", "{}", "[]", "{\"route\":{}}", "unknown command\n", &ANSWER[..ANSWER.len() / 2]] {
            assert_eq!(parse(text), None, "{text:?}");
        }
        assert_eq!(parse("{\"route\": []}"), Some(Vec::new()));
    }
}
