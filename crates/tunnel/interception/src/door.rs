//! Sockets with others' addresses: they accept intercepted connections, and continue them under the clients'
//! addresses.

use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{SocketAddr, TcpListener};

const BACKLOG: i32 = 1024;

/// Reason why there is no such socket; a sentence with a remedy.
#[derive(Debug, thiserror::Error)]
pub enum NotListening {
    /// The address or port is in use, or not this machine's.
    #[error("cannot listen on {address}: {source}; choose another address or port")]
    Address {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The process may not use others' addresses.
    #[error("no right to take connections on their way ({0}); run as root or give the program CAP_NET_ADMIN")]
    NoRight(io::Error),
}

/// A socket bound to `address`, possibly another host's.
///
/// # Errors
///
/// If this process may not have such a socket, or the system has no room for it.
pub fn transparent(address: SocketAddr) -> Result<Socket, NotListening> {
    bound(address, true)
}

/// Listens at `address`. A transparent socket also accepts intercepted connections to any address.
///
/// # Errors
///
/// If the address or port is in use, or this process may not have a transparent socket.
pub fn listen(address: SocketAddr, transparent: bool) -> Result<TcpListener, NotListening> {
    let socket = bound(address, transparent)?;
    socket.listen(BACKLOG).map_err(|source| NotListening::Address { address, source })?;
    Ok(socket.into())
}

fn bound(address: SocketAddr, transparent: bool) -> Result<Socket, NotListening> {
    let failed = |source| NotListening::Address { address, source };
    let socket =
        Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP)).map_err(failed)?;
    if transparent {
        // IPv4's option also sets the flag of an IPv6 socket; IPv6's own option has no safe wrapper.
        socket.set_ip_transparent_v4(true).map_err(NotListening::NoRight)?;
    }
    if address.is_ipv6() {
        socket.set_only_v6(true).map_err(failed)?;
    }
    socket.set_reuse_address(true).map_err(failed)?;
    socket.set_nonblocking(true).map_err(failed)?;
    socket.bind(&address.into()).map_err(failed)?;
    Ok(socket)
}
