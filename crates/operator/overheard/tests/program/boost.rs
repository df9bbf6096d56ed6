//! Boosted TCP: the programs load, connections through the tunnel use them, they receive ratios, and they end
//! with their node.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a test may fail by panicking, and waits

use crate::support::Site;
use crate::support::namespaces::{Cabled, Machine, Node, possible};
use crate::support::traffic::{answers, sent_and_returned};
use rustix::process::Signal;
use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(10);
/// Number of simultaneous connections.
const MANY: usize = 1000;

fn gateway() -> IpAddr {
    "10.98.0.1".parse().unwrap()
}

/// The finding of `doctor` about the programs.
fn bpf() -> serde_json::Value {
    let said = Site::new().run(&["doctor", "--json"]);
    let findings: Vec<serde_json::Value> = serde_json::from_slice(&said.stdout).unwrap();
    findings.into_iter().find(|finding| finding["name"] == "BPF struct_ops for TCP").unwrap()
}

/// Whether this machine can load the programs; prints a line if it cannot.
pub fn loads() -> bool {
    let bpf = bpf();
    if bpf["state"] != "present" {
        eprintln!("skipped: {}", bpf["detail"]);
    }
    bpf["state"] == "present"
}

/// A tunnel whose station boosts.
fn site() -> Site {
    let site = Site::tunnel("192.0.2.1:4780", r#"["10.98.0.1/32", "fd98::/64"]"#);
    site.add("station", "[tunnel]", "boost = true\nboost_control = \"cubic\"");
    site.save_when_busy();
    site
}

/// Our controllers on this machine.
fn registered() -> Vec<String> {
    let list = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    list.split_whitespace().filter(|name| name.starts_with("oh_")).map(str::to_owned).collect()
}

/// Waits until a controller is gone: the kernel removes a killed process's objects after its end.
fn goes(name: &str) -> bool {
    let end = Instant::now() + PATIENCE;
    while registered().iter().any(|other| other == name) {
        if Instant::now() > end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

/// The name of a node's boosted congestion control.
fn name_of(node: &Node) -> String {
    let boost = node.status()["boost"].as_str().unwrap().to_owned();
    boost.strip_prefix("cubic, as ").unwrap_or_else(|| panic!("{boost}")).to_owned()
}

/// Half a megabyte without repetitions, six times.
fn content() -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut piece: Vec<u8> = Vec::new();
    while piece.len() < 500_000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        piece.extend_from_slice(&state.to_le_bytes());
    }
    piece.repeat(6)
}

#[test]
fn connections_through_the_tunnel_are_boosted_and_it_ends_with_the_node() {
    if !possible() || !loads() {
        return;
    }
    let (cabled, site) = (Cabled::new(), site());
    let gateway_node = Node::start(&site, &cabled.gateway, "gateway");
    let station = Node::start(&site, &cabled.station, "station");
    assert!(answers(&cabled.station, gateway(), 56, PATIENCE));
    let name = name_of(&station);
    assert!(registered().contains(&name), "{name}");
    let routes = cabled.station.ip("route show") + &cabled.station.ip("-6 route show");
    assert_eq!(routes.matches(&format!("congctl {name}")).count(), 2, "{routes}");

    let content = content();
    for address in ["10.98.0.1", "fd98::1"] {
        let address = address.parse().unwrap();
        assert!(sent_and_returned(&cabled.station, &cabled.gateway, address, &content) == content);
    }
    let peer = || station.status()["node"]["peers"][0].clone();
    assert_eq!(peer()["boosted_flows"], 2, "{:#}", peer());
    let text = String::from_utf8(site.run(&["status", "station.toml"]).stdout).unwrap();
    assert!(text.contains("boost:") && text.contains("2 flows"), "{text}");
    // The ratio is that of the latest packets.
    let end = Instant::now() + PATIENCE;
    while peer()["boost_ratio"].as_f64().unwrap() < 1.5 {
        assert!(Instant::now() < end, "{:#}", peer());
        let again = &content[..100_000];
        assert!(sent_and_returned(&cabled.station, &cabled.gateway, gateway(), again) == again);
    }
    assert!(gateway_node.status()["boost"].is_null(), "nobody asked for it there");

    assert_eq!(station.terminate(Signal::TERM).code(), Some(0));
    assert!(goes(&name));
    assert_eq!(cabled.station.traces(), Vec::<String>::new(), "nothing is left");
}

/// Opens many connections at once to an echo server, and passes them to `doing`.
fn with_many(from: &Machine, to: &Machine, doing: impl FnOnce(&mut Vec<TcpStream>)) {
    let listener = to.on(|| TcpListener::bind((gateway(), 0)).unwrap());
    let address = listener.local_addr().unwrap();
    let (all_are_there, wait) = std::sync::mpsc::channel();
    let server = std::thread::spawn(move || {
        let accepted = (0..MANY).map(|_| listener.accept().unwrap().0);
        let mut accepted: Vec<TcpStream> = accepted.collect();
        all_are_there.send(()).unwrap();
        let mut buffer = vec![0; 8192];
        for stream in &mut accepted {
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            // The node in between may be killed meanwhile.
            if stream.read_exact(&mut buffer).and_then(|()| stream.write_all(&buffer)).is_err() {
                return;
            }
        }
    });
    let connect = || TcpStream::connect_timeout(&address, PATIENCE).unwrap();
    let mut streams: Vec<TcpStream> = (0..MANY).map(|_| from.on(connect)).collect();
    // A connection that loses its last message with the node would wait forever.
    wait.recv_timeout(PATIENCE).unwrap();
    doing(&mut streams);
    drop(streams);
    server.join().unwrap();
}

#[test]
fn a_thousand_connections_are_carried_and_outlive_the_program_that_boosted_them() {
    if !possible() || !loads() {
        return;
    }
    let (cabled, site) = (Cabled::new(), site());
    let _gateway = Node::start(&site, &cabled.gateway, "gateway");
    let station = Node::start(&site, &cabled.station, "station");
    assert!(answers(&cabled.station, gateway(), 56, PATIENCE));
    let said = &content()[..8192];
    with_many(&cabled.station, &cabled.gateway, |streams| {
        for stream in streams.iter_mut() {
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            stream.write_all(said).unwrap();
        }
        for stream in streams.iter_mut() {
            let mut returned = vec![0; said.len()];
            stream.read_exact(&mut returned).unwrap();
            assert!(returned == said);
        }
    });
    // A node killed among many connections leaves no controller, and its successor works.
    let name = name_of(&station);
    with_many(&cabled.station, &cabled.gateway, |streams| {
        streams.iter_mut().for_each(|stream| stream.write_all(said).unwrap());
        station.terminate(Signal::KILL);
        // Its keeper outlives it for as long as that takes.
        assert!(goes(&name));
    });
    let station = Node::start(&site, &cabled.station, "station");
    assert!(goes(&name));
    assert_ne!(name_of(&station), name);
    assert!(answers(&cabled.station, gateway(), 56, PATIENCE), "it works again");
    let content = content();
    assert!(sent_and_returned(&cabled.station, &cabled.gateway, gateway(), &content) == content);
}

#[test]
fn a_congestion_control_that_cannot_be_wrapped_is_left_alone() {
    if !possible() || !loads() {
        return;
    }
    let (cabled, site) = (Cabled::new(), Site::tunnel("192.0.2.1:4780", r#"["10.98.0.1/32"]"#));
    site.add("station", "[tunnel]", "boost = true");
    let usual =
        cabled.station.on(|| fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap());
    if ["cubic", "reno"].contains(&usual.trim()) {
        return eprintln!("skipped: connections here use {usual}");
    }
    let _gateway = Node::start(&site, &cabled.gateway, "gateway");
    let station = Node::start(&site, &cabled.station, "station");
    assert!(answers(&cabled.station, gateway(), 56, PATIENCE), "the tunnel works all the same");
    let boost = station.status()["boost"].as_str().unwrap().to_owned();
    assert!(boost.starts_with("none: ") && boost.contains(usual.trim()), "{boost}");
    assert!(station.log().contains("boost_control"), "the mend is named: {}", station.log());
}

#[test]
fn keys_that_do_not_go_together_are_refused_with_the_mend() {
    let site = Site::new();
    let with = |keys: &str, after: &str| {
        let text = site.gateway().replacen("[tunnel]", &format!("[tunnel]\n{keys}"), 1) + after;
        site.refused(&text)
    };
    for (keys, after, named) in [
        ("boost = true\nroutes = false", "", "[tunnel] boost"),
        ("boost = true", "\n[shorten]\npacking = false\n", "[shorten] packing"),
        ("boost_control = \"cubic\"", "", "[tunnel] boost_control"),
        ("boost = true\nboost_control = \"bbr\"", "", "[tunnel] boost_control"),
    ] {
        let (code, said) = with(keys, after);
        assert_eq!(code, 2, "{said}");
        assert!(said.contains(named), "{keys}: {said}");
    }
}
