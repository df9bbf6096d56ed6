//! Packets for this host that wait to be delivered, in order.
//!
//! A driver takes them all after every datagram that it hands in, so that no more waits than one datagram
//! sets free: its own packets and those that [nack](crate::arq::nack) and [reorder](crate::arq::reorder) held
//! for them, which is bounded. Fairness was the sender's business.

use crate::buffers::Buffers;
use std::collections::VecDeque;

/// Bytes of empty buffers that are kept.
const SPARE_BYTES: usize = 1 << 18;

/// The packets and their buffers.
#[derive(Debug)]
pub struct Deliveries {
    packets: VecDeque<Vec<u8>>,
    buffers: Buffers,
}

impl Default for Deliveries {
    fn default() -> Self {
        Deliveries { packets: VecDeque::new(), buffers: Buffers::new(SPARE_BYTES) }
    }
}

impl Deliveries {
    /// An empty buffer to restore a packet into.
    #[must_use]
    pub fn buffer(&mut self) -> Vec<u8> {
        self.buffers.take()
    }

    /// Lets `packet` wait.
    pub fn push(&mut self, packet: Vec<u8>) {
        self.packets.push_back(packet);
    }

    /// The next packet. Give the buffer back with [`Deliveries::recycle`].
    pub fn pop(&mut self) -> Option<Vec<u8>> {
        self.packets.pop_front()
    }

    /// Frees buffers that nobody needed since the last call.
    pub fn trim(&mut self) {
        self.buffers.trim();
    }

    /// Bytes of memory now.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.packets.iter().map(Vec::capacity).sum::<usize>() + self.buffers.memory_bytes()
    }

    /// Takes a buffer back.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        self.buffers.recycle(buffer);
    }
}
