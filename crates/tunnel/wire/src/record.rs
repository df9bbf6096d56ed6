//! Records: the bytes of a [stream](crate::stream) in the pieces in which repetition was removed from them.
//!
//! The bytes of *data* frames are records, one behind the other.
//!
//! ```text
//! parts (8) | bytes that follow (16) | number, low 32 bits (32) | MAC (64) | regions ... | literals ...
//! ```
//!
//! The number is there with [`STORED`] or [`REGIONS`], MAC and regions with [`REGIONS`]. Numbers grow from
//! record to record of all streams of a direction; both ends keep stored records under them. Regions have the
//! [compact form](crate::shim::compact): they refer to other records by the distance of their numbers. A
//! record is reduced as the TCP segment that would carry its bytes; the headers of that segment are left out.
//! With [`COMPRESSED`], the literals are one block of Zstandard (RFC 8878, section 3.1.1.2.2).

use crate::frame::PACKET_MAC_BYTES;
use crate::inner::{Flow, Inner, TCP};
use crate::shim::compact::Compact;
use crate::{Malformed, take_array};
use std::net::IpAddr;

/// Both ends keep the record's bytes.
pub const STORED: u8 = 1;
/// Regions refer to records that both ends keep.
pub const REGIONS: u8 = 2;
/// The literals are compressed.
pub const COMPRESSED: u8 = 4;
const PARTS: u8 = STORED | REGIONS | COMPRESSED;

/// Bytes in front of those that are counted.
pub const FRONT_BYTES: usize = 3;
/// The most bytes of a host in a record.
pub const MOST_PLAIN_BYTES: usize = 16 << 10;
/// A record takes as much of its receiver's room as its bytes of the host, and at least so much.
pub const LEAST_CHARGE: u64 = 64;
const NUMBER_BYTES: usize = 4;
/// The most bytes of a record beyond those of the host, unless it has regions, which make it shorter.
pub const MOST_EXTRA_BYTES: usize = FRONT_BYTES + NUMBER_BYTES;
/// The most bytes of a record behind its front.
pub const MOST_REST_BYTES: usize = MOST_PLAIN_BYTES + NUMBER_BYTES;

/// The room that so many bytes of a host take at the receiver.
#[must_use]
pub fn charge(plain_bytes: usize) -> u64 {
    LEAST_CHARGE.max(plain_bytes as u64)
}

/// A record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// Both ends keep its bytes.
    pub is_stored: bool,
    /// The literals are compressed.
    pub is_compressed: bool,
    /// Low bits of its number, if it is stored or has regions; else 0 where it was read.
    pub number: u32,
    /// The MAC of its bytes and its regions, if it has regions.
    pub regions: Option<([u8; PACKET_MAC_BYTES], &'a [u8])>,
    /// The literals.
    pub literals: &'a [u8],
}

impl<'a> Record<'a> {
    /// The bytes behind the front that `front` announces. `None`: more than a record has.
    #[must_use]
    pub fn rest_bytes(front: [u8; FRONT_BYTES]) -> Option<usize> {
        let bytes = usize::from(u16::from_be_bytes([front[1], front[2]]));
        (bytes <= MOST_REST_BYTES).then_some(bytes)
    }

    /// Reads a whole record.
    pub fn parse(mut input: &'a [u8]) -> Result<Self, Malformed> {
        let front: [u8; FRONT_BYTES] = take_array(&mut input, "record: front")?;
        let parts = front[0];
        if parts & !PARTS != 0 || Self::rest_bytes(front) != Some(input.len()) {
            return Err(Malformed("record: front"));
        }
        let (is_stored, has_regions) = (parts & STORED != 0, parts & REGIONS != 0);
        let number = if is_stored || has_regions {
            u32::from_be_bytes(take_array(&mut input, "record: number")?)
        } else {
            0
        };
        let regions = if has_regions {
            let mac = take_array(&mut input, "record: MAC")?;
            Some((mac, Compact::take_regions(&mut input)?))
        } else {
            None
        };
        Ok(Record { is_stored, is_compressed: parts & COMPRESSED != 0, number, regions, literals: input })
    }

