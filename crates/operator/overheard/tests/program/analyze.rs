//! `overheard analyze` beside the real tunnel: two nodes in namespaces carry the packets of a capture.

use crate::support::PROGRAM;
use crate::support::namespaces::possible;
use crate::support::replay::replay;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Longer pauses are shortened in both, so that a replay of hours ends.
const LONGEST_PAUSE: Duration = Duration::from_millis(5);
/// The largest difference, in percent of the packets' bytes.
const WITHIN_PERCENT: f64 = 3.0;

/// What `analyze` says of a capture, with the round trip of a cable.
fn analyzed(file: &Path) -> f64 {
    let pause = LONGEST_PAUSE.as_millis().to_string();
    let output = Command::new(PROGRAM)
        .args(["analyze", "--json", "--method", "default", "--round-trip", "1", "--longest-pause", &pause])
        .arg(file)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    report["default"]["saved_percent"].as_f64().unwrap()
}

/// Takes the packets of every capture in the folder of `OVERHEARD_DATA` through a real tunnel, which takes
/// minutes, and prints a table.
#[test]
#[ignore = "takes captures that are not in the repository: OVERHEARD_DATA=FOLDER"]
fn analyze_says_what_the_tunnel_saves_on_every_capture() {
    let folder = PathBuf::from(std::env::var_os("OVERHEARD_DATA").expect("OVERHEARD_DATA is a folder"));
    if !possible() {
        return;
    }
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.to_string_lossy().contains(".pcap"));
    files.sort();
    let mut apart = Vec::new();
    println!("| capture | packets | carried | analyze | tunnel |\n|---|---:|---:|---:|---:|");
    for file in files {
        let (said, carried) = (analyzed(&file), replay(&file, LONGEST_PAUSE));
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        println!(
            "| {name} | {} | {} | {said:.1} | {:.1} |",
            carried.offered_packets, carried.packets, carried.saved_percent
        );
        if (said - carried.saved_percent).abs() > WITHIN_PERCENT {
            apart.push(name);
        }
    }
    assert!(apart.is_empty(), "more than {WITHIN_PERCENT} apart: {apart:?}");
}
