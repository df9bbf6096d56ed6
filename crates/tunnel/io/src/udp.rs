//! The UDP socket: both families on one port, unfragmented, in batches. It sets the traffic class and reads
//! the ECN bits.
//!
//! quinn-udp receives. It would set only the ECN bits of what it sends, with DSCP 0, and send from one
//! buffer. Datagrams leave by a system call of our own, which sets the whole octet and gathers several
//! buffers.

use crate::Error;
use nix::errno::Errno;
use nix::sys::socket::{ControlMessage, MsgFlags, SockaddrStorage, sendmsg, setsockopt, sockopt};
use quinn_udp::{RecvMeta, UdpSockRef, UdpSocketState};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV6, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The most rows of datagrams received in one system call.
const BATCH: usize = 16;
/// The largest row of datagrams that the kernel delivers as one (UDP GRO).
const ROW_BYTES: usize = 65_535;
/// Bytes of the receive buffer. A longer burst is lost while the process sleeps.
const RECEIVE_BUFFER_BYTES: usize = 2 << 20;
/// Bytes of the send buffer. It is small, because the node can no longer reorder packets in it, nor refer in
/// them to later confirmations.
const SEND_BUFFER_BYTES: usize = 64 << 10;

/// The most datagrams that one system call sends.
const MOST_DATAGRAMS: usize = 64;

/// One datagram that arrived.
pub struct Received<'a> {
    /// The sender; an IPv4 address is in IPv4 form even on a socket for both families.
    pub from: SocketAddr,
    /// The ECN bits of the outer header (RFC 3168: 0 not capable, 1 ECT(1), 2 ECT(0), 3 CE).
    pub ecn: u8,
    /// Its payload.
    pub datagram: &'a mut [u8],
}

/// A bound socket and its buffers.
pub struct Udp {
    socket: Arc<UdpSocket>,
    state: Arc<UdpSocketState>,
    /// The kernel or the device has refused a row of datagrams.
    refuses_rows: Arc<AtomicBool>,
    local: SocketAddr,
    /// Empty before the first receipt: a thread that only sends has none.
    buffer: Vec<u8>,
}

