//! The source ports: the listening port and the ones after it, so that a single routing rule covers all.

use crate::Error;
use crate::udp::{Received, Udp};
use std::io;
use std::net::SocketAddr;

/// Attempts to find consecutive free ports if any port will do.
const ATTEMPTS: usize = 50;

/// At least one socket.
pub struct Ports {
    sockets: Vec<Udp>,
}

impl Ports {
    /// Binds to `address` and to the `count - 1` next ports.
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

    /// The same sockets, for another thread.
    #[must_use]
    pub fn share(&self) -> Self {
        Ports { sockets: self.sockets.iter().map(Udp::share).collect() }
    }

    /// Address of the first socket, with the system's choice for port 0.
    #[must_use]
    pub fn local(&self) -> SocketAddr {
        self.sockets[0].local()
    }

    /// The first and the last port number.
    #[must_use]
    pub fn numbers(&self) -> (u16, u16) {
        let last = self.sockets.last().map_or(self.local(), Udp::local);
        (self.local().port(), last.port())
    }

    /// The sockets, for polling.
    #[must_use]
    pub fn sockets(&self) -> &[Udp] {
        &self.sockets
    }

    /// The most equal-sized datagrams in one sending system call.
    #[must_use]
    pub fn segments(&self) -> usize {
        self.sockets[0].segments()
    }

    /// Sends no more rows.
    pub fn send_no_rows(&self) {
        self.sockets.iter().for_each(Udp::send_no_rows);
    }

    /// Passes received datagrams to `each`, at most one system call's from each socket.
    pub fn receive(&mut self, mut each: impl FnMut(Received<'_>)) -> io::Result<()> {
        self.sockets.iter_mut().try_for_each(|socket| socket.receive(&mut each).map(drop))
    }

    /// As [`Udp::send`], from this port. An invalid index means the first port.
    pub fn send(
        &mut self,
        port: usize,
        to: SocketAddr,
        class: u8,
        row: &[impl AsRef<[u8]>],
    ) -> io::Result<()> {
        let port = if port < self.sockets.len() { port } else { 0 };
        self.sockets[port].send(to, class, row)
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
            ports.send(port, peer.local_addr().unwrap(), 0, &[b"from"]).unwrap();
            let (_, from) = peer.recv_from(&mut [0; 10]).unwrap();
            assert_eq!(usize::from(from.port() - first), port);
        }
    }

    #[test]
    fn a_port_that_is_taken_in_the_middle_of_the_row_is_named() {
        // These ports were free a moment ago.
        let (first, _) = Ports::bind("127.0.0.1:0".parse().unwrap(), 3).unwrap().numbers();
        let taken: SocketAddr = ([127, 0, 0, 1], first + 2).into();
        let _other = std::net::UdpSocket::bind(taken).unwrap();
        let error = Ports::bind(([127, 0, 0, 1], first).into(), 3).err().unwrap();
        assert!(matches!(error, Error::PortTaken(address) if address == taken), "{error}");
    }
}
