//! Full wire packets: a datagram of a boosted sender's that is not full waits a moment for what follows.
//!
//! Such a sender has more segments in flight than the unmodified one. A lost wire packet must cost it as much
//! as a lost segment costs that one (REboost, section III-B.3, where segments are enlarged until they
//! compress to one MSS). Segments of one datagram arrive together, and so acknowledgments arrive in groups.
//! Each group brings one datagram's worth of segments and leaves a rest, which the next group completes. A
//! rest that left alone would be one more packet to lose.
//!
//! A packet that is not bulk never waits, and takes waiting packets along.

use super::packets::PacketBuilder;
use crate::peer::Peer;
use std::time::Duration;

impl Peer {
    /// Whether a packet of so many bytes is one of many: at least half of the largest.
    pub(super) fn is_bulk(&self, packet_bytes: usize) -> bool {
        packet_bytes >= self.path.limit() / 2
    }

    /// Whether a datagram with the packets of `builder` in it waits for more.
    pub(super) fn waits_to_be_filled(
        &mut self,
        now: Duration,
        builder: &PacketBuilder<'_>,
        bytes: usize,
    ) -> bool {
        // the remaining packets found no room or may not share it
        let has_room = self.queue.is_empty() && bytes + builder.around_packet() < builder.limit;
        let Some(link) = &mut self.link else { return false };
        let patience = link.patience_to_fill();
        let is_alone = link.assembly.overflow().is_none() && builder.packets > 0 && !builder.is_shared;
        has_room && is_alone && link.assembly.waits(now, patience)
    }
}
