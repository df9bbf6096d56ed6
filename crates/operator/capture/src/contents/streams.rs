//! Frames of streams as text.

use wire::Malformed;
use wire::frame::FrameType;
use wire::stream::{Abort, Cause, Credit, Data, End, Name, Open, Stored};

/// Describes a frame of a stream. Offsets are their low 32 bits.
pub fn told(frame_type: FrameType, body: &[u8]) -> Result<String, Malformed> {
    Ok(match frame_type {
        FrameType::StreamOpen => {
            let Open { name, source, destination } = Open::parse(body)?;
            format!("{} begins: from {source} to {destination}", named(name))
        }
        FrameType::StreamData => {
            let Data { name, offset, bytes } = Data::parse(body)?;
            format!("{}: {} bytes from byte {offset} on", named(name), bytes.len())
        }
        FrameType::StreamEnd => {
            let End { name, offset } = End::parse(body)?;
            format!("{}: it ends before byte {offset}", named(name))
        }
        FrameType::StreamCredit => {
            let Credit { name, limit } = Credit::parse(body)?;
            format!("{}: room up to {limit}", named(name))
        }
        FrameType::StreamStored => {
            let Stored { first, count } = Stored::parse(body)?;
            format!("{count} records stored, from {first} on")
        }
        _ => {
            let Abort { name, cause } = Abort::parse(body)?;
            format!("{}: given up, {}", named(name), why(cause))
        }
    })
}

/// A stream's number, and the node that opened it.
fn named(name: Name) -> String {
    let opener = if name.is_own { "" } else { ", which the receiver opened" };
    format!("stream {}{opener}", name.number)
}

fn why(cause: Cause) -> &'static str {
    match cause {
        Cause::Reset => "by a reset",
        Cause::Refused => "because the destination refuses",
        Cause::Silent => "because the destination does not answer",
        Cause::Full => "because no stream is free: the connection goes in packets",
        Cause::Forbidden => "because the addresses are not allowed: the connection goes in packets",
        Cause::Unrestored => "because bytes could not be restored",
    }
}
