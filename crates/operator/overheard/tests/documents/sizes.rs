//! Sizes in docs/operations.md that follow from the code: bytes around a packet, the MTU, memory.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use crate::reference::hold_block;
use crate::support::documents::read;
use overhear::address::Addresses;
use overhear::boundaries::Boundaries;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
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
/// Bounds of stores in the table.
const STORES_MIB: [usize; 5] = [2, 4, 16, 64, 256];
/// IPv4 and TCP headers, with the option of timestamps.
const TCP_HEADER_BYTES: usize = 20 + 32;
/// Numbers of slots in the table, as powers of two.
const SLOT_BITS: [u8; 6] = [14, 16, 18, 20, 22, 24];
/// Shares of content that stay in the cache.
const SHARES: [f64; 2] = [0.9, 0.5];

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
    grouped(bytes.div_ceil(1 << 20))
}

/// A number of less than a thousand millions, with commas.
fn grouped(number: usize) -> String {
    let [millions, thousands, rest] = [number / 1_000_000, number / 1000 % 1000, number % 1000];
    match (millions, thousands) {
        (0, 0) => rest.to_string(),
        (0, _) => format!("{thousands},{rest:03}"),
        _ => format!("{millions},{thousands:03},{rest:03}"),
    }
}

/// The lengths of chunks and their slots, for random bytes in the packets of a full TCP stream.
fn chunks_of(content_bytes: usize, slot_bits: u8) -> Vec<(usize, u32)> {
    let mut content = vec![0; content_bytes];
    ChaCha8Rng::seed_from_u64(0).fill_bytes(&mut content);
    let packet_bytes = PATH_MTUS[0] - outer_bytes(FAMILIES[0].1) - node::AROUND_PACKET - node::SHARING_BYTES;
    let addresses = Addresses::new(&[0; 32]);
    let payloads = content.chunks(packet_bytes - TCP_HEADER_BYTES);
    let chunks = payloads.flat_map(|payload| {
        Boundaries::default().chunks(payload).map(|range| &payload[range]).collect::<Vec<_>>()
    });
    chunks.map(|chunk| (chunk.len(), addresses.of(chunk).slot(slot_bits))).collect()
}

fn mean_bytes(chunks: &[(usize, u32)]) -> f64 {
    chunks.iter().map(|(bytes, _)| bytes).sum::<usize>() as f64 / chunks.len() as f64
}

/// Two passes over content, as by two downloads: the share of its bytes that the second pass finds in their
/// slots. Each chunk replaces the one in its slot.
fn share_found(chunks: &[(usize, u32)], slot_bits: u8) -> f64 {
    let mut slots = vec![None; 1 << slot_bits];
    let mut found_bytes = 0;
    for second in [false, true] {
        for (index, (bytes, slot)) in chunks.iter().enumerate() {
            let before = slots[*slot as usize].replace(index);
            found_bytes += if second && before == Some(index) { *bytes } else { 0 };
        }
    }
    found_bytes as f64 / chunks.iter().map(|(bytes, _)| bytes).sum::<usize>() as f64
}

/// Content in MB of which a second download finds this share. A chunk of n in m slots stays if none of the
/// others has its slot: (1 - 1/m)^(n - 1), nearly exp(-n/m).
fn content_found_mb(share: f64, slot_bits: u8, mean_chunk_bytes: f64) -> f64 {
    -share.ln() * f64::from(1 << slot_bits) * mean_chunk_bytes / 1e6
}

#[test]
fn slots_keep_as_much_content_as_their_number_says() {
    let chunks = chunks_of(4_000_000, SLOT_BITS[0]);
    let mean_chunk_bytes = mean_bytes(&chunks);
    for share in SHARES {
        let content_bytes = content_found_mb(share, SLOT_BITS[0], mean_chunk_bytes) * 1e6;
        let count = (content_bytes / mean_chunk_bytes) as usize;
        let found = share_found(&chunks[..count], SLOT_BITS[0]);
        assert!((found - share).abs() < 0.03, "{found} of {count} chunks for {share}");
    }
}

#[test]
fn content_that_fits_the_cache_of_a_group() {
    let default_bits = node::Group::default().slot_bits;
    let settings = overhear::Settings { slot_bits: default_bits, ..overhear::Settings::new([0; 32]) };
    let gateway = overhear::Gateway::new(settings.clone()).unwrap().cache_bytes();
    let station = overhear::Station::new(settings, overhear::StationId(0), None).unwrap().cache_bytes();
    let mean_chunk_bytes = mean_bytes(&chunks_of(4_000_000, default_bits));
    let mb = |size: f64| if size < 10.0 { format!("{size:.1}") } else { grouped(size.round() as usize) };
    let mut made = format!(
        "The mean chunk of random bytes has {mean_chunk_bytes:.0} bytes.\n\n\
         | `slot_bits` | slots | MB of which 90% stays | MB of which half stays | MiB, gateway or relay | MiB, station |\n\
         |---|---|---|---|---|---|\n"
    );
    for bits in SLOT_BITS {
        let [most, half] = SHARES.map(|share| mb(content_found_mb(share, bits, mean_chunk_bytes)));
        let [gateway, station] = [gateway, station].map(|bytes| mib((bytes >> default_bits) << bits));
        let mark = if bits == default_bits { " (default)" } else { "" };
        let slots = grouped(1 << bits);
        let _ = writeln!(made, "| {bits}{mark} | {slots} | {most} | {half} | {gateway} | {station} |");
    }
    hold_block(PAGE, "content of a group's cache", &made);
}

#[test]
fn memory_of_stores_and_caches() {
    let both_ends = |store_bytes: usize| {
        (re::Encoder::most_memory_bytes(store_bytes), re::Decoder::most_memory_bytes(store_bytes))
    };
    let slot_bits = node::Group::default().slot_bits;
    let settings = overhear::Settings { slot_bits, ..overhear::Settings::new([0; 32]) };
    let gateway = overhear::Gateway::new(settings.clone()).unwrap().cache_bytes();
    let station = overhear::Station::new(settings, overhear::StationId(0), None).unwrap().cache_bytes();
    let mut made = String::from("| memory, when full | MiB | key and its default |\n|---|---|---|\n");
    for (memory, size) in [
        ("`[overhear]` on a gateway or relay: one cache for all stations", mib(gateway)),
        ("`[overhear]` on a station: one cache for each group that it is a member of", mib(station)),
    ] {
        let _ = writeln!(made, "| {memory} | {size} | `[overhear] slot_bits`, {slot_bits} |");
    }
    made.push_str("\n| bound of a store, MiB | MiB, sender's | MiB, receiver's |\n|---|---|---|\n");
    for store_mib in STORES_MIB {
        let (sender, receiver) = both_ends(store_mib << 20);
        let _ = writeln!(made, "| {store_mib} | {} | {} |", mib(sender), mib(receiver));
    }
    hold_block(PAGE, "memory", &made);
}
