//! Chunks in memory. With a disk, chunks are evicted from memory. Without one, they stay as long as their
//! responses, and only their size is counted.

use super::chunk::ChunkId;
use super::eviction::{Eviction, Policy};

/// The chunks in memory.
pub struct Resident {
    bytes: u64,
    order: Option<Eviction<ChunkId>>,
}

impl Resident {
    /// No chunks; `policy` is the order of eviction with a disk.
    pub fn new(policy: Option<Policy>) -> Self {
        Resident { bytes: 0, order: policy.map(Eviction::new) }
    }

    /// Their size in octets.
    pub fn bytes(&self) -> u64 {
        self.order.as_ref().map_or(self.bytes, Eviction::cost)
    }

    /// Adds a chunk.
    pub fn insert(&mut self, id: ChunkId, length: u32) {
        match &mut self.order {
            Some(order) => order.insert(id, u64::from(length)),
            None => self.bytes += u64::from(length),
        }
    }

    /// Notes a request for a chunk.
    pub fn touch(&mut self, id: &ChunkId) {
        if let Some(order) = &mut self.order {
            order.touch(id);
        }
    }

    /// Removes a chunk. With a disk, it may be evicted already.
    pub fn remove(&mut self, id: &ChunkId, length: u32) {
        match &mut self.order {
            Some(order) => order.remove(id),
            None => self.bytes = self.bytes.saturating_sub(u64::from(length)),
        }
    }

    /// Evicts the first chunk in the order.
    pub fn pop(&mut self) -> Option<ChunkId> {
        self.order.as_mut()?.pop()
    }
}
