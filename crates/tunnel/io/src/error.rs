//! Refusals of the system. Each text is one sentence with a remedy.

use ipnet::IpNet;
use std::net::SocketAddr;

/// A refusal of the system.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no `/dev/net/tun`.
    #[error(
        "there is no /dev/net/tun; load the kernel module tun (modprobe tun) or give the container that device"
    )]
    NoTunDevice,
    /// This process has no right to create TUN devices.
    #[error("no right to make a TUN device; run as root or give the program CAP_NET_ADMIN")]
    NoTunRight,
    /// Another device has the interface's name.
    #[error("interface {0} exists already; stop the program that made it or choose another name")]
    InterfaceTaken(String),
    /// The name is not valid for an interface.
    #[error("{0:?} is no name for an interface; use 1 to 15 letters, digits, '-', '_' or '.'")]
    InterfaceName(String),
    /// The device disappeared while the node ran.
    #[error("interface {0} was removed by someone else")]
    InterfaceGone(String),
    /// Another program has the port.
    #[error("UDP port {port} on {ip} is in use by another program; stop it or choose another port", port = .0.port(), ip = .0.ip())]
    PortTaken(SocketAddr),
    /// The address is not one of this machine.
    #[error("{ip} is not an address of this machine; listen on one that is, or on [::]", ip = .0.ip())]
    NotOurAddress(SocketAddr),
    /// The socket could not be created or bound.
    #[error("no UDP socket on {address}: {source}")]
    Socket {
        /// The address to listen on.
        address: SocketAddr,
        /// The system's error.
        source: std::io::Error,
    },
    /// There is no such interface to listen on.
    #[error("there is no interface {0}; name one that `ip link` shows")]
    NoInterface(String),
    /// This process has no right to create packet sockets.
    #[error("no right to open a packet socket; run as root or give the program CAP_NET_RAW")]
    NoPacketRight,
    /// Other hosts' frames cannot be read from the interface.
    #[error(
        "nothing of others can be heard on interface {interface}, whose kind is {hardware} (ARPHRD); name a Wi-Fi \
         interface in monitor mode, or one like Ethernet"
    )]
    CannotOverhear {
        /// Its name.
        interface: String,
        /// The kernel's number of its kind.
        hardware: u16,
    },
    /// The interface has frames of an unknown form.
    #[error("the frames of interface {interface} are not understood: its kind is {hardware} (ARPHRD)")]
    CannotCapture {
        /// Its name.
        interface: String,
        /// The kernel's number of its kind.
        hardware: u16,
    },
    /// The kernel refuses IPv6 on the interface.
    #[error(
        "{0} cannot be set: IPv6 is switched off here; take it out, or set net.ipv6.conf.default.disable_ipv6 = 0"
    )]
    NoIpv6(IpNet),
    /// A route to the same addresses exists.
    #[error("there is a route to {0} already; remove that route, or take {0} out of the peer's allowed_ips")]
    RouteTaken(IpNet),
    /// Another active interface uses this one's routing table. Its number follows from the interface's name.
    #[error(
        "routing table {table} is in use through another interface; give interface {interface} another name"
    )]
    TableTaken {
        /// The table's number.
        table: u32,
        /// The interface of this node.
        interface: String,
    },
    /// A request to the kernel about devices, addresses, routes or rules failed.
    #[error("cannot {what}: {source}")]
    Netlink {
        /// The failed action, after "cannot".
        what: String,
        /// The kernel's error.
        source: std::io::Error,
    },
    /// A system call failed unexpectedly.
    #[error("cannot {what}: {source}")]
    Call {
        /// The failed action, after "cannot".
        what: &'static str,
        /// The kernel's error.
        source: std::io::Error,
    },
    /// The node has stopped.
    #[error("the node has stopped")]
    Stopped,
}

impl Error {
    /// For `map_err`: the failed call, after "cannot".
    pub(crate) fn call<E: Into<std::io::Error>>(what: &'static str) -> impl FnOnce(E) -> Error {
        move |source| Error::Call { what, source: source.into() }
    }
}