impl Udp {
    /// Binds to `address`. `[::]` serves both families; on a machine without IPv6 it serves only IPv4.
    pub fn bind(address: SocketAddr) -> Result<Self, Error> {
        let socket = match bound(address) {
            Err(error)
                if address.is_ipv6()
                    && address.ip().is_unspecified()
                    && matches!(
                        rustix::io::Errno::from_io_error(&error),
                        Some(rustix::io::Errno::AFNOSUPPORT | rustix::io::Errno::ADDRNOTAVAIL)
                    ) =>
            {
                tracing::info!("this machine has no IPv6: listening on IPv4 alone");
                bound(SocketAddr::from((Ipv4Addr::UNSPECIFIED, address.port())))
            }
            socket => socket,
        };
        let socket = socket.map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => Error::PortTaken(address),
            io::ErrorKind::AddrNotAvailable => Error::NotOurAddress(address),
            _ => Error::Socket { address, source },
        })?;
        let set_up = |socket: &UdpSocket| -> io::Result<(UdpSocketState, SocketAddr)> {
            let state = UdpSocketState::new(UdpSockRef::from(socket))?;
            // Beyond the system's limit for all (net.core.rmem_max) with CAP_NET_ADMIN, within it without.
            if setsockopt(socket, sockopt::RcvBufForce, &RECEIVE_BUFFER_BYTES).is_err() {
                state.set_recv_buffer_size(UdpSockRef::from(socket), RECEIVE_BUFFER_BYTES)?;
            }
            state.set_send_buffer_size(UdpSockRef::from(socket), SEND_BUFFER_BYTES)?;
            Ok((state, socket.local_addr()?))
        };
        let (state, local) = set_up(&socket).map_err(|source| Error::Socket { address, source })?;
        let (socket, state, refuses_rows) = (socket.into(), state.into(), Arc::default());
        Ok(Udp { socket, state, refuses_rows, local, buffer: Vec::new() })
    }

    /// The same socket with its own buffer, for another thread.
    #[must_use]
    pub fn share(&self) -> Self {
        Udp {
            socket: Arc::clone(&self.socket),
            state: Arc::clone(&self.state),
            refuses_rows: Arc::clone(&self.refuses_rows),
            local: self.local,
            buffer: Vec::new(),
        }
    }

    /// The socket's address, with the system's choice for port 0.
    #[must_use]
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// The most equal-sized datagrams in one sending system call.
    #[must_use]
    pub fn segments(&self) -> usize {
        match self.refuses_rows.load(Ordering::Relaxed) {
            true => 1,
            false => self.state.max_gso_segments().min(MOST_DATAGRAMS),
        }
    }

    /// Sends no more rows.
    pub fn send_no_rows(&self) {
        self.refuses_rows.store(true, Ordering::Relaxed);
    }

    /// Passes received datagrams to `each`, at most one system call's. Returns `false` if there was none.
    pub fn receive(&mut self, mut each: impl FnMut(Received<'_>)) -> io::Result<bool> {
        if self.buffer.is_empty() {
            self.buffer = vec![0; BATCH * ROW_BYTES];
        }
        let mut meta = [RecvMeta::default(); BATCH];
        let mut rows = self.buffer.chunks_exact_mut(ROW_BYTES);
        let mut slices: [IoSliceMut<'_>; BATCH] =
            std::array::from_fn(|_| IoSliceMut::new(rows.next().unwrap_or(&mut [])));
        let count = match self.state.recv(UdpSockRef::from(&*self.socket), &mut slices, &mut meta) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        };
        for (meta, row) in meta.iter().zip(&mut slices).take(count) {
            let from = canonical(meta.addr);
            let ecn = meta.ecn.map_or(0, |ecn| ecn as u8);
            let Some(row) = row.get_mut(..meta.len) else { continue };
            if meta.stride > meta.len {
                // An emulator hands this number on in the other byte order.
                receive_no_rows(&self.socket);
                continue;
            }
            for datagram in row.chunks_mut(meta.stride.max(1)) {
                each(Received { from, ecn, datagram });
            }
        }
        Ok(true)
    }

    /// Sends a row of datagrams to `to` with this outer traffic class. All have the length of the first, and
    /// the last may be shorter.
    pub fn send(&mut self, to: SocketAddr, class: u8, row: &[impl AsRef<[u8]>]) -> io::Result<()> {
        let to = match (self.local, to.ip()) {
            (SocketAddr::V6(_), IpAddr::V4(ip)) => {
                SocketAddrV6::new(ip.to_ipv6_mapped(), to.port(), 0, 0).into()
            }
            _ => to,
        };
        let mut slices = [IoSlice::new(&[]); MOST_DATAGRAMS];
        let slices = slices.get_mut(..row.len()).ok_or(io::ErrorKind::InvalidInput)?;
        slices.iter_mut().zip(row).for_each(|(slice, datagram)| *slice = IoSlice::new(datagram.as_ref()));
        let segment =
            row.first().and_then(|first| u16::try_from(first.as_ref().len()).ok()).unwrap_or(u16::MAX);
        let class_v6 = i32::from(class);
        // For an IPv4-mapped IPv6 address the kernel takes IPv4's option.
        let octet = match canonical(to) {
            SocketAddr::V4(_) => ControlMessage::Ipv4Tos(&class),
            SocketAddr::V6(_) => ControlMessage::Ipv6TClass(&class_v6),
        };
        let both = [ControlMessage::UdpGsoSegments(&segment), octet];
        let messages = &both[usize::from(row.len() < 2)..2 - usize::from(class == 0)];
        let to = SockaddrStorage::from(to);
        let sent = sendmsg(self.socket.as_raw_fd(), slices, messages, MsgFlags::empty(), Some(&to));
        sent.map(drop).map_err(|errno| {
            if row.len() > 1 && matches!(errno, Errno::EIO | Errno::EINVAL) {
                self.send_no_rows();
            }
            errno.into()
        })
    }
}

impl AsFd for Udp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Has the kernel deliver each datagram alone, because the size of those in a row is not readable.
fn receive_no_rows(socket: &UdpSocket) {
    match setsockopt(socket, sockopt::UdpGroSegment, &false) {
        Ok(()) => tracing::info!("datagrams are received one by one: this system garbles the size of rows"),
        Err(error) => tracing::warn!("rows of datagrams are lost, and cannot be switched off: {error}"),
    }
}

/// Converts an IPv4-mapped IPv6 address to IPv4. An IPv6 address keeps its scope.
fn canonical(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V6(v6) => v6.ip().to_ipv4_mapped().map_or(address, |ip| (ip, v6.port()).into()),
        SocketAddr::V4(_) => address,
    }
}

