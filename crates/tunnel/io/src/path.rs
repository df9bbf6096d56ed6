//! The largest datagram to a peer, as the kernel knows it.

use rustix::net::sockopt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// The path MTU to `to` in bytes of IP packet: the interface's, or a smaller one that the kernel learned.
/// Nothing is sent. An error means that there is no route now.
pub fn mtu_towards(to: SocketAddr) -> io::Result<u32> {
    let any: IpAddr = if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(to)?;
    Ok(if to.is_ipv4() { sockopt::ip_mtu(&socket)? } else { sockopt::ipv6_mtu(&socket)? })
}

/// Bytes of IP and UDP headers before a datagram to `to`.
#[must_use]
pub fn header_bytes(to: IpAddr) -> u16 {
    if to.is_ipv4() { 20 + 8 } else { 40 + 8 }
}
