//! Why the machine did not give what was asked of it. Each text is one sentence with the mend.

use ipnet::IpNet;
use std::net::SocketAddr;

/// What the system refused.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no `/dev/net/tun`.
    #[error(
        "there is no /dev/net/tun; load the kernel module tun (modprobe tun) or give the container that device"
    )]
    NoTunDevice,
    /// TUN devices may not be made by this process.
    #[error("no right to make a TUN device; run as root or give the program CAP_NET_ADMIN")]
    NoTunRight,
    /// The interface's name belongs to something else.
    #[error("interface {0} exists already; stop the program that made it or choose another name")]
    InterfaceTaken(String),
    /// Not a name for an interface.
    #[error("{0:?} is no name for an interface; use 1 to 15 letters, digits, '-', '_' or '.'")]
    InterfaceName(String),
    /// The device went away while the node ran.
    #[error("interface {0} was removed by someone else")]
    InterfaceGone(String),
    /// Another program has the port.
    #[error("UDP port {port} on {ip} is in use by another program; stop it or choose another port", port = .0.port(), ip = .0.ip())]
    PortTaken(SocketAddr),
    /// The address is not this machine's.
    #[error("{ip} is not an address of this machine; listen on one that is, or on [::]", ip = .0.ip())]
    NotOurAddress(SocketAddr),
    /// The socket could not be made or bound.
    #[error("no UDP socket on {address}: {source}")]
    Socket {
        /// Where it was to listen.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// There is no such interface to listen on.
    #[error("there is no interface {0}; name one that `ip link` shows")]
    NoInterface(String),
    /// Packet sockets may not be made by this process.
    #[error("no right to open a packet socket; run as root or give the program CAP_NET_RAW")]
    NoPacketRight,
    /// The interface has no frames in which others' could be read.
    #[error(
        "nothing of others can be heard on interface {interface}, whose kind is {hardware} (ARPHRD); name a Wi-Fi \
         interface in monitor mode, or one like Ethernet"
    )]
    CannotOverhear {
        /// Its name.
        interface: String,
        /// Its kind, by the kernel's number.
        hardware: u16,
    },
    /// The kernel does not let the interface have IPv6.
    #[error(
        "{0} cannot be set: IPv6 is switched off here; take it out, or set net.ipv6.conf.default.disable_ipv6 = 0"
    )]
    NoIpv6(IpNet),
    /// A route to the same addresses exists.
    #[error("there is a route to {0} already; remove that route, or take {0} out of the peer's allowed_ips")]
    RouteTaken(IpNet),
    /// Another live interface uses the routing table that this one's name leads to.
    #[error(
        "routing table {table} is in use through another interface; give interface {interface} another name"
    )]
    TableTaken {
        /// The table's number.
        table: u32,
        /// Whose it was to be.
        interface: String,
    },
    /// A request to the kernel about devices, addresses, routes or rules failed.
    #[error("cannot {what}: {source}")]
    Netlink {
        /// What was wanted, after "cannot".
        what: String,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// A system call failed that should not.
    #[error("cannot {what}: {source}")]
    Call {
        /// What was wanted, after "cannot".
        what: &'static str,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// The node that was to answer has stopped.
    #[error("the node has stopped")]
    Stopped,
}

impl Error {
    /// For `map_err`: the call that failed, after "cannot".
    pub(crate) fn call<E: Into<std::io::Error>>(what: &'static str) -> impl FnOnce(E) -> Error {
        move |source| Error::Call { what, source: source.into() }
    }
}
