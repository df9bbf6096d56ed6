//! Messages between a gateway and the stations of its group (REfactor, section 3).
//!
//! A unit under a group's key says first for which member it is; then follow link sequence and frames, as in
//! any unit:
//!
//! ```text
//! +------------+----------+------------------------+----------
//! | member (8) | MAC (64) | link sequence, 24 bits | frames ...
//! +------------+----------+------------------------+----------
//! ```
//!
//! The MAC is over all bytes behind it, under the counter of the unit and the key of the session between
//! gateway and member. A holder of the group's key can read the unit and learn from its [`Shared`] frames,
//! and can forge none.

use crate::frame::{FrameType, PACKET_MAC_BYTES};
use crate::number::{from_u24, to_u24};
use crate::{Malformed, take, take_array, varint};

/// Bytes of a key.
pub const KEY_BYTES: usize = 32;
/// The most bytes of a [`Heard`]'s bitmap.
pub const MAX_HEARD_BYTES: usize = 32;

/// Bytes of a group's unit before its link sequence.
pub const FRONT_BYTES: usize = 1 + PACKET_MAC_BYTES;

/// Takes a unit's member and its MAC off its front.
pub fn parse_front(plaintext: &mut &[u8]) -> Result<(u8, [u8; PACKET_MAC_BYTES]), Malformed> {
    let [member] = take_array(plaintext, "group unit: member")?;
    Ok((member, take_array(plaintext, "group unit: MAC")?))
}

/// In a shared frame's type: the rest is compressed.
const COMPRESSED: u8 = 0x80;

/// The frame of a packet whose payload's chunks may be removed.
///
/// ```text
/// +-------------+---+----------+-----------------+-----------+------------------------
/// | number (24) | c | frame's  | front's bytes   | front ... | rest, without chunks:
/// |             |(1)| type (7) | (varint)        |           | shim::slots ...
/// +-------------+---+----------+-----------------+-----------+------------------------
/// ```
///
/// Front and rest are the body of a frame of that type. Where `c` is set the rest is compressed with the
/// shim, as literals are. An overhearer can expand it, since that needs only the packet itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shared<'a> {
    /// The low 24 bits of the number under which the gateway sent it.
    pub number: u32,
    /// The frame that is carried: one that takes a link sequence, and not another of this kind.
    pub frame_type: FrameType,
    /// Whether the rest is compressed.
    pub is_compressed: bool,
    /// The first part of the frame's body, as it is.
    pub front: &'a [u8],
    /// The rest: [`crate::shim::slots`], as it is or compressed.
    pub rest: &'a [u8],
}

impl<'a> Shared<'a> {
    /// Bytes before the front.
    pub const MOST_FRONT_BYTES: usize = 3 + 1 + 2;

    /// Reads a shared frame's body.
    pub fn parse(mut body: &'a [u8]) -> Result<Self, Malformed> {
        let number = from_u24(take_array(&mut body, "shared: number")?);
        let [frame_type] = take_array(&mut body, "shared: type")?;
        let is_compressed = frame_type & COMPRESSED != 0;
        let frame_type = FrameType::from_number(frame_type & !COMPRESSED)
            .filter(|known| known.may_be_shared())
            .ok_or(Malformed("shared: type"))?;
        let front_bytes = varint::parse(&mut body)? as usize;
        let front = take(&mut body, front_bytes, "shared: front")?;
        Ok(Shared { number, frame_type, is_compressed, front, rest: body })
    }

    /// Appends all of the body but the rest, which the caller appends. Where the number stands is returned:
    /// it may be known only afterwards.
    pub fn emit_front(frame_type: FrameType, front: &[u8], out: &mut Vec<u8>) -> usize {
        let number_at = out.len();
        out.extend_from_slice(&[0; 3]);
        out.push(frame_type as u8);
        varint::emit(front.len() as u32, out);
        out.extend_from_slice(front);
        number_at
    }

