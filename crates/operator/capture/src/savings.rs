//! Savings of a method in each direction.

use crate::flow::Toward;
use crate::packet::Packet;
use serde::Serialize;
use std::ops::AddAssign;

/// Savings in one direction or in both, in bytes of payload.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Savings {
    /// Payload of the method's input.
    pub payload_bytes: u64,
    /// Payload found redundant, and removed except for the smallest pieces.
    pub redundant_bytes: u64,
    /// The encoded payload with the method's overhead: literals, references, fronts.
    pub encoded_bytes: u64,
    /// The same with each packet's literals compressed on their own, if that makes them shorter.
    pub encoded_zstd_bytes: u64,
}

impl AddAssign for Savings {
    fn add_assign(&mut self, other: Savings) {
        self.payload_bytes += other.payload_bytes;
        self.redundant_bytes += other.redundant_bytes;
        self.encoded_bytes += other.encoded_bytes;
        self.encoded_zstd_bytes += other.encoded_zstd_bytes;
    }
}

/// Savings in both directions, and the origin of the redundancy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// From servers to clients.
    pub to_client: Savings,
    /// From clients to servers.
    pub to_server: Savings,
    /// Redundant bytes to a client that the same client received before.
    pub intra_bytes: u64,
    /// Redundant bytes to a client that only other clients received before: overhearing or a shared store can
    /// save these.
    pub inter_bytes: u64,
    /// The method's memory was full, so it may have missed repetitions.
    pub memory_was_full: bool,
}

/// The encoding of one packet's payload.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SentInstead {
    pub removed_bytes: usize,
    pub overhead_bytes: usize,
    pub literal_bytes: usize,
    pub compressed_literal_bytes: usize,
}

impl Tally {
    /// Both directions together.
    #[must_use]
    pub fn total(&self) -> Savings {
        let mut total = self.to_client;
        total += self.to_server;
        total
    }

    /// Counts a packet and its encoding.
    pub(crate) fn count(&mut self, packet: &Packet<'_>, sent: &SentInstead) {
        *match packet.toward {
            Toward::Client => &mut self.to_client,
            Toward::Server => &mut self.to_server,
        } += Savings {
            payload_bytes: packet.payload().len() as u64,
            redundant_bytes: sent.removed_bytes as u64,
            encoded_bytes: (sent.overhead_bytes + sent.literal_bytes) as u64,
            encoded_zstd_bytes: (sent.overhead_bytes + sent.compressed_literal_bytes) as u64,
        };
    }

    /// Counts redundant bytes by their earlier receivers.
    pub(crate) fn count_origin(&mut self, packet: &Packet<'_>, same_client: bool, bytes: usize) {
        match packet.toward {
            Toward::Client if same_client => self.intra_bytes += bytes as u64,
            Toward::Client => self.inter_bytes += bytes as u64,
            Toward::Server => {}
        }
    }
}
