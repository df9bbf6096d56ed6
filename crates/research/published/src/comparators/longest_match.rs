//! The upper bound of Max-Match (section 3.1): at each position of a packet, the longest stretch that
//! occurred before, at any time.
//!
//! Every stretch of at least 32 bytes is found, because each contains one of the 16-byte blocks that index
//! the history. The 64 latest equal blocks are compared. A stretch may span packets.

use super::Counted;
use foldhash::fast::FixedState;
use std::collections::HashMap;

/// The shortest stretch in bytes: the paper's region.
const SHORTEST_BYTES: usize = 32;
/// Bytes of an indexed block: half the shortest stretch, so that each stretch holds one.
const BLOCK_BYTES: usize = SHORTEST_BYTES / 2;
/// Equal blocks that are compared.
const MOST_CANDIDATES: usize = 64;

type Block = [u8; BLOCK_BYTES];

/// The history of one receiver, and the removable bytes that follow from it.
#[derive(Debug)]
pub struct LongestMatch {
    reference_bits: u64,
    history: Vec<u8>,
    /// The latest block with these bytes, by its number.
    latest: HashMap<Block, u32, FixedState>,
    /// For each block, the one before it with the same bytes.
    before: Vec<Option<u32>>,
    /// For each position of the packet, the latest block with the bytes that begin there.
    heads: Vec<Option<u32>>,
}

impl LongestMatch {
    /// An empty history; each removed stretch costs `reference_bits` bits.
    #[must_use]
    pub fn new(reference_bits: u64) -> Self {
        LongestMatch {
            reference_bits,
            history: Vec::new(),
            latest: HashMap::default(),
            before: Vec::new(),
            heads: Vec::new(),
        }
    }

    /// A packet that is sent to the receiver.
    pub fn encode(&mut self, packet: &[u8]) -> Counted {
        let (latest, heads) = (&self.latest, &mut self.heads);
        heads.clear();
        heads.extend(packet.windows(BLOCK_BYTES).map(|window| latest.get(window).copied()));
        let (mut at, mut found_bytes, mut references) = (0, 0, 0);
        while at + SHORTEST_BYTES <= packet.len() {
            let longest = self.longest(packet, at);
            if longest >= SHORTEST_BYTES {
                found_bytes += longest;
                references += 1;
            }
            at += if longest >= SHORTEST_BYTES { longest } else { 1 };
        }
        self.keep(packet);
        let packet_bytes = packet.len() as u64;
        let sent_bytes = packet_bytes - found_bytes as u64 + (references * self.reference_bits).div_ceil(8);
        Counted { packet_bytes, found_bytes: found_bytes as u64, sent_bytes }
    }

    /// Adds a packet to the receiver's history.
    pub fn keep(&mut self, packet: &[u8]) {
        self.history.extend_from_slice(packet);
        let (blocks, _) = self.history.as_chunks::<BLOCK_BYTES>();
        for block in &blocks[self.before.len()..] {
            let number = self.before.len() as u32;
            self.before.push(self.latest.insert(*block, number));
        }
    }

    /// Length of the longest stretch of the history at this position.
    fn longest(&self, packet: &[u8], at: usize) -> usize {
        let ahead = at..(at + BLOCK_BYTES).min(self.heads.len());
        let mut longest = 0;
        for place in ahead {
            let mut candidate = self.heads[place];
            for _ in 0..MOST_CANDIDATES {
                let Some(block) = candidate else { break };
                if let Some(start) = (block as usize * BLOCK_BYTES).checked_sub(place - at) {
                    let equal = packet[at..].iter().zip(&self.history[start..]).take_while(|(a, b)| a == b);
                    longest = longest.max(equal.count());
                }
                candidate = self.before[block as usize];
            }
        }
        longest
    }
}
