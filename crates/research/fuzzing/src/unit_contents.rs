//! The contents of units as text, for captures.

use crate::Seed;
use capture::contents;
use wire::frame::{self, FrameType, Reduced};
use wire::shim::compact::{self, Region};
use wire::short;
use wire::unit::Kind;

/// A description of any length fits beside a packet in a capture, with a line for each described frame.
pub fn check(bytes: &[u8]) -> bool {
    let Some((first, plaintext)) = bytes.split_first() else { return false };
    let kind =
        if first & 1 == 0 { Kind::Sealed { version: 1, counter: 0 } } else { Kind::Group { counter: 0 } };
    let told = contents(kind, plaintext);
    assert!(told.len() < 60_000, "{} bytes", told.len());
    assert_eq!(told, contents(kind, plaintext), "the same is told again");
    !told.contains("malformed")
}

fn sealed(frames: &[(FrameType, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![0];
    frame::emit_sequence(77, &mut bytes);
    frames.iter().for_each(|(frame_type, body)| frame::emit(*frame_type, body, &mut bytes));
    bytes
}

/// Packets in their three usual forms, and a row of small frames.
pub fn seeds() -> Vec<Seed> {
    let region = Region { literal_bytes: 10, distance: 3, offset: 44, length: 1200 };
    let mut shim = Vec::new();
    compact::emit(&[region], &mut shim);
    let regions = shim.clone();
    shim.extend_from_slice(&[1; 20]);
    let mut reduced = Vec::new();
    Reduced { generation: 1, mac: [2; 8], shim: &shim }.emit(&mut reduced);
    let mut short = vec![short::WHAT];
    short.extend_from_slice(&[2; 8]);
    // The header of the packet 3 before, whose acknowledgment differs by 5.
    short.extend_from_slice(&[3, 0x08, 5]);
    short.extend_from_slice(&regions);
    short.extend_from_slice(b"literals");
    let of = |name, frames: &[(FrameType, &[u8])]| Seed { name, bytes: sealed(frames) };
    vec![
        of("as-it-was", &[(FrameType::Packet, &[0x45; 60])]),
        of("reduced", &[(FrameType::ReducedCompact, &reduced)]),
        of("short", &[(FrameType::Short, &short)]),
        of("row", &[(FrameType::Ping, &[0; 8]), (FrameType::Request, &[0, 0, 5]), (FrameType::Close, &[])]),
        Seed {
            name: "of-a-group",
            bytes: [&[1, 2], &[9; 8][..], &sealed(&[(FrameType::Packet, &[0x45; 30])])[1..]].concat(),
        },
    ]
}
