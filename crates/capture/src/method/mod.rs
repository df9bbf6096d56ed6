//! The methods that are compared, one a file.

mod byte_caching;
mod chunk;
mod gear;
mod literals;
mod max_match;
mod payload_store;
mod whole_packet;
mod zstd_alone;

pub use byte_caching::ByteCaching;
pub use chunk::{Chunk, ChunkParameters};
pub use max_match::{MaxMatch, MaxMatchParameters};
pub use whole_packet::WholePacket;
pub use zstd_alone::ZstdAlone;

use crate::flow::Toward;
use crate::packet::Packet;
use serde::Serialize;

/// What a method would have done to a capture.
pub trait Method: Send {
    /// Its name in the report.
    fn name(&self) -> String;

    /// What it is, with its parameters, in a few words.
    fn description(&self) -> String;

    /// Takes the next packet that has new payload.
    fn observe(&mut self, packet: &Packet<'_>);

    /// Takes a packet whose payload TCP sent before. Nothing that is saved on it is counted.
    fn observe_retransmission(&mut self, _packet: &Packet<'_>) {}

    /// What it would have saved so far.
    fn savings(&self) -> Savings;
}

/// What a method saves, in bytes of payload.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Savings {
    /// Payload bytes that the method takes out.
    pub redundant_bytes: u64,
    /// What remains of the payload with all that the method adds: literals, references, fronts.
    pub encoded_bytes: u64,
    /// The same where the literals of each packet are compressed by themselves, if that makes them shorter.
    pub encoded_zstd_bytes: u64,
    /// Redundant bytes on the way to a client that the same client received before.
    pub intra_bytes: u64,
    /// Redundant bytes on the way to a client that only other clients received before: what overhearing or a
    /// shared store can save.
    pub inter_bytes: u64,
    /// The method's memory was full, and it would have found more with a larger one.
    pub memory_was_full: bool,
}

impl Savings {
    /// Counts a packet: what stood where in it, and what is sent in its place.
    fn count(&mut self, sent: &SentInstead) {
        self.redundant_bytes += sent.removed_bytes as u64;
        self.encoded_bytes += (sent.overhead_bytes + sent.literal_bytes) as u64;
        self.encoded_zstd_bytes += (sent.overhead_bytes + sent.compressed_literal_bytes) as u64;
    }

    /// Counts redundant bytes by whose they were before, in the direction to the clients.
    fn count_origin(&mut self, packet: &Packet<'_>, same_client: bool, bytes: usize) {
        match packet.toward {
            Toward::Client if same_client => self.intra_bytes += bytes as u64,
            Toward::Client => self.inter_bytes += bytes as u64,
            Toward::Server => {}
        }
    }
}

/// What is sent of one packet's payload.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct SentInstead {
    removed_bytes: usize,
    overhead_bytes: usize,
    literal_bytes: usize,
    compressed_literal_bytes: usize,
}
