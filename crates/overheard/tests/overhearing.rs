//! `overheard up` with an ear: what a gateway says to another station is counted, and what it says to this one is not.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a test may fail by panicking, and waits

mod support;

use rustix::process::Signal;
use std::fs;
use std::net::UdpSocket;
use std::time::{Duration, Instant};
use support::Site;
use support::namespaces::{Cabled, Node, possible};
use support::traffic::answers;

const PATIENCE: Duration = Duration::from_secs(10);

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
