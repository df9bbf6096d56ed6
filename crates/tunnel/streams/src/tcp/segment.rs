//! TCP segments in IP packets: reading what a packet says, and writing segments without payload.

use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    IpAddress, IpProtocol, IpRepr, Ipv4Packet, TcpControl, TcpPacket, TcpRepr, TcpSeqNumber,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const IPV6_HEADER_BYTES: usize = 40;
const TCP_HEADER_BYTES: usize = 20;
const HOP_LIMIT: u8 = 64;

/// Flags of a TCP header (RFC 9293, section 3.1).
pub(super) mod flag {
    pub(crate) const FIN: u8 = 0x01;
    pub(crate) const SYN: u8 = 0x02;
    pub(crate) const RST: u8 = 0x04;
    pub(crate) const PSH: u8 = 0x08;
    pub(crate) const ACK: u8 = 0x10;
}

/// Kinds of TCP options (RFC 9293, section 3.2, and IANA's registry).
pub(super) mod option {
    pub(crate) const END: u8 = 0;
    pub(crate) const NOTHING: u8 = 1;
    pub(crate) const MAXIMUM_SEGMENT: u8 = 2;
    pub(crate) const WINDOW_SCALE: u8 = 3;
    pub(crate) const MD5: u8 = 19;
    pub(crate) const AUTHENTICATION: u8 = 29;
    pub(crate) const MULTIPATH: u8 = 30;
}

/// A whole TCP segment in an IP packet: no fragment, no IPv6 extension header.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment<'a> {
    pub(super) source: SocketAddr,
    pub(super) destination: SocketAddr,
    pub(super) sequence: u32,
    pub(super) acknowledgment: Option<u32>,
    pub(super) flags: u8,
    pub(super) window: u16,
    pub(super) options: &'a [u8],
    pub(super) payload: &'a [u8],
    /// Where the TCP header starts, in bytes from the packet's start.
    pub(super) tcp_offset: usize,
    /// Where the payload starts, in bytes from the packet's start.
    pub(super) payload_offset: usize,
}

impl<'a> Segment<'a> {
    /// Reads an IP packet whose checksums are right.
    pub(super) fn parse(packet: &'a [u8]) -> Option<Self> {
        let segment = Self::parse_unverified(packet)?;
        let end = segment.payload_offset + segment.payload.len();
        let right = (packet[0] >> 4 != 4 || Ipv4Packet::new_unchecked(packet).verify_checksum())
            && TcpPacket::new_unchecked(&packet[segment.tcp_offset..end])
                .verify_checksum(&segment.source.ip().into(), &segment.destination.ip().into());
        right.then_some(segment)
    }

    /// Reads an IP packet, and leaves its checksums alone.
    pub(super) fn parse_unverified(packet: &'a [u8]) -> Option<Self> {
        let (source, destination, tcp_offset, end): (IpAddr, IpAddr, usize, usize) =
            match packet.first()? >> 4 {
                4 => {
                    let header = packet.first_chunk::<20>()?;
                    let header_bytes = usize::from(header[0] & 0x0f) * 4;
                    let is_fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0;
                    if header_bytes < header.len() || is_fragment || header[9] != u8::from(IpProtocol::Tcp) {
                        return None;
                    }
                    let [source, destination] = [12, 16]
                        .map(|at| Ipv4Addr::new(header[at], header[at + 1], header[at + 2], header[at + 3]));
                    let end = usize::from(u16::from_be_bytes([header[2], header[3]]));
                    (source.into(), destination.into(), header_bytes, end)
                }
                6 => {
                    let header = packet.first_chunk::<IPV6_HEADER_BYTES>()?;
                    if header[6] != u8::from(IpProtocol::Tcp) {
                        return None;
                    }
                    let source: [u8; 16] = header[8..24].try_into().ok()?;
                    let destination: [u8; 16] = header[24..40].try_into().ok()?;
                    let end = header.len() + usize::from(u16::from_be_bytes([header[4], header[5]]));
                    (Ipv6Addr::from(source).into(), Ipv6Addr::from(destination).into(), header.len(), end)
                }
                _ => return None,
            };
        let tcp = packet.get(tcp_offset..end)?;
        let header = tcp.first_chunk::<TCP_HEADER_BYTES>()?;
        let header_bytes = usize::from(header[12] >> 4) * 4;
        let options = tcp.get(TCP_HEADER_BYTES..header_bytes)?;
        let [source_port, destination_port, window] =
            [0, 2, 14].map(|at| u16::from_be_bytes([header[at], header[at + 1]]));
        let [sequence, acknowledgment] =
            [4, 8].map(|at| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]));
        let flags = header[13];
        Some(Segment {
            source: SocketAddr::new(source, source_port),
            destination: SocketAddr::new(destination, destination_port),
            sequence,
            acknowledgment: (flags & flag::ACK != 0).then_some(acknowledgment),
            flags,
            window,
            options,
            payload: &tcp[header_bytes..],
            tcp_offset,
            payload_offset: tcp_offset + header_bytes,
        })
    }

    /// Whether all of these flags are set.
    pub(super) fn has(&self, flags: u8) -> bool {
        self.flags & flags == flags
    }

    /// The sequence number behind the segment: SYN and FIN take one each.
    pub(super) fn end(&self) -> u32 {
        let controls = u32::from(self.has(flag::SYN)) + u32::from(self.has(flag::FIN));
        self.sequence.wrapping_add(self.payload.len() as u32).wrapping_add(controls)
    }

    /// The options as kind and data; an option cut short is an error, and the last item.
    pub(super) fn options(&self) -> impl Iterator<Item = Result<(u8, &'a [u8]), Cut>> + use<'a> {
        let mut rest = self.options;
        std::iter::from_fn(move || {
            loop {
                let (&kind, behind) = rest.split_first()?;
                match kind {
                    option::END => return None,
                    option::NOTHING => rest = behind,
                    _ => {
                        let bytes = behind.first().map_or(0, |&bytes| usize::from(bytes));
                        let Some(data) = rest.get(2..bytes) else {
                            rest = &[];
                            return Some(Err(Cut));
                        };
                        rest = &rest[bytes..];
                        return Some(Ok((kind, data)));
                    }
                }
            }
        })
    }

    /// The shift of the window scale option (RFC 7323, section 2.2), at most 14.
    pub(super) fn window_shift(&self) -> Option<u8> {
        self.options().find_map(|option| match option {
            Ok((option::WINDOW_SCALE, &[shift])) => Some(shift.min(14)),
            _ => None,
        })
    }
}

