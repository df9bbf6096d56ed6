//! Presets of a link, by the file and by the command line.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a test may fail by panicking, and waits

use crate::support::namespaces::{Cabled, Node, possible};
use crate::support::{PROGRAM, Site, told, wait_until};
use rustix::process::Signal;
use std::fs;
use std::path::Path;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(15);
const SATELLITE: &str = "[link]\nkind = \"satellite\"\n";

/// The lines of a log that tell what a preset sets.
fn presets(log: &str) -> Vec<&str> {
    log.lines().filter(|line| line.contains(" sets")).collect()
}

#[test]
fn two_kinds_are_refused_with_key_and_fix() {
    let site = Site::new();
    site.write("gateway.toml", &format!("{}\n{SATELLITE}", site.gateway()));
    let (code, said) = told(&site.run(&["up", "--preset", "mesh", "gateway.toml"]));
    let expected = "overheard: gateway.toml: [link] kind: is \"satellite\", and the command line has --preset mesh; take one \
                    of the two out";
    assert_eq!((code, said.as_str()), (2, expected));
    assert!(!site.path().join("gateway.sock").exists());
}

#[test]
fn an_unknown_kind_of_the_command_line_is_refused_with_those_that_there_are() {
    let output = Site::new().run(&["up", "--preset", "cable", "gateway.toml"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("\"cable\" is no kind of link; write one of satellite, lte, mesh, wifi"), "{said}");
}

#[test]
fn the_log_tells_once_what_a_preset_sets_and_a_reload_keeps_that_of_the_command_line() {
    if !possible() {
        return;
    }
    let (machines, site) = (Cabled::new(), Site::tunnel("192.0.2.1:4780", r#"["10.98.0.1/32"]"#));
    site.write("gateway.toml", &(site.gateway().replace("127.0.0.1:0", "[::]:4780") + "\n" + SATELLITE));
    let gateway = Node::start(&site, &machines.gateway, "gateway");
    let command = ["up", "--preset", "satellite"];
    let station = Node::start_by(Path::new(PROGRAM), &site, &machines.station, "station", &command);
    for (node, place) in [
        (&gateway, "gateway.toml: [link] kind = \"satellite\""),
        (&station, "station.toml: --preset satellite"),
    ] {
        let log = node.log();
        let said = presets(&log);
        assert!(said.len() == 1 && said[0].ends_with(&format!("{place} sets: streams = true")), "{log}");
        assert!(node.status()["node"]["peers"][0]["streams"].is_object(), "streams are on");
    }
    station.reload();
    wait_until("nothing is new", PATIENCE, || station.log().contains("the configuration has not changed"));
    let with_kind =
        fs::read_to_string(site.path().join("station.toml")).unwrap() + "\n[link]\nkind = \"mesh\"\n";
    site.write("station.toml", &with_kind);
    station.reload();
    wait_until("the contradiction is told", PATIENCE, || {
        station.log().contains("and the command line has --preset satellite; take one of the two out")
    });
    assert!(station.terminate(Signal::TERM).success());
}
