//! Every guide works to its end: its commands run unchanged in namespaces of their own, and each must
//! succeed.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use crate::support::documents::commands;
use crate::support::has;
use crate::support::namespaces::possible;
use crate::support::reader::Reader;

/// Programs in guides, and their packages.
const PROGRAMS: [(&str, &str); 5] = [
    ("socat", "socat"),
    ("nft", "nftables"),
    ("tc", "iproute2"),
    ("curl", "curl"),
    ("unshare", "util-linux"),
];

/// Follows a guide from its first command to its last.
fn follow(guide: &str) {
    if !possible() || !PROGRAMS.iter().all(|(program, package)| has(program, package)) {
        return;
    }
    let commands = commands(&format!("docs/guides/{guide}"));
    assert!(commands.len() > 20, "{guide} has commands");
    let followed = Reader::new().gives(&commands.join("\n"));
    let said = String::from_utf8_lossy(&followed.stderr);
    assert!(followed.status.success(), "{guide}: {}\n{said}", followed.status);
    println!("{}", String::from_utf8_lossy(&followed.stdout));
}

#[test]
fn a_link_between_two_places() {
    follow("point-to-point.md");
}

#[test]
fn an_access_point_with_stations_that_hear_each_other() {
    follow("access-point.md");
}

#[test]
fn several_gateways_and_a_station_that_moves() {
    follow("several-gateways.md");
}

#[test]
fn two_stations_and_the_relays_between_them() {
    follow("relays.md");
}

#[test]
fn a_mesh_with_a_relay() {
    follow("mesh.md");
}

#[test]
fn a_content_server_behind_a_long_link() {
    follow("content-server.md");
}

#[test]
fn a_web_cache_on_the_routers_of_a_mesh() {
    follow("mesh-cache.md");
}
