//! Chunk-Match with SHA-1: chunks in order of arrival, with references of 20 bytes.
//!
//! ```text
//! | pieces (varint) | once a piece: 2 x chunk's length + 1 if a hash is meant (varint) | hashes | literals ... |
//! ```
//!
//! A piece that consists of a hash alone has length 0. With shipped hashes, every chunk has one.

use super::Counted;
use foldhash::fast::FixedState;
use overhear::boundaries::Boundaries;
use sha1::{Digest, Sha1};
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use wire::shim::MAX_RESTORED_BYTES;
use wire::varint;

type Hash = [u8; 20];

/// Units of comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Chunks of the packet.
    Chunks(Boundaries),
    /// The whole packet.
    Packets,
}

impl Cut {
    fn chunks(self, packet: &[u8], out: &mut Vec<Range<usize>>) {
        out.clear();
        match self {
            Cut::Chunks(boundaries) => out.extend(boundaries.chunks(packet)),
            Cut::Packets if packet.is_empty() => {}
            Cut::Packets => out.push(0..packet.len()),
        }
    }
}

/// The side that computes the hashes of sent chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hashes {
    /// The receiver.
    Reckoned,
    /// The sender, which sends them with the chunks.
    Shipped,
}

fn hash(chunk: &[u8]) -> Hash {
    Sha1::digest(chunk).into()
}

/// Chunks by hash; the oldest ones are dropped.
#[derive(Debug)]
struct Chunks {
    bound_bytes: usize,
    used_bytes: usize,
    by_hash: HashMap<Hash, Box<[u8]>, FixedState>,
    order: VecDeque<Hash>,
}

impl Chunks {
    fn new(bound_bytes: usize) -> Self {
        Chunks { bound_bytes, used_bytes: 0, by_hash: HashMap::default(), order: VecDeque::new() }
    }

    fn insert(&mut self, hash: Hash, chunk: &[u8]) {
        if self.by_hash.contains_key(&hash) || chunk.len() > self.bound_bytes {
            return;
        }
        self.used_bytes += chunk.len();
        while self.used_bytes > self.bound_bytes
            && let Some(oldest) = self.order.pop_front()
        {
            self.used_bytes -= self.by_hash.remove(&oldest).map_or(0, |chunk| chunk.len());
        }
        self.by_hash.insert(hash, chunk.into());
        self.order.push_back(hash);
    }
}

/// The encoder.
#[derive(Debug)]
pub struct HashedChunks {
    cut: Cut,
    hashes: Hashes,
    chunks: Chunks,
    ranges: Vec<Range<usize>>,
    of_packet: Vec<(Hash, bool)>,
}

impl HashedChunks {
    /// An encoder that keeps so many bytes of chunks.
    #[must_use]
    pub fn new(cut: Cut, hashes: Hashes, bound_bytes: usize) -> Self {
        HashedChunks {
            cut,
            hashes,
            chunks: Chunks::new(bound_bytes),
            ranges: Vec::new(),
            of_packet: Vec::new(),
        }
    }

    /// Appends the packet's encoding.
    pub fn encode(&mut self, packet: &[u8], out: &mut Vec<u8>) -> Counted {
        let start = out.len();
        self.cut.chunks(packet, &mut self.ranges);
        self.of_packet.clear();
        let mut found_bytes = 0;
        varint::emit(self.ranges.len() as u32, out);
        for range in &self.ranges {
            let chunk = &packet[range.clone()];
            let hash = hash(chunk);
            let found = self.chunks.by_hash.contains_key(&hash);
            self.of_packet.push((hash, found));
            let (count, means_hash) = if found { (0, 1) } else { (chunk.len(), 0) };
            let shipped = u32::from(self.hashes == Hashes::Shipped);
            varint::emit(2 * count as u32 + (means_hash | shipped), out);
            found_bytes += if found { chunk.len() } else { 0 };
        }
        for (hash, found) in &self.of_packet {
            if *found || self.hashes == Hashes::Shipped {
                out.extend_from_slice(hash);
            }
        }
        for (range, (hash, found)) in self.ranges.iter().zip(&self.of_packet) {
            if !found {
                out.extend_from_slice(&packet[range.clone()]);
                self.chunks.insert(*hash, &packet[range.clone()]);
            }
        }
        Counted {
            packet_bytes: packet.len() as u64,
            found_bytes: found_bytes as u64,
            sent_bytes: (out.len() - start) as u64,
        }
    }
}

/// The decoder.
#[derive(Debug)]
pub struct HashedChunksReceiver {
    chunks: Chunks,
    new_chunks: Vec<(Hash, Range<usize>)>,
}

impl HashedChunksReceiver {
    /// A decoder that keeps so many bytes of chunks.
    #[must_use]
    pub fn new(bound_bytes: usize) -> Self {
        HashedChunksReceiver { chunks: Chunks::new(bound_bytes), new_chunks: Vec::new() }
    }

    /// Appends the packet; `None` if a chunk is missing or the input is malformed.
    pub fn decode(&mut self, encoded: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let mut pieces = encoded;
        let count = varint::parse(&mut pieces).ok()?;
        let mut rest = pieces;
        let mut hash_count = 0;
        for _ in 0..count {
            hash_count += usize::from(varint::parse(&mut rest).ok()? & 1 == 1);
        }
        let (hashes, mut literals) = rest.split_at_checked(hash_count.checked_mul(size_of::<Hash>())?)?;
        let (mut hashes, _) = hashes.as_chunks::<{ size_of::<Hash>() }>();
        self.new_chunks.clear();
        for _ in 0..count {
            let piece = varint::parse(&mut pieces).ok()?;
            let (chunk, behind) = literals.split_at_checked(piece as usize / 2)?;
            literals = behind;
            let shipped = if piece & 1 == 1 {
                let (first, others) = hashes.split_first()?;
                hashes = others;
                Some(*first)
            } else {
                None
            };
            if chunk.is_empty() {
                out.extend_from_slice(self.chunks.by_hash.get(&shipped?)?);
            } else {
                let start = out.len();
                out.extend_from_slice(chunk);
                self.new_chunks.push((shipped.unwrap_or_else(|| hash(chunk)), start..out.len()));
            }
            if out.len() > MAX_RESTORED_BYTES {
                return None;
            }
        }
        // Insertion comes last, as in the encoder, because new chunks displace old ones.
        for (hash, range) in self.new_chunks.drain(..) {
            self.chunks.insert(hash, &out[range]);
        }
        Some(())
    }
}
