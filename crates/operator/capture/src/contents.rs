//! The contents of an Overheard unit as text: the removed parts of each packet, and the basis of each
//! removal.

mod streams;

use re::literals::Expander;
use std::fmt::Write;
use wire::frame::{self, Frame, FrameType, Frames, Reduced};
use wire::group::{self, Shared};
use wire::natives::{Name, Natives};
use wire::notice::Notice;
use wire::number::from_u24;
use wire::receipt::{Receipt, State};
use wire::request::Request;
use wire::shim::MAX_RESTORED_BYTES;
use wire::shim::compact::Compact;
use wire::shim::slots;
use wire::short::Outline;
use wire::store_bounds::{Bounds, StoreBounds};
use wire::unit::Kind;
use wire::{Malformed, coded};

/// The most regions and frames listed one by one; further ones are counted.
const MOST_TOLD: usize = 12;

/// Describes `plaintext` of a unit of this kind. Malformed parts are marked as such.
#[must_use]
pub fn contents(kind: Kind, plaintext: &[u8]) -> String {
    let mut told = String::new();
    let read = match kind {
        Kind::Group { .. } => of_group(plaintext, &mut told),
        Kind::Sealed { .. } => of_peer(plaintext, &mut told),
        Kind::Initiation | Kind::InitiationWithCookie | Kind::Response | Kind::Challenge | Kind::Reset => {
            return "a handshake".to_owned();
        }
    };
    if let Err(why) = read {
        let _ = write!(told, "{why}");
    }
    told
}

fn of_group(mut plaintext: &[u8], told: &mut String) -> Result<(), Malformed> {
    let (member, _) = group::parse_front(&mut plaintext)?;
    let _ = writeln!(told, "for member {member}; all of the group may hear it");
    if Natives::are_in(plaintext) { natives(member, plaintext, told) } else { of_peer(plaintext, told) }
}

fn natives(member: u8, plaintext: &[u8], told: &mut String) -> Result<(), Malformed> {
    let natives = Natives::parse(member, plaintext)?;
    let _ = write!(told, "{} packets as one, {} bytes of XOR", natives.count, natives.xor.len());
    for it in natives.components() {
        let Name { from, sequence, .. } = it.name;
        let (to, bytes) = (it.member, it.bytes);
        let _ = write!(
            told,
            "\npacket {} for member {to}: {bytes} bytes of packet {sequence} from {from}",
            it.sequence
        );
        if it.removed.is_some() {
            let _ = write!(told, ", and chunks that the receiver has");
        }
    }
    Ok(())
}

fn of_peer(mut plaintext: &[u8], told: &mut String) -> Result<(), Malformed> {
    let mut sequence = frame::parse_sequence(&mut plaintext)?;
    for (at, read) in Frames::new(plaintext).enumerate() {
        let Frame { frame_type, body } = read?;
        if at == MOST_TOLD {
            let _ = writeln!(told, "and more");
        }
        let takes_sequence = frame_type.is_some_and(FrameType::takes_sequence);
        if at < MOST_TOLD {
            let said = frame_type
                .map_or_else(|| "a frame of a newer version".to_owned(), |it| of_frame(it, sequence, body));
            let _ = writeln!(told, "{said}");
        }
        if takes_sequence {
            sequence = sequence.wrapping_add(1) & 0xff_ffff;
        }
    }
    told.truncate(told.trim_end().len());
    Ok(())
}

