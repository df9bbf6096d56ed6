//! A far end that says anything: nothing panics, and its streams keep within their bounds.

use crate::streams::{Settings, Streams};
use proptest::prelude::*;
use std::time::Duration;
use wire::frame::FrameType;
use wire::stream::{Abort, Cause, Credit, Data, End, Name, Open};

const MEMORY_BYTES: usize = 1 << 20;
const MOST_STREAMS: usize = 8;

/// One thing that the far end, the hop or time does.
#[derive(Debug, Clone)]
enum Deed {
    Open(Name, u16),
    Data(Name, u32, usize),
    End(Name, u32),
    Credit(Name, u32),
    Abort(Name),
    Garbage(usize, Vec<u8>),
    Write(bool),
    Settle(u64, bool),
    Wait(u64),
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let name = || (0u32..12, any::<bool>()).prop_map(|(number, is_own)| Name { number, is_own });
    let offset = || prop_oneof![0u32..40_000, any::<u32>()];
    let deed = prop_oneof![
        (name(), 1u16..4).prop_map(|(name, port)| Deed::Open(name, port)),
        (name(), offset(), 0usize..1400).prop_map(|(name, offset, bytes)| Deed::Data(name, offset, bytes)),
        (name(), offset()).prop_map(|(name, offset)| Deed::End(name, offset)),
        (name(), offset()).prop_map(|(name, limit)| Deed::Credit(name, limit)),
        name().prop_map(Deed::Abort),
        (37usize..43, proptest::collection::vec(any::<u8>(), 0..40))
            .prop_map(|(frame_type, bytes)| Deed::Garbage(frame_type, bytes)),
        any::<bool>().prop_map(Deed::Write),
        (0u64..60, any::<bool>()).prop_map(|(sequence, came)| Deed::Settle(sequence, came)),
        (0u64..40_000).prop_map(Deed::Wait),
    ];
    proptest::collection::vec(deed, 1..150)
}

proptest! {
    #[test]
    fn a_far_end_that_says_anything_keeps_within_its_bounds(deeds in deeds()) {
        let settings = Settings {
            mtu: 1400,
            memory_bytes: MEMORY_BYTES,
            most_streams: MOST_STREAMS,
            answers_early: false,
            sequence_key: [1; 4],
        };
        let (mut streams, mut now, mut sequence) = (Streams::new(settings), Duration::ZERO, 0);
        let mut emitted = Vec::new();
        for deed in deeds {
            let mut body = Vec::new();
            let frame_type = match deed {
                Deed::Open(name, port) => {
                    let source = "10.0.0.2:4000".parse().unwrap();
                    let destination = std::net::SocketAddr::new("10.0.0.1".parse().unwrap(), port);
                    Open { name, source, destination }.emit(&mut body);
                    FrameType::StreamOpen
                }
                Deed::Data(name, offset, bytes) => {
                    Data::emit_front(name, offset.into(), &mut body);
                    body.resize(body.len() + bytes, 7);
                    FrameType::StreamData
                }
                Deed::End(name, offset) => {
                    End::emit(name, offset.into(), &mut body);
                    FrameType::StreamEnd
                }
                Deed::Credit(name, limit) => {
                    Credit::emit(name, limit.into(), &mut body);
                    FrameType::StreamCredit
                }
                Deed::Abort(name) => {
                    Abort { name, cause: Cause::Reset }.emit(&mut body);
                    FrameType::StreamAbort
                }
                Deed::Garbage(frame_type, bytes) => {
                    body = bytes;
                    FrameType::ALL[frame_type]
                }
                Deed::Write(with_data) => {
                    let mut out = Vec::new();
                    streams.write(sequence, with_data, 1300, &mut out);
                    prop_assert!(out.len() <= 1300);
                    sequence += 1;
                    continue;
                }
                Deed::Settle(sequence, came) => {
                    streams.settle(now, sequence, came, &mut |packet| emitted.push(packet.len()));
                    continue;
                }
                Deed::Wait(milliseconds) => {
                    now += Duration::from_millis(milliseconds);
                    streams.handle_timeout(now, &mut |packet| emitted.push(packet.len()));
                    continue;
                }
            };
            streams.take_frame(now, frame_type, &body, true, &mut |packet| emitted.push(packet.len()));
            prop_assert!(streams.open_streams() <= MOST_STREAMS);
            prop_assert!(streams.memory_bytes() <= (MEMORY_BYTES + (MOST_STREAMS << 15)) as u64);
        }
    }
}
