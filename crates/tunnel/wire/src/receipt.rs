//! Receipts: received and held packets of a node, by link sequence.
//!
//! ```text
//! +-------------------------+------------+------------------+---------------------+
//! | newest sequence (24)    | generation | sequences arrived | delay, µs/64       |
//! |                         | (8)        | so far (32)       | (varint)           |
//! +-------------------------+------------+------------------+---------------------+
//! | settled (varint)        | runs, from the newest backwards, to the end: varints of length << 2 | state
//! +---------------------------------------------------------------------------------
//! ```
//!
//! A *run* is a row of sequences that are in the same [`State`]. *Held* means that the packet is in the
//! store, so that later packets may refer to it, or that the unit had no packet. A packet that arrived and
//! could not be restored is not held. A *parked* one of those waits for a packet that it refers to. Another
//! receipt reports *untold* sequences. *Settled* is a distance back from the newest sequence. No receipt
//! reports earlier sequences, because they are held or were given up.
//!
//! Runs, because what matters on a fast and long path is far back: thousands of packets are on their way
//! while one is sent again, most of them in long rows. The delay is the time between the newest sequence's
//! arrival and this receipt, so that its sender can measure the round trip.

use crate::number::{from_u24, to_u24};
use crate::{Malformed, take_array, varint};
use std::ops::Range;

/// The most bytes of runs in one receipt.
pub const MAX_RUN_BYTES: usize = 512;
/// The most sequences of which one receipt tells.
pub const MAX_SPAN: u32 = 1 << 16;
/// The most bytes that a receipt's body has before its runs.
pub const MAX_FRONT_BYTES: usize = 3 + 1 + 4 + 2 * varint::MAX_BYTES;

/// State of a sequence in a receipt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It did not arrive, or could not be restored and does not wait.
    Missing = 0,
    /// It is in the store, or the unit had no packet.
    Held = 1,
    /// It waits for others: it refers to them, or did not arrive and follows from repairs and them.
    Parked = 2,
    /// Nothing.
    Untold = 3,
}

impl State {
    fn of(bits: u32) -> Self {
        match bits & 3 {
            0 => Self::Missing,
            1 => Self::Held,
            2 => Self::Parked,
            _ => Self::Untold,
        }
    }
}

/// One receipt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt<'a> {
    /// Low 24 bits of the newest link sequence received.
    pub newest: u32,
    /// The generation of the receiver's store.
    pub generation: u8,
    /// Link sequences that arrived since the link began, whether held or not. Retransmissions do not count.
    /// It wraps.
    pub received: u32,
    /// Microseconds / 64 from the newest sequence's arrival until now.
    pub delay_64us: u32,
    /// Of what is this far and further before the newest, nothing is told any more.
    pub settled: u32,
    /// The runs, as [`Runs`] writes them.
    pub runs: &'a [u8],
}

impl<'a> Receipt<'a> {
    /// Reads a receipt frame's body.
    pub fn parse(mut body: &'a [u8]) -> Result<Self, Malformed> {
        let newest = from_u24(take_array(&mut body, "receipt: newest")?);
        let [generation] = take_array(&mut body, "receipt: generation")?;
        let received = u32::from_be_bytes(take_array(&mut body, "receipt: received")?);
        let delay_64us = varint::parse(&mut body)?;
        let settled = varint::parse(&mut body)?;
        if body.len() > MAX_RUN_BYTES {
            return Err(Malformed("receipt: runs"));
        }
        let (mut rest, mut span) = (body, 0u32);
        while !rest.is_empty() {
            let length = varint::parse(&mut rest)? >> 2;
            span = span.saturating_add(length);
            if length == 0 || span > MAX_SPAN {
                return Err(Malformed("receipt: runs"));
            }
        }
        Ok(Receipt { newest, generation, received, delay_64us, settled, runs: body })
    }

    /// Appends a receipt frame's body.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&to_u24(u64::from(self.newest)));
        out.push(self.generation);
        out.extend_from_slice(&self.received.to_be_bytes());
        varint::emit(self.delay_64us, out);
        varint::emit(self.settled, out);
        out.extend_from_slice(self.runs);
    }

    /// The runs: how far before the newest they lie, and their state.
    pub fn runs(&self) -> impl Iterator<Item = (Range<u64>, State)> + use<'a> {
        let (mut rest, mut back) = (self.runs, 0);
        std::iter::from_fn(move || {
            let run = if rest.is_empty() { None } else { varint::parse(&mut rest).ok() }?;
            let start = back;
            back += u64::from(run >> 2);
            Some((start..back, State::of(run)))
        })
    }
}

