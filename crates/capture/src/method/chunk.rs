//! Chunks: each payload is cut by its content, and a chunk that was seen before counts with all its bytes.

use super::gear::Gear;
use super::literals::Literals;
use super::{Method, Savings, SentInstead};
use crate::flow::Toward;
use crate::packet::{Client, Packet};
use foldhash::fast::FixedState;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;

/// Parameters of [`Chunk`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkParameters {
    /// The shortest chunk, but for the last of a packet.
    pub min_bytes: usize,
    /// The longest chunk.
    pub max_bytes: usize,
    /// Behind the minimum a chunk ends at one byte in 2^this.
    pub boundary_bits: u32,
    /// What is sent in place of a chunk. REfactor's shims take about 6 bytes (REfactor, MobiCom 2011, Table 3:
    /// .31 found and .27 removed with chunks of 32 to 64 bytes).
    pub reference_bytes: usize,
    /// The most chunks remembered. One takes 17 to 34 bytes of memory.
    pub max_chunks: usize,
    /// The level of zstd for what is left.
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

/// Who received a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Receivers {
    One(Client),
    /// Then the set of pairs says who.
    Several,
}

/// Redundancy by chunks.
pub struct Chunk {
    parameters: ChunkParameters,
    gear: Gear,
    hasher: FixedState,
    /// Chunks on the way to clients.
    received: HashMap<u64, Receivers, foldhash::fast::RandomState>,
    /// Chunk and client, for chunks that several clients received.
    received_by: HashSet<(u64, Client), foldhash::fast::RandomState>,
    /// Chunks on the way to servers.
    sent: HashSet<u64, foldhash::fast::RandomState>,
    literals: Literals,
    savings: Savings,
}

impl Chunk {
    /// With these parameters; nonsensical ones are taken as far as they make sense.
    #[must_use]
    pub fn new(parameters: ChunkParameters) -> Self {
        let gear = Gear {
            min_bytes: parameters.min_bytes.max(1),
            max_bytes: parameters.max_bytes.max(parameters.min_bytes).max(1),
            bits: parameters.boundary_bits.clamp(1, 32),
        };
        Chunk {
            parameters,
            gear,
            hasher: FixedState::default(),
            received: HashMap::default(),
            received_by: HashSet::default(),
            sent: HashSet::default(),
            literals: Literals::new(parameters.zstd_level),
            savings: Savings::default(),
        }
    }

    /// Looks a chunk up and remembers it. `None`: not seen before; else whether the same client had it.
    fn look_up(&mut self, chunk: u64, packet: &Packet<'_>) -> Option<bool> {
        let remembered = self.received.len() + self.received_by.len() + self.sent.len();
        let full = remembered >= self.parameters.max_chunks;
        self.savings.memory_was_full |= full;
        if packet.toward == Toward::Server {
            let seen = self.sent.contains(&chunk);
            if !seen && !full {
                self.sent.insert(chunk);
            }
            return seen.then_some(true);
        }
        let client = packet.client;
        match self.received.get(&chunk) {
            None => {
                if !full {
                    self.received.insert(chunk, Receivers::One(client));
                }
                None
            }
            Some(&Receivers::One(receiver)) if receiver == client => Some(true),
            Some(&Receivers::One(receiver)) => {
                if !full {
                    self.received.insert(chunk, Receivers::Several);
                    self.received_by.extend([(chunk, receiver), (chunk, client)]);
                }
                Some(false)
            }
            Some(Receivers::Several) => {
                let same_client = self.received_by.contains(&(chunk, client));
                if !same_client && !full {
                    self.received_by.insert((chunk, client));
                }
                Some(same_client)
            }
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
            if let Some(same_client) = self.look_up(self.hasher.hash_one(chunk), packet) {
                self.savings.count_origin(packet, same_client, chunk.len());
                removed_bytes += chunk.len();
                references += 1;
            } else {
                self.literals.push(chunk);
            }
        }
        self.savings.count(&SentInstead {
            removed_bytes,
            overhead_bytes: references * self.parameters.reference_bytes,
            literal_bytes: self.literals.len(),
            compressed_literal_bytes: self.literals.compressed_bytes(),
        });
    }

    fn savings(&self) -> Savings {
        self.savings
    }
}
