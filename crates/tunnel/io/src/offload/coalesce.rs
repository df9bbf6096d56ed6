//! Joins packets into super-segments for the kernel, which then processes one packet in place of many: GRO in
//! software, where the packets originate.
//!
//! It joins TCP segments, and UDP datagrams where the kernel takes them joined. It joins only packets that
//! [`split()`](super::split()) would cut equally, and only with correct checksums, because the kernel no
//! longer checks them. One field may change: the identification of a datagram that no router may fragment.
//! It has no meaning (RFC 6864, section 4.1). An unconnected socket and TCP in user space send zero in each.

use super::*;
use std::io;

/// The most connections with collected packets. Beyond them the oldest row is written.
const ROWS: usize = 8;
/// The most UDP datagrams in a row (the kernel's `UDP_GRO_CNT_MAX`).
const ROW_DATAGRAMS: usize = 64;
/// The longest packet of IP's length fields.
const MAX_PACKET_BYTES: usize = 65_535;

/// Rows of packets that wait for their connections' next packets. The caller must [`flush`](Self::flush)
/// before it waits for other packets.
#[derive(Debug, Default)]
pub struct Coalescer {
    rows: Vec<Row>,
    spare: Vec<Row>,
    /// A packet without a row, behind its header.
    single: Vec<u8>,
    joins_datagrams: bool,
}

impl Coalescer {
    /// Joins TCP segments, and UDP datagrams if `joins_datagrams`: the kernel must know `TUN_F_USO4`.
    #[must_use]
    pub fn new(joins_datagrams: bool) -> Self {
        Coalescer { joins_datagrams, ..Coalescer::default() }
    }

    /// Adds a packet, and passes complete packets with their headers to `write`. The order within a
    /// connection stays. An error comes from `write` and concerns one super-segment or packet.
    pub fn add(&mut self, packet: &[u8], mut write: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let segment = Segment::of(packet).filter(|it| it.protocol == TCP || self.joins_datagrams);
        let Some(segment) = segment else { return self.write_alone(packet, write) };
        let row = self.rows.iter().position(|row| row.is_of_flow_of(packet, &segment));
        if let Some(row) = row
            && self.rows[row].continues_with(packet, &segment)
        {
            let row = &mut self.rows[row];
            row.append(packet, &segment);
            return Ok(());
        }
        let mut result = Ok(());
        let ended = row.or((self.rows.len() == ROWS).then_some(0));
        if let Some(ended) = ended {
            result = self.end(ended, &mut write);
        }
        if !segment.may_be_joined(packet) {
            return result.and(self.write_alone(packet, write));
        }
        let mut row = self.spare.pop().unwrap_or_default();
        row.begin(packet, segment);
        self.rows.push(row);
        result
    }

    /// Passes all waiting packets to `write`.
    pub fn flush(&mut self, mut write: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let mut result = Ok(());
        while !self.rows.is_empty() {
            result = self.end(0, &mut write).and(result);
        }
        result
    }

    fn end(&mut self, index: usize, write: &mut impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let mut row = self.rows.remove(index);
        let result = write(row.finished());
        self.spare.push(row);
        result
    }

    fn write_alone(
        &mut self,
        packet: &[u8],
        mut write: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        self.single.clear();
        self.single.resize(FRONT_BYTES, 0);
        self.single.extend_from_slice(packet);
        write(&self.single)
    }
}

/// Offsets in a TCP segment or UDP datagram without IP options or extension headers.
#[derive(Debug, Clone, Copy, Default)]
struct Segment {
    protocol: u8,
    ip_header_bytes: usize,
    header_bytes: usize,
    payload_bytes: usize,
    /// Zero for UDP.
    sequence: u32,
}

impl Segment {
    fn of(packet: &[u8]) -> Option<Self> {
        let ip_header_bytes = match packet.first()? {
            0x45 => 20,
            head if head >> 4 == 6 => 40,
            _ => return None,
        };
        let (protocol, length) = match ip_header_bytes {
            20 => (*packet.get(9)?, u16_at(packet, 2)?.into()),
            _ => (*packet.get(6)?, usize::from(u16_at(packet, 4)?) + 40),
        };
        // No more fragments and no offset.
        let whole = ip_header_bytes == 40 || u16_at(packet, 6)? & 0x3fff == 0;
        let transport = packet.get(ip_header_bytes..)?;
        let (transport_bytes, least, sequence) = match protocol {
            TCP => (usize::from(*transport.get(12)? >> 4) * 4, TCP_HEADER_BYTES, u32_at(transport, 4)?),
            UDP if usize::from(u16_at(transport, 4)?) == transport.len() => {
                (UDP_HEADER_BYTES, UDP_HEADER_BYTES, 0)
            }
            _ => return None,
        };
        if !whole || length != packet.len() || transport_bytes < least {
            return None;
        }
        let header_bytes = ip_header_bytes + transport_bytes;
        let payload_bytes = packet.len().checked_sub(header_bytes)?;
        Some(Segment { protocol, ip_header_bytes, header_bytes, payload_bytes, sequence })
    }

    /// Whether the packet may join a row: it has data, no flags that start, end or mark anything, and correct
    /// checksums.
    fn may_be_joined(&self, packet: &[u8]) -> bool {
        let marks_nothing = self.protocol == UDP || self.flags(packet) & !PSH == ACK;
        self.payload_bytes > 0 && marks_nothing && self.is_intact(packet)
    }

    /// TCP's flags; none for UDP.
    fn flags(&self, packet: &[u8]) -> u8 {
        if self.protocol == TCP { packet[self.ip_header_bytes + 13] } else { 0 }
    }

