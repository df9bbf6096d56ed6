//! How often a node copies a byte of a packet's payload between its device and its socket, by Valgrind's
//! DHAT.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a test may fail by panicking

use crate::support::Site;
use crate::support::namespaces::{Cabled, Node, possible};
use crate::support::origin::content;
use crate::support::traffic::{answers, sent_and_returned};
use rustix::process::Signal;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Incompressible content crosses the tunnel there and back in so many connections, of so many bytes each.
/// Few are under way at once, because a gateway in Valgrind is slow: what it lost would be coded and sent
/// again.
const CONNECTIONS: usize = 40;
const CONTENT_BYTES: usize = 64 << 10;
/// Where the average copy is smaller, it is of headers, or of the program's own values.
const PAYLOAD_BYTES: f64 = 800.0;
const PATIENCE: Duration = Duration::from_secs(10);

/// The copies of payload that a gateway makes with a policy, by bytes of the content that comes and goes.
fn copies_of_a_byte(policy: &str) -> f64 {
    let (cabled, site) = (Cabled::new(), Site::tunnel("192.0.2.1:4780", r#"["10.98.0.0/24"]"#));
    for name in ["gateway", "station"] {
        site.prepend(name, &format!("reduce.policy = \"{policy}\""));
    }
    site.save_when_busy();
    let counted =
        ["--tool=dhat", "--mode=copy", "--dhat-out-file=copies.json", env!("CARGO_BIN_EXE_overheard"), "up"];
    let gateway = Node::start_by(Path::new("valgrind"), &site, &cabled.gateway, "gateway", &counted);
    let _station = Node::start(&site, &cabled.station, "station");
    let address = "10.98.0.1".parse().unwrap();
    assert!(answers(&cabled.station, address, 56, PATIENCE));
    for number in 0..CONNECTIONS {
        let content = content(&format!("/{number}"), CONTENT_BYTES);
        assert!(sent_and_returned(&cabled.station, &cabled.gateway, address, &content) == content);
    }
    gateway.terminate(Signal::TERM);
    let profile = std::fs::read(site.path().join("copies.json")).unwrap();
    let profile: serde_json::Value = serde_json::from_slice(&profile).unwrap();
    let mut copied = 0.0;
    for place in profile["pps"].as_array().unwrap() {
        let (bytes, copies) = (place["tb"].as_f64().unwrap(), place["tbk"].as_f64().unwrap());
        if bytes / copies >= PAYLOAD_BYTES {
            copied += bytes;
        }
    }
    copied / (2 * CONNECTIONS * CONTENT_BYTES) as f64
}

#[test]
fn a_byte_of_payload_is_copied_twice_each_way_and_once_more_into_a_store() {
    if !possible() {
        return;
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("skipped: copies are counted by valgrind");
        return;
    }
    let (without, with) = (copies_of_a_byte("off"), copies_of_a_byte("adaptive"));
    println!("{without:.2} copies without a store, {with:.2} with one");
    // A byte of content is 1.04 bytes of packets. Some of the first ones are kept for a code's window.
    assert!((1.9..2.5).contains(&without), "{without}");
    // Besides, a store takes a copy, the window all of the first ones, and packets in two datagrams are
    // joined.
    assert!((2.9..4.8).contains(&with), "{with}");
}
