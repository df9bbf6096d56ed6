//! The front of a shortened packet's body ([`crate::frame::FrameType::Short`]).
//!
//! ```text
//! +------------+----------+-------------------+------------------+---------------+--------------
//! | generation | what (3) | MAC, with regions | distance, delta, | regions, with | literals ...
//! | (5 bits)   |          | (64 bits)         | with a header    | regions       |
//! +------------+----------+-------------------+------------------+---------------+--------------
//! ```
//!
//! The frame has only the low bits of the generation: a receiver does not lose its store 32 times while a
//! packet is in flight. The distance (varint) is this packet's link sequence less that of the packet whose
//! header the [delta](crate::headers) starts from. Regions are those of the [compact](crate::shim::compact)
//! shim. Literals are those of the shim, less the header if a delta replaces it. They may be compressed: then
//! they are the content of one compressed block of Zstandard (RFC 8878, section 3.1.1.2.2) and nothing else.

use crate::frame::PACKET_MAC_BYTES;
use crate::shim::compact::Compact;
use crate::{Malformed, headers, take, take_array, varint};

/// In the first byte: there are regions, and a MAC.
pub const REGIONS: u8 = 1;
/// A header's delta stands for the header.
pub const HEADER: u8 = 2;
/// The literals are compressed.
pub const COMPRESSED: u8 = 4;
/// All of these.
pub const WHAT: u8 = REGIONS | HEADER | COMPRESSED;
/// By so many bits the generation is shifted.
pub const WHAT_BITS: u32 = 3;

/// The parts of the body that a reader without store and headers can read, such as a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outline<'a> {
    /// How many link sequences back the packet lies whose header this one's differs little from.
    pub header_distance: Option<u32>,
    /// The regions with their number in front, of a packet that was reduced.
    pub regions: Option<&'a [u8]>,
    /// Whether the literals are compressed.
    pub is_compressed: bool,
    /// The rest of the packet.
    pub literals: &'a [u8],
}

impl<'a> Outline<'a> {
    /// Reads a body. Of a delta only its own bits tell how long it is: it is taken for one of TCP over IPv4,
    /// which those of other packets differ from seldom.
    pub fn parse(mut body: &'a [u8]) -> Result<Self, Malformed> {
        let [front] = take_array(&mut body, "short: front")?;
        if front & REGIONS != 0 {
            take(&mut body, PACKET_MAC_BYTES, "short: MAC")?;
        }
        let mut header_distance = None;
        if front & HEADER != 0 {
            header_distance = Some(varint::parse(&mut body)?);
            headers::pass_over(&mut body)?;
        }
        let regions = if front & REGIONS != 0 { Some(Compact::take_regions(&mut body)?) } else { None };
        Ok(Outline { header_distance, regions, is_compressed: front & COMPRESSED != 0, literals: body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shim::compact::{Region, emit};
    use proptest::prelude::*;

    #[test]
    fn a_body_with_everything_is_read() {
        let mut body = vec![9 << WHAT_BITS | WHAT];
        body.extend_from_slice(&[7; PACKET_MAC_BYTES]);
        // 3 packets back; sequence, acknowledgment and timestamp differ
        body.extend_from_slice(&[3, 0x1a, 0x80, 1, 5, 6]);
        let region = Region { literal_bytes: 0, distance: 2, offset: 40, length: 1000 };
        emit(&[region], &mut body);
        body.extend_from_slice(b"rest");
        let outline = Outline::parse(&body).unwrap();
        assert_eq!(
            (outline.header_distance, outline.is_compressed, outline.literals),
            (Some(3), true, &b"rest"[..])
        );
        assert_eq!(Compact::parse(outline.regions.unwrap()).unwrap().regions().collect::<Vec<_>>(), [region]);
    }

    proptest! {
        #[test]
        fn any_bytes_parse_or_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = Outline::parse(&bytes);
        }
    }
}
