//! The shim of self-addressing chunks (REfactor, section 3.1.1).
//!
//! ```text
//! +----------------+---------+----------+   +----------------------+   +------------------+
//! | slot bits less | MAC (1) | runs (3) |   | runs (varint), if    |   | MAC (64), if MAC |
//! | 14 (4)         |         |          |   | the three bits are 7 |   |                  |
//! +----------------+---------+----------+   +----------------------+   +------------------+
//! +-----------------+-----------------+------------------+   +--------------------+   +---------
//! | literal bytes   | 2 x slots, + 1  | end (4),         |   | slots, each slot   |   | literals
//! | before (varint) | if parts follow | beginning (4),   |   | bits wide, padded  |   | ...
//! |                 | (varint)        | if parts         |   |                    |   |
//! +-----------------+-----------------+------------------+   +--------------------+   +---------
//!  '------------------ once a run -----------------------'
//! ```
//!
//! A packet is a row of *runs*: literals, then chunks that stand in the receiver's cache, each named by its
//! slot. Slots are packed least significant bit first; what pads their last byte is zero. Literals behind the
//! last run reach to the packet's end. With no run at all the packet is as it was, one byte longer.
//!
//! Of a run's first chunk the *end* alone may be meant, and of its last one the *beginning*: so many times
//! [`PART_BYTES`]; 0 is all of it.
//!
//! How many bytes are restored the shim does not say: a slot's chunk has its own length.

use super::MAX_RESTORED_BYTES;
use crate::{Malformed, take, take_array, varint};

/// The fewest bits of a slot.
pub const MIN_SLOT_BITS: u8 = 14;
/// The most bits of a slot.
pub const MAX_SLOT_BITS: u8 = 24;
/// The most bytes of a chunk.
pub const MAX_CHUNK_BYTES: usize = 256;
/// Bytes of the MAC.
pub const MAC_BYTES: usize = 8;
/// In what a part of a chunk is counted, in bytes.
pub const PART_BYTES: usize = 32;
/// A part has fewer of those than this.
const MOST_PARTS: u8 = (MAX_CHUNK_BYTES / PART_BYTES) as u8;

const MAC_FLAG: u8 = 1 << 4;
const RUNS_SHIFT: u32 = 5;
/// From here on the number of runs follows in bytes of its own.
const MANY_RUNS: u8 = 7;

/// Literals, and the slots behind them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Literal bytes before the slots.
    pub literal_bytes: u32,
    /// Chunks that stand in the receiver's cache; at least 1.
    pub slots: u32,
    /// Used length of the first chunk, in [`PART_BYTES`] from its end; 0: all of it. A chunk that is first
    /// and last has either this or the next.
    pub end: u8,
    /// Used length of the last chunk, in [`PART_BYTES`] from its beginning; 0: all of it.
    pub beginning: u8,
}

impl Run {
    /// Of whole chunks.
    #[must_use]
    pub fn of_whole(literal_bytes: u32, slots: u32) -> Self {
        Run { literal_bytes, slots, end: 0, beginning: 0 }
    }

    /// The used part of the chunk at `place`, counted from 0.
    fn part(self, place: u32) -> Part {
        if self.end > 0 && place == 0 {
            Part::End(self.end)
        } else if self.beginning > 0 && place + 1 == self.slots {
            Part::Beginning(self.beginning)
        } else {
            Part::Whole
        }
    }

    fn is_in_form(self) -> bool {
        let both_of_one = self.slots == 1 && self.end > 0 && self.beginning > 0;
        self.slots > 0 && self.end < MOST_PARTS && self.beginning < MOST_PARTS && !both_of_one
    }

    fn has_parts(self) -> bool {
        self.end > 0 || self.beginning > 0
    }

    fn emit(self, out: &mut Vec<u8>) {
        debug_assert!(self.is_in_form(), "{self:?}");
        varint::emit(self.literal_bytes, out);
        varint::emit(self.slots << 1 | u32::from(self.has_parts()), out);
        if self.has_parts() {
            out.push(self.end | self.beginning << 4);
        }
    }

    fn encoded_len(self) -> usize {
        let slots_bytes = varint::encoded_len(self.slots << 1);
        varint::encoded_len(self.literal_bytes) + slots_bytes + usize::from(self.has_parts())
    }

