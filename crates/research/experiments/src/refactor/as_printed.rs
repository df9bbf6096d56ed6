//! REfactor as the paper prints it: chunks, caches, collisions, estimates and requests.
//!
//! | part | the paper | here |
//! |---|---|---|
//! | boundaries | MAXP over 32 bytes (section 3.1); 64 bytes a chunk in the mean (5.2) | the same |
//! | reference | the slot's number of n bits (3.1.1) | the same, n as the scaled cache has it |
//! | cache | 512 MB (5.3.1) | 2^23 slots of 64 bytes, scaled by [`Cache::scale`] |
//! | collision | the slot is marked (3.3) | the same |
//! | flush | three phases (3.3), after 200 to 300 MB (5.2) | after 250 MB, scaled |
//! | probability | 1 after an acknowledgment or reply, .99 or Table 1's quotient (3.2.1) | the same |
//! | removal | Exp\[B\] over a threshold (3.2.2) | over 0 s |
//! | request | the packet's shim, and its reply the shim and chunks (3.1.1) | the same, with 28 bytes of headers |
//! | proof | none | none: wrong packets are counted |
//!
//! Choices that the text leaves: the threshold; the amount of traffic behind figures 5 to 7, for which Figure
//! 4's 3 GB stand (a cache with room for the whole trace runs, too); the estimates, since section 5.3.1
//! judges errors of true ones (both run); and a packet with a collision, which section 3 does not encode at
//! all and section 3.3 encodes but for the collided chunk (the latter runs).

use overhear::boundaries::{Boundaries, Method, MinChunk};
use overhear::flush::FlushAfter;
use overhear::knowledge::{KnowledgeKind, OverheardFractions};
use overhear::removal::{Removal, Threshold};
use overhear::{Collisions, Settings};
use wire::shim::slots::MIN_SLOT_BITS;

/// Traffic in bytes that the paper's caches serve.
pub const TRAFFIC_BYTES: u64 = 3 << 30;
/// Bits of a slot's number in the paper's 512 MB.
const PAPER_SLOT_BITS: u8 = 23;
/// Traffic in bytes between two flushes.
const FLUSH_BYTES: u64 = 250_000_000;

/// The paper's boundaries.
#[must_use]
pub fn boundaries(min_chunk: MinChunk) -> Boundaries {
    Boundaries { method: Method::Maxp, min_chunk }
}

/// The paper's cache, scaled to a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cache {
    slot_bits: u8,
}

impl Cache {
    /// For a trace of this many bytes: the next larger power of two, and at least 2^14 slots.
    #[must_use]
    pub fn for_trace(bytes: u64) -> Self {
        let scale_bits = (TRAFFIC_BYTES / bytes.clamp(1, TRAFFIC_BYTES)).ilog2() as u8;
        Self::of(PAPER_SLOT_BITS.saturating_sub(scale_bits).max(MIN_SLOT_BITS))
    }

    /// A cache of two to this many slots.
    #[must_use]
    pub fn of(slot_bits: u8) -> Self {
        Self { slot_bits }
    }

    /// Bits of a slot's number.
    #[must_use]
    pub fn slot_bits(self) -> u8 {
        self.slot_bits
    }

    /// The paper's cache by this one.
    #[must_use]
    pub fn scale(self) -> u64 {
        1 << PAPER_SLOT_BITS.saturating_sub(self.slot_bits)
    }

    /// Traffic in bytes between two flushes.
    #[must_use]
    pub fn flush_bytes(self) -> u64 {
        FLUSH_BYTES / self.scale()
    }
}

/// The paper's settings over those of a network with this key.
#[must_use]
pub fn settings(network_key: [u8; 32], cache: Cache, fractions: OverheardFractions) -> Settings {
    Settings {
        boundaries: boundaries(MinChunk::Bytes32),
        slot_bits: cache.slot_bits(),
        collisions: collisions(cache),
        knowledge: KnowledgeKind::ByRate(fractions),
        removal: removal(),
        parts: false,
        ..Settings::new(network_key)
    }
}

/// Marked slots, and a flush by traffic alone.
#[must_use]
pub fn collisions(cache: Cache) -> Collisions {
    Collisions::Mark(FlushAfter { traffic_bytes: cache.flush_bytes(), marked_share: 1.0 })
}

/// The model with a threshold of 0 s, and no other access point.
#[must_use]
pub fn removal() -> Removal {
    Removal::Model { others_load: 0.0, threshold: Threshold::Seconds(0.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::papers;

    #[test]
    fn the_cache_keeps_the_papers_slots_for_each_byte_of_traffic() {
        let whole = Cache::for_trace(TRAFFIC_BYTES);
        assert_eq!((whole.slot_bits(), whole.scale(), whole.flush_bytes()), (23, 1, 250_000_000));
        let part = Cache::for_trace(32 << 20);
        assert_eq!((part.slot_bits(), part.scale(), part.flush_bytes()), (17, 64, 3_906_250));
        assert_eq!(Cache::for_trace(1 << 20).slot_bits(), MIN_SLOT_BITS);
    }

    #[test]
    fn the_flush_is_within_what_the_paper_recommends() {
        let recommended = papers::REFACTOR.value("section-5.2/flush-recommended");
        let [low, high] = [recommended.low().get(), recommended.high().get()].map(|mb| mb * 1e6);
        assert!((low..=high).contains(&(FLUSH_BYTES as f64)), "{low} {high}");
    }
}
