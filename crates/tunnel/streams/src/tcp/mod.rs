//! TCP connections of hosts, ended in user space.
//!
//! A [`Connection`] is one end of one connection of a host. It takes the host's IP packets, emits the IP
//! packets for the host, and gives and takes bytes. [`Connection::accept`] takes a connection that a host
//! begins, in the server's place. [`Connection::connect`] begins one towards a server, in the client's place.
//! smoltcp does the protocol (RFC 9293); every connection has an interface with one socket of its own, so
//! that a packet costs the same whatever the number of connections.
//!
//! Nothing here asks for the time or for randomness. A time is a duration since an origin of the caller's
//! choice. After each call that changes a connection, the caller calls [`Connection::poll`], and again at
//! [`Connection::timeout`].

mod connection;
mod device;
mod filter;
mod reset;
mod seed;
mod segment;
mod sent;
mod syn;
#[cfg(test)]
mod tests;
mod undelivered;
mod watch;

pub use connection::Connection;
pub use reset::{resets_another_answer, write_reset};
pub use syn::is_takeable_syn;
pub use undelivered::Undelivered;

/// Sizes of a connection, and its first number.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Most bytes of an IP packet for the host, headers included. The least is 576, the most 65535.
    pub mtu: usize,
    /// Bytes received and not read that the connection holds: the largest receive window. The most is 1 GiB.
    pub receive_bytes: usize,
    /// Bytes written and not acknowledged that the connection holds.
    pub send_bytes: usize,
    /// The initial sequence number, which only the host may learn (RFC 6528).
    pub first_sequence: u32,
}

/// The stage of a connection's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The handshake is under way.
    Opening,
    /// The handshake is complete, and at least one direction is not.
    Open,
    /// The host answered our SYN with a RST.
    Refused,
    /// A RST ended the connection, from the host or from [`Connection::abort`], or the host stopped
    /// answering.
    Reset,
    /// Both directions ended in order, and the host acknowledged our FIN. Bytes may still wait to be read.
    Closed,
}
