//! Restored packets that wait to be delivered, in order.
//!
//! A driver takes them all after every datagram that it hands in, so that no more waits than one datagram
//! sets free: its own packets and those that [nack](crate::arq::nack) and [reorder](crate::arq::reorder) held
//! for them, which is bounded. Fairness was the sender's business.

use crate::buffers::Buffers;
use std::collections::VecDeque;

/// Bytes of empty buffers that are kept.
const SPARE_BYTES: usize = 1 << 18;

/// A packet, and the link sequence under which its peer sent it; none where it did not come so.
pub type Delivery = (Vec<u8>, Option<u64>);

/// The packets and their buffers.
#[derive(Debug)]
pub struct Deliveries {
    packets: VecDeque<Delivery>,
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
    pub fn push_buffer(&mut self, packet: Vec<u8>) {
        self.packets.push_back((packet, None));
    }

    /// Lets `packet` wait, which its peer sent as `sequence`.
    pub fn push_sent(&mut self, sequence: u64, packet: Vec<u8>) {
        self.packets.push_back((packet, Some(sequence)));
    }

    /// How many wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Takes back those that came after the first `count`.
    pub fn take_behind(&mut self, count: usize) -> VecDeque<Delivery> {
        self.packets.split_off(count.min(self.packets.len()))
    }

    /// The next packet. Give the buffer back with [`Deliveries::recycle`].
    pub fn pop(&mut self) -> Option<Vec<u8>> {
        self.packets.pop_front().map(|(packet, _)| packet)
    }

    /// Takes a buffer back.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        self.buffers.recycle(buffer);
    }
}
