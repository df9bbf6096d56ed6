//! An AF_PACKET socket on one interface (packet(7)), with the few options that no library has.

#![allow(unsafe_code)] // Options and addresses of packet sockets are in no safe interface.

use crate::Error;
use nix::libc;
use rustix::io::Errno;
use socket2::{Domain, SockAddr, Socket, Type};
use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

/// Bytes of the receive buffer; the kernel allows at most `net.core.rmem_max`.
const RECEIVE_BUFFER_BYTES: usize = 4 << 20;
/// Bytes of the `virtio_net_hdr` before each frame.
pub const FRONT_BYTES: usize = 10;

/// A socket that receives nothing before [`listen`](Self::listen).
pub struct PacketSocket {
    socket: Socket,
    index: u32,
}

impl PacketSocket {
    /// A socket on this interface, and the kind of the interface: ARPHRD_ETHER and so on. No frame reaches it
    /// before the filter is set.
    pub fn on(interface: &str) -> Result<(Self, u16), Error> {
        let mut socket = PacketSocket::open().map_err(|source| match Errno::from_io_error(&source) {
            Some(Errno::PERM | Errno::ACCESS) => Error::NoPacketRight,
            _ => Error::Call { what: "open a packet socket", source },
        })?;
        if socket.choose(interface).map_err(Error::call("choose the interface to listen on"))?.is_none() {
            return Err(Error::NoInterface(interface.to_owned()));
        }
        let hardware = socket.hardware_type().map_err(Error::call("ask for the kind of an interface"))?;
        Ok((socket, hardware))
    }

    fn open() -> io::Result<Self> {
        let socket = Socket::new(Domain::PACKET, Type::RAW.nonblocking(), None)?;
        socket.set_recv_buffer_size(RECEIVE_BUFFER_BYTES)?;
        // Super-segments come with the size of their datagrams.
        let it = PacketSocket { socket, index: 0 };
        it.set(libc::PACKET_VNET_HDR, &c_int::from(true))?;
        Ok(it)
    }

    /// Selects the interface called `name`; `None` if there is none.
    fn choose(&mut self, name: &str) -> io::Result<Option<()>> {
        match rustix::net::netdevice::name_to_index(&self.socket, name) {
            Ok(index) => self.index = index,
            Err(Errno::NODEV) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        self.bind(0)?;
        Ok(Some(()))
    }

    /// The kind of the selected interface.
    fn hardware_type(&self) -> io::Result<u16> {
        let address = self.socket.local_addr()?;
        // SAFETY: the storage has the size and alignment of any address, and all of it is initialised. A
        // packet socket's address is a `sockaddr_ll` of integers only.
        let link = unsafe { &*address.as_ptr().cast::<libc::sockaddr_ll>() };
        Ok(link.sll_hatype)
    }

    /// Sets the filter and starts receiving.
    pub fn listen(&self, filter: &[socket2::SockFilter]) -> io::Result<()> {
        self.socket.attach_filter(filter)?;
        self.bind(libc::ETH_P_ALL as u16)
    }

    /// Sets promiscuous mode while this socket is open.
    pub fn join_all(&self) -> io::Result<()> {
        let membership = libc::packet_mreq {
            mr_ifindex: self.index as c_int,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        self.set(libc::PACKET_ADD_MEMBERSHIP, &membership)
    }

    /// Number of frames dropped by a full buffer since the last call.
    pub fn dropped(&self) -> io::Result<u64> {
        let mut statistics = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut length = size_of_val(&statistics) as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes to `statistics`, which has that length and only
        // integers.
        let result = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut statistics).cast(),
                &raw mut length,
            )
        };
        if result == 0 { Ok(u64::from(statistics.tp_drops)) } else { Err(io::Error::last_os_error()) }
    }

    fn bind(&self, protocol: u16) -> io::Result<()> {
        // SAFETY: the storage has room for any address. It is zero, which is valid for every field of
        // `sockaddr_ll`. The length is that of the written address.
        let ((), address) = unsafe {
            SockAddr::try_init(|storage, length| {
                let link = storage.cast::<libc::sockaddr_ll>();
                (*link).sll_family = libc::AF_PACKET as u16;
                (*link).sll_protocol = protocol.to_be();
                (*link).sll_ifindex = self.index as c_int;
                *length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
                Ok(())
            })
        }?;
        self.socket.bind(&address)
    }

    fn set<T>(&self, option: c_int, value: &T) -> io::Result<()> {
        // SAFETY: the kernel reads `size_of::<T>()` bytes of `value`, which outlives the call.
        let result = unsafe {
            libc::setsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                option,
                std::ptr::from_ref(value).cast(),
                size_of::<T>() as libc::socklen_t,
            )
        };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsRawFd for PacketSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}
