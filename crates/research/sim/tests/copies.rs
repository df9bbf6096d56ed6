//! How often a payload is copied on its way from the TUN device to the socket, and back. Valgrind's DHAT
//! counts copied bytes; `make check` runs these tests.
//!
//! A driver adds one copy at the receiver, where it joins segments for the device. It adds none at the
//! sender: the kernel gathers datagrams from the buffers in which the node wrote them.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use re::Policy;
use sim::Tunnel;
use sim::workload::{FaceToFace, packets};
use std::path::Path;
use std::process::Command;

/// Environment variable of the load: the policy, and the packets to carry.
const LOAD: &str = "OVERHEARD_COPIES";
/// Packets that are made, of which some are carried.
const MADE: usize = 1536;
const BATCH: usize = 32;
/// Bytes of payload of one of them.
const PAYLOAD_BYTES: f64 = 1360.0;
/// Headers that are copied with it.
const BESIDE: f64 = 0.2;

/// Bytes of whole payloads copied while so many packets are carried.
fn copied_bytes(policy: &str, count: usize) -> u64 {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("copies-{policy}-{count}.json"));
    let status = Command::new("valgrind")
        .args(["--quiet", "--tool=dhat", "--mode=copy"])
        .arg(format!("--dhat-out-file={}", out.display()))
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "load", "--ignored", "--test-threads=1"])
        .env(LOAD, format!("{policy} {count}"))
        .status()
        .expect("Valgrind is installed: scripts/setup.sh instructions");
    assert!(status.success());
    let told: serde_json::Value = serde_json::from_slice(&std::fs::read(out).unwrap()).unwrap();
    let points = told["pps"].as_array().unwrap().iter();
    let points = points.map(|point| ["tb", "tbk"].map(|field| point[field].as_u64().unwrap()));
    // smaller copies are of headers and tables
    points.filter(|[bytes, calls]| bytes / calls >= PAYLOAD_BYTES as u64).map(|[bytes, _]| bytes).sum()
}

/// Copies of a payload byte.
fn copies(policy: &str) -> f64 {
    let [few, many] = [MADE / 2, MADE].map(|count| copied_bytes(policy, count));
    (many - few) as f64 / (MADE / 2) as f64 / PAYLOAD_BYTES
}

#[test]
#[ignore = "takes Valgrind: make check runs it"]
fn a_payload_is_copied_twice_on_its_way_out_and_once_on_its_way_in() {
    let copies = copies("off");
    println!("policy off: {copies:.2} copies of a payload byte in both nodes");
    assert!((3.0..3.0 + BESIDE).contains(&copies), "{copies}");
}

#[test]
#[ignore = "takes Valgrind: make check runs it"]
fn the_stores_of_the_default_policy_take_one_more_copy_at_each_end() {
    let copies = copies("default");
    println!("default policy: {copies:.2} copies of a payload byte in both nodes");
    assert!((5.0..5.0 + BESIDE).contains(&copies), "{copies}");
}

#[test]
#[ignore = "the load of the tests above"]
fn load() {
    let Ok(load) = std::env::var(LOAD) else { return };
    let (policy, count) = load.split_once(' ').unwrap();
    let tunnel = if policy == "off" { Tunnel::from(Policy::Off) } else { Tunnel::default() };
    let packets = packets(0.0, MADE);
    let mut pair = FaceToFace::new(1, &tunnel).unwrap();
    for batch in packets[..count.parse().unwrap()].chunks(BATCH) {
        pair.pack(batch);
        pair.seal();
        pair.unpack();
        assert_eq!(pair.deliver(batch), batch.len());
        pair.answer();
    }
}
