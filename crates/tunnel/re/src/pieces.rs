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
use crate::flow::{MULTIPLIER, fold};
use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, u8x64};
use std::ops::Range;

/// The fewest bytes of a match across flows.
pub const LEAST_BYTES: usize = 24;
/// The most bytes of a span that is looked up.
const MOST_BYTES: usize = 512;
/// Where a packet is examined in part, spans begin in the first so many bytes of every stretch.
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
pub const fn is_delimiter(byte: u8) -> bool {
    matches!(
        byte,
        b'\n' | b'\r' | b'"' | b'&' | b'(' | b')' | b',' | b';' | b'<' | b'>' | b'[' | b']' | b'{' | b'}'
    )
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

/// Whether the percent sign at `percent` begins an encoded delimiter.
fn encodes_delimiter(bytes: &[u8], percent: usize) -> bool {
    let digits = bytes.get(percent + 1..).and_then(<[u8]>::first_chunk);
    digits.is_some_and(|[high, low]| is_encoded_delimiter(*high, *low))
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
#[derive(Debug, Clone)]
pub(crate) struct SpanFinder {
    secret: u64,
    /// The processor's vector instructions.
    level: Level,
    /// One bit for each byte that ends a piece.
    ends: Vec<u64>,
}

impl SpanFinder {
    /// A finder without a secret.
    pub fn new() -> Self {
        SpanFinder { secret: 0, level: Level::new(), ends: Vec::new() }
    }

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

    /// As [`find`](SpanFinder::find), but examines only the first [`THIN_BYTES`] of every `stretch_bytes`.
    pub fn find_thinly(
        &mut self,
        packet: &[u8],
        payload: &Range<usize>,
        unknown: Range<usize>,
        stretch_bytes: usize,
        spans: &mut Vec<Anchor>,
    ) {
        spans.clear();
        for start in unknown.clone().step_by(stretch_bytes) {
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
                if (chance.wrapping_mul(MULTIPLIER) >> 48) as u16 > bound {
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
        if self.level.is_fallback() {
            self.mark_one_by_one(bytes);
        } else {
            dispatch!(self.level, simd => self.mark_by(simd, bytes));
        }
    }

    /// For processors without vectors: most bytes need no more than a look into a table.
    fn mark_one_by_one(&mut self, bytes: &[u8]) {
        self.ends.resize(bytes.len().div_ceil(BLOCK_BYTES), 0);
        for (at, &byte) in bytes.iter().enumerate() {
            if !MAY_END[usize::from(byte)] {
                continue;
            }
            let end = match byte {
                0 if at == 0 || bytes[at - 1] != 0 => continue,
                b'%' if encodes_delimiter(bytes, at) => at + 2,
                b'%' => continue,
                _ => at,
            };
            self.ends[end / BLOCK_BYTES] |= 1 << (end % BLOCK_BYTES);
        }
    }

    #[inline(always)]
    fn mark_by<S: Simd>(&mut self, simd: S, bytes: &[u8]) {
        // Each block has the byte before it in front; the first one has a placeholder.
        let mut copy = [1; BLOCK_BYTES + 1];
        let mut encoded = 0u128;
        for start in (0..bytes.len()).step_by(BLOCK_BYTES) {
            let block = match start.checked_sub(1).and_then(|before| bytes[before..].first_chunk()) {
                Some(block) => block,
                None => {
                    let rest = &bytes[start..bytes.len().min(start + BLOCK_BYTES)];
                    copy[0] = if start == 0 { 1 } else { bytes[start - 1] };
                    copy[1..=rest.len()].copy_from_slice(rest);
                    &copy
                }
            };
            let (delimiters, mut percents) = ends(simd, block);
            // A percent-encoded delimiter ends two bytes behind its percent sign, perhaps in the next block.
            while percents != 0 {
                let percent = percents.trailing_zeros() as usize;
                percents &= percents - 1;
                if encodes_delimiter(bytes, start + percent) {
                    encoded |= 4 << percent;
                }
            }
            let (bits, of_block) = (bytes.len() - start, delimiters | encoded as u64);
            self.ends.push(if bits < BLOCK_BYTES { of_block & ((1 << bits) - 1) } else { of_block });
            encoded >>= BLOCK_BYTES;
        }
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

/// Bytes that are delimiters or that begin or end another ending.
const MAY_END: [bool; 256] = may_end();

const fn may_end() -> [bool; 256] {
    let (mut may, mut byte) = ([false; 256], 0);
    while byte < may.len() {
        may[byte] = matches!(byte as u8, 0 | b'%') || is_delimiter(byte as u8);
        byte += 1;
    }
    may
}

/// For each low half of a byte, the high halves with which it is a delimiter, one bit each.
const HIGH_HALVES: [u8; 16] = high_halves();
/// For each high half of a byte, its bit. Bytes of 128 and more have none: they are no delimiters.
const BIT_OF_HIGH_HALF: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 0, 0, 0, 0, 0, 0, 0, 0];

const fn high_halves() -> [u8; 16] {
    let (mut halves, mut byte) = ([0; 16], 0);
    while byte < 1 << 7 {
        if is_delimiter(byte) {
            halves[(byte & 0xf) as usize] |= 1 << (byte >> 4);
        }
        byte += 1;
    }
    halves
}

/// Two sets of bytes of a block, the lowest bit first: those that end a piece by themselves or as the second
/// zero, and percent signs. The byte before the block is in front of it.
#[inline(always)]
fn ends<S: Simd>(simd: S, block: &[u8; BLOCK_BYTES + 1]) -> (u64, u64) {
    let before = u8x64::from_slice(simd, &block[..BLOCK_BYTES]);
    let bytes = u8x64::from_slice(simd, &block[1..]);
    let table = |table: [u8; 16]| u8x64::block_splat(table.simd_into(simd));
    let high_halves = table(HIGH_HALVES).swizzle_dyn_within_blocks(bytes & 0xf);
    let own = table(BIT_OF_HIGH_HALF).swizzle_dyn_within_blocks(bytes >> 4);
    let others = (high_halves & own).simd_eq(0) & !(before | bytes).simd_eq(0);
    let percents = bytes.simd_eq(b'%');
    // Few blocks have a percent sign, and a set of bits costs Arm more than the question.
    (!others.to_bitmask(), if percents.any_true() { percents.to_bitmask() } else { 0 })
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
    fn vectors_find_the_delimiters_that_comparisons_find() {
        for level in [Level::new(), Level::baseline()] {
            for byte in 0..=255 {
                let mut block = [b'x'; BLOCK_BYTES + 1];
                block[1 + usize::from(byte) % BLOCK_BYTES] = byte;
                let (ends, percents) = dispatch!(level, simd => ends(simd, &block));
                let bit = 1 << (byte % BLOCK_BYTES as u8);
                assert_eq!(ends, if is_delimiter(byte) { bit } else { 0 }, "{byte}");
                assert_eq!(percents, if byte == b'%' { bit } else { 0 }, "{byte}");
            }
        }
    }

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
            let mut finder = SpanFinder::new();
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
            for level in [Level::new(), Level::baseline()] {
                let mut finder = SpanFinder { level, ..SpanFinder::new() };
                finder.mark(&bytes);
                for at in 0..bytes.len() {
                    let next = (at + 1..=bytes.len()).find(|end| ends_piece(&bytes[..*end]));
                    prop_assert_eq!(finder.boundary_from(at), next);
                }
            }
        }
    }
}
