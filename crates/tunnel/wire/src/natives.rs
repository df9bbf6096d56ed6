//! Natives for several members as one frame of a group's unit (Katti and others, "XORs in the Air"; REfactor,
//! section 2.2.2, Figure 1d).
//!
//! ```text
//! +---------------+-----------------+-----------+  +---------------+  +-----------------------+  +---------------------
//! | link sequence | frame's type: 1 | count (8) |  | component ... |  | MACs of all but the   |  | XOR of what components
//! | (24)          | and 34 (7)      |           |  | count times   |  | first (64 each)       |  | have in it
//! +---------------+-----------------+-----------+  +---------------+  +-----------------------+  +---------------------
//! ```
//!
//! Such a unit is addressed to the member of the first component. Its front ([`crate::group`]) names that
//! member and has its MAC, and the link sequence is that member's. The others hear it. Each member takes the
//! others' natives out of the XOR, which is as long as the longest of them. The rest equals a
//! [`Shared`](crate::group::Shared) frame of its own. A MAC is over sequence, type, count and components, as
//! they stand here, and then the bytes that its member takes out, under the counter of the unit: it proves
//! both.
//!
//! ```text
//! +------------+-----------------+  +----------+-----------------+---+---+---------+-------------------------+
//! | member (8) | link sequence   |  | from (8) | from's link     | o | r | frame's | under which it could be |
//! |            | (24)            |  |          | sequence (24)   |(1)|(1)| type (6)| overheard: key id (24), |
//! |            |                 |  |          |                 |   |   |         | number (24)             |
//! +------------+-----------------+  +----------+-----------------+---+---+---------+-------------------------+
//!  '--- not in the first one ---'                                                   '--------- if o ---------'
//! +-------------+---------------+-----------+------------------+-------------------------------+
//! | number (24) | front's bytes | front ... | bytes in the XOR | what was removed from it      |
//! |             | (varint)      |           | (varint)         | (crate::removed), if r         |
//! +-------------+---------------+-----------+------------------+-------------------------------+
//! ```
//!
//! A native has two names. Its sender knows it by its member number and its link sequence. An overhearer
//! knows it by the sender's group and the number there.

use crate::frame::{FrameType, PACKET_MAC_BYTES, SEQUENCE_BYTES, emit_sequence, parse_sequence};
use crate::number::{from_u24, to_u24};
use crate::removed::{Removed, emit_sum};
use crate::shim::MAX_RESTORED_BYTES;
use crate::{Malformed, take, take_array, varint};

/// The most natives in a frame.
pub const MAX_NATIVES: usize = 4;
/// The frame's type, of a frame that reaches to the end.
const LAST_FRAME: u8 = 0x80 | FrameType::Natives as u8;
const OVERHEARD: u8 = 0x80;
const REMOVED: u8 = 0x40;
const TYPE: u8 = 0x3f;

/// The name of an overheard native.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overheard {
    /// Under this key of a group, 24 bits,
    pub key_id: u32,
    /// ... and this number, its low 24 bits.
    pub number: u32,
}

/// By what a native is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name {
    /// The member that sent it here.
    pub from: u8,
    /// The low 24 bits of the link sequence that it had then.
    pub sequence: u32,
    /// To those who heard it meanwhile; none if nobody could.
    pub overheard: Option<Overheard>,
}

/// One native of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Component<'a> {
    /// Number of the member.
    pub member: u8,
    /// The low 24 bits of the link sequence that it has with that one.
    pub sequence: u32,
    /// Which.
    pub name: Name,
    /// The frame that is carried: a packet's, and no shared one.
    pub frame_type: FrameType,
    /// The low 24 bits of the number under which the group's owner sends it.
    pub number: u32,
    /// The first part of the frame's body, which has no part in the XOR.
    pub front: &'a [u8],
    /// How many bytes it has in the XOR.
    pub bytes: usize,
    /// The removed runs; `None` without any.
    pub removed: Option<Removed<'a>>,
}

impl<'a> Component<'a> {
    fn take(first: Option<(u8, u32)>, input: &mut &'a [u8]) -> Result<Self, Malformed> {
        let (member, sequence) = match first {
            Some(first) => first,
            None => {
                let [member] = take_array(input, "native: member")?;
                (member, from_u24(take_array(input, "native: link sequence")?))
            }
        };
        let [from] = take_array(input, "native: from")?;
        let from_sequence = from_u24(take_array(input, "native: its sequence")?);
        let [kind] = take_array(input, "native: type")?;
        let frame_type = FrameType::from_number(kind & TYPE)
            .filter(|known| known.may_be_shared())
            .ok_or(Malformed("native: type"))?;
        let overheard = if kind & OVERHEARD == 0 {
            None
        } else {
            let key_id = from_u24(take_array(input, "native: key id")?);
            Some(Overheard { key_id, number: from_u24(take_array(input, "native: its number")?) })
        };
        let number = from_u24(take_array(input, "native: number")?);
        let front_bytes = varint::parse(input)? as usize;
        let front = take(input, front_bytes, "native: front")?;
        let bytes = varint::parse(input)? as usize;
        if bytes > MAX_RESTORED_BYTES {
            return Err(Malformed("native: bytes"));
        }
        let removed = if kind & REMOVED == 0 { None } else { Some(Removed::take(input)?) };
        let name = Name { from, sequence: from_sequence, overheard };
        Ok(Component { member, sequence, name, frame_type, number, front, bytes, removed })
    }

