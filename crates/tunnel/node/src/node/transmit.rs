//! Datagrams that leave a node.

use crate::session::seal::Seal;
use std::net::SocketAddr;

/// A datagram to be sent. Call [`Transmit::seal`] on its buffer first: until then it is plaintext.
#[derive(Debug, Clone)]
#[must_use]
pub struct Transmit {
    /// Where it goes.
    pub to: SocketAddr,
    /// Index of this node's source port, less than [`Config::source_ports`](crate::Config::source_ports).
    pub source_port: usize,
    /// The outer header's traffic class: DSCP (6 bits) and ECN (2 bits).
    pub class: u8,
    pub(super) seal: Option<Seal>,
}

impl Transmit {
    /// Whether there is something to encrypt: handshake messages and resets are not.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.seal.is_some()
    }

    /// Encrypts the datagram in place. May be done on another thread.
    pub fn seal(&self, datagram: &mut Vec<u8>) {
        if let Some(seal) = &self.seal {
            seal.apply(datagram);
        }
    }
}
