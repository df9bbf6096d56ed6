//! Packets of a TUN device with offloads: super-segments behind the header of virtio devices (`struct
//! virtio_net_hdr`, Linux's include/uapi/linux/virtio_net.h).
//!
//! [`split()`] cuts the kernel's super-segments into packets, and completes checksums that the kernel left to
//! the device. [`Coalescer`] joins consecutive packets of a connection for the kernel. Cutting and joining
//! restore every bit that has a meaning.

mod coalesce;
mod split;

pub use coalesce::Coalescer;
pub use split::{NotSplit, split};
use std::io;

/// Bytes of the header before each packet.
pub use tun_rs::VIRTIO_NET_HDR_LEN as FRONT_BYTES;
/// The header before each packet.
pub use tun_rs::VirtioNetHdr as Front;

/// The header's flag of an incomplete checksum.
const NEEDS_CHECKSUM: u8 = 1;
/// Types of super-segments: none, TCP over either family, UDP over both; and the flag of CWR in the first
/// packet.
const NONE: u8 = 0;
const TCP_V4: u8 = 1;
const TCP_V6: u8 = 4;
const UDP_BOTH: u8 = 5;
const ECN: u8 = 0x80;

const TCP: u8 = 6;
const UDP: u8 = 17;
const TCP_HEADER_BYTES: usize = 20;
const UDP_HEADER_BYTES: usize = 8;
/// Offset of the checksum in TCP's header.
const TCP_CHECKSUM: usize = 16;
/// Offset of the checksum in UDP's header.
const UDP_CHECKSUM: usize = 6;
/// The flag in the seventh octet of an IPv4 header.
const DO_NOT_FRAGMENT: u8 = 0x40;
const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;
const CWR: u8 = 0x80;

/// Reads the header before a packet. A device of [`crate::tun`] has it little-endian on every processor.
///
/// # Errors
///
/// There are fewer octets than [`FRONT_BYTES`].
pub fn read_front(bytes: &[u8]) -> io::Result<Front> {
    Front::decode(bytes).map(in_device_order)
}

/// Writes the header before a packet.
///
/// # Errors
///
/// There is room for fewer octets than [`FRONT_BYTES`].
pub fn write_front(front: Front, bytes: &mut [u8]) -> io::Result<()> {
    in_device_order(front).encode(bytes)
}

fn in_device_order(front: Front) -> Front {
    Front {
        hdr_len: front.hdr_len.to_le(),
        gso_size: front.gso_size.to_le(),
        csum_start: front.csum_start.to_le(),
        csum_offset: front.csum_offset.to_le(),
        ..front
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn put_u16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// The sum of the Internet checksum (RFC 1071) over the pseudo-header of IPv4 (RFC 9293, section 3.1) or IPv6
/// (RFC 8200, section 8.1). `packet` has the IP header of `transport_bytes` of `protocol`.
fn pseudo_header_sum(packet: &[u8], protocol: u8, transport_bytes: usize) -> u64 {
    let addresses = if packet[0] >> 4 == 4 { &packet[12..20] } else { &packet[8..40] };
    tun_rs::checksum_no_fold(addresses, u64::from(protocol) + transport_bytes as u64)
}

/// Writes the length of `packet` into its IP header of `ip_header_bytes`, and updates the header's checksum,
/// if any.
fn write_length(packet: &mut [u8], ip_header_bytes: usize) {
    let total_bytes = packet.len();
    if packet[0] >> 4 == 4 {
        put_u16(packet, 2, total_bytes as u16);
        put_u16(packet, 10, 0);
        let checksum = !tun_rs::checksum(&packet[..ip_header_bytes], 0);
        put_u16(packet, 10, checksum);
    } else {
        put_u16(packet, 4, (total_bytes - 40) as u16);
    }
}

#[cfg(test)]
mod tests;
