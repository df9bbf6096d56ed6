//! Chunks: each payload is cut by its content, and a repeated chunk counts with all its bytes.

use super::Method;
use super::gear::Gear;
use super::literals::Literals;
use super::receivers::{Receivers, Seen};
use crate::packet::Packet;
use crate::savings::{SentInstead, Tally};

/// Parameters of [`Chunk`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkParameters {
    /// The shortest chunk, except the last one of a packet.
    pub min_bytes: usize,
    /// The longest chunk.
    pub max_bytes: usize,
    /// Behind the minimum, a chunk ends at one byte in 2^this.
    pub boundary_bits: u32,
    /// Bytes of a chunk's reference. REfactor's shims take about 6 bytes (REfactor, MobiCom 2011, Table 3:
    /// .31 found and .27 removed with chunks of 32 to 64 bytes).
    pub reference_bytes: usize,
    /// The most chunks remembered, counted again for each further client. One takes up to 50 bytes.
    pub max_chunks: usize,
    /// The level of zstd for the rest.
    pub zstd_level: i32,
}

impl Default for ChunkParameters {
    fn default() -> Self {
        ChunkParameters {
            min_bytes: 32,
            max_bytes: 256,
            boundary_bits: 5,
            reference_bytes: 6,
            max_chunks: 1 << 24,
            zstd_level: crate::DEFAULT_ZSTD_LEVEL,
        }
    }
}

/// Redundancy found by chunks.
pub struct Chunk {
    parameters: ChunkParameters,
    gear: Gear,
    receivers: Receivers,
    literals: Literals,
    tally: Tally,
}

impl Chunk {
    /// The method with these parameters; invalid ones are clamped.
    #[must_use]
    pub fn new(parameters: ChunkParameters) -> Self {
        let min_bytes = parameters.min_bytes.max(1);
        let max_bytes = parameters.max_bytes.max(min_bytes);
        Chunk {
            parameters,
            gear: Gear { min_bytes, max_bytes, bits: parameters.boundary_bits.clamp(1, 31) },
            receivers: Receivers::new(parameters.max_chunks),
            literals: Literals::new(parameters.zstd_level),
            tally: Tally::default(),
        }
    }
}

impl Method for Chunk {
    fn name(&self) -> String {
        "chunk".to_owned()
    }

    fn description(&self) -> String {
        let ChunkParameters { min_bytes, max_bytes, reference_bytes, .. } = self.parameters;
        format!("content-defined chunks of {min_bytes} to {max_bytes} B, {reference_bytes} B a reference")
    }

    fn observe(&mut self, packet: &Packet<'_>) {
        let mut rest = packet.payload();
        let (mut removed_bytes, mut references) = (0, 0);
        self.literals.clear();
        while !rest.is_empty() {
            let (chunk, behind) = rest.split_at(self.gear.first_chunk(rest));
            rest = behind;
            let seen = self.receivers.look_up(chunk, packet);
            if seen != Seen::Never {
                self.tally.count_origin(packet, seen == Seen::BySameClient, chunk.len());
                removed_bytes += chunk.len();
            }
            // A chunk no longer than a reference is redundant, but sent unchanged.
            if seen == Seen::Never || chunk.len() <= self.parameters.reference_bytes {
                self.literals.push(chunk);
            } else {
                references += 1;
            }
        }
        let sent = SentInstead {
            removed_bytes,
            overhead_bytes: references * self.parameters.reference_bytes,
            literal_bytes: self.literals.len(),
            compressed_literal_bytes: self.literals.compressed_bytes(),
        };
        self.tally.count(packet, &sent);
    }

    fn tally(&self) -> Tally {
        Tally { memory_was_full: self.receivers.was_full(), ..self.tally }
    }
}
