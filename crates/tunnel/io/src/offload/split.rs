//! Cuts the kernel's super-segments into packets: TSO and USO in software, as late as possible.
//!
//! It works in place: a packet's headers are written directly before its payload, over the end of the packet
//! before it, which is already processed.

use super::*;

/// The longest headers of a super-segment: IPv6 with some extension headers, TCP with all its options.
const HEADERS_BYTES: usize = 256;

/// The kernel's header does not match its packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the device's header does not describe the packet behind it")]
pub struct NotSplit;

/// Passes the packets of a super-segment to `each`, in order and complete, with their own lengths,
/// identifications, sequence numbers, flags and checksums. FIN and PSH are in the last packet, and CWR is in
/// the first one (a reduction is reported once: RFC 3168, section 6.1.2).
pub fn split(front: &Front, packet: &mut [u8], mut each: impl FnMut(&mut [u8])) -> Result<(), NotSplit> {
    if front.gso_type == NONE {
        if front.flags & NEEDS_CHECKSUM != 0 {
            complete(packet, front.csum_start.into(), front.csum_offset.into()).ok_or(NotSplit)?;
        }
        each(packet);
        return Ok(());
    }
    let segments = Segments::of(front, packet).ok_or(NotSplit)?;
    let mut headers = [0; HEADERS_BYTES];
    let headers = headers.get_mut(..segments.header_bytes).ok_or(NotSplit)?;
    headers.copy_from_slice(&packet[..segments.header_bytes]);
    let payload_bytes = packet.len() - segments.header_bytes;
    for (index, start) in (0..payload_bytes).step_by(segments.segment_bytes).enumerate() {
        let end = payload_bytes.min(start + segments.segment_bytes);
        let one = &mut packet[start..end + segments.header_bytes];
        one[..segments.header_bytes].copy_from_slice(headers);
        segments.write_headers(one, index, end == payload_bytes);
        each(one);
    }
    Ok(())
}

/// Layout of a super-segment.
struct Segments {
    protocol: u8,
    ip_header_bytes: usize,
    header_bytes: usize,
    segment_bytes: usize,
    /// Offset of the transport's checksum in the packet.
    checksum_at: usize,
}

impl Segments {
    fn of(front: &Front, packet: &[u8]) -> Option<Self> {
        let ip_header_bytes = usize::from(front.csum_start);
        let version = packet.first()? >> 4;
        let (protocol, checksum) = match (front.gso_type & !ECN, version) {
            (TCP_V4, 4) | (TCP_V6, 6) => (TCP, TCP_CHECKSUM),
            (UDP_BOTH, 4 | 6) => (UDP, UDP_CHECKSUM),
            _ => return None,
        };
        // `hdr_len` is unreliable: for a forwarded packet it may be the whole first part.
        let transport_bytes = match protocol {
            TCP => usize::from(packet.get(ip_header_bytes + 12)? >> 4) * 4,
            _ => UDP_HEADER_BYTES,
        };
        let least = if protocol == TCP { TCP_HEADER_BYTES } else { UDP_HEADER_BYTES };
        let ip_least = if version == 4 { 20 } else { 40 };
        let segments = Segments {
            protocol,
            ip_header_bytes,
            header_bytes: ip_header_bytes + transport_bytes,
            segment_bytes: usize::from(front.gso_size),
            checksum_at: ip_header_bytes + checksum,
        };
        let sound = ip_header_bytes >= ip_least
            && transport_bytes >= least
            && packet.len() > segments.header_bytes
            && segments.segment_bytes > 0;
        sound.then_some(segments)
    }

    fn write_headers(&self, one: &mut [u8], index: usize, last: bool) {
        if one[0] >> 4 == 4 && index > 0 {
            let id = u16::from_be_bytes([one[4], one[5]]).wrapping_add(index as u16);
            put_u16(one, 4, id);
        }
        write_length(one, self.ip_header_bytes);
        let transport_bytes = one.len() - self.ip_header_bytes;
        let sum = pseudo_header_sum(one, self.protocol, transport_bytes);
        let transport = &mut one[self.ip_header_bytes..];
        if self.protocol == TCP {
            let sequence = u32::from_be_bytes([transport[4], transport[5], transport[6], transport[7]]);
            let sequence = sequence.wrapping_add((index * self.segment_bytes) as u32);
            transport[4..8].copy_from_slice(&sequence.to_be_bytes());
            let not_here = if index > 0 { CWR } else { 0 } | if last { 0 } else { FIN | PSH };
            transport[13] &= !not_here;
        } else {
            put_u16(transport, 4, transport_bytes as u16);
        }
        put_u16(one, self.checksum_at, 0);
        let checksum = !tun_rs::checksum(&one[self.ip_header_bytes..], sum);
        put_u16(one, self.checksum_at, spoken(checksum, self.protocol));
    }
}

/// Completes the checksum at `start + offset`, which has the sum over the pseudo-header.
fn complete(packet: &mut [u8], start: usize, offset: usize) -> Option<()> {
    let at = start + offset;
    let pseudo_header = u16_at(packet, at)?;
    put_u16(packet, at, 0);
    let checksum = !tun_rs::checksum(packet.get(start..)?, pseudo_header.into());
    let protocol = if offset == UDP_CHECKSUM { UDP } else { TCP };
    put_u16(packet, at, spoken(checksum, protocol));
    Some(())
}

/// The transmitted form: a zero UDP checksum would mean "none" (RFC 768).
fn spoken(checksum: u16, protocol: u8) -> u16 {
    if protocol == UDP && checksum == 0 { 0xffff } else { checksum }
}
