//! Challenges: a node that does not answer an initiation at once says what the next one has to show.
//!
//! ```text
//! challenge                 header (key id: the initiation's) | salt (128) | form (8), sealed
//!   form 1, cookie          cookie (128) | tag (128)
//!   form 2, number          newest number (64) | tag (128)
//! initiation with a cookie  header (key id: the sender's) | mark (128) | cookie mark (128) | Noise e, es, s, ss, {hello}
//! ```
//!
//! A *cookie* (as WireGuard's, section 5.4.7 of its paper) is asked for under load. It is a keyed hash of the
//! initiator's address under a secret that lasts for two minutes; the responder remembers nothing. The cookie
//! mark is a keyed BLAKE2s-128 under the cookie of all in the unit but the two marks. A recorded initiation
//! has none that fits, and who has not the network's key cannot read a cookie.
//!
//! A *number* answers an initiation whose own is not above the newest one that was heard of this initiator.
//! It is sealed under a key of the two nodes alone. The initiator goes on above it, so that a clock or a disk
//! that was set back costs one round trip.
//!
//! The key of either is used once: it is derived from the initiation's mark and the salt, and the nonce is 0.
//! The header is the associated data.

use crate::unit::TAG_BYTES;
use crate::{Malformed, take_array};

/// Bytes of a salt.
pub const SALT_BYTES: usize = 16;
/// Bytes of a cookie.
pub const COOKIE_BYTES: usize = 16;
const NUMBER_BYTES: usize = 8;

/// The body of a challenge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Challenge {
    /// Random: no key is used twice.
    pub salt: [u8; SALT_BYTES],
    /// The demand.
    pub asks: Asks,
}

/// The demand of a challenge, in its form on the air.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    /// A cookie mark: the cookie with its tag.
    Cookie([u8; COOKIE_BYTES + TAG_BYTES]),
    /// A higher number: the newest one with its tag.
    Number([u8; NUMBER_BYTES + TAG_BYTES]),
}

impl Challenge {
    /// Reads a challenge's body.
    pub fn parse(mut body: &[u8]) -> Result<Self, Malformed> {
        let body = &mut body;
        let salt = take_array(body, "challenge: salt")?;
        let asks = match take_array(body, "challenge: form")? {
            [1] => Asks::Cookie(take_array(body, "challenge: cookie")?),
            [2] => Asks::Number(take_array(body, "challenge: number")?),
            _ => return Err(Malformed("challenge: form")),
        };
        if body.is_empty() { Ok(Challenge { salt, asks }) } else { Err(Malformed("challenge")) }
    }

    /// Appends the body behind its header.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.salt);
        match &self.asks {
            Asks::Cookie(sealed) => {
                out.push(1);
                out.extend_from_slice(sealed);
            }
            Asks::Number(sealed) => {
                out.push(2);
                out.extend_from_slice(sealed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trip(salt: [u8; 16], cookie: [u8; 32], number: [u8; 24]) {
            for asks in [Asks::Cookie(cookie), Asks::Number(number)] {
                let challenge = Challenge { salt, asks };
                let mut out = Vec::new();
                challenge.emit(&mut out);
                prop_assert_eq!(Challenge::parse(&out), Ok(challenge));
                prop_assert!(Challenge::parse(&out[..out.len() - 1]).is_err());
                out.push(0);
                prop_assert!(Challenge::parse(&out).is_err());
            }
        }
    }
}
