//! An attacking member of a group: it knows the group's keys, and seals arbitrary units under them.

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use std::collections::VecDeque;
use wire::frame::{self, Frame, FrameType, Frames};
use wire::group::{KEY_BYTES, Membership, OtherGroup};
use wire::unit::{self, Kind, SEALED_HEADER_BYTES, Unit};

/// The most keys; the oldest one is dropped.
const MOST_KEYS: usize = 8;

/// One key of a group.
struct GroupKey {
    id: u32,
    key: LessSafeKey,
    /// One past the highest counter of the units that it has opened.
    next: u64,
}

/// A member's knowledge of its group. It has no other member's proof key.
#[derive(Default)]
pub struct Insider {
    /// The newest first.
    keys: VecDeque<GroupKey>,
}

/// A unit of the group, opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// The id of its key.
    pub key_id: u32,
    /// The counter that it was sealed under.
    pub counter: u64,
    /// Member, proof, link sequence and frames.
    pub plaintext: Vec<u8>,
}

impl Insider {
    /// Reads the member's information in a datagram before its seal.
    pub fn learn(&mut self, datagram: &[u8]) {
        let Ok(Unit { kind: Kind::Sealed { .. }, mut body, .. }) = unit::parse(&mut &*datagram) else {
            return;
        };
        if frame::parse_sequence(&mut body).is_err() {
            return;
        }
        for Frame { frame_type, body } in Frames::new(body).flatten() {
            match frame_type {
                Some(FrameType::Membership) => {
                    if let Ok(told) = Membership::parse(body) {
                        self.keep(told.key_id, &told.traffic_key);
                    }
                }
                Some(FrameType::OtherGroup) => {
                    if let Ok(told) = OtherGroup::parse(body) {
                        self.keep(told.key_id, &told.traffic_key);
                    }
                }
                _ => {}
            }
        }
    }

    fn keep(&mut self, id: u32, bytes: &[u8; KEY_BYTES]) {
        if self.keys.iter().any(|known| known.id == id) {
            return;
        }
        let Ok(key) = UnboundKey::new(&CHACHA20_POLY1305, bytes) else { return };
        self.keys.truncate(MOST_KEYS - 1);
        self.keys.push_front(GroupKey { id, key: LessSafeKey::new(key), next: 0 });
    }

    /// The ids of its keys, the newest first.
    pub fn key_ids(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.keys.iter().map(|key| key.id)
    }

    /// One past the highest counter of the units under a key that it has opened; 0 for a key that it has not.
    #[must_use]
    pub fn next_counter(&self, key_id: u32) -> u64 {
        self.keys.iter().find(|key| key.id == key_id).map_or(0, |key| key.next)
    }

    /// Opens a datagram that is a unit of its group; `None` for others.
    pub fn open(&mut self, datagram: &[u8]) -> Option<Opened> {
        let Unit { kind: Kind::Group { counter }, key_id, header, body } =
            unit::parse(&mut &*datagram).ok()?
        else {
            return None;
        };
        let known = self.keys.iter_mut().find(|known| known.id == key_id)?;
        // A group's key is replaced before its counters need more bits.
        let counter = u64::from(counter);
        let mut plaintext = body.to_vec();
        let opened = known.key.open_in_place(nonce(counter), Aad::from(header), &mut plaintext);
        let plain_bytes = opened.ok()?.len();
        plaintext.truncate(plain_bytes);
        known.next = known.next.max(counter + 1);
        Some(Opened { key_id, counter, plaintext })
    }

    /// Appends a forged unit; `false` without this key.
    pub fn seal(&self, key_id: u32, counter: u64, plaintext: &[u8], out: &mut Vec<u8>) -> bool {
        let Some(known) = self.keys.iter().find(|known| known.id == key_id) else { return false };
        let start = out.len();
        unit::emit_header(Kind::Group { counter: counter as u32 }, key_id, None, out);
        out.extend_from_slice(plaintext);
        let (header, text) = out[start..].split_at_mut(SEALED_HEADER_BYTES);
        let tag = known.key.seal_in_place_separate_tag(nonce(counter), Aad::from(&*header), text);
        let Ok(tag) = tag else { return false };
        out.extend_from_slice(tag.as_ref());
        true
    }
}

fn nonce(counter: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&counter.to_le_bytes());
    Nonce::assume_unique_for_key(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(key_id: u32) -> Vec<u8> {
        let mut datagram = Vec::new();
        unit::emit_header(Kind::Sealed { version: unit::VERSION, counter: 1 }, 5, None, &mut datagram);
        frame::emit_sequence(1, &mut datagram);
        let mut body = Vec::new();
        let keys = [[key_id as u8; KEY_BYTES], [2; KEY_BYTES], [3; KEY_BYTES]];
        let [traffic_key, address_key, mac_key] = keys;
        Membership { member: 1, slot_bits: 18, key_id, traffic_key, address_key, mac_key }.emit(&mut body);
        frame::emit(FrameType::Membership, &body, &mut datagram);
        datagram
    }

    #[test]
    fn a_member_opens_what_it_sealed_under_the_keys_that_it_was_told() {
        let mut insider = Insider::default();
        let mut datagram = Vec::new();
        assert!(!insider.seal(7, 9, b"forged", &mut datagram));
        insider.learn(&told(7));
        insider.learn(&told(8));
        assert_eq!(insider.key_ids().collect::<Vec<u32>>(), [8, 7]);
        assert!(insider.seal(7, 9, b"forged", &mut datagram));
        let plaintext = b"forged".to_vec();
        assert_eq!(insider.open(&datagram), Some(Opened { key_id: 7, counter: 9, plaintext }));
        assert_eq!([insider.next_counter(7), insider.next_counter(8)], [10, 0]);
        datagram[8] ^= 1;
        assert_eq!(insider.open(&datagram), None);
    }

    #[test]
    fn the_oldest_keys_give_way() {
        let mut insider = Insider::default();
        for key_id in 1..=20 {
            insider.learn(&told(key_id));
        }
        assert_eq!(insider.key_ids().collect::<Vec<u32>>(), (13..=20).rev().collect::<Vec<u32>>());
    }
}
