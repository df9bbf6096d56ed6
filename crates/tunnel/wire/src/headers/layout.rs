//! The compressible headers, and the places of their fields.

use crate::inner::{TCP, UDP};
use etherparse::checksum::Sum16BitWords;

/// Bytes of an IPv4 header without options.
const IPV4_BYTES: usize = 20;
/// Bytes of an IPv6 header without extensions.
const IPV6_BYTES: usize = 40;
/// Bytes of a TCP header without options.
pub(super) const TCP_BYTES: usize = 20;
const UDP_BYTES: usize = 8;
/// The most bytes of options that a TCP header may have.
pub(super) const MAX_OPTION_BYTES: usize = 40;

/// Where fields of the IPv4 header lie, in bytes from its start.
pub(super) mod ipv4 {
    pub(crate) const CLASS: usize = 1;
    pub(crate) const LENGTH: usize = 2;
    pub(crate) const ID: usize = 4;
    /// Three bits of flags, then 13 of fragment offset.
    pub(crate) const FRAGMENT: usize = 6;
    pub(crate) const TTL: usize = 8;
    pub(crate) const PROTOCOL: usize = 9;
    pub(crate) const CHECKSUM: usize = 10;
    pub(crate) const ADDRESSES: std::ops::Range<usize> = 12..20;
    /// In the first byte of [`FRAGMENT`]: *do not fragment* and the bit that is reserved.
    pub(crate) const FLAGS: u8 = 0xc0;
}

/// Where fields of the IPv6 header lie, in bytes from its start.
pub(super) mod ipv6 {
    pub(crate) const LENGTH: usize = 4;
    pub(crate) const PROTOCOL: usize = 6;
    pub(crate) const TTL: usize = 7;
    pub(crate) const ADDRESSES: std::ops::Range<usize> = 8..40;
}

/// Where fields of the TCP header lie, in bytes from its start.
pub(super) mod tcp {
    pub(crate) const SEQUENCE: usize = 4;
    pub(crate) const ACK: usize = 8;
    /// Four bits of header length, four that are reserved or used by ECN, eight of flags.
    pub(crate) const OFFSET: usize = 12;
    pub(crate) const FLAGS: usize = 13;
    pub(crate) const WINDOW: usize = 14;
    pub(crate) const CHECKSUM: usize = 16;
    pub(crate) const URGENT: usize = 18;
    pub(crate) const PUSH: u8 = 0x08;
    pub(crate) const URG: u8 = 0x20;
    /// How options begin that begin with timestamps, as nearly all do.
    pub(crate) const TIMESTAMPS: [u8; 4] = [1, 1, 8, 10];
    pub(crate) const TIMESTAMPS_BYTES: usize = 12;
    /// How a selective acknowledgment begins; its length follows.
    pub(crate) const SACK: [u8; 3] = [1, 1, 5];
}

/// Where fields of the UDP header lie, in bytes from its start.
pub(super) mod udp {
    pub(crate) const LENGTH: usize = 4;
    pub(crate) const CHECKSUM: usize = 6;
}

/// The form of a header that can be compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) is_ipv6: bool,
    pub(super) is_tcp: bool,
    /// Bytes of IP and transport header.
    pub(super) header_bytes: usize,
}

