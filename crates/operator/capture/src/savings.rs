//! What a method saves, in each direction.

use crate::flow::Toward;
use crate::packet::Packet;
use serde::Serialize;
use std::ops::AddAssign;

/// Savings in one direction or in both, in bytes of payload.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Savings {
    /// Payload that the method was given.
    pub payload_bytes: u64,
    /// Payload that it finds repeated and, but for the smallest pieces, takes out.
    pub redundant_bytes: u64,
    /// What remains of the payload with all that the method adds: literals, references, fronts.
    pub encoded_bytes: u64,
    /// The same where the literals of each packet are compressed by themselves, if that makes them shorter.
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

/// Savings in both directions, and whose the redundancy is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// On the way from servers to clients.
    pub to_client: Savings,
    /// On the way from clients to servers.
    pub to_server: Savings,
    /// Redundant bytes on the way to a client that the same client received before.
    pub intra_bytes: u64,
    /// Redundant bytes on the way to a client that only other clients received before: what overhearing or a
    /// shared store can save.
    pub inter_bytes: u64,
    /// The method's memory was full, so that it may have missed repetition.
    pub memory_was_full: bool,
}

/// What is sent of one packet's payload.
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

    /// Counts a packet and what is sent in its place.
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

    /// Counts redundant bytes by who received them before.
    pub(crate) fn count_origin(&mut self, packet: &Packet<'_>, same_client: bool, bytes: usize) {
        match packet.toward {
            Toward::Client if same_client => self.intra_bytes += bytes as u64,
            Toward::Client => self.inter_bytes += bytes as u64,
            Toward::Server => {}
        }
    }
}
