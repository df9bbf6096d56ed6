//! Every guide can be followed to its end: its commands are run as they stand, each of which has to succeed, in namespaces of
//! their own.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::PROGRAM;
use support::namespaces::possible;
use tempfile::TempDir;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--help").output().is_ok();
    if !found {
        println!("skipped: there is no {program}");
    }
    found
}

/// The commands of a guide in its order.
fn commands(guide: &str) -> Vec<String> {
    let text = fs::read_to_string(workspace().join("docs/guides").join(guide)).unwrap();
    let blocks = text.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.flat_map(str::lines).filter_map(|line| line.strip_prefix("$ ")).map(str::to_owned).collect()
}

/// Follows a guide as its reader does: in a folder with the project's `packaging`, where `overheard` is installed. The
/// namespaces of mounts, networks and processes keep it apart from this machine, and end what it leaves running.
fn follow(guide: &str) {
    if !possible() || !["socat", "nft", "tc", "curl", "unshare"].into_iter().all(has) {
        return;
    }
    let folder = TempDir::new().unwrap();
    symlink(workspace().join("packaging").canonicalize().unwrap(), folder.path().join("packaging")).unwrap();
    fs::create_dir(folder.path().join("bin")).unwrap();
    symlink(PROGRAM, folder.path().join("bin/overheard")).unwrap();
    let commands = commands(guide);
    assert!(commands.len() > 20, "{guide} has commands");
    let script = format!("set -euo pipefail\nsudo() {{ \"$@\"; }}\n{}\n", commands.join("\n"));
    fs::write(folder.path().join("guide.sh"), script).unwrap();
    let path = format!("{}/bin:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let followed = Command::new("timeout")
        .args(["180", "unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc", "--kill-child"])
        .args(["bash", "-c", "mount -t tmpfs tmpfs /run && exec bash -x guide.sh"])
        .env("PATH", path)
        .current_dir(folder.path())
        .output()
        .unwrap();
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
