//! Pieces: matches across flows consist of whole pieces.
//!
//! A *boundary* follows bytes that [end a piece](ends_piece). The ends of a payload are no boundaries: a
//! longer request would move the segment cuts through the secret behind it. A piece is the stretch between
//! two boundaries. A *span* is the shortest sequence of pieces with [`LEAST_BYTES`]; its fingerprint covers
//! all its bytes. A packet finds another flow's packet only by a span. A part of a piece therefore decides
//! neither a match nor an eviction from the index.
//!
//! A boundary depends only on the three bytes before it. Equal bytes thus have equal boundaries in every
//! packet.

use crate::anchors::Anchor;
use crate::flow::fold;
use std::ops::Range;

/// The fewest bytes of a match across flows.
pub const LEAST_BYTES: usize = 24;
/// The most bytes of a span that is looked up.
const MOST_BYTES: usize = 512;
/// While little repeats, spans begin in the first [`THIN_BYTES`] of every [`STRETCH_BYTES`].
const STRETCH_BYTES: usize = 1024;
const THIN_BYTES: usize = 192;
/// The fewest bytes of a span's first piece. Of many short pieces in a row, one span suffices.
const LONG_BYTES: usize = 4;
/// Number of bytes before a position that decide about it.
const CONTEXT_BYTES: usize = 3;

/// Bytes whose decisions fit into one word.
const BLOCK_BYTES: usize = 64;

/// Whether a boundary follows this byte, whatever precedes it.
///
/// Delimiters are line ends, quotes, brackets and field separators. None occurs in hexadecimal numbers,
/// Base64, Base64url, percent-encoded text, UUIDs, decimal numbers or words. A space is no delimiter, because
/// it would cut a passphrase into words. Bytes of 128 and more are none, because they would cut UTF-8 into
/// letters.
#[must_use]
pub fn is_delimiter(byte: u8) -> bool {
    // Comparisons without branches, so that a compiler vectorizes them.
    let is = |value: u8| byte == value;
    (byte & !2 == b'<') // and '>'
        | (byte & !1 == b'(') // and ')'
        | (byte & !4 == b'"') // and '&'
        | (byte | 0x20 == b'{') // and '['
        | (byte | 0x20 == b'}') // and ']'
        | is(b'\n')
        | is(b'\r')
        | is(b';')
        | is(b',')
}

/// Whether a boundary follows the last of these bytes. Three endings count: a delimiter, a percent-encoded
/// delimiter (RFC 3986, section 2.1), or the second of two zeros, the padding of binary formats. A single
/// zero does not count, because it would cut UTF-16 into letters.
#[must_use]
pub fn ends_piece(bytes: &[u8]) -> bool {
    match bytes {
        [.., 0, 0] => true,
        [.., b'%', high, low] if is_encoded_delimiter(*high, *low) => true,
        [.., last] => is_delimiter(*last),
        [] => false,
    }
}

/// Whether these two hexadecimal digits are the number of a delimiter.
fn is_encoded_delimiter(high: u8, low: u8) -> bool {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    digit(high).zip(digit(low)).is_some_and(|(high, low)| is_delimiter((high << 4 | low) as u8))
}

/// Whether `at` is a boundary of the range `payload`.
pub(crate) fn is_boundary(packet: &[u8], payload: &Range<usize>, at: usize) -> bool {
    at <= payload.end && packet.get(payload.start..at).is_some_and(ends_piece)
}

/// The first boundary in this range, by bytes of this range.
pub(crate) fn first_boundary(packet: &[u8], range: Range<usize>) -> Option<usize> {
    let bytes = &packet[range.clone()];
    (1..=bytes.len()).find(|end| ends_piece(&bytes[..*end])).map(|end| range.start + end)
}

/// The last boundary in this range, by bytes of this range.
pub(crate) fn last_boundary(packet: &[u8], range: Range<usize>) -> Option<usize> {
    let bytes = &packet[range.clone()];
    (1..=bytes.len()).rev().find(|end| ends_piece(&bytes[..*end])).map(|end| range.start + end)
}

/// Finds the spans of payloads.
#[derive(Debug, Clone, Default)]
pub(crate) struct SpanFinder {
    secret: u64,
    /// One bit for each byte that ends a piece.
    ends: Vec<u64>,
}

