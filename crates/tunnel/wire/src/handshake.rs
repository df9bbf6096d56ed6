//! The two handshake messages: Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s, each behind a mark that only members of
//! the network can make.
//!
//! ```text
//! initiation  header (key id: the sender's) | mark (128) | Noise e, es, s, ss, {hello}
//! response    header (key id: the receiver's) | sender's key id (24) | mark (128) | Noise e, ee, se, psk, {hello}
//! ```
//!
//! The mark is a keyed BLAKE2s-128 of all else in the message under a key derived from the network key.
//! Without the network key, a stranger cannot make a node compute a Diffie-Hellman product. A node answers a
//! repeated initiation with the same bytes while its session waits for confirmation, and not at all
//! afterwards. [`crate::challenge`] describes its demands before an answer.

use crate::number::{from_u24, to_u24};
use crate::{Malformed, take_array};

/// The Noise protocol's name.
pub const NOISE_NAME: &str = "Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s";
/// Bytes of a mark.
pub const MARK_BYTES: usize = 16;

/// The body of an initiation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Initiation<'a> {
    /// Made with the network key over header and Noise message.
    pub mark: [u8; MARK_BYTES],
    /// The Noise message.
    pub noise: &'a [u8],
}

/// The body of an initiation that shows a cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InitiationWithCookie<'a> {
    /// Made with the network key over header, cookie mark and Noise message.
    pub mark: [u8; MARK_BYTES],
    /// Made with the cookie over header and Noise message.
    pub cookie_mark: [u8; MARK_BYTES],
    /// The Noise message.
    pub noise: &'a [u8],
}

/// The body of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response<'a> {
    /// The key id that the responder will open units by, 24 bits.
    pub key_id: u32,
    /// Made with the network key over header, key id and Noise message.
    pub mark: [u8; MARK_BYTES],
    /// The Noise message.
    pub noise: &'a [u8],
}

impl<'a> Initiation<'a> {
    /// Reads an initiation's body.
    pub fn parse(mut body: &'a [u8]) -> Result<Self, Malformed> {
        let mark = take_array(&mut body, "initiation: mark")?;
        Ok(Initiation { mark, noise: body })
    }

    /// Appends the body behind its header.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.mark);
        out.extend_from_slice(self.noise);
    }
}

impl<'a> InitiationWithCookie<'a> {
    /// Reads the body.
    pub fn parse(mut body: &'a [u8]) -> Result<Self, Malformed> {
        let mark = take_array(&mut body, "initiation: mark")?;
        let cookie_mark = take_array(&mut body, "initiation: cookie mark")?;
        Ok(InitiationWithCookie { mark, cookie_mark, noise: body })
    }

    /// Appends the body behind its header.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.mark);
        out.extend_from_slice(&self.cookie_mark);
        out.extend_from_slice(self.noise);
    }
}

impl<'a> Response<'a> {
    /// Reads a response's body.
    pub fn parse(mut body: &'a [u8]) -> Result<Self, Malformed> {
        let key_id = from_u24(take_array(&mut body, "response: key id")?);
        let mark = take_array(&mut body, "response: mark")?;
        Ok(Response { key_id, mark, noise: body })
    }

    /// Appends the body behind its header.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&to_u24(u64::from(self.key_id)));
        out.extend_from_slice(&self.mark);
        out.extend_from_slice(self.noise);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trip(key_id in 0u32..1 << 24, mark: [u8; 16], noise in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut out = Vec::new();
            let response = Response { key_id, mark, noise: &noise };
            response.emit(&mut out);
            prop_assert_eq!(Response::parse(&out), Ok(response));
            out.clear();
            let returned = InitiationWithCookie { mark, cookie_mark: [7; 16], noise: &noise };
            returned.emit(&mut out);
            prop_assert_eq!(InitiationWithCookie::parse(&out), Ok(returned));
            out.clear();
            let initiation = Initiation { mark, noise: &noise };
            initiation.emit(&mut out);
            prop_assert_eq!(Initiation::parse(&out), Ok(initiation));
        }
    }
}