    /// Offset of the checksum in the transport's header.
    fn checksum_at(&self) -> usize {
        if self.protocol == TCP { TCP_CHECKSUM } else { UDP_CHECKSUM }
    }

    /// Whether the checksums are correct and in normal form. Zero has two forms, and a recomputation gives
    /// only one of them.
    fn is_intact(&self, packet: &[u8]) -> bool {
        let transport = &packet[self.ip_header_bytes..];
        let ip_is = self.ip_header_bytes == 40
            || u16_at(packet, 10) != Some(0xffff) && tun_rs::checksum(&packet[..20], 0) == 0xffff;
        // UDP's zero stands for a datagram without a checksum.
        let unusual = if self.protocol == TCP { 0xffff } else { 0 };
        ip_is
            && u16_at(transport, self.checksum_at()) != Some(unusual)
            && tun_rs::checksum(transport, pseudo_header_sum(packet, self.protocol, transport.len()))
                == 0xffff
    }
}

/// Joined packets of one connection.
#[derive(Debug, Default)]
struct Row {
    /// The device's header, then the first packet with the others' payloads behind its own.
    bytes: Vec<u8>,
    first: Segment,
    packets: usize,
    /// The row is complete: its last packet was short, or had PSH.
    ended: bool,
}

impl Row {
    fn begin(&mut self, packet: &[u8], segment: Segment) {
        self.bytes.clear();
        self.bytes.resize(FRONT_BYTES, 0);
        self.bytes.extend_from_slice(packet);
        self.first = segment;
        self.packets = 1;
        self.ended = segment.flags(packet) & PSH != 0;
    }

    fn head(&self) -> &[u8] {
        &self.bytes[FRONT_BYTES..]
    }

    fn payload_bytes(&self) -> usize {
        self.head().len() - self.first.header_bytes
    }

    /// Whether addresses and ports are equal.
    fn is_of_flow_of(&self, packet: &[u8], segment: &Segment) -> bool {
        let ip_header_bytes = segment.ip_header_bytes;
        let addresses_and_ports = if ip_header_bytes == 20 { 12..24 } else { 8..44 };
        self.first.ip_header_bytes == ip_header_bytes
            && self.first.protocol == segment.protocol
            && self.head()[addresses_and_ports.clone()] == packet[addresses_and_ports]
    }

    /// Whether `packet`, of the same flow, would be cut from this row if it stood at its end.
    fn continues_with(&self, packet: &[u8], segment: &Segment) -> bool {
        let (head, ip) = (self.head(), segment.ip_header_bytes);
        let same = |from: usize, to: usize| head[from..to] == packet[from..to];
        let same_ip_header = if ip == 20 {
            let id = |packet: &[u8]| u16::from_be_bytes([packet[4], packet[5]]);
            let is_next = id(packet) == id(head).wrapping_add(self.packets as u16);
            let is_unnamed = segment.protocol == UDP || id(head) == 0;
            let is_atomic = is_unnamed && head[6] & DO_NOT_FRAGMENT != 0;
            same(0, 2) && same(6, 9) && (is_next || is_atomic && same(4, 6))
        } else {
            same(0, 4) && same(7, 8)
        };
        !self.ended
            && segment.header_bytes == self.first.header_bytes
            && segment.payload_bytes <= self.first.payload_bytes
            && (segment.protocol == UDP
                || segment.sequence == self.first.sequence.wrapping_add(self.payload_bytes() as u32))
            && head.len() + segment.payload_bytes <= MAX_PACKET_BYTES
            && same_ip_header
            && match segment.protocol {
                // Acknowledgement and header length; window; urgent pointer and options.
                TCP => same(ip + 8, ip + 13) && same(ip + 14, ip + 16) && same(ip + 18, segment.header_bytes),
                _ => self.packets < ROW_DATAGRAMS,
            }
            && segment.may_be_joined(packet)
    }

    fn append(&mut self, packet: &[u8], segment: &Segment) {
        let push = segment.flags(packet) & PSH;
        self.bytes.extend_from_slice(&packet[segment.header_bytes..]);
        if push != 0 {
            self.bytes[FRONT_BYTES + segment.ip_header_bytes + 13] |= push;
        }
        self.packets += 1;
        self.ended = push != 0 || segment.payload_bytes < self.first.payload_bytes;
    }

    /// The row with its headers completed.
    fn finished(&mut self) -> &[u8] {
        if self.packets > 1 {
            let Segment { protocol, ip_header_bytes, header_bytes, payload_bytes, .. } = self.first;
            let checksum_at = self.first.checksum_at();
            let (front, packet) = self.bytes.split_at_mut(FRONT_BYTES);
            write_length(packet, ip_header_bytes);
            let transport_bytes = packet.len() - ip_header_bytes;
            if protocol == UDP {
                put_u16(packet, ip_header_bytes + 4, transport_bytes as u16);
            }
            // The kernel adds the rest if needed.
            let sum = pseudo_header_sum(packet, protocol, transport_bytes);
            put_u16(packet, ip_header_bytes + checksum_at, tun_rs::checksum(&[], sum));
            let written = Front {
                flags: NEEDS_CHECKSUM,
                gso_type: match (protocol, ip_header_bytes) {
                    (UDP, _) => UDP_BOTH,
                    (_, 20) => TCP_V4,
                    _ => TCP_V6,
                },
                hdr_len: header_bytes as u16,
                gso_size: payload_bytes as u16,
                csum_start: ip_header_bytes as u16,
                csum_offset: checksum_at as u16,
            };
            write_front(written, front).expect("the front has its bytes");
        }
        &self.bytes
    }
}
