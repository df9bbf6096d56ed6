//! Frames: the contents of the seal, behind the link sequence.
//!
//! ```text
//! +------------------------+   +-+-------------+-----------------+----------
//! | link sequence, 24 bits |   |E|  type (7)   | length (varint) | body ...
//! +------------------------+   +-+-------------+-----------------+----------
//! ```
//!
//! The link sequence is that of the unit's first packet; packets that follow in the same unit take the next
//! ones. `E` means that the body reaches to the end of the unit and no length is given, which is what the
//! usual datagram with a single packet does. A frame of a type that is not known is passed over, so that a
//! newer node can say more to one that understands.

use crate::number::{from_u24, to_u24};
use crate::{Malformed, take, take_array, varint};

/// Bytes of the link sequence at the front of a plaintext.
pub const SEQUENCE_BYTES: usize = 3;
/// Bytes of the MAC over a packet's original bytes.
pub const PACKET_MAC_BYTES: usize = 8;

/// The most bytes in which a frame of a datagram says its length.
pub const MAX_LENGTH_BYTES: usize = 3;

const TO_THE_END: u8 = 0x80;

/// The types of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum FrameType {
    /// Nothing: fills a datagram to a size.
    Padding = 0,
    /// An IP packet as it is. Takes a link sequence.
    Packet = 1,
    /// A reduced IP packet with a compact shim. Takes a link sequence.
    ReducedCompact = 2,
    /// A reduced IP packet with the byte-caching paper's 14-byte fields. Reserved for experiments: other
    /// nodes cannot read it. Takes a link sequence.
    ReducedPaper = 3,
    /// Receipt of the other end: [`crate::receipt::Receipt`].
    Receipt = 4,
    /// Packets asked for again: [`crate::request::Request`].
    Request = 5,
    /// An IP packet sent before, as it was: its link sequence (24 bits), then its bytes. It takes no link
    /// sequence of its own.
    Reply = 6,
    /// Asks for a [`FrameType::Pong`] with the same 8 bytes.
    Ping = 7,
    /// Answers a ping.
    Pong = 8,
    /// The receiver's store was lost: its new generation (8 bits).
    Flushed = 9,
    /// The peer is going away; its session ends.
    Close = 10,
    /// A [`FrameType::Packet`] sent before and lost: its link sequence (24 bits), then its body. This and the
    /// next three take no link sequence of their own.
    AgainPacket = 11,
    /// A [`FrameType::ReducedCompact`] sent before and lost: its link sequence (24 bits), then its body.
    AgainReduced = 12,
    /// As [`FrameType::AgainPacket`], for the receiver's store only: it was lost to congestion, which the end
    /// hosts must hear of.
    StorePacket = 13,
    /// As [`FrameType::AgainReduced`], for the store only.
    StoreReduced = 14,
    /// An IP packet whose header or literals were made shorter, reduced or not. Takes a link sequence.
    Short = 15,
    /// A [`FrameType::Short`] sent before and lost: its link sequence (24 bits), then its body.
    AgainShort = 16,
    /// As [`FrameType::AgainShort`], for the store only.
    StoreShort = 17,
    /// Asks for a [`FrameType::Pong`] with its first 8 bytes. The following bytes fill a datagram to a size
    /// that is tried on the path (RFC 8899). It is the first frame of its unit, and such a unit takes no link
    /// sequence: its loss is no loss of a packet.
    Probe = 18,
    /// The sender's lane (8 bits), from 1; absent for the first lane. It is the first frame of its unit. By
    /// it a receiver distinguishes a peer with several ports from a peer that moved.
    Lane = 19,
    /// The front of a packet's frame that did not fit as a whole: that frame's type (8 bits), then as much of
    /// its body as fills the unit. Takes the packet's link sequence; [`FrameType::Tail`] follows in the next
    /// unit.
    Head = 20,
    /// The rest of the frame whose [`FrameType::Head`] closed the unit before. It takes no link sequence: the
    /// packet's is the one before the unit's first.
    Tail = 21,
    /// A packet's frame of which chunks that its receiver has were removed: [`crate::group::Shared`]. Takes a
    /// link sequence. It stands in units under a group's key only.
    Shared = 22,
    /// Makes the receiver a member of the sender's group: [`crate::group::Membership`].
    Membership = 23,
    /// The sender is a member now: [`crate::group::Joined`].
    Joined = 24,
    /// Numbers of overheard packets that were sent to others of the sender's group: [`crate::group::Heard`].
    Heard = 25,
    /// Chunks that the sender lacks: [`crate::chunk_request`].
    ChunkRequest = 26,
    /// Chunks that were asked for: the number (24 bits) under which they are sent, then a
    /// [`crate::chunk_reply`]. It stands in units under a group's key only.
    ChunkReply = 27,
    /// A TCP segment that was lost, combined with others: [`crate::coded`]. It takes no link sequence.
    Coded = 28,
    /// Stretches of a TCP flow that the hop lost on their way to the sender of this: [`crate::notice`].
    Notice = 29,
    /// A message between gateways of one operator: [`crate::neighbours::Message`].
    Neighbour = 30,
    /// Whether the sender, which knows several gateways, is associated with the receiver: 0 if with another
    /// one, otherwise which of its associations this is, counted from 1 to 255 and again from 1 (8 bits). A
    /// new one begins with an empty cache.
    Associated = 31,
    /// The group of another gateway, which the receiver may overhear: [`crate::group::OtherGroup`].
    OtherGroup = 32,
    /// Numbers of overheard packets of another gateway's group: [`crate::group::HeardOfOther`].
    HeardOfOther = 33,
    /// Natives for several members as one XOR: [`crate::natives`]. It is all of a group's unit, and its
    /// members take their link sequences from it.
    Natives = 34,
    /// A reduced IP packet with chunks named by their SHA-1. Reserved for experiments: other nodes cannot
    /// read it. Takes a link sequence.
    ReducedHashed = 35,
}

