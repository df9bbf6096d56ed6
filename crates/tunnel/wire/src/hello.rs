//! The announcements of two nodes inside the handshake.
//!
//! ```text
//! +------------+------------+------------------------------------------------+
//! | oldest     | newest     | boot (64): random, new each time a node starts |
//! | version    | version    |                                                |
//! +------------+------------+----------+--------+--------+-------------------+
//! | number of this handshake (32)      | store, KiB (32)                     |
//! +------------------------------------+--------+--------+-------------------+
//! | capabilities (32)                  | window | sample | reset token (128) |
//! |                                    | bytes  | bits   |                   |
//! +--------+---------------------------+--------+--------+-------------------+
//! | draft  | number across boots (64)                                        |
//! +--------+-----------------------------------------------------------------+
//! ```
//!
//! The last row is of version 2. Within a boot the initiator numbers its handshakes upwards, and across boots
//! by a second number: a responder answers one that is not above the newest with a
//! [challenge](crate::challenge). No clock is trusted for this.
//!
//! A node skips appended fields of newer versions and unknown capabilities. The session speaks the newest
//! common version. Without one it is a plain tunnel ([`crate::unit::PLAIN`]). Version 2 is a draft: nodes
//! with different drafts speak version 1. Both sides derive the same result from the two hellos.

use crate::reset::RESET_TOKEN_BYTES;
use crate::unit::{PLAIN, VERSION};
use crate::{Malformed, take_array};

/// One side's introduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hello {
    /// The oldest version of the formats that the node speaks.
    pub oldest_version: u8,
    /// The newest.
    pub newest_version: u8,
    /// Random, new each time the node starts: with another boot, everything remembered of the peer is void.
    pub boot: u64,
    /// Counts the handshakes that this boot began; only upwards.
    pub number: u32,
    /// How much the node will store for this direction, in KiB; 0: nothing, send packets as they are.
    pub store_kib: u32,
    /// The sliding window of the node's own encoder, in bytes (byte-caching paper: w).
    pub window_bytes: u8,
    /// How many low bits of a fingerprint must be zero for it to be kept (byte-caching paper: k).
    pub sample_bits: u8,
    /// Sum of the node's capabilities (below); unknown ones are skipped.
    pub capabilities: u32,
    /// The token that a [`crate::reset`] about this session's key id will show.
    pub reset_token: [u8; RESET_TOKEN_BYTES],
    /// Fields of version 2; `None` from a node without it.
    pub second: Option<Second>,
}

/// Fields of version 2 in a hello.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Second {
    /// Number of the draft of version 2.
    pub draft: u8,
    /// Rises with every handshake of this initiator, across its boots; a response has 0.
    pub across_boots: u64,
}

/// The draft of version 2 that this crate speaks.
pub const DRAFT: u8 = 1;

/// The node answers [`crate::request`]s: it keeps what it sent and refers to packets that may be lost.
pub const ANSWERS_REQUESTS: u32 = 1;
/// Sends again what the peer's receipts show to be missing, so that the peer may wait for it.
pub const RECOVERS: u32 = 2;
/// Understands packets whose headers and literals were made shorter.
pub const LENGTHENS: u32 = 4;

/// Takes a session's units from several addresses, told apart by [`crate::frame::FrameType::Lane`].
pub const HEARS_LANES: u32 = 8;
/// Joins packets that were cut where their datagram ended ([`crate::frame::FrameType::Head`]).
pub const JOINS: u32 = 16;
/// Becomes a member of groups ([`crate::group`]): it keeps content that it hears of packets to others.
pub const LISTENS: u32 = 32;
/// Undoes [coded repairs](crate::coded) of TCP segments.
pub const UNCODES: u32 = 64;
/// May send such repairs: a peer that undoes them keeps recently delivered packets.
pub const CODES: u32 = 128;
/// Tells, in [loss notices](crate::notice), of TCP segments that were lost on their way to it.
pub const NOTIFIES: u32 = 256;
/// Sends again what such notices name.
pub const HEEDS: u32 = 512;

/// Undoes coded repairs whose payloads are scaled, and keeps those that it cannot undo until others come.
pub const UNCODES_ROWS: u32 = 1024;
/// Takes apart one frame for several members ([`crate::natives`]): it keeps its packets to a relay that
/// combines, and overheard packets.
pub const SEPARATES: u32 = 2048;
/// Sends natives for several members as one frame, and wants to be told what its members overhear.
pub const COMBINES: u32 = 4096;
/// Has instructions for AES: sessions between two such nodes are sealed with AES-256-GCM.
pub const COMPUTES_AES: u32 = 8192;
/// Restores lost units from [repairs](crate::repair).
pub const RESTORES: u32 = 16384;
/// Takes [streams](crate::stream) of [records](crate::record). 32768 told of streams without these, in
/// drafts.
pub const STREAMS: u32 = 65536;
/// Changes the bounds of its stores while packets go on ([`crate::store_bounds`]).
pub const BOUNDS_STORES: u32 = 131_072;
/// Keeps a fifth of the packets longer: its stores are lasting ones, where the peer's are.
pub const LASTS: u32 = 262_144;
/// Reads packets that neither end stores ([`crate::frame::FrameType::Unstored`]).
pub const PASSES: u32 = 524_288;

