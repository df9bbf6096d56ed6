//! Preshared, revoked and replaced keys on running nodes.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a test may fail by panicking, and waits

use crate::support::namespaces::{Cabled, Node, possible};
use crate::support::traffic::answers;
use crate::support::{PROGRAM, Site, told, wait_until};
use rustix::process::Signal;
use std::fs;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(15);

fn gateway() -> IpAddr {
    "10.98.0.1".parse().unwrap()
}

fn site() -> Site {
    Site::tunnel("192.0.2.1:4780", r#"["10.98.0.1/32"]"#)
}

fn peer(site: &Site, args: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.arg("peer").args(args).arg("--socket").arg(site.path().join("gateway.sock"));
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_lost_station_is_shut_out_at_once_and_after_a_restart() {
    if !possible() {
        return;
    }
    let (machines, site) = (Cabled::new(), site());
    let node = Node::start(&site, &machines.gateway, "gateway");
    let _station = Node::start(&site, &machines.station, "station");
    assert!(answers(&machines.station, gateway(), 56, PATIENCE));
    let (code, said) = told(&peer(&site, &["revoke", "rooof"]));
    assert_eq!(code, 2, "{said}");
    assert!(said.ends_with("there are roof"), "{said}");
    let revoked = peer(&site, &["revoke", "roof"]);
    assert!(revoked.status.success(), "{revoked:?}");
    let said = text(&revoked.stdout);
    assert!(said.contains("the key of roof is revoked; its session is over"), "{said}");
    assert!(said.contains("gateway.revoked: the key is kept here"), "{said}");
    let file = site.path().join("gateway.revoked");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let kept = fs::read_to_string(&file).unwrap();
    assert_eq!(kept, format!("{} # roof\n", site.station_public));
    assert!(text(&peer(&site, &["list"]).stdout).contains("revoked"));
    assert!(!answers(&machines.station, gateway(), 56, Duration::from_secs(3)), "at once");
    // By its public key, and again: nothing changes.
    assert!(peer(&site, &["revoke", &site.station_public]).status.success());
    assert_eq!(fs::read_to_string(&file).unwrap(), kept);
    assert_eq!(node.terminate(Signal::TERM).code(), Some(0));
    let node = Node::start(&site, &machines.gateway, "gateway");
    assert!(!answers(&machines.station, gateway(), 56, Duration::from_secs(5)), "after a restart");
    wait_until("its handshakes are counted", PATIENCE, || {
        node.status()["node"]["refused"]["handshake_revoked"].as_u64().unwrap() > 0
    });
    fs::write(&file, "# taken back\n").unwrap();
    node.reload();
    assert!(answers(&machines.station, gateway(), 56, 2 * PATIENCE), "the line was taken out");
}

#[test]
fn a_key_that_cannot_be_kept_is_refused_and_whoever_revokes_it_is_told() {
    if !possible() {
        return;
    }
    let (machines, site) = (Cabled::new(), site());
    let config = fs::read_to_string(site.path().join("gateway.toml")).unwrap();
    site.write("gateway.toml", &config.replace("\"gateway.revoked\"", "\"/proc/nowhere/gateway.revoked\""));
    let _node = Node::start(&site, &machines.gateway, "gateway");
    let _station = Node::start(&site, &machines.station, "station");
    assert!(answers(&machines.station, gateway(), 56, PATIENCE));
    let (code, said) = told(&peer(&site, &["revoke", "roof"]));
    assert_eq!(code, 1, "{said}");
    assert!(
        said.contains("refused until the node ends") && said.contains("cannot write /proc/nowhere"),
        "{said}"
    );
    assert!(!answers(&machines.station, gateway(), 56, Duration::from_secs(3)));
}

#[test]
fn the_networks_key_is_replaced_while_sessions_stay() {
    if !possible() {
        return;
    }
    let (machines, site) = (Cabled::new(), site());
    let nodes = [
        ("gateway", Node::start(&site, &machines.gateway, "gateway")),
        ("station", Node::start(&site, &machines.station, "station")),
    ];
    assert!(answers(&machines.station, gateway(), 56, PATIENCE));
    assert!(
        site.run(&["keygen", "--network", "--out", "."]).status.code() == Some(2),
        "it is not overwritten"
    );
    assert!(site.run(&["keygen", "--network", "--out", "new"]).status.success());
    fs::copy(site.path().join("new/network.key"), site.path().join("network-2.key")).unwrap();
    let taken_up = |node: &Node, times: usize| {
        node.reload();
        wait_until("it takes up the keys", PATIENCE, || {
            node.log().matches("keys are taken up").count() == times
        });
    };
    let boots = || nodes.each_ref().map(|(_, node)| node.status()["node"]["boot"].as_u64().unwrap());
    let before = boots();
    for (name, node) in &nodes {
        let file = format!("{name}.toml");
        let config = fs::read_to_string(site.path().join(&file)).unwrap();
        let both = "network_key_file = \"network-2.key\"\nprevious_network_key_file = \"network.key\"";
        site.write(&file, &config.replace("network_key_file = \"network.key\"", both));
        taken_up(node, 1);
        assert!(answers(&machines.station, gateway(), 56, Duration::from_secs(1)), "with {name} changed");
    }
    assert!(
        text(&peer(&site, &["list"]).stdout).contains("previous network key"),
        "the session is of before"
    );
    for (name, node) in &nodes {
        let file = format!("{name}.toml");
        let config = fs::read_to_string(site.path().join(&file)).unwrap();
        site.write(&file, &config.replace("previous_network_key_file = \"network.key\"", ""));
        taken_up(node, 2);
        assert!(answers(&machines.station, gateway(), 56, Duration::from_secs(1)), "with {name} done");
    }
    assert_eq!(boots(), before, "no node began anew");
}

#[test]
fn two_nodes_with_unequal_keys_have_no_session_and_the_log_says_why() {
    if !possible() {
        return;
    }
    let (machines, site) = (Cabled::new(), site());
    for (node, table) in [("gateway", "[[peer]]"), ("station", "[[peer]]")] {
        let key = site.run(&["keygen", "--pair"]);
        assert!(key.status.success() && text(&key.stderr).contains("preshared_key_file"), "{key:?}");
        site.write(&format!("{node}-pair.key"), &text(&key.stdout));
        site.add(node, table, &format!("preshared_key_file = \"{node}-pair.key\""));
    }
    let _gateway = Node::start(&site, &machines.gateway, "gateway");
    let station = Node::start(&site, &machines.station, "station");
    wait_until("it says why", PATIENCE, || {
        station.log().contains("no session with gateway: its answer is under another")
    });
    assert!(!answers(&machines.station, gateway(), 56, Duration::from_secs(2)));
    fs::copy(site.path().join("gateway-pair.key"), site.path().join("station-pair.key")).unwrap();
    station.reload();
    assert!(answers(&machines.station, gateway(), 56, 2 * PATIENCE), "with the same key");
}

#[test]
fn keys_that_cannot_be_are_told() {
    let site = Site::new();
    fs::copy(site.path().join("network.key"), site.path().join("copy.key")).unwrap();
    let with = |table: &str, line: &str| {
        site.refused(&site.gateway().replacen(table, &format!("{table}\n{line}"), 1))
    };
    let refused = |table: &str, line: &str, sentence: &str| {
        assert_eq!(with(table, line), (2, format!("overheard: gateway.toml: {sentence}")));
    };
    refused(
        "[node]",
        "previous_network_key_file = \"copy.key\"",
        "[node] previous_network_key_file: holds the same key as network_key_file; put the new key there, or take this out",
    );
    refused(
        "[[peer]]",
        "preshared_key_file = \"copy.key\"",
        "[[peer]] \"roof\" preshared_key_file: copy.key holds a network's key, and the key of two nodes belongs here; name the \
         file pair.key that `overheard keygen --pair --out DIR` writes",
    );
    let line = fs::read_to_string(site.path().join("network.key")).unwrap();
    site.write("alone.key", line.rsplit(':').next().unwrap());
    refused(
        "[[peer]]",
        "preshared_key_file = \"alone.key\"",
        "[[peer]] \"roof\" preshared_key_file: holds the network's key, which all nodes have; make another with `overheard \
         keygen --pair`",
    );
    let (code, said) = with("[[peer]]", "preshared_key_file = \"nowhere.key\"");
    assert_eq!(code, 2);
    assert!(said.contains("[[peer]] \"roof\" preshared_key_file: cannot read nowhere.key"), "{said}");
    assert!(said.ends_with("make one with `overheard keygen`"), "{said}");
    site.write("broken.revoked", "nonsense\n");
    refused(
        "[node]",
        "revoked_file = \"broken.revoked\"",
        "[node] revoked_file: line 1 of broken.revoked is no public key; write one a line, or take it out",
    );
}
