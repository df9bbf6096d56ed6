//! The TUN device: IP packets from and to the kernel. With offloads, one system call carries many.

use crate::Error;
use crate::netlink::Netlink;
use crate::offload::{self, Coalescer, FRONT_BYTES};
use ipnet::IpNet;
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Setter, ioctl, opcode};
use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use tun_rs::{DeviceBuilder, SyncDevice};

/// The longest interface name in bytes (IFNAMSIZ without the final zero).
const NAME_BYTES: usize = 15;
/// The longest packet or super-segment.
const PACKET_BYTES: usize = 65_535;

/// A TUN device, owned or shared. At the end of its owners, even if the process is killed, the kernel removes
/// it with its addresses and routes.
pub struct Tun {
    device: Arc<SyncDevice>,
    name: String,
    index: u32,
    /// Empty before the first packet is read: a thread that only writes has none.
    read: Vec<u8>,
    written: Coalescer,
}

impl Tun {
    /// Creates the device, sets its MTU and addresses, and brings it up.
    pub fn create(netlink: &Netlink, name: &str, mtu: u16, addresses: &[IpNet]) -> Result<Self, Error> {
        if !is_name(name) {
            return Err(Error::InterfaceName(name.to_owned()));
        }
        // Opening an existing device would attach to a persistent TUN, and fail with an obscure error
        // otherwise.
        if netlink.interface(name)?.is_some() {
            return Err(Error::InterfaceTaken(name.to_owned()));
        }
        let device = open(name)?;
        device.set_nonblocking(true).map_err(Error::call("make the TUN device non-blocking"))?;
        let Some(index) = netlink.interface(name)? else {
            return Err(Error::InterfaceGone(name.to_owned()));
        };
        netlink.quieten(index);
        device.set_mtu(mtu).map_err(Error::call("set the interface's MTU"))?;
        for address in addresses {
            netlink.add_address(index, *address)?;
        }
        netlink.bring_up(index)?;
        let written = Coalescer::new(device.udp_gso());
        Ok(Tun { device: Arc::new(device), name: name.to_owned(), index, read: Vec::new(), written })
    }

    /// The same device with its own buffers, for another thread. The device lives as long as one of them.
    #[must_use]
    pub fn share(&self) -> Self {
        Tun {
            device: Arc::clone(&self.device),
            name: self.name.clone(),
            index: self.index,
            read: Vec::new(),
            written: Coalescer::new(self.device.udp_gso()),
        }
    }

    /// The interface's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The interface's index.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Whether the kernel sends and accepts super-segments.
    #[must_use]
    pub fn has_offloads(&self) -> bool {
        self.device.tcp_gso()
    }

    /// Passes one system call's packets to `each`. Returns `false` if there are none now.
    pub fn read(&mut self, mut each: impl FnMut(&mut [u8])) -> Result<bool, Error> {
        if self.read.is_empty() {
            self.read = vec![0; FRONT_BYTES + PACKET_BYTES];
        }
        let count = match self.device.recv(&mut self.read) {
            Ok(count) => count,
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::AGAIN | Errno::INTR) => return Ok(false),
                Some(Errno::BADFD) => return Err(Error::InterfaceGone(self.name.clone())),
                _ => return Err(Error::Call { what: "read from the TUN device", source: error }),
            },
        };
        let read = &mut self.read[..count];
        if !self.device.tcp_gso() {
            each(read);
        } else if let Ok(front) = offload::read_front(read)
            && let Err(why) = offload::split(&front, &mut read[FRONT_BYTES..], each)
        {
            tracing::debug!("{}: {why}: {front:?}", self.name);
        }
        Ok(true)
    }

    /// Passes one packet to the kernel, at the latest by the next [`flush`](Self::flush). A packet that the
    /// kernel refuses (interface down, malformed packet) is lost, as on any link.
    pub fn write(&mut self, packet: &[u8]) -> io::Result<()> {
        let Tun { device, written, .. } = self;
        if device.tcp_gso() {
            written.add(packet, |bytes| device.send(bytes).map(drop))
        } else {
            device.send(packet).map(drop)
        }
    }

    /// Passes every delayed packet to the kernel.
    pub fn flush(&mut self) -> io::Result<()> {
        let Tun { device, written, .. } = self;
        written.flush(|bytes| device.send(bytes).map(drop))
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

/// Checks the right to create TUN devices: creates one with a name of the kernel's choice, down and without
/// addresses, and drops it.
pub fn may_create() -> Result<(), Error> {
    open("").map(drop)
}

/// Opens a device with offloads, or without if the kernel has none.
fn open(name: &str) -> Result<SyncDevice, Error> {
    let build = |offload| {
        let mut builder = DeviceBuilder::new().enable(false).with(|builder| {
            builder.offload(offload);
        });
        if !name.is_empty() {
            builder = builder.name(name);
        }
        builder.build_sync()
    };
    let with_offloads = build(true).and_then(|device| {
        if device.tcp_gso() {
            set_little_endian(&device)?;
        }
        Ok(device)
    });
    let device = with_offloads.or_else(|why| {
        tracing::debug!("no TUN device with offloads: {why}");
        build(false)
    });
    device.map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::NOENT | Errno::NXIO | Errno::NODEV) => Error::NoTunDevice,
        Some(Errno::PERM | Errno::ACCESS) => Error::NoTunRight,
        Some(Errno::BUSY | Errno::INVAL) => Error::InterfaceTaken(name.to_owned()),
        _ => Error::Call { what: "make a TUN device", source: error },
    })
}

/// Makes the header before each packet little-endian (TUNSETVNETLE). An emulator passes the device's octets
/// on as they are, so the processor's own order would be that of the machine below.
#[allow(unsafe_code)] // No library has a safe call for this request.
fn set_little_endian(device: &SyncDevice) -> io::Result<()> {
    const TUNSETVNETLE: Opcode = opcode::write::<c_int>(b'T', 220);
    // SAFETY: the request reads one `int`, by linux/if_tun.h.
    unsafe { ioctl(device, Setter::<TUNSETVNETLE, c_int>::new(1))? };
    Ok(())
}

/// Whether `name` is a valid interface name. With a `%` the kernel would insert a number.
#[must_use]
pub fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= NAME_BYTES
        && name != "."
        && name != ".."
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::is_name;

    #[test]
    fn names_that_the_kernel_would_refuse_or_change_are_refused_first() {
        assert!(is_name("oh0") && is_name("over-heard_1.2"));
        for bad in ["", ".", "..", "a/b", "a b", "tun%d", "sixteencharacter", "é"] {
            assert!(!is_name(bad), "{bad}");
        }
    }
}