    fn take(input: &mut &[u8]) -> Result<Self, Malformed> {
        let literal_bytes = varint::parse(input)?;
        let slots = varint::parse(input)?;
        let [parts] = if slots & 1 == 1 { take_array(input, "slots: parts")? } else { [0] };
        let run = Run { literal_bytes, slots: slots >> 1, end: parts & 0xf, beginning: parts >> 4 };
        let is_in_form = run.is_in_form() && run.has_parts() == (slots & 1 == 1);
        if is_in_form { Ok(run) } else { Err(Malformed("slots: run")) }
    }
}

/// The used bytes of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All of them.
    Whole,
    /// So many times [`PART_BYTES`] at its beginning.
    Beginning(u8),
    /// So many times [`PART_BYTES`] at its end.
    End(u8),
}

impl Part {
    /// The bytes that are meant. `None`: the chunk has not so many, and is none that could be meant.
    #[inline]
    #[must_use]
    pub fn of(self, chunk: &[u8]) -> Option<&[u8]> {
        match self {
            Part::Whole => Some(chunk),
            Part::Beginning(count) => chunk.get(..usize::from(count) * PART_BYTES),
            Part::End(count) => chunk.get(chunk.len().checked_sub(usize::from(count) * PART_BYTES)?..),
        }
    }
}

/// The shim in front of the literals, before it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slots<'a> {
    /// How wide a slot is, from [`MIN_SLOT_BITS`] to [`MAX_SLOT_BITS`].
    pub slot_bits: u8,
    /// The MAC over the packet as it was, if it has one.
    pub mac: Option<[u8; MAC_BYTES]>,
    /// In the packet's order.
    pub runs: &'a [Run],
    /// As many as the runs say.
    pub slots: &'a [u32],
}

impl Slots<'_> {
    /// Appends the shim; the caller appends the literals.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let few = self.runs.len() < usize::from(MANY_RUNS);
        let runs = if few { self.runs.len() as u8 } else { MANY_RUNS };
        let mac_flag = if self.mac.is_some() { MAC_FLAG } else { 0 };
        out.push((self.slot_bits - MIN_SLOT_BITS) | mac_flag | runs << RUNS_SHIFT);
        if !few {
            varint::emit(self.runs.len() as u32, out);
        }
        if let Some(mac) = self.mac {
            out.extend_from_slice(&mac);
        }
        self.runs.iter().for_each(|run| run.emit(out));
        let (mut waiting, mut waiting_bits) = (0u64, 0);
        for &slot in self.slots {
            waiting |= u64::from(slot) << waiting_bits;
            waiting_bits += u32::from(self.slot_bits);
            while waiting_bits >= 8 {
                out.push(waiting as u8);
                waiting >>= 8;
                waiting_bits -= 8;
            }
        }
        if waiting_bits > 0 {
            out.push(waiting as u8);
        }
    }

    /// How many bytes [`emit`](Slots::emit) would append.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        let many = self.runs.len() >= usize::from(MANY_RUNS);
        let count_bytes = if many { varint::encoded_len(self.runs.len() as u32) } else { 0 };
        let run_bytes: usize = self.runs.iter().map(|run| run.encoded_len()).sum();
        let mac_bytes = if self.mac.is_some() { MAC_BYTES } else { 0 };
        1 + count_bytes + mac_bytes + run_bytes + packed_bytes(self.slots.len(), self.slot_bits)
    }
}

fn packed_bytes(count: usize, slot_bits: u8) -> usize {
    (count * usize::from(slot_bits)).div_ceil(8)
}

/// A stretch of an encoded packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stretch<'a> {
    /// Bytes as they were.
    Literals(&'a [u8]),
    /// The used part of the chunk in this slot.
    Slot(u32, Part),
}

/// A packet as it goes over the air.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encoded<'a> {
    /// How wide a slot is.
    pub slot_bits: u8,
    /// The MAC over the packet as it was, if it has one.
    pub mac: Option<[u8; MAC_BYTES]>,
    /// How many chunks were removed.
    pub slot_count: usize,
    /// The bytes that were not removed.
    pub literals: &'a [u8],
    runs: &'a [u8],
    slots: &'a [u8],
}

impl<'a> Encoded<'a> {
    /// Reads a packet.
    pub fn parse(mut input: &'a [u8]) -> Result<Self, Malformed> {
        let shim = Self::take_shim(&mut input)?;
        let literal_bytes: usize = shim.runs().map(|run| run.literal_bytes as usize).sum();
        if literal_bytes > input.len() || input.len() + shim.slot_count > MAX_RESTORED_BYTES {
            return Err(Malformed("slots: literals"));
        }
        Ok(Encoded { literals: input, ..shim })
    }