    /// Says that the rest is compressed, where [`emit_front`](Shared::emit_front) left the number's room.
    pub fn set_compressed(number_at: usize, out: &mut [u8]) {
        out[number_at + 3] |= COMPRESSED;
    }

    /// Writes the number where [`emit_front`](Shared::emit_front) left room for it.
    pub fn set_number(number: u64, number_at: usize, out: &mut [u8]) {
        out[number_at..number_at + 3].copy_from_slice(&to_u24(number));
    }
}

/// Sent to a station when it becomes a member, and when its group's key changes.
///
/// ```text
/// +------------+-----------+-------------+--------------------+--------------------+------------------+
/// | member (8) | slot bits | key id (24) | traffic key (256)  | address key (256)  | MAC key (256)    |
/// |            | (8)       |             | of the group       | of the group       | of the member    |
/// +------------+-----------+-------------+--------------------+--------------------+------------------+
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Membership {
    /// The station's number in the group.
    pub member: u8,
    /// The gateway's cache has two to this many slots.
    pub slot_bits: u8,
    /// Id of the traffic key in its units, 24 bits.
    pub key_id: u32,
    /// Opens what is sent to the group.
    pub traffic_key: [u8; KEY_BYTES],
    /// Key of the chunks' slots. With another key, the stored chunks are void.
    pub address_key: [u8; KEY_BYTES],
    /// Key of the MACs over packets from which chunks were removed for this member.
    pub mac_key: [u8; KEY_BYTES],
}

impl std::fmt::Debug for Membership {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Membership { member, slot_bits, key_id, .. } = self;
        f.debug_struct("Membership")
            .field("member", member)
            .field("slot_bits", slot_bits)
            .field("key_id", key_id)
            .finish_non_exhaustive()
    }
}

impl Membership {
    /// Bytes of the body.
    pub const BYTES: usize = 1 + 1 + 3 + 3 * KEY_BYTES;

    /// Reads a membership frame's body.
    pub fn parse(mut body: &[u8]) -> Result<Self, Malformed> {
        let body = &mut body;
        let [member, slot_bits] = take_array(body, "membership: member")?;
        Ok(Membership {
            member,
            slot_bits,
            key_id: from_u24(take_array(body, "membership: key id")?),
            traffic_key: take_array(body, "membership: traffic key")?,
            address_key: take_array(body, "membership: address key")?,
            mac_key: take_array(body, "membership: MAC key")?,
        })
    }

    /// Appends a membership frame's body.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.member, self.slot_bits]);
        out.extend_from_slice(&to_u24(self.key_id.into()));
        for key in [&self.traffic_key, &self.address_key, &self.mac_key] {
            out.extend_from_slice(key);
        }
    }
}

/// A station's answer to a [`Membership`].
///
/// ```text
/// +-------------+---------------+-------------------+
/// | key id (24) | slot bits (8) | keeps its cache   |
/// |             |               | from before (8)   |
/// +-------------+---------------+-------------------+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Joined {
    /// Id of its current key.
    pub key_id: u32,
    /// Its cache has two to this many slots.
    pub slot_bits: u8,
    /// It was a member before and only the key is new.
    pub keeps_cache: bool,
}

impl Joined {
    /// Reads a joined frame's body.
    pub fn parse(mut body: &[u8]) -> Result<Self, Malformed> {
        let key_id = from_u24(take_array(&mut body, "joined: key id")?);
        let [slot_bits, keeps_cache] = take_array(&mut body, "joined: cache")?;
        Ok(Joined { key_id, slot_bits, keeps_cache: keeps_cache != 0 })
    }

    /// Appends a joined frame's body.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&to_u24(self.key_id.into()));
        out.extend_from_slice(&[self.slot_bits, u8::from(self.keeps_cache)]);
    }
}

