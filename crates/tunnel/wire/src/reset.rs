//! Resets: a restarted node tells the user of a forgotten key to begin a handshake.
//!
//! ```text
//! header (key id: the one that is not known) | reset token (128)
//! ```
//!
//! The same idea as QUIC's stateless reset (RFC 9000, section 10.3): the token is a keyed hash of the key id
//! under the node's private key, told to the peer inside the handshake. Only the node itself can show it,
//! even after it forgot everything else; who sees one on the air learns nothing about sessions to come.

use crate::{Malformed, take_array};

/// Bytes of a token.
pub const RESET_TOKEN_BYTES: usize = 16;

/// Reads a reset's body.
pub fn parse(mut body: &[u8]) -> Result<[u8; RESET_TOKEN_BYTES], Malformed> {
    let token = take_array(&mut body, "reset token")?;
    if body.is_empty() { Ok(token) } else { Err(Malformed("reset")) }
}

/// Appends a reset's body.
pub fn emit(token: [u8; RESET_TOKEN_BYTES], out: &mut Vec<u8>) {
    out.extend_from_slice(&token);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_and_nothing_else_is_a_reset() {
        let mut out = Vec::new();
        emit([3; 16], &mut out);
        assert_eq!(parse(&out), Ok([3; 16]));
        assert!(parse(&out[1..]).is_err());
        out.push(0);
        assert!(parse(&out).is_err());
    }
}