    /// Takes a shim off the front of `input`, whose literals stand elsewhere: a packet without any.
    pub fn take_shim(input: &mut &'a [u8]) -> Result<Self, Malformed> {
        let mut rest = *input;
        let shim = Self::read_shim(&mut rest)?;
        *input = rest;
        Ok(shim)
    }

    fn read_shim(input: &mut &'a [u8]) -> Result<Self, Malformed> {
        let [first] = take_array(input, "slots: first byte")?;
        let slot_bits = (first & 0xf) + MIN_SLOT_BITS;
        if slot_bits > MAX_SLOT_BITS {
            return Err(Malformed("slots: slot bits"));
        }
        let run_count = match first >> RUNS_SHIFT {
            MANY_RUNS => varint::parse(input)?,
            few => u32::from(few),
        };
        let mac = if first & MAC_FLAG == 0 { None } else { Some(take_array(input, "slots: MAC")?) };
        let runs = *input;
        let (mut literal_bytes, mut slot_count) = (0, 0);
        for _ in 0..run_count {
            let run = Run::take(input)?;
            literal_bytes += (run.literal_bytes as usize).min(MAX_RESTORED_BYTES + 1);
            slot_count += (run.slots as usize).min(MAX_RESTORED_BYTES + 1);
            // a chunk has a byte at least
            if literal_bytes + slot_count > MAX_RESTORED_BYTES {
                return Err(Malformed("slots: restored length"));
            }
        }
        let runs = &runs[..runs.len() - input.len()];
        let slots = take(input, packed_bytes(slot_count, slot_bits), "slots: slots")?;
        let padding = slots.len() * 8 - slot_count * usize::from(slot_bits);
        if slots.last().is_some_and(|last| padding > 0 && last >> (8 - padding) != 0) {
            return Err(Malformed("slots: padding"));
        }
        Ok(Encoded { slot_bits, mac, slot_count, literals: &[], runs, slots })
    }

