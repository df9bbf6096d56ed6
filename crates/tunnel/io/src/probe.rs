//! An empty datagram from a socket of its own, which receives the errors that come back for it.
//!
//! The node's socket has no peer, so the kernel reports no ICMP message to it. The probe takes the way of the
//! node's datagrams: a route into the tunnel does not lead it. A node ignores and does not count an empty
//! datagram.

use crate::Error;
use crate::netlink::Netlink;
use nix::sys::socket::{setsockopt, sockopt};
use rustix::net::netdevice::index_to_name;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::net::SocketAddr;

/// A sent probe.
#[derive(Debug)]
pub struct Probe {
    socket: Socket,
}

impl Probe {
    /// Sends a probe to `to`, on the interface of datagrams that `source_port` sends there.
    ///
    /// # Errors
    ///
    /// The kernel's refusal of the datagram, for example without a route.
    pub fn send(to: SocketAddr, source_port: u16) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(to), Type::DGRAM, Some(Protocol::UDP))?;
        socket.set_nonblocking(true)?;
        let index = match Netlink::open().and_then(|netlink| netlink.way(to, source_port)) {
            Ok(index) => index,
            Err(Error::Netlink { source, .. }) if is_no_route(&source) => return Err(source),
            // Old kernels find no route by a port. Then the socket is not bound.
            Err(_) => None,
        };
        if let Some(index) = index {
            let name = index_to_name(&socket, index)?;
            socket.bind_device(Some(name.as_bytes()))?;
        }
        // Otherwise the kernel reports no unreachable host or network.
        if to.is_ipv4() {
            setsockopt(&socket, sockopt::Ipv4RecvErr, &true)?;
        } else {
            setsockopt(&socket, sockopt::Ipv6RecvErr, &true)?;
        }
        socket.connect(&SockAddr::from(to))?;
        socket.send(&[])?;
        // The kernel's own ICMP messages arrive by the loopback interface. Without the right to unbind, they
        // are missed.
        let _ = socket.bind_device(None);
        Ok(Probe { socket })
    }

    /// The error that came back since the last call, if any.
    #[must_use]
    pub fn refusal(&self) -> Option<io::Error> {
        self.socket.take_error().unwrap_or_else(Some)
    }
}

fn is_no_route(why: &io::Error) -> bool {
    use io::ErrorKind::{HostUnreachable, NetworkUnreachable, PermissionDenied};
    matches!(why.kind(), HostUnreachable | NetworkUnreachable | PermissionDenied)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::time::{Duration, Instant};

    /// The refusal within a second.
    fn refusal(probe: &Probe) -> Option<io::Error> {
        let end = Instant::now() + Duration::from_secs(1);
        while Instant::now() < end {
            if let Some(why) = probe.refusal() {
                return Some(why);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        None
    }

    #[test]
    fn a_closed_port_refuses_and_an_open_one_does_not() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let open = UdpSocket::bind(address).unwrap();
            let to = open.local_addr().unwrap();
            assert!(refusal(&Probe::send(to, 4780).unwrap()).is_none(), "{to}");
            drop(open);
            let why = refusal(&Probe::send(to, 4780).unwrap()).unwrap();
            assert_eq!(why.kind(), io::ErrorKind::ConnectionRefused, "{to}");
        }
    }
}
