//! Repairs of forward error correction: a sum of scaled units (RFC 8681; RFC 9407).
//!
//! ```text
//! +-+-------------+-------------------------------+----------
//! |M| span-1 (7)  | if M: a bit a number of the   | sum ...
//! | |             | span, the newest one's lowest |
//! +-+-------------+-------------------------------+----------
//! ```
//!
//! A unit with packets is a *source*. Its number is the link sequence in front of it. All other link
//! sequences are numbers of empty sources, of which a sum has nothing. The repair's unit has the newest
//! source's number in front, and no sequence of its own. The *span* is how far the window reaches back.
//! Without `M` every number of the span counts, empty sources included.
//!
//! A source's bytes are its frames, without its lane, and a byte 1 behind them. Shorter ones are filled with
//! zeros. Scale factors follow from the number of a source and the counter of the repair's unit.

use crate::{Malformed, take, take_array};

/// How far a window reaches back at most, in numbers.
pub const MAX_SPAN: u64 = 128;
/// The least bytes of a repair's frame beyond those of its longest source's frames: the frame's type, the
/// span, and the byte behind a source.
pub const AROUND_SOURCE: usize = 3;
/// Set in the span: a bitmap follows.
const MARKED: u8 = 0x80;

/// One repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repair<'a> {
    span: u64,
    bitmap: Option<&'a [u8]>,
    /// The sum of scaled sources.
    pub sum: &'a [u8],
}

impl<'a> Repair<'a> {
    /// Reads the body of a frame.
    pub fn parse(mut body: &'a [u8]) -> Result<Self, Malformed> {
        let [first] = take_array(&mut body, "repair: span")?;
        let span = u64::from(first & !MARKED) + 1;
        let bitmap = if first & MARKED == 0 {
            None
        } else {
            let bitmap = take(&mut body, (span as usize).div_ceil(8), "repair: bitmap")?;
            if bitmap[0] & 1 == 0 {
                return Err(Malformed("repair: bitmap"));
            }
            Some(bitmap)
        };
        Ok(Repair { span, bitmap, sum: body })
    }

    /// The numbers of the sources, newest first, if the newest has this number.
    pub fn numbers(&self, newest: u64) -> impl Iterator<Item = u64> + Clone + use<'a> {
        let bitmap = self.bitmap;
        let is_source =
            move |back: &u64| bitmap.is_none_or(|bitmap| bitmap[(*back / 8) as usize] >> (back % 8) & 1 == 1);
        (0..self.span).filter(is_source).map_while(move |back| newest.checked_sub(back))
    }

    /// Bytes of a body in front of the sum, for sources with these numbers, newest first.
    #[must_use]
    pub fn front_bytes(numbers: impl Iterator<Item = u64>) -> usize {
        let (span, count) = extent(numbers);
        if span == count { 1 } else { 1 + (span as usize).div_ceil(8) }
    }

    /// Appends the front of a body for every number of a span, from the newest back to the oldest.
    pub fn emit_span(newest: u64, oldest: u64, out: &mut Vec<u8>) {
        out.push((newest - oldest) as u8 & !MARKED);
    }

    /// Appends the front of a body for sources with these numbers, newest first, within [`MAX_SPAN`]. The sum
    /// follows.
    pub fn emit_front(numbers: impl Iterator<Item = u64> + Clone, out: &mut Vec<u8>) {
        let (span, count) = extent(numbers.clone());
        let marked = if span == count { 0 } else { MARKED };
        out.push((span.saturating_sub(1) as u8 & !MARKED) | marked);
        if span != count {
            let start = out.len();
            out.resize(start + (span as usize).div_ceil(8), 0);
            let newest = numbers.clone().next().unwrap_or(0);
            for back in numbers.map(|number| newest - number) {
                out[start + (back / 8) as usize] |= 1 << (back % 8);
            }
        }
    }
}

/// The span of numbers, newest first, and how many there are.
fn extent(numbers: impl Iterator<Item = u64>) -> (u64, u64) {
    let ends = numbers.fold(None, |ends, number| match ends {
        None => Some((number, number, 1)),
        Some((newest, _, count)) => Some((newest, number, count + 1)),
    });
    ends.map_or((0, 0), |(newest, oldest, count)| (newest - oldest + 1, count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trips(
            newest in 200u64..1 << 40,
            back in proptest::collection::btree_set(1u64..MAX_SPAN, 0..60),
            sum in proptest::collection::vec(any::<u8>(), 0..40),
        ) {
            let numbers: Vec<u64> = [0].into_iter().chain(back).map(|back| newest - back).collect();
            let mut body = Vec::new();
            Repair::emit_front(numbers.iter().copied(), &mut body);
            prop_assert_eq!(body.len(), Repair::front_bytes(numbers.iter().copied()));
            body.extend_from_slice(&sum);
            let repair = Repair::parse(&body).unwrap();
            prop_assert_eq!(repair.numbers(newest).collect::<Vec<_>>(), numbers);
            prop_assert_eq!(repair.sum, &sum[..]);
        }

        #[test]
        fn any_bytes_parse_or_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..60), newest: u64) {
            if let Ok(repair) = Repair::parse(&bytes) {
                let numbers: Vec<u64> = repair.numbers(newest).collect();
                prop_assert!(numbers.first() == Some(&newest) && numbers.len() <= MAX_SPAN as usize);
            }
        }
    }

    #[test]
    fn sources_in_a_row_need_one_byte() {
        let mut body = Vec::new();
        Repair::emit_front((5..9).rev(), &mut body);
        assert_eq!(body, [3]);
        body.clear();
        Repair::emit_front([9, 7].into_iter(), &mut body);
        assert_eq!(body, [0x82, 0b101]);
        assert_eq!(Repair::parse(&[0x82, 0b100]), Err(Malformed("repair: bitmap")), "the newest is one");
    }
}
