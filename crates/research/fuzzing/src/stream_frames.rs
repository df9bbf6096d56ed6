//! Frames of streams from a far end, packets of hosts, and what becomes of datagrams, in any order.

use crate::{Seed, frames, stream_records};
use etherparse::PacketBuilder;
use std::time::Duration;
use streams::{Settings, Streams};
use wire::frame::{Frame, FrameType};
use wire::inner::Inner;
use wire::stream::{Abort, Cause, Credit, Data, End, Name, Open, Stored};

const MEMORY_BYTES: usize = 1 << 20;
const MOST_STREAMS: usize = 8;
/// A stream that is refused is kept until its end is told, within this bound; each has some room of its own.
const MOST_MEMORY_BYTES: u64 = (MEMORY_BYTES + (MOST_STREAMS << 15)) as u64;
const MTU: usize = 1400;
const DATAGRAM_BYTES: usize = 1300;

const FRAMES: [FrameType; 6] = [
    FrameType::StreamOpen,
    FrameType::StreamData,
    FrameType::StreamEnd,
    FrameType::StreamCredit,
    FrameType::StreamAbort,
    FrameType::StreamStored,
];
/// Kinds of deeds beyond the frames.
const PACKET: u8 = 6;
const WRITE: u8 = 7;
const SETTLE: u8 = 8;
const WAIT: u8 = 9;
const KINDS: u8 = 10;

/// One deed in the input: its kind, a number, and its bytes.
fn deeds(mut rest: &[u8]) -> impl Iterator<Item = (u8, u8, &[u8])> {
    std::iter::from_fn(move || {
        let &[kind, number, length, ref behind @ ..] = rest else { return None };
        let (bytes, behind) = behind.split_at_checked(length.into())?;
        rest = behind;
        Some((kind % KINDS, number, bytes))
    })
}

/// A frame makes sense if its body parses, and is then emitted equally. Packets for hosts can be parsed, and
/// fit the MTU; datagrams keep to their length, and memory and number of the streams to their bounds.
pub fn check(bytes: &[u8]) -> bool {
    let settings = Settings {
        mtu: MTU,
        memory_bytes: MEMORY_BYTES,
        most_streams: MOST_STREAMS,
        answers_early: bytes.first().is_some_and(|first| first & 1 == 1),
        sequence_key: [1; 4],
    };
    let mut streams = Streams::new(settings);
    streams.reduce(&stream_records::reduction());
    let (mut now, mut sequence, mut is_accepted) = (Duration::ZERO, 0, false);
    let emit = &mut |packet: &[u8]| {
        assert!(packet.len() <= MTU && Inner::parse(packet).is_ok(), "{packet:?}");
    };
    for (kind, number, bytes) in deeds(bytes.get(1..).unwrap_or_default()) {
        match kind {
            PACKET => {
                if let Ok(inner) = Inner::parse(bytes) {
                    is_accepted |= streams.take_packet(now, bytes, &inner, emit);
                }
            }
            WRITE => {
                let mut out = Vec::new();
                streams.write(sequence, number & 1 == 1, DATAGRAM_BYTES, &mut out);
                assert!(out.len() <= DATAGRAM_BYTES);
                sequence += 1;
            }
            SETTLE => streams.settle(now, (number >> 1).into(), number & 1 == 1, emit),
            WAIT => {
                now += Duration::from_millis(u64::from(number) * u64::from(number));
                streams.handle_timeout(now, emit);
            }
            frame => {
                let frame_type = FRAMES[usize::from(frame)];
                let makes_sense = streams.take_frame(now, frame_type, bytes, number & 1 == 0, emit);
                assert_eq!(makes_sense, wire::body::check(frame_type, bytes).is_ok());
                frames::check_body(&Frame { frame_type: Some(frame_type), body: bytes });
                is_accepted |= makes_sense;
            }
        }
        assert!(streams.open_streams() <= MOST_STREAMS);
        assert!(streams.memory_bytes() <= MOST_MEMORY_BYTES, "{} bytes", streams.memory_bytes());
    }
    is_accepted
}

/// A far end opens a stream to a host and sends bytes; a host opens one, which stands, is refused, or breaks.
pub fn seeds() -> Vec<Seed> {
    type Out<'a> = &'a mut Vec<u8>;
    fn deed(out: Out<'_>, kind: u8, number: u8, write: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = Vec::new();
        write(&mut bytes);
        out.extend_from_slice(&[kind, number, bytes.len() as u8]);
        out.append(&mut bytes);
    }
    fn frame(out: Out<'_>, frame_type: FrameType, write: impl FnOnce(&mut Vec<u8>)) {
        let kind = FRAMES.iter().position(|it| *it == frame_type).expect("it is of streams");
        deed(out, kind as u8, 0, write);
    }
    let name = |is_own| Name { number: 0, is_own };
    let packet = |out: Out<'_>, flags: &str, sequence, payload: &[u8]| {
        deed(out, PACKET, 0, |bytes| {
            let tcp = PacketBuilder::ipv4([10, 0, 0, 2], [10, 0, 0, 1], 64).tcp(4000, 80, sequence, 60_000);
            let tcp = match flags {
                "syn" => tcp.syn(),
                "reset" => tcp.rst(),
                _ => tcp.ack(1),
            };
            tcp.write(bytes, payload).expect("it is in memory");
        });
    };
    let wait = |out: Out<'_>, milliseconds| deed(out, WAIT, milliseconds, |_| ());
    let write = |out: Out<'_>| deed(out, WRITE, 1, |_| ());
    let credit =
        |out: Out<'_>| frame(out, FrameType::StreamCredit, |body| Credit::emit(name(false), 1 << 16, body));
    let begins = move |out: Out<'_>, answers_early| {
        out.push(answers_early);
        packet(out, "syn", 7000, b"");
        wait(out, 1);
        write(out);
    };
    let accepts = move |out: Out<'_>| {
        out.push(0);
        let (source, destination) = (([10, 0, 0, 1], 4000).into(), ([10, 0, 0, 2], 80).into());
        frame(out, FrameType::StreamOpen, |body| Open { name: name(true), source, destination }.emit(body));
        frame(out, FrameType::StreamData, |body| {
            Data::emit_front(name(true), 0, body);
            body.extend_from_slice(&[0, 0, 5, 1, 2, 3, 4, 5]);
        });
        frame(out, FrameType::StreamEnd, |body| End::emit(name(true), 8, body));
        wait(out, 40);
        write(out);
        deed(out, SETTLE, 1, |_| ());
    };
    let stands = move |out: Out<'_>| {
        begins(out, 0);
        credit(out);
        wait(out, 1);
        packet(out, "ack", 7001, b"a request");
        wait(out, 1);
        write(out);
        deed(out, SETTLE, 2, |_| ());
        frame(out, FrameType::StreamStored, |body| Stored { first: 0, count: 1 }.emit(body));
        packet(out, "reset", 7010, b"");
        wait(out, 200);
    };
    let is_refused = move |out: Out<'_>| {
        begins(out, 1);
        frame(out, FrameType::StreamAbort, |body| {
            Abort { name: name(false), cause: Cause::Refused }.emit(body)
        });
        wait(out, 200);
    };
    vec![Seed::of("accepts", accepts), Seed::of("stands", stands), Seed::of("refused", is_refused)]
}
