//! The ports that datagrams leave from: the one that is listened on, and others beside it, numbered onwards,
//! so that a single rule of the routing table speaks of all.

use crate::Error;
use crate::udp::{Received, Udp};
use std::io;
use std::net::SocketAddr;

/// How often a row of free ports is looked for where any will do.
const ATTEMPTS: usize = 50;

/// At least one socket.
pub struct Ports {
    sockets: Vec<Udp>,
}

impl Ports {
    /// Binds to `address` and to the `count - 1` ports behind its own.
    pub fn bind(address: SocketAddr, count: usize) -> Result<Self, Error> {
        let mut attempts = if address.port() == 0 { ATTEMPTS } else { 1 };
        loop {
            attempts -= 1;
            match Ports::bind_row(address, count) {
                Err(Error::PortTaken(_)) if attempts > 0 => {}
                bound => return bound,
            }
        }
    }

    fn bind_row(address: SocketAddr, count: usize) -> Result<Self, Error> {
        let first = Udp::bind(address)?;
        let mut next = first.local();
        let mut sockets = vec![first];
        while sockets.len() < count {
            let Some(port) = next.port().checked_add(1) else { return Err(Error::PortTaken(next)) };
            next.set_port(port);
            sockets.push(Udp::bind(next)?);
        }
        Ok(Ports { sockets })
    }

    /// The same sockets, for another thread, say.
    #[must_use]
    pub fn share(&self) -> Self {
        Ports { sockets: self.sockets.iter().map(Udp::share).collect() }
    }

    /// Where the first is bound, with the port that the system chose if 0 was asked for.
    #[must_use]
    pub fn local(&self) -> SocketAddr {
        self.sockets[0].local()
    }

    /// The numbers of all.
    #[must_use]
    pub fn numbers(&self) -> (u16, u16) {
        let last = self.sockets.last().map_or(self.local(), Udp::local);
        (self.local().port(), last.port())
    }

    /// The sockets, to be waited for.
    #[must_use]
    pub fn sockets(&self) -> &[Udp] {
        &self.sockets
    }

    /// How many datagrams of one size may share a system call on the way out.
    #[must_use]
    pub fn segments(&self) -> usize {
        self.sockets[0].segments()
    }

    /// Hands what has arrived to `each`, at most one system call's worth from each socket.
    pub fn receive(&mut self, mut each: impl FnMut(Received<'_>)) -> io::Result<()> {
        self.sockets.iter_mut().try_for_each(|socket| socket.receive(&mut each).map(drop))
    }

    /// As [`Udp::send`], from one of the ports; from the first, if there is no such one.
    pub fn send(
        &mut self,
        port: usize,
        to: SocketAddr,
        class: u8,
        row: &[u8],
        segment_bytes: usize,
    ) -> io::Result<()> {
        let port = if port < self.sockets.len() { port } else { 0 };
        self.sockets[port].send(to, class, row, segment_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_stand_in_a_row_and_each_sends_from_its_own() {
        let mut ports = Ports::bind("127.0.0.1:0".parse().unwrap(), 4).unwrap();
        let (first, last) = ports.numbers();
        assert_eq!(last, first + 3);
        let peer = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        for port in 0..4 {
            ports.send(port, peer.local_addr().unwrap(), 0, b"from", 100).unwrap();
            let (_, from) = peer.recv_from(&mut [0; 10]).unwrap();
            assert_eq!(usize::from(from.port() - first), port);
        }
    }

    #[test]
    fn a_port_that_is_taken_in_the_middle_of_the_row_is_named() {
        // a row that was free a moment ago
        let (first, _) = Ports::bind("127.0.0.1:0".parse().unwrap(), 3).unwrap().numbers();
        let taken: SocketAddr = ([127, 0, 0, 1], first + 2).into();
        let _other = std::net::UdpSocket::bind(taken).unwrap();
        let error = Ports::bind(([127, 0, 0, 1], first).into(), 3).err().unwrap();
        assert!(matches!(error, Error::PortTaken(address) if address == taken), "{error}");
    }
}
