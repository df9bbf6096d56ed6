//! Compression of literals, for each packet on its own.
//!
//! No state passes from one packet to the next, so a lost packet never affects another. The output is the
//! content of one compressed block of Zstandard (RFC 8878, section 3.1.1.2.2). The nine bytes of frame and
//! block header are left out: one packet is always one block that reaches to the end.
//!
//! Most packets on a real link are encrypted or compressed, so little time is spent on them. A sample of the
//! bytes rejects an even distribution. While Zstandard gains nothing from the rest, one packet in sixteen is
//! tried.
//!
//! It allocates nothing per packet after the largest packet.

use crate::sparing::Sparing;
use std::cell::RefCell;
use std::fmt;
use wire::Malformed;
use wire::shim::MAX_RESTORED_BYTES;
use zstd::zstd_safe::{self, CCtx, CParameter, DCtx};

/// The fewest literal bytes that are compressed.
pub const MIN_LITERAL_BYTES: usize = 64;
/// The fewest bytes that compression must save.
pub const MIN_SAVED_BYTES: usize = 8;

/// Higher levels up to 3 save hardly more of a packet; this level takes the least time.
const LEVEL: zstd_safe::CompressionLevel = 1;

/// The start of every frame: the magic number, and a descriptor without content size, dictionary and
/// checksum.
const FRAME_START: [u8; 5] = [0x28, 0xb5, 0x2f, 0xfd, 0];
/// A window of 128 KiB for every packet: the largest window that bounds a block, and larger than any packet.
const WINDOW: u8 = 7 << 3;
/// Bytes of frame start, window and block header.
const FRONT_BYTES: usize = FRAME_START.len() + 1 + 3;
/// Low bits of a block header: last block, compressed.
const LAST_COMPRESSED: u32 = 1 | 2 << 1;

thread_local! {
    /// No state passes from packet to packet, so that all compressors of a thread share the memory of one.
    static COMPRESSING: RefCell<Compressing> = RefCell::new(Compressing::new());
    /// The same for expanders.
    static EXPANDING: RefCell<Expanding> = RefCell::new(Expanding::new());
}

/// What a compression needs.
struct Compressing {
    context: CCtx<'static>,
    frame: Vec<u8>,
}

/// What an expansion needs.
struct Expanding {
    context: DCtx<'static>,
    frame: Vec<u8>,
    expanded: Vec<u8>,
}

/// Compresses the literals of successive packets.
pub struct Compressor {
    sparing: Sparing,
}

impl Compressor {
    /// A compressor that tries every packet at first.
    #[must_use]
    pub fn new() -> Self {
        Compressor { sparing: Sparing::on() }
    }

    /// Sets whether packets wait for the processor and not for the link. If so, one packet in 64 is looked
    /// at.
    pub fn set_processor_short(&mut self, is_short: bool) {
        self.sparing.processor_is_short(is_short);
    }

    /// Appends the compressed `literals` to `out` and returns true, if that saves at least
    /// [`MIN_SAVED_BYTES`]. Otherwise `out` is unchanged.
    pub fn compress(&mut self, literals: &[u8], out: &mut Vec<u8>) -> bool {
        // While the processor is the bottleneck, even the look is spared.
        let is_short = self.sparing.is_short();
        let worth_a_try = (MIN_LITERAL_BYTES..=MAX_RESTORED_BYTES).contains(&literals.len())
            && (!is_short || self.sparing.wants_a_search())
            && !looks_random(literals)
            && (is_short || self.sparing.wants_a_search());
        if !worth_a_try {
            return false;
        }
        let is_shorter = COMPRESSING.with_borrow_mut(|it| {
            let block = compress_block(&mut it.context, &mut it.frame, literals);
            out.extend_from_slice(block.unwrap_or_default());
            block.is_some()
        });
        self.sparing.searched(is_shorter);
        is_shorter
    }
}

impl Compressing {
    fn new() -> Self {
        let mut context = CCtx::create();
        for parameter in [
            CParameter::CompressionLevel(LEVEL),
            CParameter::ContentSizeFlag(false),
            CParameter::ChecksumFlag(false),
            CParameter::DictIdFlag(false),
        ] {
            // A refused parameter would change the frame's start, which is checked.
            let _ = context.set_parameter(parameter);
        }
        Compressing { context, frame: Vec::new() }
    }
}

