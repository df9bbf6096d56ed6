//! Reception probability vectors (REfactor, section 3.2.1): 4 bits a station, 64 stations a slot.
//!
//! A probability has one of sixteen levels: 0, thirteen steps of a fourteenth, .99, 1. It is rounded down.

use super::OverheardFractions;
use re::pages::Pages;

/// Bytes of a vector.
pub const VECTOR_BYTES: usize = 32;

/// The level of certainty.
const CERTAIN: u8 = 15;
const NEARER: u8 = 14;

/// One slot's probabilities: two stations a byte, the one with the even column in the low bits.
pub type Vector = [u8; VECTOR_BYTES];

/// The level for a probability.
pub fn level(probability: f64) -> u8 {
    match probability {
        1.0.. => CERTAIN,
        OverheardFractions::NEARER.. => NEARER,
        // A rounding error must not lower the level.
        _ => (probability.max(0.0) * 14.0 + 1e-9) as u8,
    }
}

/// The probability of a level.
fn probability(level: u8) -> f64 {
    match level {
        CERTAIN => 1.0,
        NEARER => OverheardFractions::NEARER,
        level => f64::from(level) / 14.0,
    }
}

/// Sets one station's level.
pub fn set_level(vector: &mut Vector, column: u8, level: u8) {
    let byte = &mut vector[usize::from(column / 2)];
    let shift = column % 2 * 4;
    *byte = *byte & !(0xf << shift) | level << shift;
}

/// The vectors.
#[derive(Debug)]
pub struct ByRate {
    vectors: Pages,
}

impl ByRate {
    /// No station has any chunk.
    pub fn new(slot_bits: u8) -> Self {
        ByRate { vectors: Pages::zeroed(VECTOR_BYTES << slot_bits) }
    }

    fn vector(&mut self, slot: u32) -> &mut Vector {
        &mut self.vectors.as_chunks_mut().0[slot as usize]
    }

    /// Forgets the slot, because it has another chunk now.
    pub fn forget_slot(&mut self, slot: u32) {
        *self.vector(slot) = [0; VECTOR_BYTES];
    }

    /// Notes a transmission of the slot's chunk that stations hear at these levels. A station keeps the
    /// higher of two levels.
    pub fn record_transmission(&mut self, slot: u32, heard: &Vector) {
        for (level, new) in self.vector(slot).iter_mut().zip(heard) {
            *level = (*level & 0xf0).max(new & 0xf0) | (*level & 0xf).max(new & 0xf);
        }
    }

    /// Probability that a station has the slot's chunk.
    pub fn probability(&self, slot: u32, column: u8) -> f64 {
        let vector: &Vector = &self.vectors.as_chunks().0[slot as usize];
        probability(vector[usize::from(column / 2)] >> (column % 2 * 4) & 0xf)
    }

    /// Notes that a station has the slot's chunk, or lacks it.
    pub fn set(&mut self, slot: u32, column: u8, has: bool) {
        set_level(self.vector(slot), column, if has { CERTAIN } else { 0 });
    }

    /// Forgets the chunks of these columns' stations.
    pub fn forget_columns(&mut self, columns: u64) {
        let mut kept = [0xff; VECTOR_BYTES];
        (0..64)
            .filter(|column| columns >> column & 1 == 1)
            .for_each(|column| set_level(&mut kept, column, 0));
        for vector in self.vectors.as_chunks_mut::<VECTOR_BYTES>().0 {
            for (level, kept) in vector.iter_mut().zip(kept) {
                *level &= kept;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_round_down_and_tell_certain_from_nearly() {
        for (given, kept) in [
            (0.0, 0.0),
            (0.4, 5.0 / 14.0),
            (0.5, 0.5),
            (0.8, 11.0 / 14.0),
            (0.99, 0.99),
            (0.995, 0.99),
            (1.0, 1.0),
        ] {
            assert!((probability(level(given)) - kept).abs() < 1e-9, "{given}");
        }
    }

    #[test]
    fn a_million_slots_for_64_stations_take_32_mib() {
        assert_eq!(ByRate::new(20).vectors.len(), 32 << 20);
    }

    #[test]
    fn the_higher_level_is_kept_station_by_station() {
        let mut vectors = ByRate::new(14);
        let (mut first, mut second) = ([0; VECTOR_BYTES], [0; VECTOR_BYTES]);
        for (column, a, b) in [(0, 3, 7), (1, 9, 2), (62, 14, 15), (63, 0, 5)] {
            set_level(&mut first, column, a);
            set_level(&mut second, column, b);
        }
        vectors.record_transmission(5, &first);
        vectors.record_transmission(5, &second);
        for (column, level) in [(0, 7), (1, 9), (2, 0), (62, 15), (63, 5)] {
            assert_eq!(vectors.probability(5, column), probability(level), "{column}");
        }
        vectors.forget_columns(1 << 62 | 1);
        assert_eq!(
            [0, 1, 62, 63].map(|column| vectors.probability(5, column)),
            [0, 9, 0, 5].map(probability)
        );
        assert_eq!(vectors.probability(6, 1), 0.0);
    }
}
