//! Bounds of stores, which two nodes change while packets go on.
//!
//! ```text
//! +-----------------+---------------+------------------------------+------------------------------+
//! | number (varint) | seen (varint) | packets: wishes, uses, keeps | records: wishes, uses, keeps |
//! |                 |               | (KiB, varint each)           | (the same), or nothing       |
//! +-----------------+---------------+------------------------------+------------------------------+
//! ```
//!
//! The number rises with each frame that wants an answer. `seen` is the highest number that came from the
//! other node. A frame with a lower number than one before is older, and says nothing. A receiver ignores
//! bytes behind the last field.
//!
//! The receiver of a direction keeps at least what its sender may refer to. So a receiver that keeps more
//! says so afterwards. One that wants to keep less says so first, and keeps all until the sender has seen it
//! and uses no more.

use crate::{Malformed, varint};

/// What a node says of its stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoreBounds {
    /// The number of this frame.
    pub number: u32,
    /// The highest number seen from the receiver of this frame; 0 before the first.
    pub seen: u32,
    /// The stores of packets.
    pub packets: Bounds,
    /// The stores of records of streams. `None`: no streams cross the hop.
    pub records: Option<Bounds>,
}

/// The bounds of one kind of store, in KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bounds {
    /// What the node would use for what it sends.
    pub wishes: u32,
    /// The most that it uses now for what it sends.
    pub uses: u32,
    /// What it keeps of what it receives.
    pub keeps: u32,
}

impl StoreBounds {
    /// The most bytes of a body.
    pub const MAX_BYTES: usize = 8 * varint::MAX_BYTES;

    /// Reads the body of a frame.
    pub fn parse(mut body: &[u8]) -> Result<Self, Malformed> {
        let input = &mut body;
        let (number, seen) = (varint::parse(input)?, varint::parse(input)?);
        let packets = Bounds::parse(input)?;
        let records = if input.is_empty() { None } else { Some(Bounds::parse(input)?) };
        if number == 0 {
            return Err(Malformed("store bounds: number"));
        }
        Ok(StoreBounds { number, seen, packets, records })
    }

    /// Appends the body of a frame.
    pub fn emit(&self, out: &mut Vec<u8>) {
        varint::emit(self.number, out);
        varint::emit(self.seen, out);
        self.packets.emit(out);
        self.records.iter().for_each(|records| records.emit(out));
    }
}

impl Bounds {
    fn parse(input: &mut &[u8]) -> Result<Self, Malformed> {
        Ok(Bounds {
            wishes: varint::parse(input)?,
            uses: varint::parse(input)?,
            keeps: varint::parse(input)?,
        })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        [self.wishes, self.uses, self.keeps].into_iter().for_each(|kib| varint::emit(kib, out));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bounds((wishes, uses, keeps): (u32, u32, u32)) -> Bounds {
        Bounds { wishes, uses, keeps }
    }

    proptest! {
        #[test]
        fn round_trips_and_passes_over_what_is_appended(
            number in 1u32..,
            seen: u32,
            packets: (u32, u32, u32),
            records: Option<(u32, u32, u32)>,
        ) {
            let (packets, records) = (bounds(packets), records.map(bounds));
            let it = StoreBounds { number, seen, packets, records };
            let mut out = Vec::new();
            it.emit(&mut out);
            prop_assert!(out.len() <= StoreBounds::MAX_BYTES);
            prop_assert_eq!(StoreBounds::parse(&out), Ok(it));
            if records.is_some() {
                out.extend_from_slice(b"later fields");
                prop_assert_eq!(StoreBounds::parse(&out), Ok(it));
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            if let Ok(it) = StoreBounds::parse(&bytes) {
                prop_assert!(it.number > 0);
            }
        }
    }
}
