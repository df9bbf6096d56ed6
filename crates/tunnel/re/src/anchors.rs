//! Anchors: the payload windows whose fingerprints are kept.
//!
//! There are two methods to choose and name windows. The paper's form needs [`Rabin`] fingerprints, because
//! they travel. The compact form uses a multiplicative hash of a window's first eight bytes. The hash has no
//! chain of dependent steps, so vector instructions compute many positions at once. Arithmetic replaces the
//! branch that the processor would mispredict at each anchor.

use crate::flow::{MULTIPLIER, fold};
use crate::rabin::Rabin;
use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, u8x64, u16x32};
use std::cell::RefCell;
use std::ops::Range;

/// [`MULTIPLIER`] in four odd pieces, one for each pair of a window's first eight bytes.
const MULTIPLIERS: [u16; 4] = [0x9e37, 0x79b9, 0x7f4b, 0x7c15];

/// Windows that [`AnchorFinder::find_thinly`] examines in each stretch.
pub const THIN_WINDOWS: usize = 64;

/// Windows whose decisions fit into one word.
const BITS: usize = 64;
/// Bytes that cover the first eight bytes of [`BITS`] windows.
const BLOCK_BYTES: usize = BITS + 7;

/// One kept window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchor {
    /// The window's fingerprint.
    pub fingerprint: u64,
    /// Where the window starts in the packet.
    pub offset: u16,
}

/// Finds the anchors of payloads.
#[derive(Debug, Clone)]
pub struct AnchorFinder {
    window_bytes: usize,
    /// Mask of a Rabin fingerprint: a window is kept where these bits are zero.
    mask: u64,
    /// Bound of a quick hash: a window is kept where the hash is at most this value.
    bound: u16,
    /// Number of times that the anchors are halved.
    halvings: u32,
    /// Secret under which the quick hash chooses and names windows.
    secret: u64,
    method: Method,
}

thread_local! {
    /// The positions found in a packet. All finders of a thread share the memory, with room for a packet of
    /// the maximum length.
    static POSITIONS: RefCell<Box<[u16; 1 << 16]>> = RefCell::new(positions());
}

fn positions() -> Box<[u16; 1 << 16]> {
    let positions = vec![0; 1 << 16].into_boxed_slice();
    positions.try_into().expect("65,536 positions were made")
}

#[derive(Debug, Clone)]
enum Method {
    Rabin(Rabin),
    Quick {
        /// The processor's vector instructions.
        level: Level,
    },
}

impl AnchorFinder {
    /// Finds anchors by Rabin fingerprints whose low `sample_bits` are zero.
    #[must_use]
    pub fn rabin(window_bytes: usize, sample_bits: u32) -> Self {
        Self::new(window_bytes, sample_bits, Method::Rabin(Rabin::new(window_bytes)))
    }

    /// Finds anchors by the quick hash. The minimum window is eight bytes.
    #[must_use]
    pub fn quick(window_bytes: usize, sample_bits: u32) -> Self {
        Self::new(window_bytes.max(8), sample_bits, Method::Quick { level: Level::new() })
    }

    fn new(window_bytes: usize, sample_bits: u32, method: Method) -> Self {
        let mask = (1 << sample_bits.min(32)) - 1;
        AnchorFinder {
            window_bytes,
            mask,
            bound: u16::MAX >> sample_bits.min(15),
            halvings: 0,
            secret: 0,
            method,
        }
    }

    /// Keeps a subset of one in 2^`halvings` of the usual anchors from now on.
    pub fn halve(&mut self, halvings: u32) {
        self.halvings = halvings.min(16);
    }

    /// Sets the secret under which the quick hash chooses and names windows. Others then know neither the
    /// windows that are kept nor the ones that collide in an index.
    pub fn set_secret(&mut self, secret: u64) {
        self.secret = secret;
    }

    /// Bytes of a window.
    #[must_use]
    pub fn window_bytes(&self) -> usize {
        self.window_bytes
    }

    /// The fingerprint of one window, by this finder's method.
    #[must_use]
    pub fn fingerprint(&self, window: &[u8]) -> u64 {
        match &self.method {
            Method::Rabin(rabin) => rabin.fingerprint(window),
            Method::Quick { .. } => quick_fingerprint(window, self.secret),
        }
    }

    /// Replaces the contents of `anchors` by the anchors of `packet[payload]`, front to back.
    pub fn find(&mut self, packet: &[u8], payload: Range<usize>, anchors: &mut Vec<Anchor>) {
        anchors.clear();
        self.append(packet, payload, anchors);
    }

    /// As [`find`](AnchorFinder::find), but examines only the first [`THIN_WINDOWS`] windows of every
    /// `stretch_bytes`.
    pub fn find_thinly(
        &mut self,
        packet: &[u8],
        payload: Range<usize>,
        stretch_bytes: usize,
        anchors: &mut Vec<Anchor>,
    ) {
        anchors.clear();
        for start in payload.clone().step_by(stretch_bytes) {
            let end = payload.end.min(start + THIN_WINDOWS + self.window_bytes - 1);
            self.append(packet, start..end, anchors);
        }
    }

