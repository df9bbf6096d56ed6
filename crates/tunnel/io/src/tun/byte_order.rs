//! The byte order of the header before each packet of a device.

#![allow(unsafe_code)] // No safe interface has this request.

use rustix::io::Result;
use rustix::ioctl::{Setter, ioctl, opcode};
use std::ffi::c_int;
use std::os::fd::AsFd;

/// `TUNSETVNETLE` of Linux's include/uapi/linux/if_tun.h.
const SET_LITTLE_ENDIAN: rustix::ioctl::Opcode = opcode::write::<c_int>(b'T', 220);

/// Makes the header little-endian. It is so already on a little-endian processor. An emulated big-endian
/// program would otherwise take the order of the kernel below the emulator for its own.
pub fn make_little_endian(device: impl AsFd) -> Result<()> {
    if cfg!(target_endian = "little") {
        return Ok(());
    }
    // SAFETY: the kernel reads one `int` for this request.
    unsafe { ioctl(device, Setter::<SET_LITTLE_ENDIAN, c_int>::new(1)) }
}
