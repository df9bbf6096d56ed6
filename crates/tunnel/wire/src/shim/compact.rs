//! The compact shim.
//!
//! ```text
//! +-----------------+   +----------------+-----------+-------------------+----------+   +--------------
//! | regions, varint |   | literal bytes  | distance  | offset in stored  | length   |   | literals ...
//! |                 |   | before, varint | (varint)  | (varint)          | (varint) |   |
//! +-----------------+   +----------------+-----------+-------------------+----------+   +--------------
//!                        '-------------------- once a region ---------------------'
//! ```
//!
//! The distance is this packet's link sequence less the stored packet's, at least 1. The offset counts from
//! the start of the stored packet. Literals behind the last region reach to the packet's end.

use super::grow;
use crate::{Malformed, varint};

/// One removed region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Literal bytes between the previous region (or the packet's start) and this one.
    pub literal_bytes: u32,
    /// How many link sequences back the stored packet lies; at least 1.
    pub distance: u32,
    /// Where the region starts in the stored packet, in bytes from its start.
    pub offset: u32,
    /// The region's length in bytes; at least 1.
    pub length: u32,
}

impl Region {
    /// The fewest bytes a region takes.
    pub const MIN_BYTES: usize = 4;

    /// How many bytes [`emit`] would append for this region.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        [self.literal_bytes, self.distance, self.offset, self.length].map(varint::encoded_len).iter().sum()
    }

    fn parse(input: &mut &[u8]) -> Result<Self, Malformed> {
        Ok(Region {
            literal_bytes: varint::parse(input)?,
            distance: varint::parse(input)?,
            offset: varint::parse(input)?,
            length: varint::parse(input)?,
        })
    }
}

/// A shim and its literals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compact<'a> {
    regions: &'a [u8],
    /// The bytes that were not removed.
    pub literals: &'a [u8],
    /// How long the restored packet will be.
    pub restored_bytes: usize,
}

impl<'a> Compact<'a> {
    /// Takes the number of regions and the regions off the front of `input`.
    pub fn take_regions(input: &mut &'a [u8]) -> Result<&'a [u8], Malformed> {
        let start = *input;
        for _ in 0..varint::parse(input)? {
            Region::parse(input)?;
        }
        Ok(&start[..start.len() - input.len()])
    }

    /// Reads a shim; the literals follow it.
    pub fn parse(mut input: &'a [u8]) -> Result<Self, Malformed> {
        let count = varint::parse(&mut input)?;
        let regions = input;
        let (mut literal_bytes, mut region_bytes) = (0, 0);
        for _ in 0..count {
            let region = Region::parse(&mut input)?;
            if region.distance == 0 || region.length == 0 {
                return Err(Malformed("compact shim: region"));
            }
            grow(&mut literal_bytes, region.literal_bytes as usize)?;
            grow(&mut region_bytes, region.length as usize)?;
        }
        if literal_bytes > input.len() {
            return Err(Malformed("compact shim: literals"));
        }
        let mut restored_bytes = region_bytes;
        grow(&mut restored_bytes, input.len())?;
        Ok(Compact { regions: &regions[..regions.len() - input.len()], literals: input, restored_bytes })
    }

    /// The regions in the packet's order.
    pub fn regions(&self) -> impl Iterator<Item = Region> + 'a {
        let mut rest = self.regions;
        std::iter::from_fn(move || if rest.is_empty() { None } else { Region::parse(&mut rest).ok() })
    }
}

/// Appends a shim; the caller appends the literals.
pub fn emit(regions: &[Region], out: &mut Vec<u8>) {
    varint::emit(regions.len() as u32, out);
    for region in regions {
        for field in [region.literal_bytes, region.distance, region.offset, region.length] {
            varint::emit(field, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shim::MAX_RESTORED_BYTES;
    use proptest::prelude::*;

    fn region() -> impl Strategy<Value = Region> {
        (0u32..300, 1u32..1 << 22, 0u32..65_536, 1u32..2000).prop_map(
            |(literal_bytes, distance, offset, length)| Region { literal_bytes, distance, offset, length },
        )
    }

    proptest! {
        #[test]
        fn round_trips_and_knows_its_length(
            regions in proptest::collection::vec(region(), 0..20),
            tail in proptest::collection::vec(any::<u8>(), 0..100),
        ) {
            let mut out = Vec::new();
            emit(&regions, &mut out);
            let shim_bytes: usize = regions.iter().map(Region::encoded_len).sum();
            prop_assert_eq!(out.len(), 1 + shim_bytes);
            let literal_bytes: u32 = regions.iter().map(|region| region.literal_bytes).sum();
            out.extend(std::iter::repeat_n(7, literal_bytes as usize));
            out.extend_from_slice(&tail);
            let shim = Compact::parse(&out).unwrap();
            prop_assert_eq!(shim.regions().collect::<Vec<_>>(), regions.clone());
            prop_assert_eq!(shim.literals, &out[1 + shim_bytes..]);
            let region_bytes: u32 = regions.iter().map(|region| region.length).sum();
            prop_assert_eq!(shim.restored_bytes, region_bytes as usize + shim.literals.len());
        }

        #[test]
        fn any_bytes_parse_or_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(shim) = Compact::parse(&bytes) {
                prop_assert!(shim.restored_bytes <= MAX_RESTORED_BYTES);
                let literal_bytes: usize = shim.regions().map(|region| region.literal_bytes as usize).sum();
                prop_assert!(literal_bytes <= shim.literals.len());
            }
        }

        #[test]
        fn small_numbers_parse_or_are_refused(bytes in proptest::collection::vec(0u8..6, 0..60)) {
            if let Ok(shim) = Compact::parse(&bytes) {
                let region_bytes: usize = shim.regions().map(|region| region.length as usize).sum();
                prop_assert_eq!(shim.restored_bytes, region_bytes + shim.literals.len());
            }
        }
    }

    #[test]
    fn more_than_an_ip_packet_is_refused() {
        let region = Region { literal_bytes: 0, distance: 1, offset: 0, length: 40_000 };
        let mut out = Vec::new();
        emit(&[region, region], &mut out);
        assert_eq!(Compact::parse(&out), Err(Malformed("shim: restored length")));
        out.clear();
        emit(&[Region { length: u32::MAX, ..region }], &mut out);
        assert_eq!(Compact::parse(&out), Err(Malformed("shim: restored length")));
    }
}
