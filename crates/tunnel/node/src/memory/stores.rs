//! The stores of a peer, and what their bounds cost.

use crate::config::Config;
use re::{Decoder, Encoder};
use streams::reader_store_bytes;

/// The largest bound of a store, in bytes.
pub const MOST_BOUND: usize = 1 << 30;
/// The bound with which stores begin, at most and at least, in bytes.
const MOST_START: usize = 64 << 20;
const LEAST_START: usize = 16 << 10;
/// What a peer at work takes beside its stores, in bytes.
const BESIDE_STORES: usize = 256 << 10;
/// Each store begins with this share of a peer's part beyond that: two stores take four fifths ...
const START_SHARE: usize = 3;
/// ... and so do four, where streams are on.
const START_SHARE_WITH_STREAMS: usize = 6;
/// Bounds are multiples of so many bytes, which a frame counts them in.
const STEP: usize = 1024;

/// What a store is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Packets to the peer.
    SentPackets,
    /// Packets from the peer.
    ReceivedPackets,
    /// Records of streams to the peer.
    SentRecords,
    /// Records of streams from the peer.
    ReceivedRecords,
}

impl Kind {
    /// Every kind, in the order of a peer's accounts.
    pub const ALL: [Kind; 4] =
        [Kind::SentPackets, Kind::ReceivedPackets, Kind::SentRecords, Kind::ReceivedRecords];

    /// Bytes of memory of a full store whose sender has this bound.
    #[must_use]
    pub fn memory_bytes(self, bound: usize) -> usize {
        match self {
            _ if bound == 0 => 0,
            Kind::SentPackets | Kind::SentRecords => Encoder::most_memory_bytes(bound),
            Kind::ReceivedPackets => Decoder::most_memory_bytes(bound),
            Kind::ReceivedRecords => Decoder::most_memory_bytes(reader_store_bytes(bound)),
        }
    }

    /// The largest bound whose store fits so many bytes of memory.
    #[must_use]
    pub fn bound(self, memory_bytes: usize) -> usize {
        let (mut low, mut high) = (0, memory_bytes.min(MOST_BOUND));
        // the cost rises with the bound
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if self.memory_bytes(middle) <= memory_bytes {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        low / STEP * STEP
    }
}

/// The bound with which the stores of a peer begin, as the hello says it, in bytes. Where there is no budget,
/// it stays so.
#[must_use]
pub fn start_bytes(config: &Config) -> usize {
    let Some(memory) = config.memory else { return config.reduce.store_bytes };
    let share = if config.streams.is_some() { START_SHARE_WITH_STREAMS } else { START_SHARE };
    let share = memory.part_bytes(config.peers.len()).saturating_sub(BESIDE_STORES) / share;
    let start = share.clamp(LEAST_START, MOST_START) / LEAST_START * LEAST_START;
    start.min(config.reduce.store_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_costs_no_more_than_the_memory_that_it_was_found_for() {
        for kind in Kind::ALL {
            assert_eq!((kind.bound(0), kind.memory_bytes(0)), (0, 0));
            for memory in (10..34.min(usize::BITS)).flat_map(|bits| [1usize << bits, (1 << bits) + 12_345]) {
                let bound = kind.bound(memory);
                assert!(kind.memory_bytes(bound) <= memory, "{kind:?} {memory}");
                let is_largest = bound >= MOST_BOUND || kind.memory_bytes(bound + STEP) > memory;
                assert!(is_largest, "{kind:?} {memory} {bound}");
            }
        }
    }
}
