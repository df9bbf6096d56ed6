//! `overheard analyze` beside the real tunnel: two nodes in namespaces carry the packets of a capture.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a test may fail by panicking, and waits

use crate::support::PROGRAM;
use crate::support::namespaces::{Cabled, possible};
use crate::support::replay::{Carried, replay};
use capture::{CaptureWriter, LinkType};
use std::fs::File;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Longer pauses are shortened in both, so that a replay of hours ends. `OVERHEARD_LONGEST_PAUSE` has other
/// milliseconds.
const LONGEST_PAUSE: Duration = Duration::from_millis(5);
/// Shorter captures are replayed three times, and the median counts: other programs on the machine change
/// when the nodes run, and so how many packets share a datagram.
const FEW_PACKETS: u64 = 4000;
/// The largest difference, in percent of the packets' bytes.
const WITHIN_PERCENT: f64 = 3.0;

/// What `analyze` says of a capture, with the round trip of a cable.
fn analyzed(file: &Path, longest_pause: Duration) -> f64 {
    let pause = longest_pause.as_millis().to_string();
    let output = Command::new(PROGRAM)
        .args(["analyze", "--json", "--method", "default", "--round-trip", "1", "--longest-pause", &pause])
        .arg(file)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    report["default"]["saved_percent"].as_f64().unwrap()
}

/// The same capture through the real tunnel.
fn replayed(file: &Path, longest_pause: Duration) -> Carried {
    let first = replay(file, longest_pause);
    let further = if first.offered_packets < FEW_PACKETS { 2 } else { 0 };
    let mut all: Vec<Carried> = (0..further).map(|_| replay(file, longest_pause)).chain([first]).collect();
    all.sort_by(|one, other| one.saved_percent.total_cmp(&other.saved_percent));
    all.swap_remove(all.len() / 2)
}

/// Bytes that look random, and differ from seed to seed.
fn noise(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let step = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    std::iter::repeat_with(step).take(count).collect()
}

/// An IPv4 packet of TCP without options; 10.7.0.1 is the server, and 10.7.0.2 the client.
fn segment(to_client: bool, sequence: u32, acknowledgment: u32, payload: &[u8]) -> Vec<u8> {
    let (ends, ports): ([u8; 2], [u16; 2]) =
        if to_client { ([1, 2], [80, 4000]) } else { ([2, 1], [4000, 80]) };
    let total_bytes = (40 + payload.len()) as u16;
    let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0];
    packet[2..4].copy_from_slice(&total_bytes.to_be_bytes());
    ends.iter().for_each(|&last| packet.extend([10, 7, 0, last]));
    ports.iter().for_each(|port| packet.extend(port.to_be_bytes()));
    packet.extend(sequence.to_be_bytes());
    packet.extend(acknowledgment.to_be_bytes());
    packet.extend([0x50, 0x10, 0x20, 0, 0, 0, 0, 0]);
    packet.extend(payload);
    packet
}

/// A capture of a download: noise, the same again, and digits; each segment with its acknowledgment.
fn download(file: &Path) {
    let noise = noise(1, 300_000);
    let digits: Vec<u8> =
        self::noise(2, 100_000).iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect();
    let content = [&noise[..], &noise, &digits].concat();
    let mut writer = CaptureWriter::new(File::create(file).unwrap(), LinkType::RAW).unwrap();
    let (mut at, mut sequence) = (Duration::ZERO, 1);
    for payload in content.chunks(1400) {
        let next = sequence + payload.len() as u32;
        for packet in [segment(true, sequence, 1, payload), segment(false, 1, next, &[])] {
            at += Duration::from_millis(1);
            writer.write(at, &packet).unwrap();
        }
        sequence = next;
    }
    writer.finish().unwrap();
}

