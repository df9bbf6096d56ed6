//! Segments that smoltcp leaves out: acknowledgments, probes of a closed window, and bytes sent again.

use super::Connection;
use crate::tcp::State;
use crate::tcp::segment::Bare;
use smoltcp::wire::TcpControl;
use std::mem;

/// A fast retransmission follows the third repeated acknowledgment (RFC 5681, section 3.2).
const REPEATS: usize = 3;

impl Connection {
    /// Emits a segment without bytes.
    fn emit_bare(&mut self, sequence: u32, acknowledgment: Option<u32>, emit: &mut dyn FnMut(&[u8])) {
        let (source, destination, window) = (self.ours, self.host, self.sent.window);
        self.space.clear();
        Bare { source, destination, control: TcpControl::None, sequence, acknowledgment, window }
            .write(&mut self.space);
        emit(&self.space);
    }

    /// Repeats the last acknowledgment, or acknowledges the host's FIN: smoltcp's TIME-WAIT is not for us, as
    /// it clears the buffers at its end.
    pub(super) fn emit_acknowledgment(&mut self, emit: &mut dyn FnMut(&[u8])) {
        let Some(sequence) = self.sent.next else { return };
        let is_closed = self.state == State::Closed;
        let acknowledgment = if is_closed { self.expected() } else { self.sent.acknowledged };
        self.emit_bare(sequence, acknowledgment, emit);
    }

    /// Goes on although smoltcp has no timer: probes a closed window, or has bytes sent again.
    pub(super) fn prod(&mut self, emit: &mut dyn FnMut(&[u8])) {
        self.watch.prod(self.now);
        let (Some(acknowledged), Some(window)) = (self.acknowledged, self.host_window) else { return };
        if window == 0 {
            // No byte of the stream: the probes of smoltcp 0.12 can overwrite one that the host has not got.
            self.emit_bare(acknowledged.wrapping_sub(1), self.sent.acknowledged, emit);
        } else {
            self.repeat_acknowledgment(acknowledged, window);
        }
    }

    /// Makes smoltcp send again what is under way: the host seems to repeat its acknowledgment.
    pub(super) fn repeat_acknowledgment(&mut self, acknowledged: u32, window: u16) {
        let Some(sequence) = self.expected() else { return };
        let (source, destination, acknowledgment) = (self.host, self.ours, Some(acknowledged));
        let before = self.tcp().state();
        let mut packet = mem::take(&mut self.incoming);
        // A changed window begins the count anew, there and back.
        for window in [window ^ 1, window].into_iter().chain([window; REPEATS]) {
            packet.clear();
            Bare { source, destination, control: TcpControl::None, sequence, acknowledgment, window }
                .write(&mut packet);
            self.ingest(&packet);
        }
        self.incoming = packet;
        self.settle(before, false);
    }
}
