//! `overheard up` at both ends of a cable between two namespaces: real devices, real routes, real TCP.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a test may fail by panicking, and waits

use crate::support::namespaces::{Cabled, Node, possible};
use crate::support::traffic::{answers, sent_and_returned};
use crate::support::{Site, laboratory};
use rustix::process::Signal;
use std::net::IpAddr;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

const INNER_IPV4: &str = "10.98.0.1";
const INNER_IPV6: &str = "fd98::1";
const PATIENCE: Duration = Duration::from_secs(10);

fn inner(address: &str) -> IpAddr {
    address.parse().unwrap()
}

/// Bytes without repetitions, twice: the second half is redundant.
fn content(bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut half: Vec<u8> = Vec::with_capacity(bytes);
    while half.len() < bytes / 2 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        half.extend_from_slice(&state.to_le_bytes());
    }
    half.repeat(2)
}

fn carries_everything(endpoint: &str) {
    let (cabled, site) = (Cabled::new(), Site::tunnel(endpoint, r#"["10.98.0.0/24", "fd98::/64"]"#));
    site.save_when_busy();
    let gateway = Node::start(&site, &cabled.gateway, "gateway");
    let station = Node::start(&site, &cabled.station, "station");
    for address in [INNER_IPV4, INNER_IPV6] {
        assert!(answers(&cabled.station, inner(address), 56, PATIENCE), "{address} does not answer");
        assert!(answers(&cabled.station, inner(address), 1350, PATIENCE), "a large packet to {address}");
    }
    assert!(answers(&cabled.gateway, inner("10.98.0.2"), 56, PATIENCE), "nor the other way");

    let content = content(3_000_000);
    for address in [INNER_IPV4, INNER_IPV6] {
        let returned = sent_and_returned(&cabled.station, &cabled.gateway, inner(address), &content);
        assert!(returned == content, "every byte comes back through {address}");
    }
    let status = station.status();
    let peer = &status["node"]["peers"][0];
    let count = |name: &str| peer["counters"][name].as_u64().unwrap();
    assert_eq!(peer["name"], "gateway");
    assert!(peer["endpoint"].as_str().unwrap() == endpoint);
    assert!(count("inner_sent_bytes") > 6_000_000 && count("inner_received_bytes") > 6_000_000, "{status:#}");
    assert!(count("outer_sent_bytes") < count("inner_sent_bytes") * 8 / 10, "repeats are saved: {status:#}");
    assert_eq!(count("missed"), 0, "{status:#}");
    assert_eq!(status["io"]["datagrams_too_large"], 0, "{status:#}");
    let text = site.run(&["status", "station.toml"]);
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("gateway") && text.contains(endpoint) && text.contains('%'), "{text}");

    assert_eq!(station.terminate(Signal::TERM).code(), Some(0));
    assert_eq!(gateway.terminate(Signal::INT).code(), Some(0));
    for machine in [&cabled.gateway, &cabled.station] {
        assert_eq!(machine.traces(), Vec::<String>::new(), "nothing is left");
    }
    assert!(!site.path().join("station.sock").exists() && !site.path().join("gateway.sock").exists());
}

#[test]
fn a_tunnel_over_ipv4_carries_both_families_and_leaves_nothing_behind() {
    if possible() {
        carries_everything("192.0.2.1:4780");
    }
}

#[test]
fn a_tunnel_over_ipv6_carries_both_families_and_leaves_nothing_behind() {
    if possible() {
        carries_everything("[2001:db8::1]:4780");
    }
}

#[test]
fn a_default_route_leads_everything_through_the_tunnel_but_the_tunnel_itself() {
    if !possible() {
        return;
    }
    for endpoint in ["192.0.2.1:4780", "[2001:db8::1]:4780"] {
        let (cabled, site) = (Cabled::new(), Site::tunnel(endpoint, r#"["0.0.0.0/0", "::/0"]"#));
        // The strictest reverse-path check.
        let strict = ["all", "cable"].map(|name| format!("/proc/sys/net/ipv4/conf/{name}/rp_filter"));
        cabled.station.on(|| strict.iter().for_each(|file| std::fs::write(file, "1").unwrap()));
        for route in ["-4 route add default via 192.0.2.1", "-6 route add default via 2001:db8::1"] {
            cabled.station.ip(route);
        }
        // Addresses that only the gateway can reach: its own, without another route to them.
        for address in ["198.51.100.1/32", "2001:db8:5::1/128"] {
            cabled.gateway.ip(&format!("addr add {address} dev lo"));
        }
        let before = cabled.station.traces();
        let gateway = Node::start(&site, &cabled.gateway, "gateway");
        let station = Node::start(&site, &cabled.station, "station");
        for address in ["198.51.100.1", "2001:db8:5::1"] {
            assert!(answers(&cabled.station, inner(address), 56, PATIENCE), "{address} over {endpoint}");
            let route = cabled.station.ip(&format!("route get {address}"));
            assert!(route.contains("dev ohtest-st"), "{route}");
        }
        let sent = station.status()["node"]["peers"][0]["counters"]["inner_sent_packets"].as_u64();
        assert!(sent >= Some(2), "the tunnel carried them: {sent:?}");

        // A killed node leaves its rules; the restarted node finds and replaces them.
        assert_eq!(station.terminate(Signal::KILL).signal(), Some(9));
        let left = cabled.station.traces();
        assert!(left.len() > before.len(), "{left:?}");
        let station = Node::start(&site, &cabled.station, "station");
        assert!(answers(&cabled.station, inner("198.51.100.1"), 56, PATIENCE), "it works again");
        assert!(station.log().contains("an earlier run of ohtest-st left behind"), "{}", station.log());
        assert_eq!(station.terminate(Signal::TERM).code(), Some(0));
        assert_eq!(cabled.station.traces(), before, "nothing is left");
        drop(gateway);
    }
}

#[test]
fn an_endpoint_inside_the_peers_own_addresses_does_not_loop() {
    if !possible() {
        return;
    }
    let (cabled, site) =
        (Cabled::new(), Site::tunnel("192.0.2.1:4780", r#"["10.98.0.0/24", "192.0.0.0/16"]"#));
    cabled.gateway.ip("addr add 192.0.77.1/32 dev lo");
    let _gateway = Node::start(&site, &cabled.gateway, "gateway");
    let station = Node::start(&site, &cabled.station, "station");
    assert!(answers(&cabled.station, inner(INNER_IPV4), 56, PATIENCE));
    assert!(answers(&cabled.station, inner("192.0.77.1"), 56, PATIENCE));
    let direct = cabled.station.ip("route get 192.0.2.1");
    assert!(direct.contains("dev cable"), "what is more specific still wins: {direct}");
    assert_eq!(station.terminate(Signal::TERM).code(), Some(0));
    assert_eq!(cabled.station.traces(), Vec::<String>::new());
}

#[test]
fn a_start_that_fails_half_way_leaves_nothing_behind() {
    if !possible() {
        return;
    }
    let (cabled, site) =
        (Cabled::new(), Site::tunnel("192.0.2.1:4780", r#"["0.0.0.0/0", "203.0.113.0/24"]"#));
    // The device, its addresses and a route exist when this one cannot be added.
    cabled.station.ip("route add 203.0.113.0/24 via 192.0.2.1");
    let (code, said) = Node::spawn(&site, &cabled.station, "station").wait();
    let expected = "overheard: station.toml: [[peer]] allowed_ips: there is a route to 203.0.113.0/24 already; \
                    remove that route, or take 203.0.113.0/24 out of the peer's allowed_ips";
    assert_eq!((code, said.as_str()), (2, expected));
    assert_eq!(cabled.station.traces(), Vec::<String>::new());
    assert!(!site.path().join("station.sock").exists());

    cabled.station.ip("route del 203.0.113.0/24 via 192.0.2.1");
    cabled.station.ip("link add ohtest-st type veth peer name cable2");
    let (code, said) = Node::spawn(&site, &cabled.station, "station").wait();
    let expected = "overheard: station.toml: [tunnel] interface: interface ohtest-st exists already; stop the \
                    program that made it or choose another name";
    assert_eq!((code, said.as_str()), (2, expected));
}

#[test]
fn a_second_node_of_the_same_configuration_is_refused_and_harms_nothing() {
    if !possible() {
        return;
    }
    let (cabled, site) = (Cabled::new(), Site::tunnel("192.0.2.1:4780", r#"["0.0.0.0/0"]"#));
    let _gateway = Node::start(&site, &cabled.gateway, "gateway");
    let _station = Node::start(&site, &cabled.station, "station");
    let (code, said) = Node::spawn(&site, &cabled.station, "station").wait();
    assert_eq!(code, 2);
    assert!(
        said.ends_with("a node answers on station.sock already; stop it or choose another path"),
        "{said}"
    );
    // Without the socket's conflict, the device's conflict ends the start before any rule changes.
    std::fs::write(
        site.path().join("other.toml"),
        std::fs::read_to_string(site.path().join("station.toml"))
            .unwrap()
            .replace("station.sock", "other.sock"),
    )
    .unwrap();
    let (code, said) = Node::spawn(&site, &cabled.station, "other").wait();
    assert_eq!(code, 2);
    assert!(said.contains("interface ohtest-st exists already"), "{said}");
    assert!(answers(&cabled.station, inner(INNER_IPV4), 56, PATIENCE));
}

#[test]
fn a_station_that_moves_to_another_address_keeps_its_connections() {
    if !possible() {
        return;
    }
    let (cabled, site) = (Cabled::new(), Site::tunnel("192.0.2.1:4780", r#"["10.98.0.0/24"]"#));
    let gateway = Node::start(&site, &cabled.gateway, "gateway");
    let _station = Node::start(&site, &cabled.station, "station");
    assert!(answers(&cabled.station, inner(INNER_IPV4), 56, PATIENCE));
    cabled.station.ip("addr del 192.0.2.2/24 dev cable");
    cabled.station.ip("addr add 192.0.2.77/24 dev cable");
    assert!(
        answers(&cabled.station, inner(INNER_IPV4), 56, PATIENCE),
        "the station still reaches the gateway"
    );
    assert!(answers(&cabled.gateway, inner("10.98.0.2"), 56, PATIENCE), "and the gateway the station");
    let endpoint = gateway.status()["node"]["peers"][0]["endpoint"].as_str().unwrap().to_owned();
    assert!(endpoint.starts_with("192.0.2.77:"), "{endpoint}");
}

#[test]
fn a_device_that_someone_removes_ends_the_node_with_a_reason() {
    if !possible() {
        return;
    }
    let (cabled, site) = (Cabled::new(), Site::tunnel("192.0.2.1:4780", r#"["0.0.0.0/0"]"#));
    let station = Node::start(&site, &cabled.station, "station");
    cabled.station.ip("link del ohtest-st");
    let (code, said) = station.wait();
    assert_eq!((code, said.as_str()), (1, "overheard: interface ohtest-st was removed by someone else"));
    assert_eq!(cabled.station.traces(), Vec::<String>::new());
}

#[test]
fn a_gateway_on_a_narrow_link_offers_what_fits_it() {
    if !possible() {
        return;
    }
    let (cabled, site) = (Cabled::new(), Site::tunnel("192.0.2.1:4780", r#"["10.98.0.0/24"]"#));
    for machine in [&cabled.gateway, &cabled.station] {
        machine.ip("link set cable mtu 1400");
    }
    cabled.gateway.ip("route add default via 192.0.2.2");
    let gateway = Node::start(&site, &cabled.gateway, "gateway");
    let station = Node::start(&site, &cabled.station, "station");
    let fits = 1400 - 20 - 8 - node::AROUND_PACKET;
    assert_eq!(gateway.status()["mtu"], fits);
    assert_eq!(station.status()["mtu"], fits);
    // An ICMP message that exactly fits an IPv4 packet of that size.
    assert!(answers(&cabled.gateway, inner("10.98.0.2"), fits - 20 - 8, PATIENCE));
    assert_eq!(gateway.status()["io"]["datagrams_too_large"], 0);
}

#[test]
fn a_link_local_endpoint_is_reached_through_its_interface() {
    if !possible() {
        return;
    }
    let cabled = Cabled::new();
    // A link-local address is usable shortly after the interface is up.
    let address = (0..50).find_map(|_| {
        std::thread::sleep(Duration::from_millis(100));
        let shown = cabled.gateway.ip("-6 -o addr show dev cable scope link -tentative");
        Some(shown.split_whitespace().nth(3)?.split('/').next()?.to_owned())
    });
    let site = Site::tunnel(&format!("[{}%cable]:4780", address.unwrap()), r#"["::/0"]"#);
    // Its configuration is read where the interface is.
    let _gateway = Node::start(&site, &cabled.gateway, "gateway");
    let station = Node::start(&site, &cabled.station, "station");
    assert!(answers(&cabled.station, inner(INNER_IPV6), 56, PATIENCE), "{}", station.log());
}

#[test]
fn an_address_that_the_kernel_will_not_take_is_told() {
    if !possible() {
        return;
    }
    let (cabled, site) = (Cabled::new(), Site::tunnel("192.0.2.1:4780", r#"["10.98.0.0/24"]"#));
    cabled.station.on(|| std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1").unwrap());
    let (code, said) = Node::spawn(&site, &cabled.station, "station").wait();
    let expected = "overheard: station.toml: [tunnel] addresses: fd98::2/64 cannot be set: IPv6 is switched off \
                    here; take it out, or set net.ipv6.conf.default.disable_ipv6 = 0";
    assert_eq!((code, said.as_str()), (2, expected));
    assert_eq!(cabled.station.traces(), Vec::<String>::new());
}

#[test]
fn naive_runs_in_an_experiment_and_its_trace_says_what_refers_to_what() {
    if !possible() {
        return;
    }
    let (cabled, site) = (Cabled::new(), Site::tunnel("192.0.2.1:4780", r#"["10.98.0.0/24"]"#));
    let station = std::fs::read_to_string(site.path().join("station.toml")).unwrap();
    site.write("station.toml", &format!("{station}[reduce]\npolicy = \"naive\"\n"));
    let _gateway = Node::start(&site, &cabled.gateway, "gateway");
    let traced = ["node", "--trace", "trace.jsonl"];
    let station = Node::start_by(&laboratory(), &site, &cabled.station, "station", &traced);
    assert!(answers(&cabled.station, inner(INNER_IPV4), 56, PATIENCE));
    let content = content(200_000);
    assert!(sent_and_returned(&cabled.station, &cabled.gateway, inner(INNER_IPV4), &content) == content);
    assert_eq!(station.status()["node"]["policy"], "naive");
    assert_eq!(station.terminate(Signal::TERM).code(), Some(0));
    let trace = std::fs::read_to_string(site.path().join("trace.jsonl")).unwrap();
    let lines: Vec<serde_json::Value> =
        trace.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let refers =
        |line: &&serde_json::Value| line["references"].as_array().is_some_and(|list| !list.is_empty());
    let first = lines.iter().find(refers).expect("the second half refers to the first");
    assert!(first["references"][0].as_u64() < first["sent"].as_u64(), "to what was sent before: {first}");
    assert!(lines.iter().any(|line| line["arrived"].is_u64() && line["outcome"] == "delivered"));
}