fn of_frame(frame_type: FrameType, sequence: u32, body: &[u8]) -> String {
    let bytes = body.len();
    let earlier = || body.first_chunk::<3>().map_or(0, |bytes| from_u24(*bytes));
    match frame_type {
        FrameType::Packet => {
            format!("packet {sequence}: {bytes} bytes as they are; nothing repeats, or it does not pay")
        }
        FrameType::Unstored => {
            format!(
                "packet {sequence}: {bytes} bytes as they are, not stored: the processor is the bottleneck"
            )
        }
        FrameType::ReducedCompact => reduced(sequence, body).unwrap_or_else(|why| why.to_string()),
        FrameType::ReducedPaper | FrameType::ReducedHashed => {
            format!("packet {sequence}: {bytes} bytes, reduced in a form of experiments")
        }
        FrameType::Short => short(sequence, body).unwrap_or_else(|why| why.to_string()),
        FrameType::Shared => shared(sequence, body).unwrap_or_else(|why| why.to_string()),
        FrameType::Head => format!(
            "packet {sequence}: its first {} bytes; the rest is in the next datagram",
            bytes.saturating_sub(1)
        ),
        FrameType::Tail => {
            format!("{bytes} bytes: the rest of the packet that the datagram before ended with")
        }
        FrameType::AgainPacket
        | FrameType::AgainReduced
        | FrameType::AgainShort
        | FrameType::AgainUnstored => {
            format!(
                "packet {} again, {} bytes: a receipt showed that the air lost it",
                earlier(),
                bytes.saturating_sub(3)
            )
        }
        FrameType::StorePacket | FrameType::StoreReduced | FrameType::StoreShort => {
            format!(
                "packet {} again, for the store alone: a full queue lost it, and its sender has to hear of that",
                earlier()
            )
        }
        FrameType::Reply => format!("packet {} as it was: it was asked for", earlier()),
        FrameType::Receipt => receipt(body).unwrap_or_else(|why| why.to_string()),
        FrameType::Request => match Request::parse(body) {
            Ok(request) => format!("asks for packets {:?}", request.sequences().collect::<Vec<_>>()),
            Err(why) => why.to_string(),
        },
        FrameType::Coded => match coded::Coded::parse(body) {
            Ok(coded) => {
                format!("a TCP segment that was lost, combined with others: {} bytes", coded.payload.len())
            }
            Err(why) => why.to_string(),
        },
        FrameType::Notice => match Notice::parse(body) {
            Ok(notice) => {
                format!(
                    "the air lost {} stretches of a TCP flow on their way here",
                    notice.stretches().count()
                )
            }
            Err(why) => why.to_string(),
        },
        FrameType::Padding => format!("{bytes} bytes of padding"),
        FrameType::Ping => "a ping".to_owned(),
        FrameType::Pong => "a pong".to_owned(),
        FrameType::Probe => format!("a probe of what the path carries, {bytes} bytes"),
        FrameType::Flushed => "the store was lost; what refers to it is a miss".to_owned(),
        FrameType::Close => "goodbye".to_owned(),
        FrameType::Membership => "makes the receiver a member of the group, with its keys".to_owned(),
        FrameType::ChunkRequest => "asks for chunks that are not in the cache after all".to_owned(),
        FrameType::Associated => match body {
            [0] => "is associated with another gateway".to_owned(),
            _ => "is associated with this gateway".to_owned(),
        },
        FrameType::StreamOpen
        | FrameType::StreamData
        | FrameType::StreamEnd
        | FrameType::StreamCredit
        | FrameType::StreamAbort
        | FrameType::StreamStored => streams::told(frame_type, body).unwrap_or_else(|why| why.to_string()),
        FrameType::StoreBounds => store_bounds(body).unwrap_or_else(|why| why.to_string()),
        other => format!("{}, {bytes} bytes", other.name()),
    }
}

/// Describes the regions removed from a packet and the packets they refer to.
fn regions(sequence: u32, shim: &Compact<'_>) -> String {
    let (mut told, mut removed_bytes, mut others) = (String::new(), 0, 0);
    for (at, region) in shim.regions().enumerate() {
        removed_bytes += region.length;
        if at >= MOST_TOLD {
            others += 1;
            continue;
        }
        let stored = sequence.wrapping_sub(region.distance) & 0xff_ffff;
        let _ = write!(told, ", {} at {} of packet {stored}", region.length, region.offset);
    }
    if others > 0 {
        let _ = write!(told, ", and {others} more");
    }
    format!("{removed_bytes} bytes removed, which the receiver has{told}")
}

fn reduced(sequence: u32, body: &[u8]) -> Result<String, Malformed> {
    let shim = Compact::parse(Reduced::parse(body)?.shim)?;
    let (restored, regions) = (shim.restored_bytes, regions(sequence, &shim));
    Ok(format!("packet {sequence}: {} bytes for {restored}: {regions}", body.len()))
}

fn short(sequence: u32, body: &[u8]) -> Result<String, Malformed> {
    let outline = Outline::parse(body)?;
    let mut told = format!("packet {sequence}: {} bytes", body.len());
    if let Some(written) = outline.regions {
        // The literals are shorter than the shim expects, so only regions are parsed.
        let mut with_room = written.to_vec();
        with_room.resize(with_room.len() + wire::shim::MAX_RESTORED_BYTES / 2, 0);
        let _ = write!(told, ": {}", regions(sequence, &Compact::parse(&with_room)?));
    }
    if let Some(distance) = outline.header_distance {
        let _ = write!(
            told,
            "; header as what differs from packet {}'s",
            sequence.wrapping_sub(distance) & 0xff_ffff
        );
    }
    let literals = outline.literals.len();
    let _ = write!(
        told,
        "; {literals} bytes of literals{}",
        if outline.is_compressed { ", compressed" } else { "" }
    );
    Ok(told)
}

fn shared(sequence: u32, body: &[u8]) -> Result<String, Malformed> {
    let shared = Shared::parse(body)?;
    let mut expanded = Vec::new();
    let rest = match shared.is_compressed {
        true => {
            Expander::new().expand(shared.rest, MAX_RESTORED_BYTES, &mut expanded)?;
            &expanded
        }
        false => shared.rest,
    };
    let slots: u32 = slots::Encoded::parse(rest)?.runs().map(|run| run.slots).sum();
    let why = match slots {
        0 => "no chunk that the receiver has".to_owned(),
        chunks => format!("{chunks} chunks removed, which the receiver has overheard or was sent before"),
    };
    Ok(format!("packet {sequence}, number {} of the group: {} bytes: {why}", shared.number, body.len()))
}