#[test]
fn analyze_says_what_the_tunnel_saves() {
    if !possible() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("download.pcap");
    download(&file);
    let (said, carried) = (analyzed(&file, LONGEST_PAUSE), replayed(&file, LONGEST_PAUSE));
    assert_eq!(carried.offered_packets, carried.packets);
    assert!(said > 30.0, "{said}");
    assert!((said - carried.saved_percent).abs() < WITHIN_PERCENT, "{said}, and {carried:?}");
}

#[test]
fn the_curve_is_a_table_and_a_picture_of_files_and_of_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let (file, svg) = (folder.path().join("download.pcap"), folder.path().join("curve.svg"));
    download(&file);
    let analyze = |input: &Path| {
        let mut command = Command::new(PROGRAM);
        command.args(["analyze", "--svg"]).arg(&svg).arg(input).stdin(File::open(&file).unwrap());
        command.output().unwrap()
    };
    let output = analyze(&file);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("the size to take") && text.contains('█'), "{text}");
    let picture = std::fs::read_to_string(&svg).unwrap();
    for part in ["<svg", "download.pcap", "store of each direction, MiB", "the size to take", "</svg>"] {
        assert!(picture.contains(part), "{part} in {picture}");
    }
    let curve = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.contains(" MiB ")).map(str::to_owned).collect()
    };
    let piped = analyze(Path::new("-"));
    let piped_text = String::from_utf8(piped.stdout).unwrap();
    assert!(piped.status.success() && curve(&piped_text) == curve(&text), "{piped_text}");
    assert!(std::fs::read_to_string(&svg).unwrap().contains("the size to take"));
    // Without room for a copy, the figures are there, and the reason why there is no curve.
    let mut command = Command::new(PROGRAM);
    command.args(["analyze", "-"]).stdin(File::open(&file).unwrap()).env("TMPDIR", "/nowhere");
    let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(text.contains("default: ") && text.contains("Note: there is no curve: "), "{text}");
    assert!(curve(&text).is_empty() && text.contains("give a file, or set TMPDIR"), "{text}");
}

#[test]
fn analyze_captures_an_interface_and_leaves_no_file() {
    if !possible() {
        return;
    }
    let cabled = Cabled::new();
    let folder = tempfile::tempdir().unwrap();
    let analyze = Command::new("ip")
        .args(["netns", "exec", &cabled.gateway.name, PROGRAM])
        .args(["analyze", "--json", "--interface", "cable", "--seconds", "2"])
        .env("TMPDIR", folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let receiver = cabled.gateway.on(|| UdpSocket::bind("192.0.2.1:9000").unwrap());
    let sender = cabled.station.on(|| UdpSocket::bind("192.0.2.2:9001").unwrap());
    let until = Instant::now() + Duration::from_secs(3);
    // Each datagram repeats after more than a round trip.
    for number in (0..20).cycle().take_while(|_| Instant::now() < until) {
        sender.send_to(&noise(number, 1000), receiver.local_addr().unwrap()).unwrap();
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = analyze.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["file"], "cable");
    assert!(report["packets"].as_u64() > Some(50), "{report:#}");
    assert!(report["default"]["saved_percent"].as_f64() > Some(50.0), "{report:#}");
    assert!(!report["stores"].as_array().unwrap().is_empty(), "{report:#}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let refused = Command::new(PROGRAM).args(["analyze", "--interface", "ohtest-none"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("there is no interface"), "{refused:?}");
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
    assert!(!files.is_empty(), "the folder of OVERHEARD_DATA has no capture");
    let longest_pause = std::env::var("OVERHEARD_LONGEST_PAUSE").map_or(LONGEST_PAUSE, |milliseconds| {
        Duration::from_millis(milliseconds.parse().expect("OVERHEARD_LONGEST_PAUSE is milliseconds"))
    });
    let mut apart = Vec::new();
    println!("| capture | packets | carried | analyze | tunnel |\n|---|---:|---:|---:|---:|");
    for file in files {
        let (said, carried) = (analyzed(&file, longest_pause), replayed(&file, longest_pause));
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