impl FrameType {
    /// The type with this number, if it is known.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        use FrameType::*;
        const TYPES: [FrameType; 36] = [
            Padding,
            Packet,
            ReducedCompact,
            ReducedPaper,
            Receipt,
            Request,
            Reply,
            Ping,
            Pong,
            Flushed,
            Close,
            AgainPacket,
            AgainReduced,
            StorePacket,
            StoreReduced,
            Short,
            AgainShort,
            StoreShort,
            Probe,
            Lane,
            Head,
            Tail,
            Shared,
            Membership,
            Joined,
            Heard,
            ChunkRequest,
            ChunkReply,
            Coded,
            Notice,
            Neighbour,
            Associated,
            OtherGroup,
            HeardOfOther,
            Natives,
            ReducedHashed,
        ];
        TYPES.get(usize::from(number)).copied()
    }

    /// Whether a frame of this type is spoken in the plain tunnel ([`crate::unit::PLAIN`]). What these mean
    /// never changes.
    #[must_use]
    pub fn is_plain(self) -> bool {
        use FrameType::*;
        matches!(self, Padding | Packet | Ping | Pong | Close | Probe)
    }

    /// Whether a frame of this type holds a packet that was sent before, behind the packet's link sequence.
    #[must_use]
    pub fn is_again(self) -> bool {
        use FrameType::*;
        matches!(self, AgainPacket | AgainReduced | AgainShort | StorePacket | StoreReduced | StoreShort)
    }

    /// Whether a frame of this type is a packet that is sent for the first time, whole. It takes a link
    /// sequence, as does a [`FrameType::Head`].
    #[must_use]
    pub fn is_packet(self) -> bool {
        use FrameType::*;
        matches!(self, Packet | ReducedCompact | ReducedPaper | ReducedHashed | Short | Shared)
    }
}