impl Default for Compressor {
    fn default() -> Self {
        Compressor::new()
    }
}

impl fmt::Debug for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compressor").field("sparing", &self.sparing).finish_non_exhaustive()
    }
}

/// The content of the single block of `literals`, if it is short enough.
fn compress_block<'a>(
    context: &mut CCtx<'static>,
    frame: &'a mut Vec<u8>,
    literals: &[u8],
) -> Option<&'a [u8]> {
    let most = FRONT_BYTES + literals.len() - MIN_SAVED_BYTES;
    if frame.len() < most {
        frame.resize(most, 0);
    }
    // A frame beyond this room is an error: it saves too little.
    let length = context.compress2(&mut frame[..most], literals).ok()?;
    let (front, block) = frame[..length].split_at_checked(FRONT_BYTES)?;
    let (start, window_and_block) = front.split_at(FRAME_START.len());
    let &[window, a, b, c] = window_and_block else { return None };
    let known = start == FRAME_START
        && window <= WINDOW
        && u32::from_le_bytes([a, b, c, 0]) == LAST_COMPRESSED | (block.len() as u32) << 3;
    known.then_some(block)
}

/// Number of sampled bytes, in runs from all over the literals.
const LOOK_BYTES: usize = 256;
const RUN_BYTES: usize = 32;

/// Whether the byte values seem evenly distributed, so that only a repetition would compress.
///
/// Equal pairs are one in 256 of random bytes, one in 64 of Base64, and one in about 16 of text. In a sample
/// of 256 random bytes, their number exceeds its mean by a quarter once in some hundred times.
fn looks_random(literals: &[u8]) -> bool {
    // the product of a count and the one below fits as well, and vector instructions have such products
    let mut counts = [0u16; 256];
    let mut count = |run: &[u8]| run.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
    let looked_at = if literals.len() <= LOOK_BYTES {
        count(literals);
        literals.len()
    } else {
        let step = (literals.len() - RUN_BYTES) / (LOOK_BYTES / RUN_BYTES - 1);
        (0..LOOK_BYTES / RUN_BYTES).for_each(|run| count(&literals[run * step..][..RUN_BYTES]));
        LOOK_BYTES
    };
    let equal_pairs = counts.iter().map(|count| u32::from(count * count.saturating_sub(1))).sum::<u32>();
    let pairs = (looked_at * looked_at.saturating_sub(1)) as u32;
    equal_pairs * 256 * 4 < pairs * 5
}

/// Expands the output of a [`Compressor`].
pub struct Expander(());

impl Expander {
    /// An expander.
    #[must_use]
    pub fn new() -> Self {
        Expander(())
    }

    /// Appends the literals of `compressed` to `out`.
    ///
    /// `compressed` may be any bytes. The error [`Malformed`] means: no content of a compressed block, or
    /// more than `limit_bytes` bytes or an IP packet's maximum. `out` is then unchanged.
    pub fn expand(
        &mut self,
        compressed: &[u8],
        limit_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Malformed> {
        EXPANDING.with_borrow_mut(|it| it.expand(compressed, limit_bytes, out))
    }
}

impl Expanding {
    fn new() -> Self {
        Expanding { context: DCtx::create(), frame: Vec::new(), expanded: Vec::new() }
    }

    fn expand(&mut self, compressed: &[u8], limit_bytes: usize, out: &mut Vec<u8>) -> Result<(), Malformed> {
        let malformed = Malformed("compressed literals");
        let limit_bytes = limit_bytes.min(MAX_RESTORED_BYTES);
        if compressed.len() > MAX_RESTORED_BYTES {
            return Err(malformed);
        }
        let block_header = (LAST_COMPRESSED | (compressed.len() as u32) << 3).to_le_bytes();
        self.frame.clear();
        self.frame.extend_from_slice(&FRAME_START);
        self.frame.push(WINDOW);
        self.frame.extend_from_slice(&block_header[..3]);
        self.frame.extend_from_slice(compressed);
        if self.expanded.len() < limit_bytes {
            self.expanded.resize(limit_bytes, 0);
        }
        let room = &mut self.expanded[..limit_bytes];
        let length = self.context.decompress(room, &self.frame).map_err(|_| malformed)?;
        out.extend_from_slice(room.get(..length).ok_or(malformed)?);
        Ok(())
    }
}

impl Default for Expander {
    fn default() -> Self {
        Expander::new()
    }
}

impl fmt::Debug for Expander {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expander").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use std::cell::RefCell;