impl Hello {
    /// The version of a session between this node and `other`.
    #[must_use]
    pub fn common_version(&self, other: &Self) -> u8 {
        let oldest = self.oldest_version.max(other.oldest_version);
        let same_draft = self.draft().is_some() && self.draft() == other.draft();
        let known = if same_draft { VERSION } else { 1 };
        let newest = self.newest_version.min(other.newest_version).min(known);
        if oldest <= newest { newest } else { PLAIN }
    }

    fn draft(&self) -> Option<u8> {
        self.second.map(|second| second.draft)
    }

    /// Bytes of a version 1 hello.
    pub const BYTES: usize = 40;
    /// Bytes that version 2 appends.
    pub const SECOND_BYTES: usize = 9;

    /// Reads a hello.
    pub fn parse(mut input: &[u8]) -> Result<Self, Malformed> {
        let input = &mut input;
        let [oldest_version, newest_version] = take_array(input, "hello: versions")?;
        let boot = u64::from_be_bytes(take_array(input, "hello: boot")?);
        let number = u32::from_be_bytes(take_array(input, "hello: number")?);
        let store_kib = u32::from_be_bytes(take_array(input, "hello: store")?);
        let capabilities = u32::from_be_bytes(take_array(input, "hello: capabilities")?);
        let [window_bytes, sample_bits] = take_array(input, "hello: fingerprints")?;
        let reset_token = take_array(input, "hello: reset token")?;
        let second = (newest_version >= 2 && input.len() >= Self::SECOND_BYTES).then(|| Second::parse(input));
        let second = second.transpose()?;
        Ok(Hello {
            oldest_version,
            newest_version,
            boot,
            number,
            store_kib,
            window_bytes,
            sample_bits,
            capabilities,
            reset_token,
            second,
        })
    }

    /// Appends the hello.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.oldest_version, self.newest_version]);
        out.extend_from_slice(&self.boot.to_be_bytes());
        out.extend_from_slice(&self.number.to_be_bytes());
        out.extend_from_slice(&self.store_kib.to_be_bytes());
        out.extend_from_slice(&self.capabilities.to_be_bytes());
        out.extend_from_slice(&[self.window_bytes, self.sample_bits]);
        out.extend_from_slice(&self.reset_token);
        if let Some(Second { draft, across_boots }) = self.second {
            out.push(draft);
            out.extend_from_slice(&across_boots.to_be_bytes());
        }
    }
}

impl Second {
    fn parse(input: &mut &[u8]) -> Result<Self, Malformed> {
        let [draft] = take_array(input, "hello: draft")?;
        let across_boots = u64::from_be_bytes(take_array(input, "hello: number across boots")?);
        Ok(Second { draft, across_boots })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn round_trips_and_passes_over_what_is_appended() {
        let hello = Hello {
            oldest_version: 1,
            newest_version: 2,
            boot: 0x0123_4567_89ab_cdef,
            number: 3,
            store_kib: 65536,
            window_bytes: 16,
            sample_bits: 4,
            capabilities: 5,
            reset_token: [6; 16],
            second: Some(Second { draft: 1, across_boots: 1 << 40 }),
        };
        let mut out = Vec::new();
        hello.emit(&mut out);
        assert_eq!(out.len(), Hello::BYTES + Hello::SECOND_BYTES);
        out.extend_from_slice(b"what a newer version appends");
        assert_eq!(Hello::parse(&out), Ok(hello));
        assert_eq!(Hello::parse(&out[..39]), Err(Malformed("hello: reset token")));
    }

    proptest! {
        /// Whatever two nodes say, they come to the same, which both speak or which is the plain tunnel.
        #[test]
        fn both_sides_agree(one: (u8, u8, u8), other: (u8, u8, u8)) {
            let hello = |(oldest_version, newest_version, draft)| Hello {
                oldest_version,
                newest_version,
                boot: 1,
                number: 1,
                store_kib: 1,
                window_bytes: 16,
                sample_bits: 4,
                capabilities: u32::MAX,
                reset_token: [0; 16],
                second: (newest_version >= 2).then_some(Second { draft: draft % 2, across_boots: 0 }),
            };
            let (one, other) = (hello(one), hello(other));
            let version = one.common_version(&other);
            prop_assert_eq!(version, other.common_version(&one));
            let both = |version: u8| [one, other].iter().all(|hello| {
                (hello.oldest_version..=hello.newest_version).contains(&version)
            });
            prop_assert!(version == PLAIN || both(version) && version <= VERSION);
            let newest = if one.draft() == other.draft() { VERSION } else { 1 };
            prop_assert!(version <= newest, "unequal drafts");
            prop_assert!((version + 1..=newest).all(|newer| !both(newer)), "the newest");
        }
    }
}
