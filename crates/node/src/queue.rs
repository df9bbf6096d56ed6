//! The queue stage: packets wait here for their peer's turn, bounded in bytes.
//!
//! It comes before everything else, so that what is dropped here never had a link sequence. The buffers go
//! round: once warm, nothing is allocated.

use std::collections::VecDeque;

/// A queue of packets for one peer.
#[derive(Debug)]
pub struct Queue {
    packets: VecDeque<Vec<u8>>,
    spare: Vec<Vec<u8>>,
    bytes: usize,
    limit_bytes: usize,
    /// Packets dropped because the queue was full.
    pub dropped: u64,
}

/// How many empty buffers are kept for reuse.
const SPARE_BUFFERS: usize = 64;

impl Queue {
    /// An empty queue for at most `limit_bytes`.
    #[must_use]
    pub fn new(limit_bytes: usize) -> Self {
        Queue { packets: VecDeque::new(), spare: Vec::new(), bytes: 0, limit_bytes, dropped: 0 }
    }

    /// Bytes that wait.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// The length of the packet whose turn is next.
    #[must_use]
    pub fn next_bytes(&self) -> Option<usize> {
        self.packets.front().map(Vec::len)
    }

    /// Lets a copy of `packet` wait; drops it when there is no room.
    pub fn push(&mut self, packet: &[u8]) {
        if self.bytes + packet.len() > self.limit_bytes {
            self.dropped += 1;
            return;
        }
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(packet);
        self.push_buffer(buffer);
    }

    /// Lets `packet` itself wait, whatever the room: for packets that were admitted before.
    pub fn push_buffer(&mut self, packet: Vec<u8>) {
        self.bytes += packet.len();
        self.packets.push_back(packet);
    }

    /// The next packet. Give the buffer back with [`Queue::recycle`].
    pub fn pop(&mut self) -> Option<Vec<u8>> {
        let packet = self.packets.pop_front()?;
        self.bytes -= packet.len();
        Some(packet)
    }

    /// An empty buffer, used before if there is one.
    pub fn buffer(&mut self) -> Vec<u8> {
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer
    }

    /// Takes a buffer back.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        if self.spare.len() < SPARE_BUFFERS {
            self.spare.push(buffer);
        }
    }

    /// Forgets what waits.
    pub fn clear(&mut self) {
        while let Some(packet) = self.pop() {
            self.recycle(packet);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_leave_in_order_and_never_exceed_the_bound() {
        let mut queue = Queue::new(10);
        for packet in [&b"four"[..], b"five5", b"six", b"s"] {
            queue.push(packet);
            assert!(queue.bytes() <= 10);
        }
        assert_eq!(queue.dropped, 1);
        let left: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(left, [&b"four"[..], b"five5", b"s"]);
        assert_eq!(queue.bytes(), 0);
    }
}
