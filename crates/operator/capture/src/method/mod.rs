//! The methods that are compared, one a file.

mod byte_caching;
mod chunk;
mod gear;
mod literals;
mod max_match;
mod payload_store;
mod receivers;
mod whole_packet;
mod zstd_alone;

pub use byte_caching::ByteCaching;
pub use chunk::{Chunk, ChunkParameters};
pub use max_match::{MaxMatch, MaxMatchParameters};
pub use whole_packet::WholePacket;
pub use zstd_alone::ZstdAlone;

use crate::packet::Packet;
use crate::savings::Tally;

/// What a method would have done to a capture. What goes to clients and what goes to servers crosses a link
/// in different directions, and is measured by itself.
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
    fn tally(&self) -> Tally;
}
