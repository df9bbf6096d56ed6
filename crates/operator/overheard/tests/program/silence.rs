//! A peer that does not answer: the log, `overheard status` and `overheard up --wait` name the reason.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a test may fail by panicking, and waits

use crate::support::namespaces::{Cabled, Node, possible};
use crate::support::traffic::answers;
use crate::support::{PROGRAM, Site};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(15);
/// A reason is known within this time of a start.
const NAMED_WITHIN: Duration = Duration::from_secs(5);
/// Everything but the node's own datagrams goes through the tunnel.
const ALL: &str = r#"["0.0.0.0/0"]"#;

/// The status text of a station, as soon as it contains `sign`.
fn status_with(site: &Site, sign: &str) -> String {
    let end = Instant::now() + PATIENCE;
    loop {
        let text = String::from_utf8(site.run(&["status", "station.toml"]).stdout).unwrap();
        if text.contains(sign) {
            return text;
        }
        assert!(Instant::now() < end, "{sign} is not in\n{text}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn a_wrong_port_an_absent_host_and_another_network_key_have_their_own_words() {
    if !possible() {
        return;
    }
    let rows = [
        ("192.0.2.1:4799", "no answer from 192.0.2.1:4799: ICMP port unreachable; "),
        ("192.0.2.9:4780", "no answer from 192.0.2.9:4780: host unreachable; "),
        ("203.0.113.1:4780", "no answer from 203.0.113.1:4780: network unreachable; "),
        ("192.0.2.1:4780", "no answer from 192.0.2.1:4780, and no ICMP message: "),
        ("[2001:db8::1]:4799", "no answer from [2001:db8::1]:4799: ICMP port unreachable; "),
    ];
    for (endpoint, sign) in rows {
        let (cabled, site) = (Cabled::new(), Site::tunnel(endpoint, ALL));
        let gateway = Node::start(&site, &cabled.gateway, "gateway");
        // The station has the key of another network.
        let made = site.run(&["keygen", "--network", "--out", "other"]);
        assert!(made.status.success(), "{made:?}");
        let station = fs::read_to_string(site.path().join("station.toml")).unwrap();
        site.write("station.toml", &station.replace("\"network.key\"", "\"other/network.key\""));
        let began = Instant::now();
        let station = Node::start(&site, &cabled.station, "station");
        let text = status_with(&site, sign);
        assert!(began.elapsed() < NAMED_WITHIN, "{sign}: named after {:?}", began.elapsed());
        let line = text.lines().find(|line| line.starts_with("silent:")).unwrap();
        assert!(line.starts_with("silent:          gateway, for ") && line.contains(sign), "{line}");
        assert_eq!(station.status()["silent"][0]["peer"], "gateway");
        let log = station.log();
        let told: Vec<&str> = log.lines().filter(|line| line.contains("no session with gateway: ")).collect();
        assert!(told.len() == 1 && told[0].contains(sign) && told[0].contains("WARN"), "{log}");
        let refused = &gateway.status()["node"]["refused"];
        assert_eq!(refused["malformed"], 0, "the probe is not counted: {refused}");
        assert!(endpoint != "192.0.2.1:4780" || refused["handshake_mark"].as_u64() > Some(0), "{refused}");
    }
}

#[test]
fn a_gateway_names_an_unknown_station_and_one_that_has_another_key_of_it() {
    if !possible() {
        return;
    }
    let rows = [
        (
            "gateway.toml",
            "station",
            "that is no peer wants a session; to admit it, add [[peer]] name = \"NAME\", public_key = ",
        ),
        ("station.toml", "gateway", "in its [[peer]] for this node, write public_key = "),
    ];
    for (file, other, sign) in rows {
        let (cabled, site) = (Cabled::new(), Site::tunnel("192.0.2.1:4780", ALL));
        let public = fs::read_to_string(site.path().join(other).join("public.key")).unwrap();
        let public = public.trim().rsplit(':').next().unwrap().trim();
        let text = fs::read_to_string(site.path().join(file)).unwrap();
        assert!(text.contains(public), "{text}");
        site.write(file, &text.replace(public, &site.key("nobody")));
        let gateway = Node::start(&site, &cabled.gateway, "gateway");
        let began = Instant::now();
        let _station = Node::start(&site, &cabled.station, "station");
        while !gateway.log().contains(sign) {
            assert!(began.elapsed() < NAMED_WITHIN, "{sign}: {}", gateway.log());
            std::thread::sleep(Duration::from_millis(50));
        }
        let log = gateway.log();
        let line = log.lines().find(|line| line.contains(sign)).unwrap();
        assert!(line.contains(public), "the key to write: {line}");
        assert_eq!(log.matches(sign).count(), 1, "once a minute: {log}");
    }
}

#[test]
fn a_start_that_waits_ends_with_the_reason() {
    if !possible() {
        return;
    }
    let (cabled, site) = (Cabled::new(), Site::tunnel("192.0.2.1:4799", ALL));
    let _gateway = Node::start(&site, &cabled.gateway, "gateway");
    let (code, said) =
        Node::start_by(Path::new(PROGRAM), &site, &cabled.station, "station", &["up", "--wait=6"]).wait();
    let expected = "overheard: no session after 6 s: gateway: no answer from 192.0.2.1:4799: ICMP port \
                    unreachable; start the node there, or correct the port in endpoint";
    assert_eq!((code, said.as_str()), (1, expected));
    assert_eq!(cabled.station.traces(), Vec::<String>::new(), "nothing is left");
    assert!(!site.path().join("station.sock").exists());
}

#[test]
fn a_start_that_waits_goes_on_with_a_session_and_a_reload_does_not_wait_again() {
    if !possible() {
        return;
    }
    let (cabled, site) = (Cabled::new(), Site::tunnel("192.0.2.1:4780", r#"["10.98.0.0/24"]"#));
    let gateway = Node::start(&site, &cabled.gateway, "gateway");
    let station = Node::start_by(Path::new(PROGRAM), &site, &cabled.station, "station", &["up", "--wait=3"]);
    let inner = "10.98.0.1".parse().unwrap();
    assert!(answers(&cabled.station, inner, 56, PATIENCE));
    drop(gateway);
    let station_toml = fs::read_to_string(site.path().join("station.toml")).unwrap();
    site.write("station.toml", &station_toml.replace("[tunnel]", "[tunnel]\nmtu = 1400"));
    station.reload();
    let end = Instant::now() + PATIENCE;
    while station.log().matches("(mtu 1400)").count() == 0 {
        assert!(Instant::now() < end, "{}", station.log());
        std::thread::sleep(Duration::from_millis(100));
    }
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(station.status()["mtu"], 1400, "it runs on: {}", station.log());
    let _gateway = Node::start(&site, &cabled.gateway, "gateway");
    assert!(answers(&cabled.station, inner, 56, PATIENCE), "{}", station.log());
}
