//! The compared methods, one a file.

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

/// A method's result on a capture. Traffic to clients and traffic to servers cross a link in different
/// directions, and are measured separately.
pub trait Method: Send {
    /// Its name in the report.
    fn name(&self) -> String;

    /// A short description with its parameters.
    fn description(&self) -> String;

    /// Handles the next packet with new payload.
    fn observe(&mut self, packet: &Packet<'_>);

    /// Handles a packet whose payload is a retransmission. Its savings do not count.
    fn observe_retransmission(&mut self, _packet: &Packet<'_>) {}

    /// Its savings so far.
    fn tally(&self) -> Tally;
}
