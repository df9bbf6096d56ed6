//! Records: repetition is removed from the bytes of streams, and put back.
//!
//! A stream's bytes are cut into [records](wire::record) as they leave. A record is reduced as the segment
//! that would carry its bytes: to the byte where its own flow had them before, in whole pieces where others
//! had. The far end reads the records of a stream in order, as soon as they are there, whether its host takes
//! the bytes or not.
//!
//! *Never a stall.* A record refers only to records that the far end [said it stores](wire::stream::Stored).
//! Both ends drop the lowest numbers first (see [`re::store`]). While records that refer to others are
//! [under way](unread), so few enter the store that the far end, which keeps more, still has what they refer
//! to. *Never wrong bytes.* A record with regions has a MAC of its bytes.

mod read;
mod unread;
mod write;

pub use read::{RecordReader, Unreadable};
pub use write::RecordWriter;

use re::store::{OVERHEAD_BYTES, receiver_bytes};
use re::{Parameters, Policy};
use std::fmt;

/// How repetition is removed on a hop. By default not at all.
#[derive(Clone, Copy)]
pub struct Reduction {
    /// The encoder, with the bytes that both ends store.
    pub parameters: Parameters,
    /// The window of the far end's encoder, in bytes.
    pub peer_window_bytes: usize,
    /// The sampling of the far end's encoder.
    pub peer_sample_bits: u32,
    /// Literals are compressed.
    pub compresses: bool,
    /// The key of MACs, which both ends know. It finds stores that differ, and need not be secret.
    pub key: [u8; 32],
    /// The secret of this node's encoder.
    pub secret: u64,
}

impl fmt::Debug for Reduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reduction").field("parameters", &self.parameters).finish_non_exhaustive()
    }
}

impl Default for Reduction {
    fn default() -> Self {
        Reduction {
            parameters: Parameters { policy: Policy::Off, store_bytes: 0, ..Parameters::default() },
            peer_window_bytes: 0,
            peer_sample_bits: 0,
            compresses: false,
            key: [0; 32],
            secret: 0,
        }
    }
}

/// What stores did since they were made, in bytes of hosts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Bytes that went by the store.
    pub stored_bytes: u64,
    /// Bytes of these that did not cross the hop, because the store had them.
    pub saved_bytes: u64,
}

/// The receiver keeps what a sender with a store a quarter larger would need.
const MARGIN_SHARE: usize = 4;
/// The fewest bytes of a record that is stored.
const LEAST_STORED_BYTES: usize = 64;

/// The most records that are confirmed at once.
const MOST_CONFIRMED: u64 = 4096;
/// The most rows of stored records of which the far end is not told yet.
const MOST_RANGES: usize = 256;

/// The store that the receiver's is made for, in bytes.
#[must_use]
pub fn reader_store_bytes(store_bytes: usize) -> usize {
    store_bytes + store_bytes / MARGIN_SHARE
}

/// Bytes that the receiver keeps beyond the sender's store.
fn margin_bytes(store_bytes: usize) -> u64 {
    receiver_bytes(reader_store_bytes(store_bytes)).saturating_sub(store_bytes) as u64
}

/// The part of a store that a record takes: of its bytes, or of its numbers, of which there is one for 256
/// bytes.
fn cost(packet_bytes: usize) -> u64 {
    (packet_bytes + OVERHEAD_BYTES).max(256) as u64
}
