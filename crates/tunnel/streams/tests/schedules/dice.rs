//! Choices that a seed decides.

use std::ops::Range;
use std::time::Duration;

/// SplitMix64: the same choices for the same seed, on every machine.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Dice(seed)
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub fn within(&mut self, range: Range<u64>) -> u64 {
        range.start + self.number() % (range.end - range.start).max(1)
    }

    /// Whether something happens that happens so many times in 1000.
    pub fn happens(&mut self, in_1000: u64) -> bool {
        self.within(0..1000) < in_1000
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.within(0..from.len() as u64) as usize]
    }

    pub fn milliseconds(&mut self, range: Range<u64>) -> Duration {
        Duration::from_micros(self.within(range.start * 1000..range.end * 1000))
    }
}
