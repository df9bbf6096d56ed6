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

mod types;

pub(crate) use types::with_frame_types;
pub use types::{Class, FrameType};

use crate::number::{from_u24, to_u24};
use crate::{Malformed, take, take_array, varint};

/// Bytes of the link sequence at the front of a plaintext.
pub const SEQUENCE_BYTES: usize = 3;
/// Bytes of the MAC over a packet's original bytes.
pub const PACKET_MAC_BYTES: usize = 8;

/// The most bytes in which a frame of a datagram says its length.
pub const MAX_LENGTH_BYTES: usize = 3;

const TO_THE_END: u8 = 0x80;

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
            bodies in proptest::collection::vec((0..FrameType::ALL.len() as u8, proptest::collection::vec(any::<u8>(), 0..200)), 0..6),
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