/// A member's report of the packets that it heard of its group.
///
/// ```text
/// +--------------------+--------------------------------------------------------------------
/// | newest number (24) | bitmap: bit 0 of byte 0 is the newest, the next the one before it ...
/// +--------------------+--------------------------------------------------------------------
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heard<'a> {
    /// The low 24 bits of the newest number that the bitmap speaks of.
    pub newest: u32,
    bitmap: &'a [u8],
}

impl<'a> Heard<'a> {
    /// Reads a heard frame's body.
    pub fn parse(mut body: &'a [u8]) -> Result<Self, Malformed> {
        let newest = from_u24(take_array(&mut body, "heard: newest")?);
        if body.is_empty() || body.len() > MAX_HEARD_BYTES {
            return Err(Malformed("heard: bitmap"));
        }
        Ok(Heard { newest, bitmap: body })
    }

    /// Appends a heard frame's body.
    pub fn emit(newest: u64, bitmap: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&to_u24(newest));
        out.extend_from_slice(&bitmap[..bitmap.len().min(MAX_HEARD_BYTES)]);
    }

    /// How many numbers back from the newest were heard, the farthest first.
    pub fn back(&self) -> impl Iterator<Item = u64> + 'a {
        bits_back(self.bitmap)
    }
}

/// The places of a bitmap's ones, the farthest first.
fn bits_back(bitmap: &[u8]) -> impl Iterator<Item = u64> + '_ {
    (0..bitmap.len() as u64 * 8).rev().filter(|back| bitmap[*back as usize / 8] >> (back % 8) & 1 == 1)
}

/// The group of another gateway, whose packets a member may hear. The member keeps their content in its cache
/// for its own gateway. The frame is repeated until a [`HeardOfOther`] answers it.
///
/// ```text
/// +-------------+---------------------+
/// | key id (24) | traffic key (256)   |
/// +-------------+---------------------+
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct OtherGroup {
    /// Id of the traffic key in its units, 24 bits.
    pub key_id: u32,
    /// Opens what is sent to that group.
    pub traffic_key: [u8; KEY_BYTES],
}

impl std::fmt::Debug for OtherGroup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OtherGroup").field("key_id", &self.key_id).finish_non_exhaustive()
    }
}

impl OtherGroup {
    /// Bytes of the body.
    pub const BYTES: usize = 3 + KEY_BYTES;

    /// Reads the body.
    pub fn parse(mut body: &[u8]) -> Result<Self, Malformed> {
        Ok(OtherGroup {
            key_id: from_u24(take_array(&mut body, "other group: key id")?),
            traffic_key: take_array(&mut body, "other group: traffic key")?,
        })
    }

    /// Appends the body.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&to_u24(self.key_id.into()));
        out.extend_from_slice(&self.traffic_key);
    }
}

/// A member's report of another gateway's group, to its own gateway. The first report only says that the
/// member has the key.
///
/// ```text
/// +-------------+--------------------+-------------+
/// | key id (24) | newest number (24) | bitmap ...  |
/// +-------------+--------------------+-------------+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeardOfOther<'a> {
    /// Id of the key of these packets.
    pub key_id: u32,
    /// The low 24 bits of the newest number that the bitmap speaks of.
    pub newest: u32,
    /// Bit 0 of byte 0 is the newest, the next the one before it.
    pub bitmap: &'a [u8],
}

impl<'a> HeardOfOther<'a> {
    /// Reads the body.
    pub fn parse(mut body: &'a [u8]) -> Result<Self, Malformed> {
        let key_id = from_u24(take_array(&mut body, "heard of other: key id")?);
        let Heard { newest, bitmap } = Heard::parse(body)?;
        Ok(HeardOfOther { key_id, newest, bitmap })
    }

    /// Appends what stands before a [`Heard`].
    pub fn emit_front(key_id: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(&to_u24(key_id.into()));
    }