    fn append(&mut self, packet: &[u8], payload: Range<usize>, anchors: &mut Vec<Anchor>) {
        let start = payload.start;
        let payload = &packet[payload];
        if payload.len() < self.window_bytes || packet.len() > usize::from(u16::MAX) {
            return;
        }
        match &mut self.method {
            Method::Rabin(rabin) => {
                let mask = ((self.mask + 1) << self.halvings) - 1;
                let kept = rabin.windows(payload).filter(|(_, fingerprint)| fingerprint & mask == 0);
                anchors.extend(
                    kept.map(|(at, fingerprint)| Anchor { fingerprint, offset: (start + at) as u16 }),
                );
            }
            Method::Quick { level } => POSITIONS.with_borrow_mut(|positions| {
                let bound = self.bound >> self.halvings;
                let multipliers = multipliers(self.secret);
                let count = dispatch!(*level, simd => {
                    sample(simd, payload, self.window_bytes, bound, multipliers, positions)
                });
                let secret = self.secret;
                anchors.extend(positions[..count].iter().map(|&at| {
                    let at = usize::from(at);
                    let window = &payload[at..at + self.window_bytes];
                    Anchor { fingerprint: quick_fingerprint(window, secret), offset: (start + at) as u16 }
                }));
            }),
        }
    }
}

/// Writes the start of every window whose hash is at most `bound`. Returns their number.
///
/// It has two steps without unpredictable branches: one bit for each of 64 windows, then one position for
/// each bit that is set.
#[inline(always)]
fn sample<S: Simd>(
    simd: S,
    payload: &[u8],
    window_bytes: usize,
    bound: u16,
    multipliers: [u16; 4],
    positions: &mut [u16; 1 << 16],
) -> usize {
    let windows = payload.len() - window_bytes + 1;
    let mut count = 0;
    for start in (0..windows).step_by(BITS) {
        let rest = &payload[start..];
        let mut kept = match rest.first_chunk() {
            Some(block) => kept_windows(simd, block, bound, multipliers),
            None => {
                let mut block = [0; BLOCK_BYTES];
                block[..rest.len()].copy_from_slice(rest);
                kept_windows(simd, &block, bound, multipliers)
            }
        };
        if windows - start < BITS {
            kept &= (1 << (windows - start)) - 1;
        }
        while kept != 0 {
            positions[count & 0xffff] = (start + kept.trailing_zeros() as usize) as u16;
            count += 1;
            kept &= kept - 1;
        }
    }
    count
}

/// One bit for each window that starts in the block; the lowest bit is the first window.
#[inline(always)]
fn kept_windows<S: Simd>(simd: S, block: &[u8; BLOCK_BYTES], bound: u16, multipliers: [u16; 4]) -> u64 {
    // The lanes of a vector have the processor's byte order, and windows are the same on all.
    if cfg!(target_endian = "big") {
        return kept_one_by_one(block, bound, multipliers);
    }
    let even = hashes(simd, block, multipliers).simd_le(bound);
    let odd = hashes(simd, &block[1..], multipliers).simd_le(bound);
    // Each half of a lane becomes one window.
    let nothing = u16x32::splat(simd, 0);
    let kept =
        even.select(u16x32::splat(simd, 0x00ff), nothing) | odd.select(u16x32::splat(simd, 0xff00), nothing);
    !kept.bitcast::<u8x64<S>>().simd_eq(0).to_bitmask()
}

/// The same, without vectors.
fn kept_one_by_one(block: &[u8; BLOCK_BYTES], bound: u16, multipliers: [u16; 4]) -> u64 {
    block.windows(8).enumerate().fold(0, |kept, (place, window)| {
        let pairs = window.as_chunks().0.iter().map(|pair| u16::from_le_bytes(*pair));
        let hash =
            pairs.zip(multipliers).fold(0u16, |hash, (pair, by)| hash.wrapping_add(pair.wrapping_mul(by)));
        kept | u64::from(hash <= bound) << place
    })
}

/// Hashes of every second window: four pairs of bytes, each times its multiplier.
#[inline(always)]
fn hashes<S: Simd>(simd: S, block: &[u8], multipliers: [u16; 4]) -> u16x32<S> {
    let [first, second, third, fourth] = multipliers;
    pairs(simd, block) * first
        + pairs(simd, &block[2..]) * second
        + pairs(simd, &block[4..]) * third
        + pairs(simd, &block[6..]) * fourth
}

#[inline(always)]
fn pairs<S: Simd>(simd: S, block: &[u8]) -> u16x32<S> {
    u8x64::from_slice(simd, &block[..BITS]).bitcast()
}

/// Odd pieces of the constant, changed by the secret. A secret of 0 changes nothing.
fn multipliers(secret: u64) -> [u16; 4] {
    std::array::from_fn(|place| MULTIPLIERS[place] ^ (secret >> (16 * place)) as u16 & !1)
}

