//! Input of the methods: packets with their new bytes only, and marked whole retransmissions.

use crate::flow::Toward;
use std::ops::Range;
use wire::inner::Inner;

/// A client's number, in order of appearance.
pub type Client = u32;

/// A packet with payload.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    /// The IP packet: its headers, then the payload bytes that are new in the capture. All payload bytes if
    /// it is `retransmitted`.
    pub bytes: &'a [u8],
    /// Its parsed headers; the payload's range is that in `bytes`.
    pub inner: &'a Inner,
    /// Client of its flow.
    pub client: Client,
    /// Its direction.
    pub toward: Toward,
    /// Whether it is TCP and all of its payload occurred before.
    pub retransmitted: bool,
}

impl<'a> Packet<'a> {
    /// The transport's payload, never empty.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[self.inner.payload_offset..]
    }
}

#[derive(Debug, Clone)]
struct Entry {
    end: usize,
    inner: Inner,
    client: Client,
    toward: Toward,
    retransmitted: bool,
}

/// Consecutive packets in one buffer.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

impl Batch {
    /// Adds a copy of a packet.
    pub fn push(&mut self, packet: &Packet<'_>) {
        self.push_part(packet, 0..packet.payload().len());
    }

    /// Adds a packet as if it had only this part of its payload.
    pub fn push_part(&mut self, packet: &Packet<'_>, part: Range<usize>) {
        let Packet { bytes, inner, client, toward, retransmitted } = *packet;
        let (headers, payload) = bytes.split_at(inner.payload_offset);
        let inner = Inner {
            tcp_sequence: inner.tcp_sequence.map(|sequence| sequence.wrapping_add(part.start as u32)),
            total_bytes: headers.len() + part.len(),
            ..*inner
        };
        self.bytes.extend_from_slice(headers);
        self.bytes.extend_from_slice(&payload[part]);
        self.entries.push(Entry { end: self.bytes.len(), inner, client, toward, retransmitted });
    }

    /// The packets, in the capture's order.
    pub fn packets(&self) -> impl Iterator<Item = Packet<'_>> {
        let mut start = 0;
        self.entries.iter().map(move |entry| {
            let bytes = &self.bytes[start..entry.end];
            start = entry.end;
            let &Entry { ref inner, client, toward, retransmitted, .. } = entry;
            Packet { bytes, inner, client, toward, retransmitted }
        })
    }

    /// Bytes of all packets.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Removes the packets and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
    }
}