/// Runs as they are written, within a bound.
#[derive(Debug)]
pub struct Runs {
    bytes: [u8; MAX_RUN_BYTES],
    length: usize,
    /// The run that is not written yet.
    last: Option<(State, u32)>,
    span: u32,
}

impl Default for Runs {
    fn default() -> Self {
        Self { bytes: [0; MAX_RUN_BYTES], length: 0, last: None, span: 0 }
    }
}

impl Runs {
    /// Goes on with so many sequences of one state; not if that could take more than `bound` bytes.
    pub fn push(&mut self, state: State, sequences: u32, bound: usize) -> bool {
        let span = self.span.saturating_add(sequences);
        if span > MAX_SPAN {
            return false;
        }
        match &mut self.last {
            _ if sequences == 0 => {}
            Some((last, length)) if *last == state => *length += sequences,
            last => {
                let most = self.length + last.map_or(0, |(_, length)| varint::encoded_len(length << 2));
                if most + varint::encoded_len(MAX_SPAN << 2) > bound.min(MAX_RUN_BYTES) {
                    return false;
                }
                let before = last.replace((state, sequences));
                self.write(before);
            }
        }
        self.span = span;
        true
    }

    fn write(&mut self, run: Option<(State, u32)>) {
        let Some((state, sequences)) = run else { return };
        let mut value = sequences << 2 | state as u32;
        while value >= 0x80 {
            self.bytes[self.length] = value as u8 | 0x80;
            self.length += 1;
            value >>= 7;
        }
        self.bytes[self.length] = value as u8;
        self.length += 1;
    }

    /// Of how many sequences they tell.
    #[must_use]
    pub fn span(&self) -> u32 {
        self.span
    }

    /// How many bytes they take at most.
    #[must_use]
    pub fn most_bytes(&self) -> usize {
        self.length + self.last.map_or(0, |(_, length)| varint::encoded_len(length << 2))
    }

    /// As they travel.
    pub fn finish(&mut self) -> &[u8] {
        let last = self.last.take();
        self.write(last);
        &self.bytes[..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn a_state() -> impl Strategy<Value = State> {
        (0u32..4).prop_map(State::of)
    }

    proptest! {
        #[test]
        fn round_trips(newest in 0u32..1 << 24, generation: u8, received: u32, delay_64us: u32, settled: u32,
                       states in proptest::collection::vec((a_state(), 1u32..300), 0..400)) {
            let mut runs = Runs::default();
            let mut told = Vec::new();
            for (state, sequences) in states {
                if runs.push(state, sequences, MAX_RUN_BYTES) {
                    told.extend(std::iter::repeat_n(state, sequences as usize));
                } else {
                    break;
                }
            }
            prop_assert_eq!(runs.span() as usize, told.len());
            let runs = runs.finish();
            let receipt = Receipt { newest, generation, received, delay_64us, settled, runs };
            let mut out = Vec::new();
            receipt.emit(&mut out);
            prop_assert!(out.len() <= MAX_FRONT_BYTES + MAX_RUN_BYTES);
            prop_assert_eq!(Receipt::parse(&out), Ok(receipt));
            let mut read = Vec::new();
            for (range, state) in receipt.runs() {
                prop_assert_eq!(range.start, read.len() as u64);
                read.extend(std::iter::repeat_n(state, (range.end - range.start) as usize));
            }
            prop_assert_eq!(read, told);
        }

        #[test]
        fn any_bytes_parse_or_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            if let Ok(receipt) = Receipt::parse(&bytes) {
                prop_assert!(receipt.runs().last().is_none_or(|(run, _)| run.end <= u64::from(MAX_SPAN)));
            }
        }
    }

    #[test]
    fn a_long_row_takes_few_bytes_and_the_bound_is_kept() {
        let mut runs = Runs::default();
        assert!(runs.push(State::Held, 4000, 16));
        assert!(runs.push(State::Held, 1000, 16), "it goes on");
        let mut told = 0;
        while runs.push([State::Missing, State::Held][told % 2], 1, 16) {
            told += 1;
        }
        assert!(told > 5);
        assert_eq!(runs.span() as usize, 5000 + told);
        let bytes = runs.finish().len();
        assert!((14..=16).contains(&bytes), "{bytes}");
    }
}
