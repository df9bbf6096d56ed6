//! A gateway whose threads share its peers acts as one node.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a test may fail by panicking, and waits

use crate::support::Site;
use crate::support::namespaces::{Medium, Node, possible};
use crate::support::origin::content;
use crate::support::traffic::{answers, sent_and_returned};
use rustix::process::Signal;
use std::fs;
use std::net::IpAddr;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);

#[test]
fn stations_on_two_threads_of_a_gateway_get_every_byte_also_when_one_comes_back() {
    if !possible() {
        return;
    }
    let gateway: IpAddr = "10.98.0.1".parse().unwrap();
    let (medium, site) = (Medium::new(4), Site::tunnel("192.0.2.1:4780", r#"["10.98.0.1/32"]"#));
    let station = fs::read_to_string(site.path().join("station.toml")).unwrap();
    site.write("station.toml", &station.replace(r#", "fd98::2/64""#, ""));
    site.add_station("second", 3);
    site.add_station("third", 4);
    site.add("gateway", "[node]", "threads = 2");
    let [at_gateway, machines @ ..] = &medium.machines[..] else { panic!("four machines") };
    let gateway_node = Node::start(&site, at_gateway, "gateway");
    let names = ["station", "second", "third"];
    let mut stations: Vec<Node> =
        names.iter().zip(machines).map(|(name, machine)| Node::start(&site, machine, name)).collect();
    let exchange = || {
        std::thread::scope(|scope| {
            for (number, machine) in machines.iter().enumerate() {
                scope.spawn(move || {
                    assert!(answers(machine, gateway, 56, PATIENCE), "the tunnel of {number} stands");
                    let content = content(&format!("/{number}"), 2_000_000);
                    let returned = sent_and_returned(machine, at_gateway, gateway, &content);
                    assert!(returned == content, "every byte of {number} comes back");
                });
            }
        });
    };
    exchange();
    let before = gateway_node.status()["node"].clone();
    let listed: Vec<&str> =
        before["peers"].as_array().unwrap().iter().map(|peer| peer["name"].as_str().unwrap()).collect();
    assert_eq!(listed.len(), 3, "{before:#}");
    // A restarted station sends an initiation, which every thread receives.
    let second = stations.remove(1);
    assert_eq!(second.terminate(Signal::KILL).code(), None);
    stations.push(Node::start(&site, &machines[1], "second"));
    exchange();
    let after = gateway_node.status();
    for peer in after["node"]["peers"].as_array().unwrap() {
        let received = peer["counters"]["inner_received_bytes"].as_u64().unwrap();
        assert!(received > 4_000_000, "{peer:#}");
    }
    assert_eq!(after["io"]["handed_over_lost"], 0, "{after:#}");
    assert_eq!(gateway_node.terminate(Signal::TERM).code(), Some(0), "both threads stop");
}
