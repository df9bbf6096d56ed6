//! What two nodes tell each other inside the handshake.
//!
//! ```text
//! +------------+------------+------------------------------------------------+
//! | oldest     | newest     | boot (64): random, new each time a node starts |
//! | version    | version    |                                                |
//! +------------+------------+----------+--------+--------+-------------------+
//! | store, KiB (32)                    | window | sample | capabilities (32) |
//! |                                    | bytes  | bits   |                   |
//! +------------------------------------+--------+--------+-------------------+
//! ```
//!
//! What a newer version appends is passed over.

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
    /// How much the node will store for this direction, in KiB; 0: nothing, send packets as they are.
    pub store_kib: u32,
    /// The sliding window of the node's own encoder, in bytes (byte-caching paper: w).
    pub window_bytes: u8,
    /// How many low bits of a fingerprint must be zero for it to be kept (byte-caching paper: k).
    pub sample_bits: u8,
    /// What the node can do beyond version 1; none yet.
    pub capabilities: u32,
}

impl Hello {
    /// Bytes of a version 1 hello.
    pub const BYTES: usize = 20;

    /// Reads a hello.
    pub fn parse(mut input: &[u8]) -> Result<Self, Malformed> {
        let input = &mut input;
        let [oldest_version, newest_version] = take_array(input, "hello: versions")?;
        let boot = u64::from_be_bytes(take_array(input, "hello: boot")?);
        let store_kib = u32::from_be_bytes(take_array(input, "hello: store")?);
        let [window_bytes, sample_bits] = take_array(input, "hello: fingerprints")?;
        let capabilities = u32::from_be_bytes(take_array(input, "hello: capabilities")?);
        Ok(Hello { oldest_version, newest_version, boot, store_kib, window_bytes, sample_bits, capabilities })
    }

    /// Appends the hello.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.oldest_version, self.newest_version]);
        out.extend_from_slice(&self.boot.to_be_bytes());
        out.extend_from_slice(&self.store_kib.to_be_bytes());
        out.extend_from_slice(&[self.window_bytes, self.sample_bits]);
        out.extend_from_slice(&self.capabilities.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_and_passes_over_what_is_appended() {
        let hello = Hello {
            oldest_version: 1,
            newest_version: 2,
            boot: 0x0123_4567_89ab_cdef,
            store_kib: 65536,
            window_bytes: 16,
            sample_bits: 4,
            capabilities: 5,
        };
        let mut out = Vec::new();
        hello.emit(&mut out);
        assert_eq!(out.len(), Hello::BYTES);
        out.extend_from_slice(b"what a newer version appends");
        assert_eq!(Hello::parse(&out), Ok(hello));
        assert_eq!(Hello::parse(&out[..19]), Err(Malformed("hello: capabilities")));
    }
}
