//! Chunks in memory. Where a disk has them too, some leave memory for others; where memory is all, they go
//! with the responses that they belong to, and only what they take is counted.

use super::chunk::ChunkId;
use super::eviction::{Eviction, Policy};

/// What is in memory.
pub struct Resident {
    bytes: u64,
    order: Option<Eviction<ChunkId>>,
}

impl Resident {
    /// Nothing yet; in the order of `policy` where chunks may leave.
    pub fn new(policy: Option<Policy>) -> Self {
        Resident { bytes: 0, order: policy.map(Eviction::new) }
    }

    /// In octets.
    pub fn bytes(&self) -> u64 {
        self.order.as_ref().map_or(self.bytes, Eviction::cost)
    }

    /// A chunk comes.
    pub fn insert(&mut self, id: ChunkId, length: u32) {
        match &mut self.order {
            Some(order) => order.insert(id, u64::from(length)),
            None => self.bytes += u64::from(length),
        }
    }

    /// A chunk is asked for.
    pub fn touch(&mut self, id: &ChunkId) {
        if let Some(order) = &mut self.order {
            order.touch(id);
        }
    }

    /// A chunk is kept no more; where chunks may leave, it may have left before.
    pub fn remove(&mut self, id: &ChunkId, length: u32) {
        match &mut self.order {
            Some(order) => order.remove(id),
            None => self.bytes = self.bytes.saturating_sub(u64::from(length)),
        }
    }

    /// The chunk that is to leave first.
    pub fn pop(&mut self) -> Option<ChunkId> {
        self.order.as_mut()?.pop()
    }
}
