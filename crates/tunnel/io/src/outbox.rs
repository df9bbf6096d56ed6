//! Datagrams for the socket. Consecutive datagrams of one size to one peer form a row for a single system
//! call (UDP GSO). Datagrams that the socket does not take stay here, and the node is not polled until it
//! does.

use crate::Error;
use crate::control::Counters;
use crate::ports::Ports;
use rustix::io::Errno;
use std::io;
use std::net::SocketAddr;

/// The most datagrams in a row: those of one TCP super-segment. A lower bound does not shorten bursts; it
/// only adds system calls.
const ROW_DATAGRAMS: usize = 48;
/// The most bytes in a row, below IP's maximum.
const ROW_BYTES: usize = 60_000;

/// Refused sizes that are remembered until the node hears of them.
const MAX_REFUSED_SIZES: usize = 64;

/// Addressee, source port and outer traffic class of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Envelope {
    /// The peer.
    pub to: SocketAddr,
    /// The index of our source port.
    pub source_port: usize,
    /// DSCP and ECN.
    pub class: u8,
}

/// Result of sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// Everything was sent.
    All,
    /// This port's socket is full; call again when it takes datagrams.
    Blocked {
        /// The index of our source port.
        source_port: usize,
    },
}

/// The row in preparation or transmission, and the datagram after it. Each datagram keeps the buffer in which
/// the node wrote it, and the kernel gathers them.
#[derive(Default)]
pub struct Outbox {
    /// Buffers of datagrams, of which the first `count` are in the row. The one behind them may have the
    /// datagram that begins the next row.
    datagrams: Vec<Vec<u8>>,
    count: usize,
    row_envelope: Option<Envelope>,
    row_bytes: usize,
    closed: bool,
    next_envelope: Option<Envelope>,
    /// Addressees for which the interface refused a size, and that size.
    refused_sizes: Vec<(SocketAddr, usize)>,
}