fn bound(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    if address.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    socket.bind(&SockAddr::from(address))?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    /// Waits for `count` datagrams.
    fn receive(udp: &mut Udp, count: usize) -> Vec<(SocketAddr, u8, Vec<u8>)> {
        let mut got = Vec::new();
        let patience = Instant::now() + Duration::from_secs(5);
        while got.len() < count && Instant::now() < patience {
            let fed = udp.receive(|received| {
                got.push((received.from, received.ecn, received.datagram.to_vec()));
            });
            if !fed.unwrap() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        got
    }

    fn local(port: u16, v6: bool) -> SocketAddr {
        if v6 { format!("[::1]:{port}") } else { format!("127.0.0.1:{port}") }.parse().unwrap()
    }

    #[test]
    fn one_socket_serves_both_families_and_names_ipv4_peers_by_their_ipv4_address() {
        let mut both = Udp::bind("[::]:0".parse().unwrap()).unwrap();
        for v6 in [false, true] {
            let mut peer = Udp::bind(local(0, v6)).unwrap();
            peer.send(local(both.local().port(), v6), 0, &[b"there"]).unwrap();
            assert_eq!(receive(&mut both, 1), [(peer.local(), 0, b"there".to_vec())]);
            both.send(peer.local(), 0, &[b"and back"]).unwrap();
            let back = receive(&mut peer, 1);
            assert_eq!(back, [(local(both.local().port(), v6), 0, b"and back".to_vec())]);
        }
    }

    #[test]
    fn a_row_arrives_as_the_datagrams_it_is_made_of() {
        let (mut a, mut b) =
            (Udp::bind(local(0, false)).unwrap(), Udp::bind("[::]:0".parse().unwrap()).unwrap());
        let row: Vec<u8> = (0..2500u32).map(|i| (i % 251) as u8).collect();
        assert!(a.segments() > 1, "this kernel has UDP GSO");
        let datagrams: Vec<&[u8]> = row.chunks(1000).collect();
        a.send(local(b.local().port(), false), 0, &datagrams).unwrap();
        let got: Vec<Vec<u8>> = receive(&mut b, 3).into_iter().map(|(_, _, datagram)| datagram).collect();
        assert_eq!(got, [row[..1000].to_vec(), row[1000..2000].to_vec(), row[2000..].to_vec()]);
    }

    #[test]
    fn the_ecn_bits_travel_in_both_families() {
        for v6 in [false, true] {
            let mut to = Udp::bind(local(0, v6)).unwrap();
            let mut from = Udp::bind("[::]:0".parse().unwrap()).unwrap();
            for ecn in [0b10, 0b01, 0b11, 0] {
                from.send(to.local(), ecn, &[b"marked"]).unwrap();
                assert_eq!(receive(&mut to, 1)[0].1, ecn);
            }
        }
    }

    /// The traffic class of the next datagram, read from the kernel and not by the tested code.
    fn class_of_next(socket: &UdpSocket) -> u8 {
        use nix::sys::socket::{ControlMessageOwned, recvmsg};
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let (mut bytes, mut space) = ([0; 3000], nix::cmsg_space!([u8; 64]));
        let mut into = [IoSliceMut::new(&mut bytes)];
        let fd = socket.as_raw_fd();
        let message = recvmsg::<SockaddrStorage>(fd, &mut into, Some(&mut space), MsgFlags::empty()).unwrap();
        message
            .cmsgs()
            .unwrap()
            .find_map(|message| match message {
                ControlMessageOwned::Ipv4Tos(class) => Some(class),
                ControlMessageOwned::Ipv6TClass(class) => u8::try_from(class).ok(),
                _ => None,
            })
            .expect("the kernel tells the class")
    }

    #[test]
    fn the_whole_traffic_class_travels_in_both_families_and_in_rows() {
        use nix::sys::socket::{setsockopt, sockopt};
        for (v6, bind) in [(false, "127.0.0.1:0"), (false, "[::]:0"), (true, "[::]:0")] {
            let to = UdpSocket::bind(local(0, v6)).unwrap();
            if v6 {
                setsockopt(&to, sockopt::Ipv6RecvTClass, &true).unwrap();
            } else {
                setsockopt(&to, sockopt::IpRecvTos, &true).unwrap();
            }
            let mut from = Udp::bind(bind.parse().unwrap()).unwrap();
            for class in [46 << 2 | 0b10, 8 << 2, 0b01, 0] {
                let address = to.local_addr().unwrap();
                from.send(address, class, &[[7; 1000]; 2]).unwrap();
                assert_eq!([class_of_next(&to), class_of_next(&to)], [class; 2], "{bind} v6 {v6}");
            }
        }
    }

    #[test]
    fn what_is_too_large_for_the_path_is_refused_and_not_fragmented() {
        let (mut a, b) = (Udp::bind(local(0, false)).unwrap(), Udp::bind(local(0, false)).unwrap());
        // The loopback device carries at most 65536 bytes.
        let error = a.send(b.local(), 0, &[[0; 65_530]]).unwrap_err();
        assert_eq!(rustix::io::Errno::from_io_error(&error), Some(rustix::io::Errno::MSGSIZE));
    }

    #[test]
    fn a_port_in_use_is_named() {
        let first = Udp::bind("[::]:0".parse().unwrap()).unwrap();
        let taken = SocketAddr::from((Ipv4Addr::UNSPECIFIED, first.local().port()));
        let error = Udp::bind(taken).err().unwrap();
        assert!(matches!(error, Error::PortTaken(address) if address == taken), "{error}");
    }
}
