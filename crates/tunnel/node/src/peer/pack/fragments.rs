//! Packets that were cut where their datagram ended: fronts wait here for the rest, which comes in the next
//! datagram.
//!
//! A packet that lost one half is lost as a whole and is sent again as a whole, like any other: nobody asks
//! for halves.

use crate::context::Context;
use crate::path::ecn;
use crate::peer::Peer;
use crate::peer::link::Fragment;
use re::mac::PacketMac;
use std::time::Duration;
use wire::frame::{FrameType, Frames};

/// Whether a unit with these frames begins with the rest of a packet. Only its lane may stand before that.
pub(super) fn begins_with_tail(plaintext: &[u8]) -> bool {
    let mut frames = Frames::new(plaintext).map_while(Result::ok).map(|frame| frame.frame_type);
    match frames.next() {
        Some(Some(FrameType::Lane)) => frames.next() == Some(Some(FrameType::Tail)),
        first => first == Some(Some(FrameType::Tail)),
    }
}

impl Peer {
    /// The front of a packet.
    pub(super) fn take_head(
        &mut self,
        sequence: u64,
        session: u32,
        ecn: u8,
        body: &[u8],
        ctx: &mut Context,
    ) -> bool {
        let Some((&number, piece)) = body.split_first() else { return false };
        let may_be_cut = |known: &FrameType| known.is_packet() || *known == FrameType::Coded;
        let frame_type = FrameType::from_number(number).filter(may_be_cut);
        let (Some(frame_type), Some(link)) = (frame_type, &mut self.link) else { return false };
        let mut body = ctx.deliveries.buffer();
        body.extend_from_slice(piece);
        let front = Fragment { sequence, session, frame_type, ecn, body };
        link.assembly.keep_fragment(front, &mut ctx.deliveries);
        true
    }

    /// The rest of the packet `sequence`: it arrives with this.
    pub(super) fn take_tail(
        &mut self,
        now: Duration,
        sequence: u64,
        (session, mac): (u32, &PacketMac),
        ecn: u8,
        rest: &[u8],
        ctx: &mut Context,
    ) -> bool {
        let Some(link) = &mut self.link else { return false };
        let Some(head) = link.assembly.take_fragment(sequence) else { return true }; // the front was lost
        let mut body = head.body;
        body.extend_from_slice(rest);
        let marked = if head.ecn == ecn::CE { ecn::CE } else { ecn };
        // under another session's MAC it could not be proven: it counts as lost
        let understood = head.session != session || {
            link.arq.arrive(now, sequence);
            self.take_frame(now, sequence, head.frame_type, (session, mac), marked, &body, ctx)
        };
        ctx.deliveries.recycle(body);
        understood
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::frame;

    #[test]
    fn only_its_lane_may_stand_before_a_tail() {
        let unit = |types: &[FrameType]| {
            let mut out = Vec::new();
            types.iter().for_each(|&frame_type| frame::emit(frame_type, &[1], &mut out));
            out
        };
        use FrameType::{Lane, Packet, Ping, Tail};
        assert!(begins_with_tail(&unit(&[Tail, Packet])));
        assert!(begins_with_tail(&unit(&[Lane, Tail])));
        assert!(!begins_with_tail(&unit(&[Ping, Tail])));
        assert!(!begins_with_tail(&unit(&[Lane])));
        assert!(!begins_with_tail(&[]));
        assert!(!begins_with_tail(&[FrameType::Tail as u8, 9]), "its length is wrong");
    }
}