impl Outbox {
    /// Sends the datagrams of `produce`, which fills the buffer and returns the envelope, until it has no
    /// more or the socket is full.
    pub fn send_all(
        &mut self,
        ports: &mut Ports,
        counters: &mut Counters,
        mut produce: impl FnMut(&mut Vec<u8>) -> Option<Envelope>,
    ) -> Result<Sent, Error> {
        loop {
            self.fill(ports.segments().min(ROW_DATAGRAMS), &mut produce);
            let Some(envelope) = self.row_envelope else { return Ok(Sent::All) };
            match ports.send(envelope.source_port, envelope.to, envelope.class, &self.datagrams[..self.count])
            {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Sent::Blocked { source_port: envelope.source_port });
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if self.count > 1 => self.send_singly(ports, envelope, counters, &error),
                result => self.note(result, counters, self.row_bytes, envelope.to),
            }
            self.row_envelope = None;
            // what waits begins the next row
            if self.count < self.datagrams.len() {
                self.datagrams.swap(0, self.count);
            }
            self.count = 0;
        }
    }

    /// Extends the row as far as possible.
    fn fill(&mut self, most: usize, produce: &mut impl FnMut(&mut Vec<u8>) -> Option<Envelope>) {
        while self.row_envelope.is_none() || (self.count < most && !self.closed) {
            if self.datagrams.len() == self.count {
                self.datagrams.push(Vec::new());
            }
            let next = &mut self.datagrams[self.count];
            if self.next_envelope.is_none() {
                next.clear();
                self.next_envelope = produce(next);
            }
            let Some(envelope) = self.next_envelope else { return };
            let next_bytes = self.datagrams[self.count].len();
            let segment_bytes = self.datagrams[0].len();
            if self.row_envelope.is_none() {
                self.row_envelope = Some(envelope);
                self.row_bytes = 0;
                self.closed = false;
            } else if Some(envelope) != self.row_envelope
                || next_bytes > segment_bytes
                || self.row_bytes + next_bytes > ROW_BYTES
            {
                self.closed = true;
                return;
            }
            self.row_bytes += next_bytes;
            self.count += 1;
            // Only the last datagram may be shorter.
            self.closed = next_bytes < segment_bytes;
            self.next_envelope = None;
        }
    }

    /// Sends a row's datagrams one by one, because a device may refuse a row.
    fn send_singly(
        &mut self,
        ports: &mut Ports,
        envelope: Envelope,
        counters: &mut Counters,
        error: &io::Error,
    ) {
        tracing::debug!("{} datagrams go one by one: {error}", self.count);
        let refused_before = counters.datagrams_too_large;
        for at in 0..self.count {
            let (alone, bytes) = (&self.datagrams[at..=at], self.datagrams[at].len());
            let result = ports.send(envelope.source_port, envelope.to, envelope.class, alone);
            self.note(result, counters, bytes, envelope.to);
        }
        // Each was small enough, so the row's size did not reach the kernel: an emulator garbled it.
        let is_too_large = Errno::from_io_error(error) == Some(Errno::MSGSIZE);
        if is_too_large && counters.datagrams_too_large == refused_before {
            ports.send_no_rows();
        }
    }

    /// The sizes that the interface refused since the last call, each with an addressee.
    pub fn take_refused_sizes(&mut self) -> impl Iterator<Item = (SocketAddr, usize)> + '_ {
        self.refused_sizes.drain(..)
    }

    /// Counts a failed datagram. It is lost, as on the air, and the layers above repair that.
    fn note(&mut self, result: io::Result<()>, counters: &mut Counters, bytes: usize, to: SocketAddr) {
        let Err(error) = result else { return };
        if Errno::from_io_error(&error) == Some(Errno::MSGSIZE) {
            if self.refused_sizes.len() < MAX_REFUSED_SIZES && !self.refused_sizes.contains(&(to, bytes)) {
                self.refused_sizes.push((to, bytes));
            }
            if counters.datagrams_too_large == 0 {
                tracing::warn!(
                    "a datagram of {bytes} bytes is too large for the interface towards {to}; smaller ones will follow"
                );
            }
            counters.datagrams_too_large += 1;
        } else {
            if counters.datagrams_refused == 0 {
                tracing::warn!("cannot send to {to}: {error}");
            }
            counters.datagrams_refused += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::net::UdpSocket;
    use std::time::Duration;

    fn ports() -> Ports {
        Ports::bind("127.0.0.1:0".parse().unwrap(), 1).unwrap()
    }

    fn peer() -> (UdpSocket, SocketAddr) {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let address = socket.local_addr().unwrap();
        (socket, address)
    }

    /// A producer of `datagrams`, one at a time.
    fn from_list(datagrams: Vec<(SocketAddr, u8, Vec<u8>)>) -> impl FnMut(&mut Vec<u8>) -> Option<Envelope> {
        let mut list = VecDeque::from(datagrams);
        move |out| {
            let (to, class, datagram) = list.pop_front()?;
            out.extend_from_slice(&datagram);
            Some(Envelope { to, source_port: 0, class })
        }
    }

    #[test]
    fn datagrams_of_any_sizes_to_any_peers_arrive_whole_and_in_order() {
        let ((a, to_a), (b, to_b)) = (peer(), peer());
        let sizes = [1200, 1200, 1200, 300, 1200, 1, 700, 700, 1400, 1400, 1400, 1400, 90];
        let mut sent = Vec::new();
        for (i, size) in sizes.iter().chain(&[1000; 40]).enumerate() {
            let to = if i % 11 == 10 { to_b } else { to_a };
            sent.push((to, if i % 7 == 6 { 0xba } else { 0 }, vec![i as u8; *size]));
        }
        let mut counters = Counters::default();
        let result = Outbox::default().send_all(&mut ports(), &mut counters, from_list(sent.clone()));
        assert_eq!(result.unwrap(), Sent::All);
        assert_eq!(counters, Counters::default());
        for (to, _, datagram) in sent {
            let socket = if to == to_a { &a } else { &b };
            let mut buffer = [0; 2000];
            let count = socket.recv(&mut buffer).unwrap();
            assert_eq!(buffer[..count], datagram);
        }
    }

    #[test]
    fn what_is_too_large_is_counted_and_does_not_hold_up_the_rest() {
        let (socket, to) = peer();
        let mut counters = Counters::default();
        let sent = vec![(to, 0, vec![1; 65_530]), (to, 0, vec![2; 10])];
        Outbox::default().send_all(&mut ports(), &mut counters, from_list(sent)).unwrap();
        assert_eq!(counters, Counters { datagrams_too_large: 1, ..Counters::default() });
        let mut buffer = [0; 20];
        assert_eq!(socket.recv(&mut buffer).unwrap(), 10);
    }

    #[test]
    fn a_peer_that_cannot_be_reached_is_counted() {
        // A documentation address, from a socket bound to the loopback address.
        let to = "203.0.113.9:9".parse().unwrap();
        let mut counters = Counters::default();
        let sent = vec![(to, 0, vec![1; 100]); 3];
        Outbox::default().send_all(&mut ports(), &mut counters, from_list(sent)).unwrap();
        assert_eq!(counters.datagrams_refused, 3);
    }
}
