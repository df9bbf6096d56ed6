//! The permitted destinations of clients, by address and port. The check applies to the resolved addresses,
//! and the proxy connects to the same ones. A later change of the name has no effect.
//!
//! A proxy sends requests from this machine's addresses, often inside a network. Without rules its clients
//! could reach services for this machine alone. On a port other than HTTP's, they could reach servers of
//! other protocols.

mod embedded;
mod own;
mod ports;

pub use embedded::meant_by;
pub use ports::{NoPorts, Ports};

use hyper::StatusCode;
use ipnet::IpNet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// Addresses of clouds' metadata services, beside the link-local 169.254.169.254. IPv4: Alibaba's, Azure's,
/// and those in RFC 6890's special purposes (Oracle's). Then Amazon's and Google's of IPv6.
const METADATA_V4: [(Ipv4Addr, u32); 3] = [
    (Ipv4Addr::new(100, 100, 100, 200), 32),
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
];
const METADATA_V6: [Ipv6Addr; 2] = [
    Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254),
    Ipv6Addr::new(0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x0254),
];

/// The way to a destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Plain HTTP.
    Http,
    /// CONNECT.
    Connect,
    /// Plain HTTP on an intercepted connection, whose port is one of the intercepted ones.
    Taken,
}

/// Kind of a forbidden address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Of this machine, on any interface.
    Own,
    /// Loopback.
    Loopback,
    /// Unspecified: "this host" or "this network" (RFC 1122 section 3.2.1.3).
    Unspecified,
    /// Link-local.
    LinkLocal,
    /// Multicast or broadcast.
    Multicast,
    /// Reserved (RFC 1112 section 4).
    Reserved,
    /// A cloud's metadata service.
    Metadata,
}

/// Reason why a client may not reach a destination; a sentence for the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The address.
    #[error("this cache leads no client to {0} addresses")]
    Address(Kind),
    /// The port.
    #[error("this cache leads no client to that port")]
    Port,
    /// Too many names are being resolved for the client.
    #[error("too many names are being looked up for this client")]
    Names,
}

impl Refused {
    /// Its name in the counters.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Refused::Address(_) => "destination",
            Refused::Port => "port",
            Refused::Names => "names",
        }
    }

    /// The status code for the client.
    #[must_use]
    pub fn status(self) -> StatusCode {
        match self {
            Refused::Address(_) | Refused::Port => StatusCode::FORBIDDEN,
            Refused::Names => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Kind::Own => "its own",
            Kind::Loopback => "loopback",
            Kind::Unspecified => "unspecified",
            Kind::LinkLocal => "link-local",
            Kind::Multicast => "multicast or broadcast",
            Kind::Reserved => "reserved",
            Kind::Metadata => "cloud metadata",
        })
    }
}

/// A permission that overrides a rule: a network on the permitted ports, or an address with any port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exception {
    /// All addresses of a network.
    Network(IpNet),
    /// One address and port.
    Server(SocketAddr),
}

/// The text is not an [`Exception`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no network and no address with a port")]
pub struct NoException;

impl FromStr for Exception {
    type Err = NoException;

    fn from_str(text: &str) -> Result<Self, NoException> {
        let server = || text.parse().ok().map(Exception::Server);
        let alone = || text.parse::<IpAddr>().ok().map(|address| Exception::Network(address.into()));
        let network = text.parse().ok().map(Exception::Network);
        network.or_else(alone).or_else(server).ok_or(NoException)
    }
}

impl Exception {
    fn permits(&self, address: IpAddr, port: u16) -> bool {
        match self {
            Exception::Network(network) => network.contains(&address),
            Exception::Server(server) => server.ip() == address && server.port() == port,
        }
    }
}

/// The rules of one cache.
#[derive(Debug, Clone, Default)]
pub struct Destinations {
    /// Ports of plain HTTP.
    pub ports: Ports,
    /// Ports that CONNECT may reach.
    pub connect_ports: Ports,
    /// Permissions that override the rules.
    pub exceptions: Vec<Exception>,
}

impl Destinations {
    /// Checks whether a port is permitted at any address.
    ///
    /// # Errors
    ///
    /// [`Refused::Port`].
    pub fn judge_port(&self, port: u16, by: By) -> Result<(), Refused> {
        let named = |exception: &Exception| matches!(exception, Exception::Server(it) if it.port() == port);
        if self.has_port(port, by) || self.exceptions.iter().any(named) { Ok(()) } else { Err(Refused::Port) }
    }

    fn has_port(&self, port: u16, by: By) -> bool {
        match by {
            By::Http => self.ports.contains(port),
            By::Connect => self.connect_ports.contains(port),
            By::Taken => true,
        }
    }

    /// Checks whether a client may reach a resolved address. It asks the kernel whether the address is this
    /// machine's own.
    ///
    /// # Errors
    ///
    /// [`Refused`].
    pub async fn judge(&self, destination: SocketAddr, by: By) -> Result<(), Refused> {
        let (address, port) = (destination.ip().to_canonical(), destination.port());
        let permits = |exception: &Exception, server: bool| {
            matches!(exception, Exception::Server(_)) == server && exception.permits(address, port)
        };
        if self.exceptions.iter().any(|exception| permits(exception, true)) {
            return Ok(());
        }
        if !self.has_port(port, by) {
            return Err(Refused::Port);
        }
        if self.exceptions.iter().any(|exception| permits(exception, false)) {
            return Ok(());
        }
        for meant in meant_by(address) {
            if let Some(kind) = kind_of(meant) {
                return Err(Refused::Address(kind));
            }
        }
        for meant in meant_by(address) {
            if let Some(kind) = own::kind_of(meant) {
                return Err(Refused::Address(kind));
            }
        }
        Ok(())
    }
}

/// The address's own kind, if it is forbidden. Private addresses (RFC 1918, RFC 4193, RFC 6598) are
/// permitted, because meshes use them.
fn kind_of(address: IpAddr) -> Option<Kind> {
    match address {
        IpAddr::V4(address) => kind_of_v4(address),
        IpAddr::V6(address) => kind_of_v6(address),
    }
}

fn kind_of_v4(address: Ipv4Addr) -> Option<Kind> {
    let within = |(network, length): &(Ipv4Addr, u32)| {
        let shift = 32 - length;
        u64::from(address.to_bits()) >> shift == u64::from(network.to_bits()) >> shift
    };
    match address.octets()[0] {
        0 => Some(Kind::Unspecified),
        127 => Some(Kind::Loopback),
        224..=239 => Some(Kind::Multicast),
        _ if address.is_broadcast() => Some(Kind::Multicast),
        240..=255 => Some(Kind::Reserved),
        _ if address.is_link_local() => Some(Kind::LinkLocal),
        _ if METADATA_V4.iter().any(within) => Some(Kind::Metadata),
        _ => None,
    }
}

fn kind_of_v6(address: Ipv6Addr) -> Option<Kind> {
    if address.is_unspecified() {
        Some(Kind::Unspecified)
    } else if address.is_loopback() {
        Some(Kind::Loopback)
    } else if address.is_unicast_link_local() {
        Some(Kind::LinkLocal)
    } else if address.is_multicast() {
        Some(Kind::Multicast)
    } else if METADATA_V6.contains(&address) {
        Some(Kind::Metadata)
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
