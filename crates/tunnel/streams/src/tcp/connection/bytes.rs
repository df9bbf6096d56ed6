//! A connection's bytes, and the ends of their two directions.

use super::Connection;
use crate::tcp::State;
use smoltcp::socket::tcp;

impl Connection {
    /// Gives the closure contiguous bytes that came from the host, and consumes as many as it returns.
    ///
    /// The return value is that number. The closure is not called if there are none. The bytes that came
    /// before a RST can be read after it.
    pub fn read(&mut self, take: impl FnOnce(&[u8]) -> usize) -> usize {
        if self.readable() == 0 {
            return 0;
        }
        let read = self.socket().recv(|bytes| {
            let count = take(bytes).min(bytes.len());
            (count, count)
        });
        let count = read.unwrap_or(0);
        self.consumed = self.consumed.wrapping_add(count as u32);
        count
    }

    /// Bytes that came and are not read.
    #[must_use]
    pub fn readable(&self) -> usize {
        self.tcp().recv_queue()
    }

    /// Takes as many bytes for the host as there is room for, and returns their number.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        if self.room() == 0 { 0 } else { self.socket().send_slice(bytes).unwrap_or(0) }
    }

    /// Bytes that [`Self::write`] takes now: none before the handshake is complete and after
    /// [`Self::finish`].
    #[must_use]
    pub fn room(&self) -> usize {
        let socket = self.tcp();
        let is_open = self.state == State::Open && !self.is_finishing && socket.may_send();
        if is_open { socket.send_capacity() - socket.send_queue() } else { 0 }
    }

    /// Ends our direction: a FIN follows the bytes that were written. The host may go on sending.
    pub fn finish(&mut self) {
        self.is_finishing = true;
        if self.state == State::Open {
            self.socket().close();
        }
    }

    /// Whether the host's FIN came, and all its bytes were read.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.has_host_finished && self.readable() == 0
    }

    /// Whether the host acknowledged all bytes that were written.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.tcp().send_queue() == 0
    }

    /// Ends both directions at once: a RST leaves with the next poll.
    pub fn abort(&mut self) {
        if matches!(self.state, State::Opening | State::Open) {
            self.socket().abort();
            self.state = State::Reset;
            self.owed = None;
        }
    }

    /// The stage of the connection's life.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    pub(super) fn tcp(&self) -> &tcp::Socket<'static> {
        self.sockets.get(self.handle)
    }

    pub(super) fn socket(&mut self) -> &mut tcp::Socket<'static> {
        self.sockets.get_mut(self.handle)
    }

    /// The sequence number that the host sends next, once its SYN came.
    pub(in crate::tcp) fn expected(&self) -> Option<u32> {
        let came = self.consumed.wrapping_add(self.readable() as u32);
        self.first.map(|first| first.wrapping_add(came).wrapping_add(u32::from(self.has_host_finished)))
    }

    /// Whether bytes or a FIN wait for the host's acknowledgment, sent or not.
    pub(super) fn is_unacknowledged(&self) -> bool {
        use tcp::State as Tcp;
        let socket = self.tcp();
        let is_fin_waiting = matches!(socket.state(), Tcp::FinWait1 | Tcp::Closing | Tcp::LastAck);
        self.state == State::Open && (socket.send_queue() > 0 || is_fin_waiting)
    }
}
