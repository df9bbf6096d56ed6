//! Perfect RE (section 5.3.1): no collisions, unlimited memory, all stations hear everything.

use super::Counted;
use foldhash::fast::FixedState;
use overhear::address::Addresses;
use overhear::boundaries::Boundaries;
use overhear::references::{Grower, Reference, Surroundings, gaps, runs};
use std::collections::HashMap;
use std::ops::Range;
use wire::shim::slots::{Run, Slots};

/// A chunk, with its latest neighbours.
#[derive(Debug)]
struct Kept {
    bytes: Range<usize>,
    before: Option<u32>,
    behind: Option<u32>,
}

/// Chunks in the order of their arrival.
#[derive(Debug, Default)]
struct Chunks {
    bytes: Vec<u8>,
    kept: Vec<Kept>,
    by_address: HashMap<u64, u32, FixedState>,
}

impl Chunks {
    /// The number of this chunk, which is kept from now on.
    fn keep(&mut self, address: u64, chunk: &[u8]) -> u32 {
        *self.by_address.entry(address).or_insert_with(|| {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(chunk);
            self.kept.push(Kept { bytes: start..self.bytes.len(), before: None, behind: None });
            self.kept.len() as u32 - 1
        })
    }
}

impl Surroundings for Chunks {
    fn before(&self, chunk: u32) -> Option<u32> {
        self.kept[chunk as usize].before
    }

    fn behind(&self, chunk: u32) -> Option<u32> {
        self.kept[chunk as usize].behind
    }

    fn prefetch(&self, _chunk: u32) {}

    fn bytes(&self, chunk: u32) -> &[u8] {
        &self.bytes[self.kept[chunk as usize].bytes.clone()]
    }
}

/// Counts bytes without sending.
#[derive(Debug)]
pub struct Ideal {
    boundaries: Boundaries,
    slot_bits: u8,
    addresses: Addresses,
    chunks: Chunks,
    with_parts: bool,
    found: Vec<Reference>,
    references: Vec<Reference>,
    runs: Vec<Run>,
}

impl Ideal {
    /// References have the length of slots with `slot_bits` bits. They cover whole chunks as in the paper, or
    /// also their neighbours.
    #[must_use]
    pub fn new(boundaries: Boundaries, slot_bits: u8, network_key: &[u8; 32], with_parts: bool) -> Self {
        Ideal {
            boundaries,
            slot_bits,
            addresses: Addresses::new(network_key),
            chunks: Chunks::default(),
            with_parts,
            found: Vec::new(),
            references: Vec::new(),
            runs: Vec::new(),
        }
    }

    /// Encodes a packet to a station, with or without a MAC.
    pub fn encode(&mut self, packet: &[u8], with_mac: bool) -> Counted {
        self.found.clear();
        self.references.clear();
        let smallest_bytes = self.boundaries.min_chunk.bytes();
        for range in self.boundaries.chunks(packet).filter(|range| range.len() >= smallest_bytes) {
            let address = self.addresses.of(&packet[range.clone()]);
            if let Some(chunk) = self.chunks.by_address.get(&address.bits()) {
                self.found.push(Reference::to_whole(range, *chunk));
            }
        }
        if self.with_parts {
            let mut grower = Grower { packet, seen: &self.chunks, smallest_bytes, allows: |_, _| true };
            grower.grow(&self.found, &mut self.references);
        } else {
            self.references.clone_from(&self.found);
        }
        let found_bytes: usize = self.references.iter().map(|reference| reference.range.len()).sum();
        runs(&self.references, &mut self.runs);
        let slots = vec![0; self.references.len()];
        let mac = (with_mac && !slots.is_empty()).then_some([0; 8]);
        let shim = Slots { slot_bits: self.slot_bits, mac, runs: &self.runs, slots: &slots };
        let encoded_bytes = packet.len() - found_bytes + shim.encoded_len();
        self.keep(packet);
        Counted {
            packet_bytes: packet.len() as u64,
            found_bytes: found_bytes as u64,
            sent_bytes: encoded_bytes.min(packet.len() + 1) as u64,
        }
    }

    /// Keeps the packet's chunks and their neighbours.
    fn keep(&mut self, packet: &[u8]) {
        let Ideal { boundaries, addresses, chunks, references, .. } = self;
        let smallest_bytes = boundaries.min_chunk.bytes();
        let mut standing: Vec<(Range<usize>, u32)> =
            references.iter().map(|reference| (reference.range.clone(), reference.chunk)).collect();
        for gap in gaps(references, packet.len()).filter(|gap| gap.len() >= smallest_bytes) {
            for range in boundaries.chunks(&packet[gap.clone()]) {
                let range = range.start + gap.start..range.end + gap.start;
                let chunk = &packet[range.clone()];
                standing.push((range, chunks.keep(addresses.of(chunk).bits(), chunk)));
            }
        }
        standing.sort_unstable_by_key(|(range, _)| range.start);
        for pair in standing.windows(2) {
            let [(one, first), (other, second)] = pair else { continue };
            let is_whole = |range: &Range<usize>, chunk: u32| range.len() == chunks.bytes(chunk).len();
            if one.end == other.start && is_whole(one, *first) && is_whole(other, *second) {
                chunks.kept[*first as usize].behind = Some(*second);
                chunks.kept[*second as usize].before = Some(*first);
            }
        }
    }
}
