//! Messages between gateways of one operator, about stations that hear several of them (REfactor, section
//! 3.4).
//!
//! ```text
//! +-----------+------------+--------------+
//! | boot (32) | kind (8)   | station (64) |  then by kind:
//! +-----------+------------+--------------+
//! overhears (1):  | rate, kbit/s (varint) |
//! heard (2):      | your boot (32) | newest number (64) | bitmap: bit 0 is the newest ... |
//! named (3):      | named_chunks ... |
//! gone (4):
//! has (5):
//! group (6):      | key id (24) | traffic key (256) |
//! ```
//!
//! They go as frames of the session between the two, which are peers of each other. A station has a name
//! there, the same at every gateway: a hash of its public key. The boot tells when a gateway has started
//! again, and with it what numbers are.

use crate::group::OtherGroup;
use crate::{Malformed, take_array, varint};

/// The most bytes of a bitmap of what was heard.
pub const MAX_BITMAP_BYTES: usize = 512;

/// A station's name among gateways.
pub type StationName = u64;

/// Contents of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said<'a> {
    /// This station of the sender's overhears the receiver. Said again from time to time.
    Overhears {
        /// At which the sender sends to it: an upper bound of what the receiver could.
        rate_kilobits_per_second: u32,
    },
    /// The station heard these packets of the receiver's.
    Heard {
        /// The receiver's, when it sent them.
        boot: u32,
        /// The newest number that is spoken of.
        newest: u64,
        /// Bit 0 of byte 0 is the newest, the next the one before it.
        bitmap: &'a [u8],
    },
    /// This station of the receiver's has these chunks: [`crate::named_chunks`].
    Named(&'a [u8]),
    /// This station of the sender's has left it.
    Gone,
    /// This station is associated with the sender: its packets go there. Repeated while it is so.
    Has,
    /// The sender's own group, which stations of the receiver's may overhear; of no station, which is 0. Said
    /// again from time to time.
    Group(OtherGroup),
}

/// One message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// The sender's.
    pub boot: u32,
    /// Its subject.
    pub station: StationName,
    /// The contents.
    pub said: Said<'a>,
}

const OVERHEARS: u8 = 1;
const HEARD: u8 = 2;
const NAMED: u8 = 3;
const GONE: u8 = 4;
const HAS: u8 = 5;
const GROUP: u8 = 6;

impl<'a> Message<'a> {
    /// Reads a message.
    pub fn parse(mut input: &'a [u8]) -> Result<Self, Malformed> {
        let boot = u32::from_be_bytes(take_array(&mut input, "neighbours: boot")?);
        let [kind] = take_array(&mut input, "neighbours: kind")?;
        let station = u64::from_be_bytes(take_array(&mut input, "neighbours: station")?);
        let said = match kind {
            OVERHEARS => Said::Overhears { rate_kilobits_per_second: varint::parse(&mut input)? },
            HEARD => {
                let boot = u32::from_be_bytes(take_array(&mut input, "neighbours: your boot")?);
                let newest = u64::from_be_bytes(take_array(&mut input, "neighbours: newest")?);
                if input.len() > MAX_BITMAP_BYTES {
                    return Err(Malformed("neighbours: bitmap"));
                }
                Said::Heard { boot, newest, bitmap: std::mem::take(&mut input) }
            }
            NAMED => Said::Named(std::mem::take(&mut input)),
            GONE => Said::Gone,
            HAS => Said::Has,
            GROUP => {
                if input.len() != OtherGroup::BYTES {
                    return Err(Malformed("neighbours: group"));
                }
                Said::Group(OtherGroup::parse(std::mem::take(&mut input))?)
            }
            _ => return Err(Malformed("neighbours: kind")),
        };
        if input.is_empty() { Ok(Message { boot, station, said }) } else { Err(Malformed("neighbours: end")) }
    }

    /// Appends the message.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.boot.to_be_bytes());
        out.push(match self.said {
            Said::Overhears { .. } => OVERHEARS,
            Said::Heard { .. } => HEARD,
            Said::Named(_) => NAMED,
            Said::Gone => GONE,
            Said::Has => HAS,
            Said::Group(_) => GROUP,
        });
        out.extend_from_slice(&self.station.to_be_bytes());
        match self.said {
            Said::Overhears { rate_kilobits_per_second } => varint::emit(rate_kilobits_per_second, out),
            Said::Heard { boot, newest, bitmap } => {
                out.extend_from_slice(&boot.to_be_bytes());
                out.extend_from_slice(&newest.to_be_bytes());
                out.extend_from_slice(bitmap);
            }
            Said::Named(chunks) => out.extend_from_slice(chunks),
            Said::Group(group) => group.emit(out),
            Said::Gone | Said::Has => {}
        }
    }
}

/// Numbers that a bitmap speaks of as heard, the oldest first.
pub fn heard(newest: u64, bitmap: &[u8]) -> impl Iterator<Item = u64> {
    (0..bitmap.len() * 8)
        .rev()
        .filter(move |back| bitmap[back / 8] >> (back % 8) & 1 == 1)
        .filter_map(move |back| newest.checked_sub(back as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trips(
            boot: u32,
            station: u64,
            kind in 0..6u8,
            number: u64,
            bytes in proptest::collection::vec(any::<u8>(), 0..MAX_BITMAP_BYTES),
        ) {
            let said = match kind {
                0 => Said::Overhears { rate_kilobits_per_second: number as u32 },
                1 => Said::Heard { boot: !boot, newest: number, bitmap: &bytes },
                2 => Said::Named(&bytes),
                3 => Said::Has,
                4 => Said::Group(OtherGroup { key_id: number as u32 >> 8, traffic_key: [number as u8; 32] }),
                _ => Said::Gone,
            };
            let message = Message { boot, station, said };
            let mut out = Vec::new();
            message.emit(&mut out);
            prop_assert_eq!(Message::parse(&out), Ok(message));
            prop_assert!(heard(number, &bytes).all(|heard| heard <= number));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            if let Ok(message) = Message::parse(&bytes) {
                let mut out = Vec::new();
                message.emit(&mut out);
                prop_assert_eq!(Message::parse(&out), Ok(message));
            }
        }
    }
}