    /// The native's part of the XOR, stretch by stretch. `None` if the native is too short to be the right
    /// one.
    pub fn literals<'n>(&self, native: &'n [u8], mut each: impl FnMut(&'n [u8])) -> Option<()> {
        match self.removed {
            None => each(native),
            Some(removed) => removed.literals(native, each)?,
        }
        Some(())
    }
}

/// A component as it is written.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// Number of the member, and its link sequence; left out of the first.
    pub to: (u8, u64),
    /// Which.
    pub name: Name,
    /// The frame that is carried.
    pub frame_type: FrameType,
    /// The group's number.
    pub number: u64,
    /// The first part of the frame's body.
    pub front: &'a [u8],
    /// The native's part of the XOR.
    pub literals: &'a [u8],
    /// The bytes of [`Removed::emit`], or empty.
    pub removed: &'a [u8],
}

impl Part<'_> {
    fn emit(&self, is_first: bool, out: &mut Vec<u8>) {
        let &Part { to: (member, sequence), name, frame_type, number, front, literals, removed } = self;
        if !is_first {
            out.push(member);
            out.extend_from_slice(&to_u24(sequence));
        }
        out.push(name.from);
        out.extend_from_slice(&to_u24(name.sequence.into()));
        let overheard = if name.overheard.is_some() { OVERHEARD } else { 0 };
        out.push(frame_type as u8 | overheard | if removed.is_empty() { 0 } else { REMOVED });
        if let Some(Overheard { key_id, number }) = name.overheard {
            out.extend_from_slice(&to_u24(key_id.into()));
            out.extend_from_slice(&to_u24(number.into()));
        }
        out.extend_from_slice(&to_u24(number));
        varint::emit(front.len() as u32, out);
        out.extend_from_slice(front);
        varint::emit(literals.len() as u32, out);
        out.extend_from_slice(removed);
    }
}

/// The contents of a unit behind its front.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Natives<'a> {
    /// How many there are, from 2 on.
    pub count: usize,
    /// Input of every MAC, before the bytes that its member restores.
    pub proven: &'a [u8],
    /// Of what components have in it.
    pub xor: &'a [u8],
    first: (u8, u32),
    macs: &'a [[u8; PACKET_MAC_BYTES]],
}

/// Bytes of link sequence, type and count.
const FRONT_BYTES: usize = SEQUENCE_BYTES + 2;

impl<'a> Natives<'a> {
    /// Whether what stands behind the front of a group's unit is natives.
    #[must_use]
    pub fn are_in(plaintext: &[u8]) -> bool {
        plaintext.get(SEQUENCE_BYTES) == Some(&LAST_FRAME)
    }

    /// Reads what stands behind the front of a unit for the member `first`.
    pub fn parse(first: u8, plaintext: &'a [u8]) -> Result<Self, Malformed> {
        let mut input = plaintext;
        let sequence = parse_sequence(&mut input)?;
        let [frame_type, count] = take_array(&mut input, "natives: count")?;
        let count = usize::from(count);
        if frame_type != LAST_FRAME || !(2..=MAX_NATIVES).contains(&count) {
            return Err(Malformed("natives: count"));
        }
        let first = (first, sequence);
        let (mut longest, mut members) = (0, [0; MAX_NATIVES]);
        for at in 0..count {
            let component = Component::take((at == 0).then_some(first), &mut input)?;
            longest = longest.max(component.bytes);
            // nobody can take two unknowns out of one sum
            if members[..at].contains(&component.member) {
                return Err(Malformed("natives: members"));
            }
            members[at] = component.member;
        }
        let proven = &plaintext[..plaintext.len() - input.len()];
        let macs = take(&mut input, (count - 1) * PACKET_MAC_BYTES, "natives: MACs")?.as_chunks().0;
        if input.len() != longest {
            return Err(Malformed("natives: length"));
        }
        Ok(Natives { count, proven, xor: input, first, macs })
    }

    /// Its components.
    pub fn components(&self) -> impl Iterator<Item = Component<'a>> + use<'a> {
        let (mut first, mut rest) = (Some(self.first), &self.proven[FRONT_BYTES..]);
        std::iter::from_fn(move || {
            (!rest.is_empty()).then(|| Component::take(first.take(), &mut rest).ok()).flatten()
        })
    }

