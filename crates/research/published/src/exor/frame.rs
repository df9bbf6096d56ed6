//! Frames of a batch that is forwarded opportunistically (S. Biswas, R. Morris, "ExOR: Opportunistic
//! Multi-Hop Routing for Wireless Networks", SIGCOMM 2005, section 3.1).
//!
//! ```text
//! +------------+---------------+----------------+--------------+----------------+---------------+
//! | batch (32) | batch's       | this fragment  | forwarders   | this sender's  | fragments to  |
//! |            | fragments (8) | (8), 255: none | (8)          | place (8)      | come (8)      |
//! +------------+---------------+----------------+--------------+----------------+---------------+
//! | forwarders, from the destination to the source (16 each) ... | batch map (4 bits a fragment) ... | fragment ...
//! +---------------------------------------------------------------+----------------------------------+---------------
//! ```
//!
//! The batch map has, for each fragment, the forwarder nearest to the destination that is known to have it,
//! by its place in the list. The list has at most [`MAX_FORWARDERS`] nodes, so a place takes four bits.

use wire::{Malformed, take, take_array};

/// The most forwarders, destination and source included.
pub const MAX_FORWARDERS: usize = 15;
/// The most fragments of a batch.
pub const MAX_FRAGMENTS: usize = 254;
/// Number of a frame with only a batch map.
const NO_FRAGMENT: u8 = 255;
const FRONT_BYTES: usize = 9;

/// One frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The batch's number.
    pub batch: u32,
    /// Number of its fragments.
    pub fragments: u8,
    /// This fragment's number; `None` in a frame with only the map.
    pub fragment: Option<u8>,
    /// The sender's place among the forwarders.
    pub place: u8,
    /// Number of fragments that the sender will send after this one.
    pub to_come: u8,
    /// The fragment's bytes.
    pub payload: &'a [u8],
    forwarders: &'a [u8],
    map: &'a [u8],
}

/// Bytes before a fragment.
#[must_use]
pub fn front_bytes(forwarders: usize, fragments: usize) -> usize {
    FRONT_BYTES + 2 * forwarders + fragments.div_ceil(2)
}

impl<'a> Frame<'a> {
    /// Reads a frame.
    pub fn parse(mut input: &'a [u8]) -> Result<Self, Malformed> {
        let batch = u32::from_be_bytes(take_array(&mut input, "exor: batch")?);
        let [fragments, fragment, forwarders, place, to_come] = take_array(&mut input, "exor: front")?;
        let in_form = usize::from(fragments) <= MAX_FRAGMENTS
            && (fragment < fragments || fragment == NO_FRAGMENT)
            && (2..=MAX_FORWARDERS as u8).contains(&forwarders)
            && place < forwarders;
        if !in_form {
            return Err(Malformed("exor: front"));
        }
        let list = take(&mut input, 2 * usize::from(forwarders), "exor: forwarders")?;
        let map = take(&mut input, usize::from(fragments).div_ceil(2), "exor: map")?;
        let fragment = Some(fragment).filter(|fragment| *fragment != NO_FRAGMENT);
        if fragment.is_none() && !input.is_empty() {
            return Err(Malformed("exor: end"));
        }
        let frame =
            Frame { batch, fragments, fragment, place, to_come, payload: input, forwarders: list, map };
        if frame.map().any(|place| place >= forwarders) || (fragments % 2 == 1 && map.last() > Some(&0xf)) {
            return Err(Malformed("exor: map"));
        }
        Ok(frame)
    }

    /// The forwarders, the destination first and the source last.
    pub fn forwarders(&self) -> impl ExactSizeIterator<Item = u16> + use<'a> {
        self.forwarders.as_chunks::<2>().0.iter().map(|&node| u16::from_be_bytes(node))
    }

    /// For each fragment, the place of the nearest node that has it.
    pub fn map(&self) -> impl Iterator<Item = u8> + use<'a> {
        let (map, fragments) = (self.map, usize::from(self.fragments));
        (0..fragments).map(move |fragment| map[fragment / 2] >> (fragment % 2 * 4) & 0xf)
    }

    /// Appends a frame; without a fragment it has only the map. The map has one place for each fragment of
    /// the batch.
    pub fn emit(
        batch: u32,
        fragment: Option<(u8, &[u8])>,
        place: u8,
        to_come: u8,
        forwarders: &[u16],
        map: &[u8],
        out: &mut Vec<u8>,
    ) {
        debug_assert!(forwarders.len() <= MAX_FORWARDERS && map.len() <= MAX_FRAGMENTS);
        out.extend_from_slice(&batch.to_be_bytes());
        let number = fragment.map_or(NO_FRAGMENT, |(number, _)| number);
        out.extend([map.len() as u8, number, forwarders.len() as u8, place, to_come]);
        forwarders.iter().for_each(|node| out.extend_from_slice(&node.to_be_bytes()));
        out.extend(map.chunks(2).map(|two| two[0] | two.get(1).copied().unwrap_or(0) << 4));
        out.extend_from_slice(fragment.map_or(&[], |(_, bytes)| bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trips(
            batch: u32,
            forwarders in proptest::collection::vec(any::<u16>(), 2..=MAX_FORWARDERS),
            places in proptest::collection::vec(any::<u8>(), 1..=MAX_FRAGMENTS),
            fragment: Option<u8>,
            place: u8,
            to_come: u8,
            payload in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            let count = forwarders.len() as u8;
            let map: Vec<u8> = places.iter().map(|place| place % count).collect();
            let fragment = fragment.map(|fragment| fragment % map.len() as u8);
            let mut out = Vec::new();
            let sent = fragment.map(|number| (number, &payload[..]));
            Frame::emit(batch, sent, place % count, to_come, &forwarders, &map, &mut out);
            let read = Frame::parse(&out).unwrap();
            prop_assert_eq!((read.batch, read.fragment, read.place, read.to_come), (batch, fragment, place % count, to_come));
            prop_assert_eq!(read.forwarders().collect::<Vec<_>>(), forwarders.clone());
            prop_assert_eq!(read.map().collect::<Vec<_>>(), map.clone());
            let payload = if fragment.is_some() { &payload[..] } else { &[] };
            prop_assert_eq!(read.payload, payload);
            prop_assert_eq!(out.len(), front_bytes(forwarders.len(), map.len()) + payload.len());
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(read) = Frame::parse(&bytes) {
                prop_assert_eq!(read.map().count(), usize::from(read.fragments));
                prop_assert!(usize::from(read.place) < read.forwarders().len());
            }
        }
    }
}
