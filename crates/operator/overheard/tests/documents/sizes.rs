//! Sizes in docs/operations.md that follow from the code: bytes around a packet, the MTU, memory.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use crate::reference::hold_block;
use crate::support::documents::read;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::frame::SEQUENCE_BYTES;
use wire::unit::{SEALED_HEADER_BYTES, TAG_BYTES};

const PAGE: &str = "docs/operations.md";
/// Bytes of a frame's type, where the frame reaches to the end of its unit.
const TYPE_BYTES: usize = 1;
/// Outer headers by family.
const FAMILIES: [(&str, IpAddr); 2] =
    [("IPv4", IpAddr::V4(Ipv4Addr::LOCALHOST)), ("IPv6", IpAddr::V6(Ipv6Addr::LOCALHOST))];
/// Path MTUs of Ethernet, of PPPoE, and the smallest of IPv6.
const PATH_MTUS: [usize; 3] = [1500, 1492, 1280];
/// Peers of the gateway in the example.
const STATIONS: usize = 20;

fn outer_bytes(of: IpAddr) -> usize {
    io::path::header_bytes(of).into()
}

/// The unit that has one packet of `packet_bytes` as it is.
fn unit_bytes(packet_bytes: usize) -> usize {
    SEALED_HEADER_BYTES + SEQUENCE_BYTES + TYPE_BYTES + packet_bytes + TAG_BYTES
}

#[test]
fn bytes_around_a_packet() {
    let parts = [
        ("header of the unit: kind, key id, counter", SEALED_HEADER_BYTES),
        ("link sequence", SEQUENCE_BYTES),
        ("type of the frame", TYPE_BYTES),
        ("authentication tag", TAG_BYTES),
    ];
    let inside: usize = parts.iter().map(|(_, bytes)| bytes).sum();
    assert_eq!(inside, unit_bytes(0));
    let [four, six] = FAMILIES.map(|(_, of)| outer_bytes(of));
    let mut table = String::from("| part | outer IPv4 | outer IPv6 |\n|---|---|---|\n");
    let _ = writeln!(table, "| IP and UDP header | {four} | {six} |");
    for (part, bytes) in parts {
        let _ = writeln!(table, "| {part} | {bytes} | {bytes} |");
    }
    let _ = writeln!(table, "| sum | {} | {} |", four + inside, six + inside);
    hold_block(PAGE, "bytes around a packet", &table);
}

#[test]
fn a_vector_has_these_bytes_around_its_packet() {
    let vectors: Vec<serde_json::Value> =
        serde_json::from_str(&read("docs/wire-format-vectors.json")).unwrap();
    let text_bytes = |value: &serde_json::Value| value.as_str().unwrap().len() / 2;
    let sealed: Vec<_> = vectors
        .iter()
        .filter(|it| it["format"] == "sealed" && it["value"]["plaintext"].is_string())
        .collect();
    // a unit that another follows has its length in the header
    let (alone, followed): (Vec<_>, Vec<_>) =
        sealed.into_iter().partition(|it| it["hex"].as_str().unwrap().as_bytes()[1] & 8 == 0);
    assert!(alone.len() > 1 && !followed.is_empty());
    for vector in alone {
        // a plaintext is a link sequence and frames
        let plaintext = text_bytes(&vector["value"]["plaintext"]);
        let around = SEALED_HEADER_BYTES + TAG_BYTES;
        assert_eq!(text_bytes(&vector["hex"]), plaintext + around, "{}", vector["about"]);
    }
}

#[test]
fn the_mtu_of_the_tunnel() {
    // a packet that is sent again has its sequence in front
    assert_eq!(node::AROUND_PACKET, unit_bytes(0) + SEQUENCE_BYTES);
    let extras = [
        ("", 0),
        (", several source ports", node::LANE_BYTES),
        (", `[overhear]` and two peers or more", node::SHARING_BYTES),
    ];
    let mut table = String::from("| outer header and features |");
    for path_mtu in PATH_MTUS {
        let _ = write!(table, " path MTU {path_mtu} |");
    }
    table.push_str("\n|---|---|---|---|\n");
    for (family, of) in FAMILIES {
        for (extra, bytes) in extras {
            let _ = write!(table, "| {family}{extra} |");
            for path_mtu in PATH_MTUS {
                let _ = write!(table, " {} |", path_mtu - outer_bytes(of) - node::AROUND_PACKET - bytes);
            }
            table.push('\n');
        }
    }
    hold_block(PAGE, "mtu", &table);
}

/// So many MiB, rounded up.
fn mib(bytes: usize) -> String {
    let count = bytes.div_ceil(1 << 20);
    if count < 1000 { count.to_string() } else { format!("{},{:03}", count / 1000, count % 1000) }
}

#[test]
fn memory_of_stores_and_caches() {
    let parameters = re::Parameters::default();
    let re::Parameters { window_bytes, sample_bits, store_bytes, .. } = parameters;
    let sender = re::Encoder::new(&parameters).size_bytes();
    let receiver = re::Decoder::new(window_bytes, sample_bits, store_bytes).size_bytes();
    let slot_bits = node::Group::default().slot_bits;
    let settings = overhear::Settings { slot_bits, ..overhear::Settings::new([0; 32]) };
    let gateway = overhear::Gateway::new(settings.clone()).unwrap().cache_bytes();
    let station = overhear::Station::new(settings, overhear::StationId(0), None).unwrap().cache_bytes();
    let of_peers = STATIONS * (sender + receiver);
    let rows = [
        (
            "sender's store and index, for each peer",
            mib(sender),
            format!("`[reduce] store_mib`, {}", mib(store_bytes)),
        ),
        (
            "receiver's store, for each peer: an eighth more than the sender's",
            mib(receiver),
            format!("`[reduce] store_mib`, {}", mib(store_bytes)),
        ),
        (
            "`[overhear]` on a gateway or relay: one cache for all stations",
            mib(gateway),
            format!("`[overhear] slot_bits`, {slot_bits}"),
        ),
        (
            "`[overhear]` on a station: one cache for each group that it is a member of",
            mib(station),
            format!("`[overhear] slot_bits`, {slot_bits}"),
        ),
    ];
    let mut made = String::from("| memory, when full | MiB | key and its default |\n|---|---|---|\n");
    for (memory, size, key) in rows {
        let _ = writeln!(made, "| {memory} | {size} | {key} |");
    }
    let _ = writeln!(made, "| a gateway with {STATIONS} stations | {} | both |", mib(of_peers));
    let _ = writeln!(made, "| the same with `[overhear]` | {} | both |", mib(of_peers + gateway));
    hold_block(PAGE, "memory", &made);
}