/// Mixes the first and the last eight bytes of a window.
fn quick_fingerprint(window: &[u8], secret: u64) -> u64 {
    let (Some(first), Some(last)) = (window.first_chunk(), window.last_chunk()) else { return 0 };
    let (first, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
    fold(first ^ MULTIPLIER ^ secret, last ^ MULTIPLIER.rotate_left(32) ^ secret.rotate_left(32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn both(window_bytes: usize, sample_bits: u32) -> [AnchorFinder; 2] {
        [AnchorFinder::rabin(window_bytes, sample_bits), AnchorFinder::quick(window_bytes, sample_bits)]
    }

    proptest! {
        #[test]
        fn vectors_keep_the_windows_that_plain_arithmetic_keeps(
            bytes in proptest::collection::vec(any::<u8>(), BLOCK_BYTES),
            secret: u64,
            bound: u16,
        ) {
            let multipliers = multipliers(secret);
            let hash = |window: &[u8]| {
                let pairs = window.as_chunks().0.iter().map(|pair| u16::from_le_bytes(*pair));
                pairs.zip(multipliers).fold(0u16, |hash, (pair, by)| hash.wrapping_add(pair.wrapping_mul(by)))
            };
            let plain = bytes.windows(8).map(|window| u64::from(hash(window) <= bound));
            let plain = plain.enumerate().fold(0, |bits, (place, bit)| bits | bit << place);
            let block = bytes.first_chunk().unwrap();
            for level in [Level::new(), Level::baseline()] {
                prop_assert_eq!(dispatch!(level, simd => kept_windows(simd, block, bound, multipliers)), plain);
            }
        }

        #[test]
        fn the_same_bytes_have_the_same_anchors_wherever_they_stand(
            shared in proptest::collection::vec(any::<u8>(), 16..400),
            front in proptest::collection::vec(any::<u8>(), 0..100),
            window_bytes in 8usize..33,
            sample_bits in 0u32..6,
        ) {
            for mut finder in both(window_bytes, sample_bits) {
                let (mut alone, mut behind) = (Vec::new(), Vec::new());
                finder.find(&shared, 0..shared.len(), &mut alone);
                let packet = [&front[..], &shared].concat();
                finder.find(&packet, 0..packet.len(), &mut behind);
                behind.retain(|anchor| usize::from(anchor.offset) >= front.len());
                for anchor in &mut behind {
                    anchor.offset -= front.len() as u16;
                    let at = usize::from(anchor.offset);
                    let window = &shared[at..at + window_bytes];
                    prop_assert_eq!(finder.fingerprint(window), anchor.fingerprint);
                }
                prop_assert_eq!(behind, alone);
            }
        }

        #[test]
        fn found_thinly_are_those_in_the_first_windows_of_every_stretch(
            bytes in proptest::collection::vec(any::<u8>(), 0..2000),
            start in 0usize..300,
            stretch_bytes in THIN_WINDOWS..1100,
        ) {
            for mut finder in both(16, 2) {
                let (mut all, mut some) = (Vec::new(), Vec::new());
                let start = start.min(bytes.len());
                finder.find(&bytes, start..bytes.len(), &mut all);
                finder.find_thinly(&bytes, start..bytes.len(), stretch_bytes, &mut some);
                all.retain(|anchor| (usize::from(anchor.offset) - start) % stretch_bytes < THIN_WINDOWS);
                prop_assert_eq!(some, all);
            }
        }

        #[test]
        fn half_as_many_are_some_of_all(bytes in proptest::collection::vec(any::<u8>(), 0..2000), halvings in 0u32..4) {
            for mut finder in both(16, 2) {
                let (mut all, mut some, mut few) = (Vec::new(), Vec::new(), Vec::new());
                finder.find(&bytes, 0..bytes.len(), &mut all);
                finder.halve(halvings);
                finder.find(&bytes, 0..bytes.len(), &mut some);
                finder.halve(halvings + 1);
                finder.find(&bytes, 0..bytes.len(), &mut few);
                prop_assert!(some.iter().all(|anchor| all.contains(anchor)));
                prop_assert!(few.iter().all(|anchor| some.contains(anchor)));
                prop_assert!(halvings > 0 || some == all);
            }
        }

        #[test]
        fn without_sampling_every_window_is_an_anchor(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            for mut finder in both(16, 0) {
                let mut anchors = Vec::new();
                finder.find(&bytes, 0..bytes.len(), &mut anchors);
                prop_assert_eq!(anchors.len(), (bytes.len() + 1).saturating_sub(16));
            }
        }
    }

    #[test]
    fn about_one_window_in_sixteen_is_kept() {
        let mut state = 1u64;
        let bytes: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        })
        .take(60_000)
        .collect();
        for mut finder in both(16, 4) {
            let mut anchors = Vec::new();
            finder.find(&bytes, 0..bytes.len(), &mut anchors);
            assert!((3_400..4_100).contains(&anchors.len()), "{} anchors", anchors.len());
        }
    }
}
