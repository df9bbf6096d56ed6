//! Facts of the packets that a connection has emitted, which smoltcp keeps to itself.

use super::segment::{Segment, ahead, flag};

/// Numbers of the last packets emitted.
#[derive(Debug, Default)]
pub(super) struct Sent {
    /// Packets emitted.
    pub(super) packets: u64,
    /// Those with bytes, SYN or FIN.
    pub(super) segments: u64,
    /// The sequence number behind the furthest byte emitted.
    pub(super) next: Option<u32>,
    /// The acknowledgment number emitted last.
    pub(super) acknowledged: Option<u32>,
    /// The window field emitted last.
    pub(super) window: u16,
    /// The shift of the window field: offered by our SYN, or none if the host's SYN offers none.
    pub(super) window_shift: u8,
    /// The sequence number of the host's first byte that it may not send: the furthest one that was told (RFC
    /// 7323, section 2.4).
    pub(super) edge: Option<u32>,
}

impl Sent {
    /// Takes note of a packet that goes out.
    pub(super) fn note(&mut self, packet: &[u8]) {
        let Some(segment) = Segment::parse_unverified(packet) else { return };
        self.packets += 1;
        let end = segment.end();
        self.segments += u64::from(end != segment.sequence);
        if self.next.is_none_or(|next| ahead(end, next) > 0) {
            self.next = Some(end);
        }
        let is_syn = segment.has(flag::SYN);
        if is_syn {
            self.window_shift = segment.window_shift().unwrap_or(0);
        }
        self.window = segment.window;
        if let Some(acknowledged) = segment.acknowledgment {
            self.acknowledged = Some(acknowledged);
            // The window of a SYN is not shifted (RFC 7323, section 2.2).
            let shift = if is_syn { 0 } else { self.window_shift };
            let edge = acknowledged.wrapping_add(u32::from(segment.window) << shift);
            if self.edge.is_none_or(|furthest| ahead(edge, furthest) > 0) {
                self.edge = Some(edge);
            }
        }
    }

    /// Takes note of the host's SYN in answer to ours: its sequence number, and whether it shifts windows.
    pub(super) fn note_answer(&mut self, sequence: u32, shifts_windows: bool) {
        if !shifts_windows {
            self.window_shift = 0;
        }
        self.edge = Some(sequence.wrapping_add(1).wrapping_add(u32::from(self.window)));
    }
}
