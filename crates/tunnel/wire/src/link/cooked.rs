//! Linux "cooked" captures, taken on all interfaces at once.
//!
//! ```text
//! v1 (16 bytes): packet type 2 | ARPHRD type 2 | address length 2 | address 8 | EtherType 2
//! v2 (20 bytes): EtherType 2 | reserved 2 | interface 4 | ARPHRD type 2 | packet type 1 | length 1 | address 8
//! ```
//!
//! Interfaces without a link layer of their own (tunnels) also give an EtherType here.

use super::{Skipped, ethernet};

/// Version 1 (LINKTYPE_LINUX_SLL).
pub(super) fn unpack_v1(frame: &[u8], each: &mut dyn FnMut(&[u8])) -> Result<(), Skipped> {
    let (header, rest) = frame.split_first_chunk::<16>().ok_or(Skipped::Malformed)?;
    ethernet::payload(u16::from_be_bytes([header[14], header[15]]), rest, each)
}

/// Version 2 (LINKTYPE_LINUX_SLL2).
pub(super) fn unpack_v2(frame: &[u8], each: &mut dyn FnMut(&[u8])) -> Result<(), Skipped> {
    let (header, rest) = frame.split_first_chunk::<20>().ok_or(Skipped::Malformed)?;
    ethernet::payload(u16::from_be_bytes([header[0], header[1]]), rest, each)
}