/// An option is longer than the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cut;

/// A segment without payload or options.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bare {
    pub(super) source: SocketAddr,
    pub(super) destination: SocketAddr,
    pub(super) control: TcpControl,
    pub(super) sequence: u32,
    pub(super) acknowledgment: Option<u32>,
    pub(super) window: u16,
}

impl Bare {
    /// Appends the segment as an IP packet.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let (source, destination) =
            (IpAddress::from(self.source.ip()), IpAddress::from(self.destination.ip()));
        if source.version() != destination.version() {
            return;
        }
        let tcp = TcpRepr {
            src_port: self.source.port(),
            dst_port: self.destination.port(),
            control: self.control,
            seq_number: TcpSeqNumber(self.sequence.cast_signed()),
            ack_number: self.acknowledgment.map(|number| TcpSeqNumber(number.cast_signed())),
            window_len: self.window,
            window_scale: None,
            max_seg_size: None,
            sack_permitted: false,
            sack_ranges: [None; 3],
            timestamp: None,
            payload: &[],
        };
        let ip = IpRepr::new(source, destination, IpProtocol::Tcp, tcp.buffer_len(), HOP_LIMIT);
        let checksums = ChecksumCapabilities::default();
        let start = out.len();
        out.resize(start + ip.buffer_len(), 0);
        ip.emit(&mut out[start..], &checksums);
        let tcp_start = start + ip.header_len();
        tcp.emit(&mut TcpPacket::new_unchecked(&mut out[tcp_start..]), &source, &destination, &checksums);
    }
}

/// Cuts a packet to fewer bytes, without FIN and PSH. Its checksums are no longer right.
pub(super) fn shorten(packet: &mut Vec<u8>, tcp_offset: usize, bytes: usize) {
    packet.truncate(bytes);
    let is_ipv4 = packet[0] >> 4 == 4;
    let (at, length) = if is_ipv4 { (2, bytes) } else { (4, bytes - IPV6_HEADER_BYTES) };
    packet[at..at + 2].copy_from_slice(&(length as u16).to_be_bytes());
    packet[tcp_offset + 13] &= !(flag::FIN | flag::PSH);
}

/// Tells a window that is a step shorter than that of a whole TCP segment.
///
/// smoltcp rounds a window down to whole steps, so that its edge goes back by less than a step when bytes
/// come. It cannot take bytes behind its last edge. With the last step withheld, no edge goes back behind one
/// that the host was told.
pub(super) fn withhold_step(packet: &mut [u8]) {
    let tcp_offset = match packet.first().map(|first| first >> 4) {
        Some(4) if packet.get(9) == Some(&u8::from(IpProtocol::Tcp)) => usize::from(packet[0] & 0x0f) * 4,
        Some(6) if packet.get(6) == Some(&u8::from(IpProtocol::Tcp)) => IPV6_HEADER_BYTES,
        _ => return,
    };
    let Some([high, low, sum_high, sum_low]) = packet.get_mut(tcp_offset + 14..tcp_offset + 18) else {
        return;
    };
    let window = u16::from_be_bytes([*high, *low]);
    if window > 0 {
        [*high, *low] = (window - 1).to_be_bytes();
        // one less in the sum is one more in its complement (RFC 1624)
        let sum = u16::from_be_bytes([*sum_high, *sum_low]);
        let (sum, carried) = sum.overflowing_add(1);
        [*sum_high, *sum_low] = (sum + u16::from(carried)).to_be_bytes();
    }
}

/// Whether an address can be that of one host.
pub(super) fn is_unicast(address: IpAddr) -> bool {
    let is_broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    !(address.is_unspecified() || address.is_multicast() || is_broadcast)
}

/// How far `to` is ahead of `from`, in bytes; negative if it is behind (RFC 9293, section 3.4).
pub(super) fn ahead(to: u32, from: u32) -> i32 {
    to.wrapping_sub(from).cast_signed()
}