/// One frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The type; `None` if this version does not know it.
    pub frame_type: Option<FrameType>,
    /// The contents.
    pub body: &'a [u8],
}

/// The front of a reduced packet's body, before the shim.
///
/// ```text
/// +------------+---------------------------+--------+--------------
/// | generation | MAC over the packet (64)  | shim   | literals ...
/// +------------+---------------------------+--------+--------------
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reduced<'a> {
    /// The generation of the store that the shim speaks of.
    pub generation: u8,
    /// Keyed MAC over the link sequence and the original bytes.
    pub mac: [u8; PACKET_MAC_BYTES],
    /// Shim and literals: [`crate::shim`].
    pub shim: &'a [u8],
}

impl<'a> Reduced<'a> {
    /// Bytes before the shim.
    pub const FRONT_BYTES: usize = 1 + PACKET_MAC_BYTES;

    /// Reads a reduced packet's body.
    pub fn parse(mut body: &'a [u8]) -> Result<Self, Malformed> {
        let [generation] = take_array(&mut body, "generation")?;
        let mac = take_array(&mut body, "packet MAC")?;
        Ok(Reduced { generation, mac, shim: body })
    }

    /// Appends the body.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.push(self.generation);
        out.extend_from_slice(&self.mac);
        out.extend_from_slice(self.shim);
    }
}

/// Appends the link sequence that opens a plaintext.
pub fn emit_sequence(sequence: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(&to_u24(sequence));
}

/// Takes the link sequence (its low 24 bits) off the front of a plaintext.
pub fn parse_sequence(plaintext: &mut &[u8]) -> Result<u32, Malformed> {
    Ok(from_u24(take_array(plaintext, "link sequence")?))
}

/// The lane that a plaintext came on; none: the first.
#[must_use]
pub fn lane(mut plaintext: &[u8]) -> Option<u8> {
    parse_sequence(&mut plaintext).ok()?;
    match Frames::new(plaintext).next()?.ok()? {
        Frame { frame_type: Some(FrameType::Lane), body: &[lane] } => Some(lane),
        _ => None,
    }
}

/// Appends one frame that says its own length.
pub fn emit(frame_type: FrameType, body: &[u8], out: &mut Vec<u8>) {
    emit_front(frame_type, body.len(), out);
    out.extend_from_slice(body);
}

/// Appends the type and length of a frame, whose body the caller appends.
pub fn emit_front(frame_type: FrameType, body_bytes: usize, out: &mut Vec<u8>) {
    out.push(frame_type as u8);
    varint::emit(body_bytes as u32, out);
}

/// Appends the type of a last frame, whose body the caller appends to the end of the unit.
pub fn emit_last(frame_type: FrameType, out: &mut Vec<u8>) {
    out.push(frame_type as u8 | TO_THE_END);
}

/// Gives a length to the frame that begins at `start` and was to be the last: others can then follow it.
pub fn give_length(start: usize, out: &mut Vec<u8>) {
    let body = start + 1;
    let end = out.len();
    varint::emit((end - body) as u32, out);
    let length_bytes = out.len() - end;
    out[body..].rotate_right(length_bytes);
    out[start] &= !TO_THE_END;
}

/// Cuts the frame that begins at `start`, and says no length, so that the unit ends at `limit`: what stays is
/// its [`FrameType::Head`]. How many bytes of the body stay; there must be room for one.
pub fn cut(start: usize, limit: usize, out: &mut Vec<u8>) -> usize {
    let frame_type = out[start] & !TO_THE_END;
    out[start] = FrameType::Head as u8 | TO_THE_END;
    out.truncate(limit - 1);
    out.insert(start + 1, frame_type);
    limit - start - HEAD_FRONT_BYTES
}

/// Bytes of a [`FrameType::Head`] before the piece of the body.
const HEAD_FRONT_BYTES: usize = 2;

/// The frames of a plaintext, behind its link sequence. Ends after the first error.
#[derive(Debug, Clone)]
pub struct Frames<'a> {
    rest: &'a [u8],
}

