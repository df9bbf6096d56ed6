//! A sequence of frames to a coding node: each a 16-bit length and its bytes.

use crate::Seed;
use mesh::cope::PacketId;
use published::cope::frame::{Frame, Part, Window};
use published::cope::{Cope, Event, Form, Settings};
use std::time::Duration;

const ME: u16 = 3;
const KEY: [u8; 32] = [4; 32];

fn frames(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (&length, behind) = rest.split_first_chunk()?;
        let (frame, behind) = behind.split_at(usize::from(u16::from_be_bytes(length)).min(behind.len()));
        rest = behind;
        Some(frame)
    })
}

/// For any input: a repeated native arrives once, events and queues are bounded, and the node still works.
pub fn check(bytes: &[u8]) -> bool {
    let mut node = Cope::new(Settings { queue_packets: 8, pool_bytes: 4096, ..Settings::default() }, ME, 1);
    node.set_key(1, &KEY);
    let (mut accepted, mut now) = (false, Duration::ZERO);
    for frame in frames(bytes).take(64) {
        now += Duration::from_millis(5);
        let is_frame = node.handle_frame(frame, now).is_ok();
        assert_eq!(is_frame, Frame::parse(frame).is_ok());
        accepted |= is_frame;
        let mut arrived = 0;
        while let Some(event) = node.poll_event() {
            if let Event::Arrived { id, native, .. } = event {
                arrived += 1;
                let _ = node.send(id, &native, native.len(), ME, 1, now);
            }
        }
        assert!(arrived <= 1, "one frame brought several natives to one node");
        assert!(node.waiting() <= 8);
        let mut out = Vec::new();
        if node.poll_transmit(now, |_, _, _| None::<Form>, &mut out) {
            assert!(Frame::parse(&out).is_ok(), "what is sent can be read");
        }
    }
    accepted
}

/// A native for this node, the same coded with one that it heard, and reports alone.
pub fn seeds() -> Vec<Seed> {
    let part = |number: u32, next_hop: u16, literals: &'static [u8]| Part {
        id: PacketId { source: 1, number },
        next_hop,
        sequence: number as u16,
        literals,
        beside: &[],
        proof: re::mac::PacketMac::new(&KEY).of(1 << 32 | u64::from(number), literals),
    };
    let (first, second) = (part(1, 7, b"a native for another node"), part(2, ME, b"a native for this one"));
    let window = Window { of: 1, last: 9, before: 0b1011 };
    let said = Window { of: ME, last: 1, before: 0 };
    type Parts<'a> = (&'a [Part<'a>], &'a [Window<u32>], &'a [Window<u16>]);
    let write = |frames: &[Parts<'_>], out: &mut Vec<u8>| {
        for (parts, reports, acknowledgments) in frames {
            let mut frame = Vec::new();
            Frame::emit(1, 1, parts, reports, acknowledgments, &mut frame);
            out.extend_from_slice(&(frame.len() as u16).to_be_bytes());
            out.extend_from_slice(&frame);
        }
    };
    vec![
        Seed::of("native", |out| write(&[(&[second], &[], &[])], out)),
        Seed::of("coded", |out| write(&[(&[first], &[], &[]), (&[first, second], &[window], &[said])], out)),
        Seed::of("reports", |out| write(&[(&[], &[window], &[said])], out)),
    ]
}