impl SpanFinder {
    /// Sets the secret under which spans are chosen and named.
    pub fn set_secret(&mut self, secret: u64) {
        self.secret = secret;
    }

    /// Replaces the contents of `spans` by spans of `packet[unknown]`, front to back. A hash keeps one in
    /// 2^`halvings` of the possible starts.
    pub fn find(
        &mut self,
        packet: &[u8],
        payload: &Range<usize>,
        unknown: Range<usize>,
        halvings: u32,
        spans: &mut Vec<Anchor>,
    ) {
        spans.clear();
        self.append(packet, payload, unknown, halvings, spans);
    }

    /// As [`find`](SpanFinder::find), but examines only a part of the packet.
    pub fn find_thinly(
        &mut self,
        packet: &[u8],
        payload: &Range<usize>,
        unknown: Range<usize>,
        spans: &mut Vec<Anchor>,
    ) {
        spans.clear();
        for start in unknown.clone().step_by(STRETCH_BYTES) {
            self.append(packet, payload, start..unknown.end.min(start + THIN_BYTES), 0, spans);
        }
    }

    fn append(
        &mut self,
        packet: &[u8],
        payload: &Range<usize>,
        unknown: Range<usize>,
        halvings: u32,
        spans: &mut Vec<Anchor>,
    ) {
        // The bytes before the range decide whether a span may begin at its start.
        let from = unknown.start.saturating_sub(CONTEXT_BYTES).max(payload.start);
        let bytes = &packet[from..unknown.end.max(from)];
        if bytes.len() <= LEAST_BYTES || packet.len() > usize::from(u16::MAX) {
            return;
        }
        self.mark(bytes);
        let bound = u16::MAX >> halvings.min(15);
        for word in 0..self.ends.len() {
            let mut bits = self.starts(word);
            while bits != 0 {
                let start = word * BLOCK_BYTES + bits.trailing_zeros() as usize + 1;
                bits &= bits - 1;
                let Some(first) = bytes.get(start..).and_then(<[u8]>::first_chunk) else { return };
                let chance = u64::from_le_bytes(*first) ^ self.secret;
                if (chance.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as u16 > bound {
                    continue;
                }
                let Some(end) = self.boundary_from(start + LEAST_BYTES - 1) else { return };
                if end - start <= MOST_BYTES {
                    let fingerprint = fingerprint(&bytes[start..end], self.secret);
                    spans.push(Anchor { fingerprint, offset: (from + start) as u16 });
                }
            }
        }
    }

    /// One bit for each byte of a word that is followed by a piece of [`LONG_BYTES`] or more.
    fn starts(&self, word: usize) -> u64 {
        let next = self.ends.get(word + 1).copied().unwrap_or_default();
        let both = u128::from(next) << BLOCK_BYTES | u128::from(self.ends[word]);
        let short = (1..LONG_BYTES).fold(0, |short, bytes| short | (both >> bytes) as u64);
        self.ends[word] & !short
    }

    /// Marks the ends of pieces among these bytes.
    fn mark(&mut self, bytes: &[u8]) {
        self.ends.clear();
        // Each block has the byte before it in front; the first one has a placeholder.
        let mut behind = [1; BLOCK_BYTES + 1];
        let first = bytes.len().min(BLOCK_BYTES);
        behind[1..=first].copy_from_slice(&bytes[..first]);
        let mut had_percent = self.mark_block(bytes, 0, &behind, false);
        for start in (BLOCK_BYTES..bytes.len()).step_by(BLOCK_BYTES) {
            had_percent = if let Some(block) = bytes[start - 1..].first_chunk() {
                self.mark_block(bytes, start, block, had_percent)
            } else {
                let rest = &bytes[start - 1..];
                behind[..rest.len()].copy_from_slice(rest);
                self.mark_block(bytes, start, &behind, had_percent)
            };
        }
    }

    /// Marks the ends of pieces in the block at `start`. Returns whether the block has a percent sign;
    /// `had_percent` is the result of the block before.
    fn mark_block(
        &mut self,
        bytes: &[u8],
        start: usize,
        block: &[u8; BLOCK_BYTES + 1],
        had_percent: bool,
    ) -> bool {
        let (mut ends, has_percent) = ends(block);
        // A percent-encoded delimiter ends two bytes behind its percent sign, which may be in the block
        // before.
        if has_percent || had_percent {
            for at in start.max(2)..bytes.len().min(start + BLOCK_BYTES) {
                if let [b'%', high, low] = bytes[at - 2..=at]
                    && is_encoded_delimiter(high, low)
                {
                    ends |= 1 << (at - start);
                }
            }
        }
        let bits = bytes.len() - start;
        self.ends.push(if bits < BLOCK_BYTES { ends & ((1 << bits) - 1) } else { ends });
        has_percent
    }

    /// The first boundary behind the byte at `at` or a later byte.
    fn boundary_from(&self, at: usize) -> Option<usize> {
        let (word, bit) = (at / BLOCK_BYTES, at % BLOCK_BYTES);
        let mut bits = self.ends.get(word)? >> bit << bit;
        let mut word = word;
        while bits == 0 {
            word += 1;
            bits = *self.ends.get(word)?;
        }
        Some(word * BLOCK_BYTES + bits.trailing_zeros() as usize + 1)
    }
}

/// One bit for each byte of a block that ends a piece (lowest bit first), and whether the block has a percent
/// sign. The byte before the block is in front of it.
fn ends(block: &[u8; BLOCK_BYTES + 1]) -> (u64, bool) {
    let mut found = [0u8; BLOCK_BYTES];
    let mut percents = 0;
    for (found, (before, byte)) in found.iter_mut().zip(block.iter().zip(&block[1..])) {
        *found = u8::from(is_delimiter(*byte) | (before | byte == 0));
        percents |= u8::from(*byte == b'%');
    }
    // The multiplication gathers eight bytes of 0 or 1 as eight bits in the highest byte.
    let eights = found.as_chunks().0.iter().enumerate();
    let ends = eights.fold(0, |bits, (place, eight)| {
        let gathered = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        bits | gathered << (8 * place)
    });
    (ends, percents != 0)
}

/// Fingerprint of every byte of a span of at least 16 bytes.
fn fingerprint(span: &[u8], secret: u64) -> u64 {
    let mut hash = secret ^ span.len() as u64;
    let mut mix = |pair: &[u8; 16]| {
        let both = u128::from_le_bytes(*pair);
        hash = fold(both as u64 ^ hash, (both >> 64) as u64 ^ 0xe703_7ed1_a0b4_28db);
    };
    let (pairs, _) = span.as_chunks();
    pairs.iter().for_each(&mut mix);
    if let Some(last) = span.last_chunk() {
        mix(last);
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn delimiters_are_those_that_are_said() {
        let all: Vec<u8> = (0..=255).filter(|byte| is_delimiter(*byte)).collect();
        assert_eq!(all, b"\n\r\"&(),;<>[]{}");
    }

    proptest! {
        #[test]
        fn a_span_is_whole_pieces_and_is_found_wherever_its_bytes_stand(
            shared in proptest::collection::vec(32u8..128, 100..600),
            front in proptest::collection::vec(1u8..255, 0..100),
        ) {
            let mut finder = SpanFinder::default();
            let (mut alone, mut behind) = (Vec::new(), Vec::new());
            finder.find(&shared, &(0..shared.len()), 0..shared.len(), 0, &mut alone);
            let packet = [&front[..], &shared].concat();
            finder.find(&packet, &(0..packet.len()), 0..packet.len(), 0, &mut behind);
            behind.retain(|span| usize::from(span.offset) > front.len());
            behind.iter_mut().for_each(|span| span.offset -= front.len() as u16);
            prop_assert_eq!(&behind, &alone);
            for span in alone {
                let start = usize::from(span.offset);
                prop_assert!(is_boundary(&shared, &(0..shared.len()), start));
                let end = (start + LEAST_BYTES..).find(|end| ends_piece(&shared[..*end])).unwrap();
                prop_assert_eq!(span.fingerprint, fingerprint(&shared[start..end], 0));
            }
        }

        #[test]
        fn marks_are_the_ends_of_pieces(
            bytes in proptest::collection::vec(
                prop_oneof![Just(0), Just(b'%'), Just(b'2'), Just(b'8'), any::<u8>()],
                0..300,
            ),
        ) {
            let mut finder = SpanFinder::default();
            finder.mark(&bytes);
            for at in 0..bytes.len() {
                let next = (at + 1..=bytes.len()).find(|end| ends_piece(&bytes[..*end]));
                prop_assert_eq!(finder.boundary_from(at), next);
            }
        }
    }
}