impl<'a> Frames<'a> {
    /// Reads the frames in `plaintext`, from which the link sequence has been taken.
    #[must_use]
    pub fn new(plaintext: &'a [u8]) -> Self {
        Frames { rest: plaintext }
    }

    fn next_frame(&mut self) -> Result<Frame<'a>, Malformed> {
        let [first] = take_array(&mut self.rest, "frame type")?;
        let length =
            if first & TO_THE_END != 0 { self.rest.len() } else { varint::parse(&mut self.rest)? as usize };
        let body = take(&mut self.rest, length, "frame body")?;
        Ok(Frame { frame_type: FrameType::from_number(first & !TO_THE_END), body })
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Result<Frame<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let frame = self.next_frame();
        if frame.is_err() {
            self.rest = &[];
        }
        Some(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn frames_round_trip(
            bodies in proptest::collection::vec((0u8..29, proptest::collection::vec(any::<u8>(), 0..200)), 0..6),
            last in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            let mut out = Vec::new();
            for (number, body) in &bodies {
                emit(FrameType::from_number(*number).unwrap(), body, &mut out);
            }
            let start = out.len();
            emit_last(FrameType::Packet, &mut out);
            out.extend_from_slice(&last);
            let mut with_length = out.clone();
            give_length(start, &mut with_length);
            emit_last(FrameType::Padding, &mut with_length);
            let both = Frames::new(&with_length).zip(Frames::new(&out));
            prop_assert!(both.into_iter().all(|(one, other)| one == other));
            prop_assert_eq!(Frames::new(&with_length).count(), bodies.len() + 2);
            let read: Vec<_> = Frames::new(&out).map(Result::unwrap).collect();
            prop_assert_eq!(read.len(), bodies.len() + 1);
            for (frame, (number, body)) in read.iter().zip(&bodies) {
                prop_assert_eq!(frame.frame_type.unwrap() as u8, *number);
                prop_assert_eq!(frame.body, &body[..]);
            }
            prop_assert_eq!(read[bodies.len()].body, &last[..]);
        }

        #[test]
        fn a_cut_frame_fills_its_unit_and_is_whole_with_its_tail(
            front in proptest::collection::vec(any::<u8>(), 0..50),
            body in proptest::collection::vec(any::<u8>(), 20..200),
            room in 3usize..20,
        ) {
            let mut out = front.clone();
            emit_last(FrameType::Short, &mut out);
            out.extend_from_slice(&body);
            let stays = cut(front.len(), front.len() + room, &mut out);
            prop_assert_eq!(out.len(), front.len() + room);
            let Frame { frame_type, body: head } = Frames::new(&out[front.len()..]).next().unwrap().unwrap();
            prop_assert_eq!(frame_type, Some(FrameType::Head));
            prop_assert_eq!(head.split_first(), Some((&(FrameType::Short as u8), &body[..stays])));
        }

        #[test]
        fn any_bytes_end(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(Frames::new(&bytes).count() <= bytes.len());
        }
    }

    #[test]
    fn a_lane_is_told_by_the_first_frame_alone() {
        let mut plaintext = vec![0, 0, 9];
        emit(FrameType::Lane, &[3], &mut plaintext);
        emit_last(FrameType::Packet, &mut plaintext);
        assert_eq!(lane(&plaintext), Some(3));
        assert_eq!(lane(&[0, 0, 9, FrameType::Padding as u8, 0, FrameType::Lane as u8, 1, 3]), None);
        assert_eq!(lane(&plaintext[..5]), None);
    }

    #[test]
    fn an_unknown_frame_is_passed_over() {
        let frames: Vec<_> = Frames::new(&[99, 2, 0, 0, 7 | TO_THE_END]).map(Result::unwrap).collect();
        assert_eq!(frames[0].frame_type, None);
        assert_eq!(frames[1].frame_type, Some(FrameType::Ping));
    }
}