    /// How many numbers back from the newest were heard, the farthest first.
    pub fn back(&self) -> impl Iterator<Item = u64> + 'a {
        bits_back(self.bitmap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_shared_frame_round_trips(
            number in 0u64..1 << 24,
            front in proptest::collection::vec(any::<u8>(), 0..200),
            rest in proptest::collection::vec(any::<u8>(), 0..200),
            is_compressed: bool,
        ) {
            let mut out = vec![7];
            let number_at = Shared::emit_front(FrameType::Short, &front, &mut out);
            prop_assert!(out.len() <= 1 + Shared::MOST_FRONT_BYTES + front.len());
            out.extend_from_slice(&rest);
            Shared::set_number(number, number_at, &mut out);
            if is_compressed {
                Shared::set_compressed(number_at, &mut out);
            }
            let frame_type = FrameType::Short;
            let read = Shared { number: number as u32, frame_type, is_compressed, front: &front, rest: &rest };
            prop_assert_eq!(Shared::parse(&out[1..]), Ok(read));
        }

        #[test]
        fn memberships_and_their_answers_round_trip(
            member: u8, slot_bits: u8, key_id in 0u32..1 << 24, keys: [[u8; 32]; 3], keeps_cache: bool,
        ) {
            let [traffic_key, address_key, mac_key] = keys;
            let membership = Membership { member, slot_bits, key_id, traffic_key, address_key, mac_key };
            let mut out = Vec::new();
            membership.emit(&mut out);
            prop_assert_eq!(out.len(), Membership::BYTES);
            prop_assert_eq!(Membership::parse(&out), Ok(membership));
            prop_assert!(Membership::parse(&out[1..]).is_err());
            let joined = Joined { key_id, slot_bits, keeps_cache };
            let mut out = Vec::new();
            joined.emit(&mut out);
            prop_assert_eq!(Joined::parse(&out), Ok(joined));
        }

        #[test]
        fn other_groups_and_what_was_heard_of_them_round_trip(
            key_id in 0u32..1 << 24,
            traffic_key: [u8; 32],
            newest in 0u64..1 << 24,
            bitmap in proptest::collection::vec(any::<u8>(), 1..=32),
        ) {
            let other = OtherGroup { key_id, traffic_key };
            let mut out = Vec::new();
            other.emit(&mut out);
            prop_assert_eq!(out.len(), OtherGroup::BYTES);
            prop_assert_eq!(OtherGroup::parse(&out), Ok(other));
            let mut out = Vec::new();
            HeardOfOther::emit_front(key_id, &mut out);
            Heard::emit(newest, &bitmap, &mut out);
            let heard = HeardOfOther { key_id, newest: newest as u32, bitmap: &bitmap };
            prop_assert_eq!(HeardOfOther::parse(&out), Ok(heard));
        }

        #[test]
        fn what_was_heard_round_trips(newest in 0u64..1 << 24, bitmap in proptest::collection::vec(any::<u8>(), 1..=32)) {
            let mut out = Vec::new();
            Heard::emit(newest, &bitmap, &mut out);
            let heard = Heard::parse(&out).unwrap();
            prop_assert_eq!(u64::from(heard.newest), newest);
            let mut again = vec![0u8; bitmap.len()];
            heard.back().for_each(|back| again[back as usize / 8] |= 1 << (back % 8));
            prop_assert_eq!(again, bitmap);
            prop_assert!(heard.back().is_sorted_by(|one, other| one > other));
        }

        #[test]
        fn any_bytes_parse_or_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
            let _ = (Shared::parse(&bytes), Membership::parse(&bytes), Joined::parse(&bytes), Heard::parse(&bytes));
            let _ = (OtherGroup::parse(&bytes), HeardOfOther::parse(&bytes));
        }
    }

    #[test]
    fn nothing_but_a_packet_is_shared() {
        for frame_type in [FrameType::Shared, FrameType::Ping, FrameType::Head] {
            let mut out = Vec::new();
            Shared::emit_front(frame_type, &[], &mut out);
            assert!(Shared::parse(&out).is_err(), "{frame_type:?}");
        }
    }
}
