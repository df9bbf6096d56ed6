//! The frame that did not fit into the datagram before.

use wire::frame::{self, FrameType, SEQUENCE_BYTES};
use wire::unit::SEALED_HEADER_BYTES;

/// A packet's frame that turned out too long for the datagram it was made for.
pub struct Overflow {
    /// The packet's link sequence.
    pub sequence: u64,
    /// Lane of its flow.
    pub lane: usize,
    /// By whose MAC its bytes can be proven.
    pub session: u32,
    /// The packet's traffic class.
    pub class: u8,
    pub frame_type: FrameType,
    pub body: Vec<u8>,
    /// Bytes of the body that are on their way already.
    pub gone_bytes: usize,
    pub packet: Vec<u8>,
}

impl Overflow {
    /// Link sequence of its datagram, if that is its own. A packet that was cut has travelled under it
    /// before.
    pub fn own_sequence(&self) -> Option<u64> {
        (self.gone_bytes == 0).then_some(self.sequence)
    }

    /// Whether it was to be shared: then its session is a group's key.
    pub fn is_shared(&self) -> bool {
        self.frame_type == FrameType::Shared
    }

    /// Whether it fits into a datagram with so many bytes for header and plaintext. If it does not, the path
    /// has become too narrow for it since.
    pub fn fits(&self, limit: usize) -> bool {
        let body_bytes = match self.gone_bytes {
            0 => self.body.len().max(self.packet.len()),
            gone_bytes => self.body.len() - gone_bytes,
        };
        SEALED_HEADER_BYTES + SEQUENCE_BYTES + 1 + frame::MAX_LENGTH_BYTES + body_bytes <= limit
    }
}
