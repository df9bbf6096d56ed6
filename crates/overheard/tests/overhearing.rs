//! A gateway and two stations on a medium where everybody hears everything: what one fetched is not sent to the other.
//! And an ear alone: what it hears is counted.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a test may fail by panicking, and waits

mod support;

use rustix::process::Signal;
use std::fs;
use std::net::{IpAddr, UdpSocket};
use std::time::{Duration, Instant};
use support::Site;
use support::namespaces::{Cabled, Medium, Node, possible};
use support::traffic::{answers, sent_and_returned};

const PATIENCE: Duration = Duration::from_secs(10);

fn gateway() -> IpAddr {
    "10.98.0.1".parse().unwrap()
}

/// Bytes that neither repeat nor compress.
fn content(bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut content: Vec<u8> = Vec::with_capacity(bytes);
    while content.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        content.extend_from_slice(&state.to_le_bytes());
    }
    content
}

/// A gateway, and two stations that are configured alike; `overhear` is the table of the stations.
fn site(overhear: &str) -> Site {
    let site = Site::tunnel("192.0.2.1:4780", r#"["10.98.0.1/32"]"#);
    let station = fs::read_to_string(site.path().join("station.toml")).unwrap() + overhear;
    let station = station.replace("ohtest-st", "oh-st").replace(r#", "fd98::2/64""#, "");
    site.write("station.toml", &station);
    site.add_station("other", 3);
    let gateway = fs::read_to_string(site.path().join("gateway.toml")).unwrap();
    site.write("gateway.toml", &(gateway + "\n[overhear]\n"));
    site
}

fn count(node: &Node, peer: usize, name: &str) -> u64 {
    node.status()["node"]["peers"][peer]["counters"][name].as_u64().unwrap()
}

#[test]
fn what_one_station_fetched_the_other_has_overheard() {
    if !possible() {
        return;
    }
    let (medium, site) = (Medium::new(3), site("\n[overhear]\ninterface = \"cable\"\n"));
    let [at_gateway, at_station, at_other] = &medium.machines[..] else { panic!("three machines") };
    let gateway_node = Node::start(&site, at_gateway, "gateway");
    let stations = [Node::start(&site, at_station, "station"), Node::start(&site, at_other, "other")];
    for machine in [at_station, at_other] {
        assert!(answers(machine, gateway(), 56, PATIENCE), "the tunnel stands");
    }
    let content = content(1_500_000);
    let mut costs = Vec::new();
    for (index, machine) in [at_station, at_other].into_iter().enumerate() {
        let before = count(&gateway_node, index, "outer_sent_bytes");
        let returned = sent_and_returned(machine, at_gateway, gateway(), &content);
        assert!(returned == content, "every byte comes back");
        costs.push(count(&gateway_node, index, "outer_sent_bytes") - before);
        // the last reports are on their way
        let end = Instant::now() + Duration::from_secs(1);
        while Instant::now() < end {
            assert!(answers(machine, gateway(), 56, PATIENCE));
        }
    }
    let status = format!("{:#}\n{:#}", gateway_node.status()["node"], stations[1].status()["node"]);
    println!("the first cost {} bytes, the second {}", costs[0], costs[1]);
    assert!(costs[0] > 1_400_000, "{costs:?} {status}");
    assert!(costs[1] * 2 < costs[0], "{costs:?} {status}");
    assert!(count(&stations[1], 0, "chunks_hit") > 5_000, "{status}");
    let text = String::from_utf8(site.run(&["status", "gateway.toml"]).stdout).unwrap();
    assert!(text.contains("OVERHEARS") && text.contains("collisions"), "{text}");
}

#[test]
fn stations_without_ears_get_what_they_always_got() {
    if !possible() {
        return;
    }
    let (medium, site) = (Medium::new(3), site(""));
    let [at_gateway, at_station, at_other] = &medium.machines[..] else { panic!("three machines") };
    let gateway_node = Node::start(&site, at_gateway, "gateway");
    let _stations = [Node::start(&site, at_station, "station"), Node::start(&site, at_other, "other")];
    let content = content(300_000);
    for machine in [at_station, at_other] {
        assert!(answers(machine, gateway(), 56, PATIENCE));
        assert!(sent_and_returned(machine, at_gateway, gateway(), &content) == content);
    }
    assert_eq!(count(&gateway_node, 1, "shared_packets"), 0);
}

#[test]
fn what_is_sent_to_another_station_is_heard_and_counted() {
    if !possible() {
        return;
    }
    let (cabled, site) = (Cabled::new(), Site::tunnel("192.0.2.1:4780", r#"["10.98.0.0/24", "fd98::/64"]"#));
    let text = fs::read_to_string(site.path().join("station.toml")).unwrap();
    site.write("station.toml", &format!("{text}\n[overhear]\ninterface = \"cable\"\n"));
    let gateway = Node::start(&site, &cabled.gateway, "gateway");
    let station = Node::start(&site, &cabled.station, "station");
    let inner = "10.98.0.1".parse().unwrap();
    assert!(answers(&cabled.station, inner, 1000, PATIENCE), "the tunnel carries");

    // another station, at the same end of the cable as this one
    cabled.gateway.ip("neigh add 192.0.2.77 lladdr 02:00:00:00:00:77 dev cable");
    cabled.gateway.on(|| {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        for number in 0..5u8 {
            socket.send_to(&[number; 100], "192.0.2.77:4780").unwrap();
            socket.send_to(&[number; 100], "192.0.2.77:53").unwrap();
        }
    });
    let patience = Instant::now() + PATIENCE;
    let heard = loop {
        let heard = station.status()["overheard"].clone();
        if heard["datagrams"] == 5 || Instant::now() > patience {
            break heard;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let expected = serde_json::json!({
        "interface": "cable", "link": "Ethernet", "frames": 5, "datagrams": 5, "datagram_bytes": 500, "not_ours": 0,
        "own": 0, "protected": 0, "retries": 0, "malformed": 0, "dropped": 0,
    });
    assert_eq!(heard, expected, "neither the tunnel's own nor another service's");
    let text = String::from_utf8(site.run(&["status", "station.toml"]).stdout).unwrap();
    assert!(
        text.contains("overheard:       500 datagram bytes, 5 datagrams, 5 frames on cable (Ethernet)"),
        "{text}"
    );
    assert!(gateway.status()["overheard"].is_null());

    assert_eq!(station.terminate(Signal::TERM).code(), Some(0));
    assert!(
        cabled.station.ip("-d link show dev cable").contains("promiscuity 0"),
        "the interface is as it was"
    );
    assert_eq!(gateway.terminate(Signal::TERM).code(), Some(0));
}

#[test]
fn a_table_that_makes_no_sense_is_refused_with_its_key() {
    let site = Site::new();
    for (key, named) in [
        ("slot_bits = 13", "slot_bits"),
        ("rate_mbps = 0.0", "rate_mbps"),
        ("interface = \"a/b\"", "interface"),
        ("listen = true", "listen"),
    ] {
        let (code, said) = site.refused(&format!("{}\n[overhear]\n{key}\n", site.gateway()));
        assert_eq!(code, 2, "{said}");
        assert!(said.contains(named), "{key}: {said}");
    }
}