impl Layout {
    /// The form of the header at the front of `bytes`, if it is one that can be compressed. Lengths and
    /// checksums are not looked at.
    #[inline]
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        let (is_ipv6, protocol) = match bytes.first()? {
            0x45 => (false, *bytes.get(ipv4::PROTOCOL)?),
            0x60..=0x6f => (true, *bytes.get(ipv6::PROTOCOL)?),
            _ => return None,
        };
        let mut layout = Layout { is_ipv6, is_tcp: protocol == TCP, header_bytes: 0 };
        let (ip, transport) = bytes.split_at_checked(layout.ip_bytes())?;
        if !is_ipv6 && read_u16(ip, ipv4::FRAGMENT) & !(u16::from(ipv4::FLAGS) << 8) != 0 {
            return None;
        }
        let transport_bytes = match protocol {
            TCP if transport.len() >= TCP_BYTES => usize::from(transport[tcp::OFFSET] >> 4) * 4,
            UDP => UDP_BYTES,
            _ => return None,
        };
        let transport = transport.get(..transport_bytes)?;
        if layout.is_tcp
            && (transport_bytes < TCP_BYTES
                || transport[tcp::FLAGS] & tcp::URG != 0
                || read_u16(transport, tcp::URGENT) != 0)
        {
            return None;
        }
        layout.header_bytes = ip.len() + transport_bytes;
        Some(layout)
    }

    /// Bytes of the IP header, which is also where the transport header starts.
    pub(super) fn ip_bytes(self) -> usize {
        if self.is_ipv6 { IPV6_BYTES } else { IPV4_BYTES }
    }

    /// Where the IP header's time to live lies, in bytes from its start.
    pub(super) fn ttl_at(self) -> usize {
        if self.is_ipv6 { ipv6::TTL } else { ipv4::TTL }
    }

    /// Where the TCP options start; also the end of a header without any.
    pub(super) fn options_at(self) -> usize {
        if self.is_tcp { self.ip_bytes() + TCP_BYTES } else { self.header_bytes }
    }

    /// Where the transport's checksum lies, in bytes from the packet's start.
    pub(super) fn checksum_at(self) -> usize {
        self.ip_bytes() + if self.is_tcp { tcp::CHECKSUM } else { udp::CHECKSUM }
    }

    /// The header's addresses and its ports.
    pub(super) fn flow(self, header: &[u8]) -> (&[u8], &[u8]) {
        let addresses = if self.is_ipv6 { ipv6::ADDRESSES } else { ipv4::ADDRESSES };
        (&header[addresses], &header[self.ip_bytes()..][..4])
    }

    /// Whether the TCP options begin with timestamps.
    pub(super) fn has_timestamps(self, header: &[u8]) -> bool {
        let options = &header[self.options_at()..self.header_bytes];
        options.len() >= tcp::TIMESTAMPS_BYTES && options.starts_with(&tcp::TIMESTAMPS)
    }

    /// The IP header's checksum as it should be, for IPv4.
    pub(super) fn ipv4_checksum(header: &[u8]) -> u16 {
        let (before, behind) = (&header[..ipv4::CHECKSUM], &header[ipv4::ADDRESSES]);
        Sum16BitWords::new().add_slice(before).add_slice(behind).ones_complement().to_be()
    }

    /// The transport's checksum as it should be; the packet has at most 65,535 bytes.
    pub(super) fn transport_checksum(self, header: &[u8], payload: &[u8]) -> u16 {
        let (ip_bytes, at) = (self.ip_bytes(), self.checksum_at());
        let transport_bytes = (self.header_bytes - ip_bytes + payload.len()) as u16;
        let (addresses, _) = self.flow(header);
        let sum = Sum16BitWords::new()
            .add_slice(addresses)
            .add_2bytes([0, if self.is_tcp { TCP } else { UDP }])
            .add_2bytes(transport_bytes.to_be_bytes())
            .add_slice(&header[ip_bytes..at])
            .add_slice(&header[at + 2..self.header_bytes])
            .add_8bytes(sum(payload).to_ne_bytes());
        if self.is_tcp {
            sum.ones_complement().to_be()
        } else {
            sum.to_ones_complement_with_no_zero().to_be()
        }
    }
}

/// The sum of a payload's 16-bit words, whose own words have the same sum. Halves of eight bytes have no
/// carries, and lanes do not wait for each other, so that vector instructions add them.
fn sum(payload: &[u8]) -> u64 {
    const LANES: usize = 4;
    let (eights, rest) = payload.as_chunks();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let halves = |eight: &[u8; 8]| {
        let eight = u64::from_ne_bytes(*eight);
        (eight & 0xffff_ffff) + (eight >> 32)
    };
    let (rows, few) = eights.as_chunks::<LANES>();
    let mut sums = [0; LANES];
    for row in rows {
        for (sum, eight) in sums.iter_mut().zip(row) {
            *sum += halves(eight);
        }
    }
    sums.iter().sum::<u64>() + few.iter().map(halves).sum::<u64>() + halves(&last)
}

pub(super) fn read_u16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

pub(super) fn read_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from(read_u16(bytes, at)) << 16 | u32::from(read_u16(bytes, at + 2))
}

pub(super) fn write_u16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

pub(super) fn write_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
}
