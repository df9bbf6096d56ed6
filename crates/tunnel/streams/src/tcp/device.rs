//! The network device of one connection's interface.

use super::segment::withhold_step;
use smoltcp::phy::{self, Checksum, DeviceCapabilities, Medium};
use smoltcp::time::Instant;

/// A device for one call into smoltcp: it holds at most one packet to take in, and gives the packets that
/// come out to a closure.
pub(super) struct Device<'a> {
    /// Most bytes of an IP packet.
    pub(super) mtu: usize,
    /// The packet to take in.
    pub(super) incoming: Option<&'a [u8]>,
    /// Reused space in which packets are built.
    pub(super) space: &'a mut Vec<u8>,
    /// Takes each whole IP packet that comes out.
    pub(super) emit: &'a mut dyn FnMut(&[u8]),
}

/// The packet to take in.
pub(super) struct Incoming<'a>(&'a [u8]);

/// The way out for one packet.
pub(super) struct Outgoing<'a> {
    space: &'a mut Vec<u8>,
    emit: &'a mut dyn FnMut(&[u8]),
}

impl phy::RxToken for Incoming<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, take: F) -> R {
        take(self.0)
    }
}

impl phy::TxToken for Outgoing<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, bytes: usize, write: F) -> R {
        self.space.clear();
        self.space.resize(bytes, 0);
        let result = write(self.space);
        withhold_step(self.space);
        (self.emit)(self.space);
        result
    }
}

impl phy::Device for Device<'_> {
    type RxToken<'t>
        = Incoming<'t>
    where
        Self: 't;
    type TxToken<'t>
        = Outgoing<'t>
    where
        Self: 't;

    fn receive(&mut self, _: Instant) -> Option<(Incoming<'_>, Outgoing<'_>)> {
        let incoming = self.incoming.take()?;
        Some((Incoming(incoming), Outgoing { space: self.space, emit: self.emit }))
    }

    fn transmit(&mut self, _: Instant) -> Option<Outgoing<'_>> {
        Some(Outgoing { space: self.space, emit: self.emit })
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = self.mtu;
        // The connection verifies the checksums of every packet before it hands it on.
        capabilities.checksum.ipv4 = Checksum::Tx;
        capabilities.checksum.tcp = Checksum::Tx;
        capabilities
    }
}
