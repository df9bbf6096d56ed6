//! The contents of the seal: a link sequence and a sequence of frames.

use crate::{Seed, receipt, request};
use wire::frame::{self, Frame, FrameType, Frames, Reduced};
use wire::group::{Heard, HeardOfOther, Joined, MAX_HEARD_BYTES, Membership, OtherGroup, Shared};
use wire::neighbours::{Message, Said};
use wire::store_bounds::{Bounds, StoreBounds};
use wire::stream::{Abort, Credit, Data, End, Open, Stored};

/// Frames that are read and written again read the same, and each body goes to the target that is its own.
pub fn check(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    let Ok(sequence) = frame::parse_sequence(&mut rest) else { return false };
    let mut again = Vec::new();
    frame::emit_sequence(u64::from(sequence), &mut again);
    assert_eq!(again, bytes[..frame::SEQUENCE_BYTES]);
    let mut body_bytes = 0;
    let mut known: Vec<Frame<'_>> = Vec::new();
    for frame in Frames::new(rest) {
        let Ok(frame) = frame else { return false };
        body_bytes += frame.body.len() + 1;
        known.extend(frame.frame_type.is_some().then_some(frame));
    }
    assert!(body_bytes <= rest.len(), "no byte is in two frames");
    again.clear();
    for Frame { frame_type, body } in &known {
        frame::emit(frame_type.unwrap_or(FrameType::Padding), body, &mut again);
    }
    let read: Vec<Frame<'_>> = Frames::new(&again).filter_map(Result::ok).collect();
    assert_eq!(read, known);
    known.iter().for_each(check_body);
    true
}

/// A body that is read and written again reads the same.
pub(crate) fn check_body(frame: &Frame<'_>) {
    let is_well_formed = frame.frame_type.map(|frame_type| wire::body::check(frame_type, frame.body).is_ok());
    match frame.frame_type {
        Some(FrameType::Receipt) => drop(receipt::check(frame.body)),
        Some(FrameType::Request) => drop(request::check(frame.body)),
        Some(FrameType::ReducedCompact | FrameType::ReducedPaper | FrameType::ReducedHashed) => {
            if let Ok(reduced) = Reduced::parse(frame.body) {
                let mut out = Vec::new();
                reduced.emit(&mut out);
                assert_eq!(out, frame.body);
            }
        }
        Some(FrameType::Shared) => {
            if let Ok(shared) = Shared::parse(frame.body) {
                let mut out = Vec::new();
                let number_at = Shared::emit_front(shared.frame_type, shared.front, &mut out);
                Shared::set_number(shared.number.into(), number_at, &mut out);
                if shared.is_compressed {
                    Shared::set_compressed(number_at, &mut out);
                }
                out.extend_from_slice(shared.rest);
                assert_eq!(Shared::parse(&out), Ok(shared));
            }
        }
        Some(FrameType::Membership) => {
            if let Ok(membership) = Membership::parse(frame.body) {
                let mut out = Vec::new();
                membership.emit(&mut out);
                assert_eq!(out, frame.body[..Membership::BYTES]);
            }
        }
        Some(FrameType::Heard) => {
            if let Ok(heard) = Heard::parse(frame.body) {
                assert!(heard.back().all(|back| back < 8 * MAX_HEARD_BYTES as u64));
            }
        }
        Some(FrameType::Joined) => assert_eq!(Some(Joined::parse(frame.body).is_ok()), is_well_formed),
        Some(FrameType::OtherGroup) => {
            if let Ok(group) = OtherGroup::parse(frame.body) {
                let mut out = Vec::new();
                group.emit(&mut out);
                assert_eq!(out, frame.body[..OtherGroup::BYTES]);
            }
        }
        Some(FrameType::HeardOfOther) => {
            if let Ok(heard) = HeardOfOther::parse(frame.body) {
                let mut out = Vec::new();
                HeardOfOther::emit_front(heard.key_id, &mut out);
                Heard::emit(heard.newest.into(), heard.bitmap, &mut out);
                assert_eq!(out, frame.body);
            }
        }
        Some(FrameType::StoreBounds) => {
            if let Ok(bounds) = StoreBounds::parse(frame.body) {
                let mut out = Vec::new();
                bounds.emit(&mut out);
                assert_eq!(StoreBounds::parse(&out), Ok(bounds));
            }
        }
        Some(FrameType::Neighbour) => {
            if let Ok(message) = Message::parse(frame.body) {
                let mut out = Vec::new();
                message.emit(&mut out);
                assert_eq!(Message::parse(&out), Ok(message));
            }
        }
        Some(FrameType::StreamOpen) => {
            if let Ok(open) = Open::parse(frame.body) {
                let mut out = Vec::new();
                open.emit(&mut out);
                assert_eq!(Open::parse(&out), Ok(open));
            }
        }
        Some(FrameType::StreamData) => {
            if let Ok(data) = Data::parse(frame.body) {
                let mut out = Vec::new();
                Data::emit_front(data.name, data.offset.into(), &mut out);
                out.extend_from_slice(data.bytes);
                assert_eq!(Data::parse(&out), Ok(data));
            }
        }
        Some(FrameType::StreamEnd) => {
            if let Ok(end) = End::parse(frame.body) {
                let mut out = Vec::new();
                End::emit(end.name, end.offset.into(), &mut out);
                assert_eq!(End::parse(&out), Ok(end));
            }
        }
        Some(FrameType::StreamCredit) => {
            if let Ok(credit) = Credit::parse(frame.body) {
                let mut out = Vec::new();
                Credit::emit(credit.name, credit.limit.into(), &mut out);
                assert_eq!(Credit::parse(&out), Ok(credit));
            }
        }
        Some(FrameType::StreamAbort) => {
            if let Ok(abort) = Abort::parse(frame.body) {
                let mut out = Vec::new();
                abort.emit(&mut out);
                assert_eq!(Abort::parse(&out), Ok(abort));
            }
        }
        Some(FrameType::StreamStored) => {
            if let Ok(stored) = Stored::parse(frame.body) {
                let mut out = Vec::new();
                stored.emit(&mut out);
                assert_eq!(Stored::parse(&out), Ok(stored));
            }
        }
        _ => {}
    }
}