    /// The MAC of the component at a place from 1 on; that of the first stands in the unit's front.
    #[must_use]
    pub fn mac(&self, place: usize) -> Option<[u8; PACKET_MAC_BYTES]> {
        self.macs.get(place.checked_sub(1)?).copied()
    }

    /// Appends the bytes behind the front for these parts, two to [`MAX_NATIVES`] for as many members. `mac`
    /// makes the MAC of the part at a place over its bytes. Returns the first one's.
    pub fn emit(
        parts: &[Part<'_>],
        mut mac: impl FnMut(usize, &[u8]) -> [u8; PACKET_MAC_BYTES],
        out: &mut Vec<u8>,
    ) -> [u8; PACKET_MAC_BYTES] {
        let start = out.len();
        emit_sequence(parts.first().map_or(0, |part| part.to.1), out);
        out.extend_from_slice(&[LAST_FRAME, parts.len() as u8]);
        parts.iter().enumerate().for_each(|(at, part)| part.emit(at == 0, out));
        let proven_to = out.len();
        let mut macs = [[0; PACKET_MAC_BYTES]; MAX_NATIVES];
        for (at, (part, made)) in parts.iter().zip(&mut macs).enumerate() {
            out.extend_from_slice(part.literals);
            *made = mac(at, &out[start..]);
            out.truncate(proven_to);
        }
        macs[1..parts.len()].iter().for_each(|mac| out.extend_from_slice(mac));
        emit_sum(parts.iter().map(|part| part.literals), out);
        macs[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shim::slots::{Run, Slots};
    use proptest::prelude::*;

    fn removed() -> Vec<u8> {
        let (mut shim, mut out) = (Vec::new(), Vec::new());
        let runs = [Run::of_whole(3, 1), Run::of_whole(0, 2)];
        Slots { slot_bits: 20, mac: Some([4; 8]), runs: &runs, slots: &[1, 2, 3] }.emit(&mut shim);
        Removed::emit(&shim, [100, 200], &mut out);
        out
    }

    proptest! {
        #[test]
        fn a_frame_reads_as_it_was_written(
            natives in proptest::collection::vec(
                (proptest::collection::vec(any::<u8>(), 0..300), any::<bool>(), any::<Option<(u16, u16)>>(), 0u64..1 << 24),
                2..=MAX_NATIVES,
            ),
            front in proptest::collection::vec(any::<u8>(), 0..60),
        ) {
            let removed = removed();
            let parts: Vec<Part<'_>> = natives
                .iter()
                .enumerate()
                .map(|(at, (literals, is_reduced, overheard, number))| Part {
                    to: (at as u8 + 3, number ^ 1),
                    name: Name {
                        from: at as u8,
                        sequence: 77,
                        overheard: overheard.map(|(key, number)| Overheard { key_id: key.into(), number: number.into() }),
                    },
                    frame_type: FrameType::Short,
                    number: *number,
                    front: &front,
                    literals,
                    removed: if *is_reduced { &removed } else { &[] },
                })
                .collect();
            let mut out = Vec::new();
            let first = Natives::emit(&parts, |at, bytes| [at as u8, bytes.len() as u8, 0, 0, 0, 0, 0, 9], &mut out);
            let read = Natives::parse(parts[0].to.0, &out).unwrap();
            prop_assert!(Natives::are_in(&out));
            prop_assert_eq!(read.count, parts.len());
            for (at, (component, part)) in read.components().zip(&parts).enumerate() {
                prop_assert_eq!((component.member, u64::from(component.sequence)), part.to);
                prop_assert_eq!((component.name, component.front), (part.name, part.front));
                prop_assert_eq!((component.frame_type, u64::from(component.number)), (part.frame_type, part.number));
                prop_assert_eq!((component.bytes, component.removed.is_some()), (part.literals.len(), !part.removed.is_empty()));
                let over = read.proven.len() + part.literals.len();
                let mac = read.mac(at).unwrap_or(first);
                prop_assert_eq!(mac, [at as u8, over as u8, 0, 0, 0, 0, 0, 9]);
            }
            let mut sum = vec![0; read.xor.len()];
            for (literals, ..) in &natives {
                sum.iter_mut().zip(literals).for_each(|(one, other)| *one ^= other);
            }
            prop_assert_eq!(read.xor, &sum[..]);
            prop_assert!(Natives::parse(parts[1].to.0, &out).is_err(), "one member twice");
        }

        #[test]
        fn any_bytes_are_read_or_refused(mut bytes in proptest::collection::vec(any::<u8>(), 5..200), count in 0u8..6) {
            bytes[3..5].copy_from_slice(&[LAST_FRAME, count]);
            if let Ok(natives) = Natives::parse(1, &bytes) {
                prop_assert_eq!(natives.components().count(), natives.count);
                for component in natives.components() {
                    let _ = component.literals(&bytes, |_| ());
                }
            }
        }
    }
}
