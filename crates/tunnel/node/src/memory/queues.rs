//! The part of queues in a budget.

use crate::config::Config;

/// The queues of all peers may take this share of the budget, and one of them at least so many bytes.
const QUEUES_SHARE: usize = 8;
const LEAST_QUEUE: usize = 64 << 10;

/// The most bytes in the queue of a peer with this part of the budget.
#[must_use]
pub fn queue_bytes(part_bytes: usize) -> usize {
    (part_bytes / QUEUES_SHARE).max(LEAST_QUEUE)
}

/// The most bytes in the queue of each peer, before it is known who has a link.
#[must_use]
pub fn start_queue_bytes(config: &Config) -> usize {
    let part = config.memory.map(|memory| memory.part_bytes(config.peers.len()));
    part.map_or(config.queue_bytes, |part| queue_bytes(part).min(config.queue_bytes))
}