    /// The runs in the packet's order.
    pub fn runs(&self) -> impl Iterator<Item = Run> + 'a {
        let mut rest = self.runs;
        std::iter::from_fn(move || if rest.is_empty() { None } else { Run::take(&mut rest).ok() })
    }

    /// The removed chunks' slots in the packet's order.
    pub fn slots(&self) -> impl Iterator<Item = u32> + 'a {
        let (slots, bits) = (self.slots, usize::from(self.slot_bits));
        (0..self.slot_count).map(move |index| {
            let at = index * bits;
            let bytes = &slots[at / 8..];
            let window = match bytes.first_chunk() {
                Some(&four) => u32::from_le_bytes(four),
                None => bytes.iter().rev().fold(0, |window, &byte| window << 8 | u32::from(byte)),
            };
            window >> (at % 8) & ((1 << bits) - 1)
        })
    }

    /// Literals and slots in the packet's order; no literals are empty.
    pub fn stretches(&self) -> impl Iterator<Item = Stretch<'a>> + 'a {
        let (mut runs, mut slots, mut literals) = (self.runs(), self.slots(), self.literals);
        let (mut run, mut place) = (Run::of_whole(0, 0), 0);
        std::iter::from_fn(move || {
            if place == run.slots {
                let next = runs.next();
                let count = next.map_or(literals.len(), |run| run.literal_bytes as usize);
                let (of_run, rest) = literals.split_at(count);
                literals = rest;
                (run, place) = (next.unwrap_or(Run::of_whole(0, 0)), 0);
                if !of_run.is_empty() {
                    return Some(Stretch::Literals(of_run));
                }
            }
            let part = run.part(place);
            let slot = if place < run.slots { slots.next() } else { None };
            place += u32::from(slot.is_some());
            slot.map(|slot| Stretch::Slot(slot, part))
        })
    }

    /// The removed chunks' slots, and which part of each is meant, in the packet's order.
    pub fn references(&self) -> impl Iterator<Item = (u32, Part)> + 'a {
        let places = self.runs().flat_map(|run| (0..run.slots).map(move |place| run.part(place)));
        self.slots().zip(places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trips_and_knows_its_length(
            slot_bits in MIN_SLOT_BITS..=MAX_SLOT_BITS,
            mac: Option<[u8; MAC_BYTES]>,
            runs in proptest::collection::vec((0u32..300, 1u32..12, 0u8..MOST_PARTS, 0u8..MOST_PARTS), 0..20),
            seed: u32,
            tail in proptest::collection::vec(any::<u8>(), 0..100),
        ) {
            let run = |(literal_bytes, slots, end, beginning)| {
                let beginning = if slots == 1 && end > 0 { 0 } else { beginning };
                Run { literal_bytes, slots, end, beginning }
            };
            let runs: Vec<Run> = runs.into_iter().map(run).collect();
            let count: u32 = runs.iter().map(|run| run.slots).sum();
            let slots: Vec<u32> =
                (0..count).map(|at| at.wrapping_mul(seed | 1) & ((1 << slot_bits) - 1)).collect();
            let literal_bytes: u32 = runs.iter().map(|run| run.literal_bytes).sum();
            let literals: Vec<u8> = (0..literal_bytes).map(|at| at as u8).chain(tail.iter().copied()).collect();
            let shim = Slots { slot_bits, mac, runs: &runs, slots: &slots };
            let mut out = Vec::new();
            shim.emit(&mut out);
            prop_assert_eq!(out.len(), shim.encoded_len());
            out.extend_from_slice(&literals);
            let read = Encoded::parse(&out).unwrap();
            prop_assert_eq!((read.slot_bits, read.mac, read.literals), (slot_bits, mac, &literals[..]));
            prop_assert_eq!(read.runs().collect::<Vec<_>>(), runs.clone());
            prop_assert_eq!(read.slots().collect::<Vec<_>>(), slots.clone());
            let mut stretches = read.stretches();
            let (mut at, mut slot) = (0, slots.iter());
            for run in &runs {
                let end = at + run.literal_bytes as usize;
                if end > at {
                    prop_assert_eq!(stretches.next(), Some(Stretch::Literals(&literals[at..end])));
                }
                at = end;
                for place in 0..run.slots {
                    let part = match place {
                        0 if run.end > 0 => Part::End(run.end),
                        _ if place + 1 == run.slots && run.beginning > 0 => Part::Beginning(run.beginning),
                        _ => Part::Whole,
                    };
                    prop_assert_eq!(stretches.next(), slot.next().map(|slot| Stretch::Slot(*slot, part)));
                }
            }
            if at < literals.len() {
                prop_assert_eq!(stretches.next(), Some(Stretch::Literals(&literals[at..])));
            }
            prop_assert_eq!(stretches.next(), None);
            let named = read.stretches().filter_map(|stretch| match stretch {
                Stretch::Slot(slot, part) => Some((slot, part)),
                Stretch::Literals(_) => None,
            });
            prop_assert!(named.eq(read.references()));
        }

        #[test]
        fn any_bytes_parse_or_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(read) = Encoded::parse(&bytes) {
                prop_assert_eq!(read.slots().count(), read.slot_count);
                let literal_bytes: usize = read.stretches().map(|stretch| match stretch {
                    Stretch::Literals(literals) => literals.len(),
                    Stretch::Slot(..) => 0,
                }).sum();
                prop_assert_eq!(literal_bytes, read.literals.len());
            }
        }
    }

    #[test]
    fn a_packet_without_slots_is_one_byte_longer() {
        let mut out = Vec::new();
        Slots { slot_bits: 20, mac: None, runs: &[], slots: &[] }.emit(&mut out);
        out.extend_from_slice(b"as it was");
        assert_eq!(out.len(), 10);
        assert_eq!(Encoded::parse(&out).map(|read| read.literals), Ok(&b"as it was"[..]));
    }

    #[test]
    fn more_slots_than_an_ip_packet_has_bytes_are_refused() {
        let mut out = vec![1 << RUNS_SHIFT, 0];
        varint::emit(2 * 65_536, &mut out);
        out.resize(200_000, 0);
        assert_eq!(Encoded::parse(&out), Err(Malformed("slots: restored length")));
    }

    #[test]
    fn a_part_is_counted_from_its_end_of_the_chunk_and_refused_where_the_chunk_is_shorter() {
        let chunk: Vec<u8> = (0..100).collect();
        assert_eq!(Part::Beginning(2).of(&chunk), Some(&chunk[..64]));
        assert_eq!(Part::End(3).of(&chunk), Some(&chunk[4..]));
        assert_eq!([Part::Beginning(4).of(&chunk), Part::End(4).of(&chunk)], [None, None]);
        let parts_without_number = [1 << RUNS_SHIFT, 0, 2 << 1 | 1, 0, 0, 0, 0, 0];
        assert_eq!(Encoded::parse(&parts_without_number), Err(Malformed("slots: run")));
        let both_of_one = [1 << RUNS_SHIFT, 0, 1 << 1 | 1, 0x11, 0, 0, 0, 0];
        assert_eq!(Encoded::parse(&both_of_one), Err(Malformed("slots: run")));
    }
}
