//! Anchors: the windows of a payload whose fingerprints are kept.
//!
//! Two ways to choose and name them. The paper's form needs [`Rabin`] fingerprints, since they travel. The
//! compact form is free to be quick: whether a window is kept depends on a multiplicative hash of its first
//! eight bytes, which is computed for every position on its own, without the chain of dependent steps that a
//! rolling hash is; and the branch that would be mispredicted once an anchor is replaced by arithmetic.

use crate::rabin::Rabin;
use std::ops::Range;

/// An odd constant with well-mixed bits: the golden ratio's fraction.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// See [`AnchorFinder::find_thinly`].
pub const THIN_BYTES: usize = 256;
/// See [`AnchorFinder::find_thinly`].
pub const THIN_WINDOWS: usize = 64;

/// Windows whose fate fits into a word.
const BITS: usize = 64;

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
    /// Rabin fingerprints are kept where these bits are zero.
    mask: u64,
    /// Quick hashes are kept up to this value. A comparison, not a shift by `sample_bits`, which the
    /// compiler would make it if it saw where this comes from: the shift took two and a half times as long.
    bound: u64,
    method: Method,
}

#[derive(Debug, Clone)]
enum Method {
    Rabin(Rabin),
    Quick {
        /// Room for the positions found; as long as a packet may be.
        positions: Box<[u16; 1 << 16]>,
    },
}

impl AnchorFinder {
    /// Finds anchors by Rabin fingerprints whose low `sample_bits` are zero.
    #[must_use]
    pub fn rabin(window_bytes: usize, sample_bits: u32) -> Self {
        Self::new(window_bytes, sample_bits, Method::Rabin(Rabin::new(window_bytes)))
    }

    /// Finds anchors by the quick hash. Windows of less than eight bytes are not for it.
    #[must_use]
    pub fn quick(window_bytes: usize, sample_bits: u32) -> Self {
        let positions = vec![0; 1 << 16].into_boxed_slice();
        let positions = positions.try_into().expect("65,536 positions were made");
        Self::new(window_bytes.max(8), sample_bits, Method::Quick { positions })
    }

    fn new(window_bytes: usize, sample_bits: u32, method: Method) -> Self {
        let mask = (1 << sample_bits.min(32)) - 1;
        AnchorFinder { window_bytes, mask, bound: u64::MAX >> sample_bits.min(32), method }
    }

    /// The window's size.
    #[must_use]
    pub fn window_bytes(&self) -> usize {
        self.window_bytes
    }

    /// The fingerprint of one window, by this finder's method.
    #[must_use]
    pub fn fingerprint(&self, window: &[u8]) -> u64 {
        match &self.method {
            Method::Rabin(rabin) => rabin.fingerprint(window),
            Method::Quick { .. } => quick_fingerprint(window),
        }
    }

    /// Puts the anchors of `packet[payload]` into `anchors`, front to back, in place of what was there.
    pub fn find(&mut self, packet: &[u8], payload: Range<usize>, anchors: &mut Vec<Anchor>) {
        anchors.clear();
        self.append(packet, payload, anchors);
    }

    /// As [`find`](AnchorFinder::find), but looks only at the first [`THIN_WINDOWS`] windows in every
    /// [`THIN_BYTES`] bytes, which takes about a quarter of the time.
    pub fn find_thinly(&mut self, packet: &[u8], payload: Range<usize>, anchors: &mut Vec<Anchor>) {
        anchors.clear();
        for start in payload.clone().step_by(THIN_BYTES) {
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
                let kept = rabin.windows(payload).filter(|(_, fingerprint)| fingerprint & self.mask == 0);
                anchors.extend(
                    kept.map(|(at, fingerprint)| Anchor { fingerprint, offset: (start + at) as u16 }),
                );
            }
            Method::Quick { positions } => {
                let count = sample(payload, self.window_bytes, self.bound, positions);
                anchors.extend(positions[..count].iter().map(|&at| {
                    let at = usize::from(at);
                    let window = &payload[at..at + self.window_bytes];
                    Anchor { fingerprint: quick_fingerprint(window), offset: (start + at) as u16 }
                }));
            }
        }
    }
}

/// Writes down the start of every window whose hash is at most `bound`; says how many.
///
/// In two steps, each without a branch that cannot be foreseen: a bit for each of 64 windows, then a position for each
/// bit that is set.
fn sample(payload: &[u8], window_bytes: usize, bound: u64, positions: &mut [u16; 1 << 16]) -> usize {
    let windows = payload.len() - window_bytes + 1;
    let mut count = 0;
    for start in (0..windows).step_by(BITS) {
        let end = windows.min(start + BITS);
        let mut kept = 0u64;
        for first in payload[start..end + 7].windows(8) {
            let first = u64::from_le_bytes(first.try_into().expect("eight bytes"));
            kept = kept << 1 | u64::from(first.wrapping_mul(MULTIPLIER) <= bound);
        }
        kept <<= BITS - (end - start);
        while kept != 0 {
            let at = kept.leading_zeros();
            positions[count & 0xffff] = (start + at as usize) as u16;
            count += 1;
            kept &= !(1 << 63 >> at);
        }
    }
    count
}

/// Mixes the first and the last eight bytes of a window.
fn quick_fingerprint(window: &[u8]) -> u64 {
    let (Some(first), Some(last)) = (window.first_chunk(), window.last_chunk()) else { return 0 };
    let (first, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
    let product = u128::from(first ^ MULTIPLIER) * u128::from(last ^ MULTIPLIER.rotate_left(32));
    product as u64 ^ (product >> 64) as u64
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
        ) {
            for mut finder in both(16, 2) {
                let (mut all, mut some) = (Vec::new(), Vec::new());
                let start = start.min(bytes.len());
                finder.find(&bytes, start..bytes.len(), &mut all);
                finder.find_thinly(&bytes, start..bytes.len(), &mut some);
                all.retain(|anchor| (usize::from(anchor.offset) - start) % THIN_BYTES < THIN_WINDOWS);
                prop_assert_eq!(some, all);
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