/// One packet alone, several frames in a row, and every control frame.
pub fn seeds() -> Vec<Seed> {
    let packet = [0x45; 60];
    let receipt = receipt::seeds().swap_remove(0).bytes;
    vec![
        Seed::of("packet", |out| {
            frame::emit_sequence(1, out);
            frame::emit_last(FrameType::Packet, out);
            out.extend_from_slice(&packet);
        }),
        Seed::of("packed", |out| {
            frame::emit_sequence(0x00ab_cdef, out);
            frame::emit(FrameType::Receipt, &receipt, out);
            frame::emit(FrameType::Packet, &packet, out);
            frame::emit(FrameType::ReducedCompact, &[3; 40], out);
            frame::emit_last(FrameType::ReducedPaper, out);
            out.extend_from_slice(&[4; 40]);
        }),
        Seed::of("group", |out| {
            frame::emit_sequence(3, out);
            let membership = Membership {
                member: 1,
                slot_bits: 18,
                key_id: 7,
                traffic_key: [1; 32],
                address_key: [2; 32],
                mac_key: [3; 32],
            };
            let mut body = Vec::new();
            membership.emit(&mut body);
            frame::emit(FrameType::Membership, &body, out);
            body.clear();
            Joined { key_id: 7, slot_bits: 16, keeps_cache: true }.emit(&mut body);
            frame::emit(FrameType::Joined, &body, out);
            body.clear();
            Heard::emit(300, &[0x5a; 20], &mut body);
            frame::emit(FrameType::Heard, &body, out);
            frame::emit(FrameType::Associated, &[1], out);
            body.clear();
            OtherGroup { key_id: 9, traffic_key: [4; 32] }.emit(&mut body);
            frame::emit(FrameType::OtherGroup, &body, out);
            body.clear();
            HeardOfOther::emit_front(9, &mut body);
            Heard::emit(300, &[0x5a; 20], &mut body);
            frame::emit(FrameType::HeardOfOther, &body, out);
            body.clear();
            Message { boot: 1, station: 2, said: Said::Has }.emit(&mut body);
            frame::emit(FrameType::Neighbour, &body, out);
            frame::emit_last(FrameType::Shared, out);
            let number_at = Shared::emit_front(FrameType::Packet, &packet[..40], out);
            Shared::set_number(301, number_at, out);
            out.extend_from_slice(&packet[40..]);
        }),
        Seed::of("control", |out| {
            frame::emit_sequence(2, out);
            frame::emit(FrameType::Request, &[0, 0, 1, 0, 0, 2], out);
            frame::emit(FrameType::Reply, &[0, 0, 1, 0x45, 0, 0, 20], out);
            frame::emit(FrameType::Ping, &[1, 2, 3, 4, 5, 6, 7, 8], out);
            frame::emit(FrameType::Pong, &[1, 2, 3, 4, 5, 6, 7, 8], out);
            frame::emit(FrameType::Flushed, &[3], out);
            frame::emit(FrameType::Close, &[], out);
            let packets = Bounds { wishes: 16384, uses: 1024, keeps: 96 };
            let mut body = Vec::new();
            StoreBounds { number: 2, seen: 1, packets, records: Some(packets) }.emit(&mut body);
            frame::emit(FrameType::StoreBounds, &body, out);
            frame::emit(FrameType::Padding, &[0; 200], out);
        }),
    ]
}
