//! The size of a store, which changes within a session.
//!
//! ```text
//! +-----------+-------------+------------+----------------------------------------+
//! | flags (8) | number (16) | heard (16) | kept (32), KiB: store of the frame's   |
//! |           |             |            | sender for packets of the receiver     |
//! +-----------+-------------+------------+----------------------------------------+
//! ```
//!
//! The number rises by one with each frame, modulo 65,536, and starts at 1. A receiver passes over a frame
//! that is not newer than the newest one (RFC 1982). *Heard* is the number of the newest frame from the
//! receiver, or 0.
//!
//! *Kept* bounds the references of the frame's receiver. A store shrinks once the other end has heard so.

use crate::{Malformed, take_array};

/// The sender wants a frame in answer.
const ASKS: u8 = 1;

/// What one end says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stores {
    /// The receiver is to answer with a frame of its own.
    pub asks: bool,
    /// Number of the frame.
    pub number: u16,
    /// Number of the newest frame from the receiver; 0 before the first.
    pub heard: u16,
    /// Store of the sender for packets from the receiver, in KiB.
    pub kept_kib: u32,
}

impl Stores {
    /// Reads a frame's body. Appended fields and unknown flags of newer nodes are passed over.
    pub fn parse(mut body: &[u8]) -> Result<Self, Malformed> {
        let [flags] = take_array(&mut body, "stores: flags")?;
        Ok(Stores {
            asks: flags & ASKS != 0,
            number: u16::from_be_bytes(take_array(&mut body, "stores: number")?),
            heard: u16::from_be_bytes(take_array(&mut body, "stores: heard")?),
            kept_kib: u32::from_be_bytes(take_array(&mut body, "stores: kept")?),
        })
    }

    /// Appends a frame's body.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.push(if self.asks { ASKS } else { 0 });
        out.extend_from_slice(&self.number.to_be_bytes());
        out.extend_from_slice(&self.heard.to_be_bytes());
        out.extend_from_slice(&self.kept_kib.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trips_and_passes_over_what_is_appended(asks: bool, number: u16, heard: u16, kept_kib: u32) {
            let stores = Stores { asks, number, heard, kept_kib };
            let mut out = Vec::new();
            stores.emit(&mut out);
            prop_assert!(Stores::parse(&out[..8]).is_err());
            out.push(0xff);
            prop_assert_eq!(Stores::parse(&out), Ok(stores));
        }
    }
}