    #[test]
    fn what_a_thread_compressed_before_changes_nothing() {
        let texts: Vec<Vec<u8>> = (0..40usize)
            .map(|number| {
                let word = |at: usize| format!("{} of {} routers, ", (at * number) % 17, at % 7).into_bytes();
                (0..20 + 3 * number).flat_map(word).collect()
            })
            .collect();
        let compressed = |text: &Vec<u8>| {
            let mut out = Vec::new();
            assert!(Compressor::new().compress(text, &mut out));
            out
        };
        let alone: Vec<_> = std::thread::scope(|scope| {
            texts.iter().map(|text| scope.spawn(|| compressed(text)).join().unwrap_or_default()).collect()
        });
        let in_turn: Vec<_> = texts.iter().map(compressed).collect();
        let backwards: Vec<_> = texts.iter().rev().map(compressed).collect();
        assert_eq!(alone, in_turn);
        assert!(in_turn.iter().rev().eq(&backwards));
    }

    const BEFORE: &[u8] = b"before";

    fn random(seed: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        ChaCha8Rng::seed_from_u64(seed).fill_bytes(&mut bytes);
        bytes
    }

    fn text(length: usize) -> Vec<u8> {
        let words = ["packet ", "radio ", "overheard ", "the ", "a ", "station ", "sends ", "again, "];
        let choices = random(7, length);
        choices.iter().flat_map(|choice| words[usize::from(choice % 8)].bytes()).take(length).collect()
    }

    /// Bytes of an uneven distribution that is too even for compression.
    fn uneven(seed: u64) -> Vec<u8> {
        let mut bytes = random(seed, 100);
        bytes.iter_mut().for_each(|byte| *byte &= 0x7f);
        bytes
    }

