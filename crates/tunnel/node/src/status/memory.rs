//! The status of the node's memory.

use serde::{Deserialize, Serialize};

/// The budget of memory, and its use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryStatus {
    /// The budget in bytes: `[memory] mib`.
    pub budget_bytes: usize,
    /// The bytes that all stores may take by their present bounds.
    pub held_bytes: usize,
    /// The bytes that all stores take now.
    pub store_bytes: usize,
    /// The bytes of tables, queues and buffers beside stores.
    pub other_bytes: usize,
}

/// The stores of a peer. A bound is that of the sender of the direction, in bytes of packets. Memory is in
/// bytes with all tables.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoresStatus {
    /// The bound for packets to the peer.
    pub sent_bound_bytes: usize,
    /// Bytes in memory for that.
    pub sent_memory_bytes: usize,
    /// The bound for packets from the peer.
    pub received_bound_bytes: usize,
    /// Bytes in memory for that.
    pub received_memory_bytes: usize,
    /// The bound for records of streams to the peer. 0 without streams.
    pub sent_records_bound_bytes: usize,
    /// Bytes in memory for that.
    pub sent_records_memory_bytes: usize,
    /// The bound for records of streams from the peer. 0 without streams.
    pub received_records_bound_bytes: usize,
    /// Bytes in memory for that.
    pub received_records_memory_bytes: usize,
    /// Bytes to the peer that repeated what had left the stores, since the link began. Larger stores would
    /// save most of them. It is an estimate by the packets that were searched.
    #[serde(default)]
    pub departed_bytes: u64,
}