    /// Appends the record.
    pub fn emit(&self, out: &mut impl for<'b> Extend<&'b u8>) {
        let parts = if self.is_stored { STORED } else { 0 }
            | if self.regions.is_some() { REGIONS } else { 0 }
            | if self.is_compressed { COMPRESSED } else { 0 };
        let number = self.number.to_be_bytes();
        let number = if parts & (STORED | REGIONS) == 0 { &[][..] } else { &number };
        let (mac, regions) = match &self.regions {
            Some((mac, regions)) => (&mac[..], *regions),
            None => (&[][..], &[][..]),
        };
        let bytes = number.len() + mac.len() + regions.len() + self.literals.len();
        let [high, low] = (bytes as u16).to_be_bytes();
        out.extend(&[parts, high, low]);
        for part in [number, mac, regions, self.literals] {
            out.extend(part);
        }
    }
}

/// Appends the headers of the segment as which a record is reduced: `offset` is that of its first byte of the
/// host in the stream's direction. Lengths and checksums are zero. Facts of a segment with `payload_bytes`.
pub fn emit_segment_front(flow: &Flow, offset: u64, payload_bytes: usize, out: &mut Vec<u8>) -> Inner {
    let start = out.len();
    match (flow.source, flow.destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            out.extend_from_slice(&[0x45, 0, 0, 0, 0, 0, 0, 0, 0, TCP, 0, 0]);
            out.extend_from_slice(&source.octets());
            out.extend_from_slice(&destination.octets());
        }
        (source, destination) => {
            out.extend_from_slice(&[0x60, 0, 0, 0, 0, 0, TCP, 0]);
            for address in [source, destination] {
                let address = match address {
                    IpAddr::V4(address) => address.to_ipv6_mapped(),
                    IpAddr::V6(address) => address,
                };
                out.extend_from_slice(&address.octets());
            }
        }
    }
    out.extend_from_slice(&flow.source_port.to_be_bytes());
    out.extend_from_slice(&flow.destination_port.to_be_bytes());
    out.extend_from_slice(&(offset as u32).to_be_bytes());
    out.extend_from_slice(&[0, 0, 0, 0, 0x50, 0, 0, 0, 0, 0, 0, 0]);
    let payload_offset = out.len() - start;
    Inner {
        flow: *flow,
        tcp_sequence: Some(offset as u32),
        payload_offset,
        total_bytes: payload_offset + payload_bytes,
        traffic_class: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shim::compact::{Region, emit};
    use proptest::prelude::*;

    #[test]
    fn the_front_is_that_of_a_segment() {
        for (source, destination) in [("10.0.0.1", "10.0.0.2"), ("2001:db8::1", "2001:db8::2")] {
            let flow = Flow {
                source: source.parse().unwrap(),
                destination: destination.parse().unwrap(),
                protocol: TCP,
                source_port: 80,
                destination_port: 4242,
            };
            let mut packet = vec![7];
            let inner = emit_segment_front(&flow, (1 << 32) + 5, 3, &mut packet);
            packet.extend_from_slice(b"abc");
            assert_eq!(inner.payload_offset + 3, packet.len() - 1);
            // an IPv4 header without a length is lax about it
            let parsed = Inner::parse(&packet[1..]).unwrap();
            assert_eq!((parsed.flow, parsed.tcp_sequence), (flow, Some(5)));
            assert_eq!(parsed.payload_offset, inner.payload_offset);
        }
    }

    proptest! {
        #[test]
        fn records_round_trip(
            literals in proptest::collection::vec(any::<u8>(), 0..MOST_PLAIN_BYTES),
            number: u32, mac: [u8; 8], is_stored: bool, is_compressed: bool, has_regions: bool,
        ) {
            let mut regions = Vec::new();
            emit(&[Region { literal_bytes: 0, distance: 3, offset: 4, length: 500 }], &mut regions);
            let literals = if has_regions { &literals[..literals.len() / 2] } else { &literals[..] };
            let record = Record {
                is_stored,
                is_compressed,
                number: if is_stored || has_regions { number } else { 0 },
                regions: has_regions.then_some((mac, &regions)),
                literals,
            };
            let mut out = Vec::new();
            record.emit(&mut out);
            prop_assert_eq!(Record::parse(&out), Ok(record));
            let front = *out.first_chunk().unwrap();
            prop_assert_eq!(Record::rest_bytes(front), Some(out.len() - FRONT_BYTES));
            prop_assert!(Record::parse(&out[..out.len() - 1]).is_err());
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = Record::parse(&bytes);
        }
    }
}