    fn contents() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..1600),
            proptest::collection::vec(0u8..40, 0..1600),
            proptest::collection::vec(Just(0u8), 0..1600),
            (proptest::collection::vec(any::<u8>(), 1..90), 1usize..40)
                .prop_map(|(unit, times)| unit.repeat(times)),
            (any::<u16>(), 60usize..1500).prop_map(|(seed, length)| {
                let mut bytes = text(length);
                let at = usize::from(seed) % length;
                bytes[at..].copy_from_slice(&random(u64::from(seed), length - at));
                bytes
            }),
        ]
    }

    thread_local! {
        /// One pair for all cases, as a node has one pair for all packets.
        static PAIR: RefCell<(Compressor, Expander)> = RefCell::default();
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn what_is_compressed_is_shorter_and_expands_to_the_same(literals in contents()) {
            PAIR.with_borrow_mut(|(compressor, expander)| {
                let mut compressed = BEFORE.to_vec();
                let pays = compressor.compress(&literals, &mut compressed);
                let compressed = compressed.strip_prefix(BEFORE).unwrap();
                if !pays {
                    prop_assert!(compressed.is_empty());
                    return Ok(());
                }
                prop_assert!(compressed.len() + MIN_SAVED_BYTES <= literals.len());
                let mut out = BEFORE.to_vec();
                prop_assert_eq!(expander.expand(compressed, literals.len(), &mut out), Ok(()));
                prop_assert_eq!(out.strip_prefix(BEFORE), Some(&literals[..]));
                out.truncate(BEFORE.len());
                prop_assert!(expander.expand(compressed, literals.len() - 1, &mut out).is_err());
                prop_assert_eq!(&out[..], BEFORE);
                Ok(())
            })?;
        }

        #[test]
        fn hostile_bytes_expand_within_the_limit_or_not_at_all(
            bytes in proptest::collection::vec(any::<u8>(), 0..300),
            limit_bytes in 0usize..3000,
        ) {
            PAIR.with_borrow_mut(|(_, expander)| hold_the_limit(expander, &bytes, limit_bytes))?;
        }

        #[test]
        fn damaged_literals_expand_within_the_limit_or_not_at_all(
            literals in contents(),
            damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
            limit_bytes in 0usize..3000,
        ) {
            let mut compressed = Vec::new();
            if Compressor::new().compress(&literals, &mut compressed) {
                for (place, byte) in damage {
                    let place = place.index(compressed.len());
                    compressed[place] = byte;
                }
                PAIR.with_borrow_mut(|(_, expander)| hold_the_limit(expander, &compressed, limit_bytes))?;
            }
        }
    }

    fn hold_the_limit(
        expander: &mut Expander,
        bytes: &[u8],
        limit_bytes: usize,
    ) -> Result<(), TestCaseError> {
        let mut out = BEFORE.to_vec();
        match expander.expand(bytes, limit_bytes, &mut out) {
            Ok(()) => prop_assert!(out.len() <= BEFORE.len() + limit_bytes),
            Err(_) => prop_assert_eq!(&out[..], BEFORE),
        }
        // The expander still works for the next packet.
        let (literals, mut compressed) = (text(500), Vec::new());
        prop_assert!(Compressor::new().compress(&literals, &mut compressed));
        out.clear();
        prop_assert_eq!(expander.expand(&compressed, 500, &mut out), Ok(()));
        prop_assert_eq!(out, literals);
        Ok(())
    }

    #[test]
    fn the_largest_packet_comes_back_and_a_larger_one_is_not_tried() {
        let (mut compressor, mut expander) = (Compressor::new(), Expander::new());
        for literals in [text(MAX_RESTORED_BYTES), vec![0; MAX_RESTORED_BYTES]] {
            let (mut compressed, mut out) = (Vec::new(), Vec::new());
            assert!(compressor.compress(&literals, &mut compressed));
            assert_eq!(expander.expand(&compressed, usize::MAX, &mut out), Ok(()));
            assert_eq!(out, literals);
        }
        assert!(!compressor.compress(&text(MAX_RESTORED_BYTES + 1), &mut Vec::new()));
        assert!(!compressor.compress(&[0; MIN_LITERAL_BYTES - 1], &mut Vec::new()));
        assert!(expander.expand(&text(MAX_RESTORED_BYTES + 1), usize::MAX, &mut Vec::new()).is_err());
    }

    #[test]
    fn random_bytes_are_turned_away_by_a_look_and_everything_else_is_not() {
        let turned_away = |length| (0..1000).filter(|&seed| looks_random(&random(seed, length))).count();
        assert!(turned_away(1400) > 970, "{}", turned_away(1400));
        assert!(turned_away(MIN_LITERAL_BYTES) > 600, "{}", turned_away(MIN_LITERAL_BYTES));
        for length in [64, 100, 256, 257, 1400, 65_535] {
            assert!(!looks_random(&text(length)), "text of {length} bytes");
            assert!(!looks_random(&vec![0xff; length]), "{length} equal bytes");
            let base64: Vec<u8> = random(3, length).iter().map(|byte| b'0' + (byte & 0x3f)).collect();
            assert!(!looks_random(&base64), "{length} bytes of 64 kinds");
        }
    }

    #[test]
    fn tries_become_rare_while_nothing_is_gained_and_resume_with_the_first_gain() {
        let mut compressor = Compressor::new();
        for seed in 0..100 {
            assert!(!compressor.compress(&uneven(seed), &mut Vec::new()), "{seed}");
        }
        assert!(compressor.sparing.is_rare());
        let gains = |compressor: &mut Compressor| {
            (1..=40).filter(|_| compressor.compress(&text(1000), &mut Vec::new())).count()
        };
        let first = (1..=16).find(|_| compressor.compress(&text(1000), &mut Vec::new()));
        assert!(first.is_some_and(|first| first > 1), "{first:?}");
        assert_eq!(gains(&mut compressor), 40);
    }

    #[test]
    fn random_packets_do_not_delay_the_first_gain() {
        let mut compressor = Compressor::new();
        (0..1000).for_each(|seed| assert!(!compressor.compress(&random(seed, 1400), &mut Vec::new())));
        assert!(compressor.compress(&text(1400), &mut Vec::new()));
    }
}