fn store_bounds(body: &[u8]) -> Result<String, Malformed> {
    let StoreBounds { number, seen, packets, records } = StoreBounds::parse(body)?;
    let told = |what: &str, it: Bounds| {
        format!("; {what}: uses {} KiB of {} wished, keeps {} KiB", it.uses, it.wishes, it.keeps)
    };
    let records = records.map(|records| told("records", records)).unwrap_or_default();
    Ok(format!("bounds of stores, number {number}, {seen} seen{}{records}", told("packets", packets)))
}

fn receipt(body: &[u8]) -> Result<String, Malformed> {
    let receipt = Receipt::parse(body)?;
    let of = |wanted: State| -> u64 {
        receipt.runs().filter(|(_, state)| *state == wanted).map(|(run, _)| run.end - run.start).sum()
    };
    let (held, missing, parked) = (of(State::Held), of(State::Missing), of(State::Parked));
    let parked = if parked > 0 { format!(", {parked} wait for what they refer to") } else { String::new() };
    Ok(format!("receipt up to packet {}: {held} held, {missing} missing{parked}", receipt.newest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wire::shim::compact::{Region, emit};

    const SEALED: Kind = Kind::Sealed { version: 1, counter: 7 };

    #[test]
    fn what_was_removed_and_where_it_is_held_is_told() {
        let mut shim = Vec::new();
        emit(&[Region { literal_bytes: 40, distance: 3, offset: 44, length: 1200 }], &mut shim);
        shim.extend_from_slice(&[0; 60]);
        let mut body = Vec::new();
        Reduced { generation: 1, mac: [0; 8], shim: &shim }.emit(&mut body);
        let mut plaintext = Vec::new();
        frame::emit_sequence(100, &mut plaintext);
        frame::emit(FrameType::Packet, &[0; 50], &mut plaintext);
        frame::emit(FrameType::ReducedCompact, &body, &mut plaintext);
        frame::emit(FrameType::Ping, &[0; 8], &mut plaintext);
        assert_eq!(
            contents(SEALED, &plaintext),
            "packet 100: 50 bytes as they are; nothing repeats, or it does not pay\n\
             packet 101: 75 bytes for 1260: 1200 bytes removed, which the receiver has, 1200 at 44 of packet 98\n\
             a ping"
        );
    }

    #[test]
    fn frames_of_streams_are_told_with_their_fields() {
        use wire::stream::{Abort, Cause, Credit, Data, End, Name, Open, Stored};
        let (own, other) = (Name { number: 3, is_own: true }, Name { number: 5, is_own: false });
        let mut plaintext = Vec::new();
        frame::emit_sequence(100, &mut plaintext);
        let mut push = |frame_type, emit: &dyn Fn(&mut Vec<u8>)| {
            let mut body = Vec::new();
            emit(&mut body);
            frame::emit(frame_type, &body, &mut plaintext);
        };
        push(FrameType::StreamOpen, &|body| {
            let [source, destination] = ["10.0.0.2:5000", "10.0.0.1:80"].map(|end| end.parse().unwrap());
            Open { name: own, source, destination }.emit(body);
        });
        push(FrameType::StreamData, &|body| {
            Data::emit_front(own, 4000, body);
            body.extend_from_slice(&[0; 70]);
        });
        push(FrameType::StreamEnd, &|body| End::emit(own, 4070, body));
        push(FrameType::StreamCredit, &|body| Credit::emit(other, 16_384, body));
        push(FrameType::StreamAbort, &|body| Abort { name: other, cause: Cause::Refused }.emit(body));
        push(FrameType::StreamStored, &|body| Stored { first: 7, count: 2 }.emit(body));
        plaintext.extend_from_slice(&[FrameType::StreamData as u8, 1, 7]);
        assert_eq!(
            contents(SEALED, &plaintext),
            "stream 3 begins: from 10.0.0.2:5000 to 10.0.0.1:80\n\
             stream 3: 70 bytes from byte 4000 on\n\
             stream 3: it ends before byte 4070\n\
             stream 5, which the receiver opened: room up to 16384\n\
             stream 5, which the receiver opened: given up, because the destination refuses\n\
             2 records stored, from 7 on\n\
             malformed stream: offset"
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_told_or_said_to_make_no_sense(
            frames in prop::collection::vec((0..50_u8, prop::collection::vec(any::<u8>(), 0..80)), 0..20),
            noise in prop::collection::vec(any::<u8>(), 0..20),
        ) {
            let mut plaintext = vec![0, 0, 9];
            for (number, body) in frames {
                plaintext.push(number);
                wire::varint::emit(body.len() as u32, &mut plaintext);
                plaintext.extend_from_slice(&body);
            }
            plaintext.extend_from_slice(&noise);
            for kind in [SEALED, Kind::Group { counter: 1 }] {
                prop_assert!(contents(kind, &plaintext).len() < 65_535);
            }
        }
    }
}
