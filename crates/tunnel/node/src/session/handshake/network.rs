//! Uses of a network's key: marks, cookies in flight, the pre-shared key of a handshake.

use super::{Refused, derive, keyed_mark};
use crate::keys::{NetworkKey, PresharedKey};
use wire::challenge::COOKIE_BYTES;
use wire::handshake::{Initiation, InitiationWithCookie, MARK_BYTES};
use wire::unit::{Kind, emit_header};
use zeroize::{Zeroize, Zeroizing};

/// A network's key, with what follows from it.
pub struct Network {
    key: NetworkKey,
    mark_key: [u8; 32],
    cookie_key: [u8; 32],
}

impl Network {
    /// With this key.
    #[must_use]
    pub fn new(key: NetworkKey) -> Self {
        let mark_key = derive(key.as_bytes(), b"overheard 1 handshake mark");
        let cookie_key = derive(key.as_bytes(), b"overheard 2 cookie");
        Network { key, mark_key, cookie_key }
    }

    /// The key that seals cookies on their way to any member of the network.
    #[must_use]
    pub fn cookie_key(&self) -> &[u8; 32] {
        &self.cookie_key
    }

    /// The mark of a handshake message with these parts.
    #[must_use]
    pub fn mark(&self, parts: &[&[u8]]) -> [u8; MARK_BYTES] {
        keyed_mark(&self.mark_key, parts)
    }

    /// Appends the initiation with this Noise message to `out`, with a cookie's mark if there is a cookie;
    /// its mark.
    pub fn mark_initiation(
        &self,
        key_id: u32,
        noise: &[u8],
        cookie: Option<&[u8; COOKIE_BYTES]>,
        out: &mut Vec<u8>,
    ) -> [u8; MARK_BYTES] {
        let start = out.len();
        let Some(cookie) = cookie else {
            emit_header(Kind::Initiation, key_id, None, out);
            let mark = self.mark(&[&out[start..], noise]);
            Initiation { mark, noise }.emit(out);
            return mark;
        };
        emit_header(Kind::InitiationWithCookie, key_id, None, out);
        let cookie_mark = keyed_mark(cookie, &[&out[start..], noise]);
        let mark = self.mark(&[&out[start..], &cookie_mark, noise]);
        InitiationWithCookie { mark, cookie_mark, noise }.emit(out);
        mark
    }

    /// Refuses what has not this network's mark.
    pub fn check_mark(&self, parts: &[&[u8]], mark: [u8; MARK_BYTES]) -> Result<(), Refused> {
        let difference = u128::from_be_bytes(self.mark(parts)) ^ u128::from_be_bytes(mark);
        if difference == 0 { Ok(()) } else { Err(Refused::Mark) }
    }

    /// Noise's pre-shared key for a peer that shares `pair` with this node, or only the network's key. A
    /// stranger without either key cannot compute it.
    #[must_use]
    pub fn noise_key(&self, pair: Option<&PresharedKey>) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(match pair {
            Some(pair) => {
                let root = Zeroizing::new(derive(self.key.as_bytes(), b"overheard 2 preshared key"));
                derive(&root, pair.as_bytes())
            }
            None => *self.key.as_bytes(),
        })
    }
}

impl PartialEq for Network {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.mark_key.zeroize();
        self.cookie_key.zeroize();
    }
}
