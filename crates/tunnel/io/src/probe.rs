//! Empty datagrams from a socket of its own, which receives the errors that come back for them.
//!
//! The node's socket has no peer, so the kernel reports no ICMP message to it. The probe takes the way of the
//! node's datagrams: a route into the tunnel does not lead it. A node ignores and does not count an empty
//! datagram.
//!
//! A host sends about one ICMP message a second to an address (Linux: `icmp_ratelimit`), and the node's
//! handshakes use it up. The probe therefore repeats its datagram more often than the node does.

use crate::Error;
use crate::netlink::Netlink;
use nix::sys::socket::{setsockopt, sockopt};
use rustix::net::netdevice::index_to_name;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// The time between two datagrams. A datagram has 28 or 48 bytes.
const AGAIN_AFTER: Duration = Duration::from_millis(100);

/// A probe in a thread of its own.
#[derive(Debug)]
pub struct Probe {
    refusal: Receiver<io::Error>,
}

impl Probe {
    /// Begins a probe of `to`, on the interface of datagrams that `source_port` sends there. It ends after
    /// `lasts`, or at the first error that comes back.
    ///
    /// # Errors
    ///
    /// The kernel's refusal of the first datagram, for example without a route.
    pub fn begin(to: SocketAddr, source_port: u16, lasts: Duration) -> io::Result<Self> {
        let sender = Sender::open(to, source_port)?;
        sender.send()?;
        let (refusals, refusal) = sync_channel(1);
        let end = Instant::now() + lasts;
        std::thread::Builder::new().name("probe".to_owned()).spawn(move || sender.repeat(&refusals, end))?;
        Ok(Probe { refusal })
    }

    /// The error that came back, if any, once.
    #[must_use]
    pub fn refusal(&self) -> Option<io::Error> {
        self.refusal.try_recv().ok()
    }
}

/// A connected socket.
struct Sender {
    socket: Socket,
    /// The interface of its datagrams.
    interface: Option<String>,
}

impl Sender {
    fn open(to: SocketAddr, source_port: u16) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(to), Type::DGRAM, Some(Protocol::UDP))?;
        socket.set_nonblocking(true)?;
        let index = match Netlink::open().and_then(|netlink| netlink.way(to, source_port)) {
            Ok(index) => index,
            Err(Error::Netlink { source, .. }) if is_no_route(&source) => return Err(source),
            // Old kernels find no route by a port. Then the socket is not bound.
            Err(_) => None,
        };
        let interface = index.map(|index| index_to_name(&socket, index)).transpose()?;
        // Otherwise the kernel reports no unreachable host or network.
        if to.is_ipv4() {
            setsockopt(&socket, sockopt::Ipv4RecvErr, &true)?;
        } else {
            setsockopt(&socket, sockopt::Ipv6RecvErr, &true)?;
        }
        let sender = Sender { socket, interface };
        sender.bound(|socket| socket.connect(&SockAddr::from(to)))?;
        Ok(sender)
    }

    /// The result of `doing` while the socket is bound to its interface. The kernel's own ICMP messages
    /// arrive by the loopback interface, and a bound socket would miss them.
    fn bound<T>(&self, doing: impl FnOnce(&Socket) -> io::Result<T>) -> io::Result<T> {
        let Some(interface) = &self.interface else { return doing(&self.socket) };
        // Without the right to unbind, it is still bound.
        if self.socket.device()?.is_none() {
            self.socket.bind_device(Some(interface.as_bytes()))?;
        }
        let done = doing(&self.socket);
        let _ = self.socket.bind_device(None);
        done
    }

    fn send(&self) -> io::Result<()> {
        match self.bound(|socket| socket.send(&[])) {
            Err(why) if why.kind() != io::ErrorKind::WouldBlock => Err(why),
            _ => Ok(()),
        }
    }

    /// Sends until an error comes back or `end` has come.
    fn repeat(&self, refusals: &SyncSender<io::Error>, end: Instant) {
        while Instant::now() < end {
            std::thread::sleep(AGAIN_AFTER);
            let refusal = self.socket.take_error().unwrap_or_else(Some).or_else(|| self.send().err());
            if let Some(why) = refusal {
                // The receiver may have lost interest.
                let _ = refusals.try_send(why);
                return;
            }
        }
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

    fn begin(to: SocketAddr) -> Probe {
        Probe::begin(to, 4780, Duration::from_secs(1)).unwrap()
    }

    #[test]
    fn a_closed_port_refuses_and_an_open_one_does_not() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let open = UdpSocket::bind(address).unwrap();
            let to = open.local_addr().unwrap();
            assert!(refusal(&begin(to)).is_none(), "{to}");
            drop(open);
            let why = refusal(&begin(to)).unwrap();
            assert_eq!(why.kind(), io::ErrorKind::ConnectionRefused, "{to}");
        }
    }
}
