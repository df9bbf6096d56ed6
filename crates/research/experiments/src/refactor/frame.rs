//! Packets that the access point sends at once.

use super::reduction::Encoded;
use crate::trace::TracePacket;

/// The length of each of several packets in a datagram.
const LENGTH_BYTES: usize = 2;

/// A packet as it is sent.
pub struct Coded {
    /// Its place in the trace.
    pub trace_number: u64,
    /// The packet.
    pub packet: TracePacket,
    /// Its payload as it is sent.
    pub encoded: Encoded,
    /// Bytes of its number; the paper has none.
    pub sequence_bytes: usize,
}

impl Coded {
    /// Bytes of its headers, its number and its remaining payload.
    pub fn bytes(&self) -> usize {
        self.packet.payload_offset + self.sequence_bytes + self.encoded.bytes.len()
    }

    /// Bytes of what stands in place of the removed ones.
    pub fn shim_bytes(&self) -> usize {
        self.encoded.bytes.len() + self.encoded.removed_bytes - self.packet.payload().len()
    }
}

/// Packets to one station that share a frame.
pub struct Frame {
    /// Number by which the medium draws its loss.
    pub number: u64,
    /// Its station.
    pub to: usize,
    /// At least one.
    pub packets: Vec<Coded>,
}

impl Frame {
    /// The packets' bytes, and the length of each where there are several.
    pub fn bytes(&self) -> usize {
        let lengths = if self.packets.len() > 1 { self.packets.len() * LENGTH_BYTES } else { 0 };
        self.packets.iter().map(Coded::bytes).sum::<usize>() + lengths
    }
}
