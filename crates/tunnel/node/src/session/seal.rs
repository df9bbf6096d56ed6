//! Seal and open: an AEAD over a unit, the header as associated data, the counter as nonce.
//!
//! Two nodes whose processors compute AES use AES-256-GCM (RFC 5116), which takes a third of the time there.
//! All others use ChaCha20-Poly1305 (RFC 8439).
//!
//! Sealing is handed out as a value ([`Seal`]), so that a driver may do it on another thread than the one
//! that drives the node.

use ring::aead::{AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use std::borrow::Cow;
use std::sync::Arc;
use wire::unit::{SEALED_HEADER_BYTES, TAG_BYTES};
use zeroize::Zeroizing;

/// What a session's units are sealed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cipher {
    /// Everywhere.
    ChaCha20Poly1305,
    /// Between two nodes that both have capability [`wire::hello::COMPUTES_AES`].
    Aes256Gcm,
}

impl std::fmt::Display for Cipher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Cipher::ChaCha20Poly1305 => "ChaCha20-Poly1305",
            Cipher::Aes256Gcm => "AES-256-GCM",
        })
    }
}

impl Cipher {
    /// The most units under one key; long before, it is replaced.
    #[must_use]
    pub fn most_units(self) -> u64 {
        match self {
            Cipher::ChaCha20Poly1305 => 1 << 60,
            // RFC 9001, appendix B.1, for packets of up to 2^11 bytes
            Cipher::Aes256Gcm => 1 << 28,
        }
    }
}

/// A key for one direction.
pub struct TrafficKey(Kept);

enum Kept {
    /// Its bytes lie in one place from first to last, and are wiped there. The cipher's own form, which the
    /// library does not wipe, is made for each unit and lives no longer than a call. It has no key schedule.
    ChaCha20Poly1305(Box<Zeroizing<[u8; 32]>>),
    /// The key schedule, which costs as much as a short unit. The library does not wipe it.
    Aes256Gcm(Box<LessSafeKey>),
}

impl std::fmt::Debug for TrafficKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TrafficKey(secret)")
    }
}

impl TrafficKey {
    /// The key with these bytes for ChaCha20-Poly1305.
    #[must_use]
    pub fn new(bytes: &[u8; 32]) -> Self {
        Self::of(Cipher::ChaCha20Poly1305, bytes)
    }

    /// The key with these bytes for a cipher.
    #[must_use]
    pub fn of(cipher: Cipher, bytes: &[u8; 32]) -> Self {
        TrafficKey(match cipher {
            Cipher::ChaCha20Poly1305 => Kept::ChaCha20Poly1305(Box::new(Zeroizing::new(*bytes))),
            Cipher::Aes256Gcm => Kept::Aes256Gcm(Box::new(key_of(&AES_256_GCM, bytes))),
        })
    }

    fn cipher(&self) -> Cow<'_, LessSafeKey> {
        match &self.0 {
            Kept::ChaCha20Poly1305(bytes) => Cow::Owned(key_of(&CHACHA20_POLY1305, bytes)),
            Kept::Aes256Gcm(key) => Cow::Borrowed(key),
        }
    }

    /// Encrypts `text` in place; its tag. The key is used for this alone: the nonce is 0.
    #[must_use]
    pub fn seal_once(self, header: &[u8], text: &mut [u8]) -> [u8; TAG_BYTES] {
        let tag = self.cipher().seal_in_place_separate_tag(nonce(0), Aad::from(header), text);
        let tag = tag.expect("a challenge is shorter than the cipher's limit of 256 GiB");
        let mut bytes = [0; TAG_BYTES];
        bytes.copy_from_slice(tag.as_ref());
        bytes
    }

    /// Decrypts `ciphertext` (with its tag at the end) in place; the plaintext's length, or `None` if it was
    /// not sealed with this key, counter and header.
    #[must_use]
    pub fn open(&self, counter: u64, header: &[u8], ciphertext: &mut [u8]) -> Option<usize> {
        self.cipher()
            .open_in_place(nonce(counter), Aad::from(header), ciphertext)
            .ok()
            .map(|plain| plain.len())
    }
}

/// The library's form of a key.
fn key_of(algorithm: &'static Algorithm, bytes: &[u8; 32]) -> LessSafeKey {
    LessSafeKey::new(UnboundKey::new(algorithm, bytes).expect("both ciphers have keys of 32 bytes"))
}

fn nonce(counter: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&counter.to_le_bytes());
    Nonce::assume_unique_for_key(bytes)
}

/// Makes a unit's ciphertext from its plaintext. A unit that leaves without it is readable.
#[derive(Debug, Clone)]
#[must_use]
pub struct Seal {
    key: Arc<TrafficKey>,
    counter: u64,
}

impl Seal {
    /// The seal for one unit. The caller never gives a key the same counter twice.
    pub fn new(key: Arc<TrafficKey>, counter: u64) -> Self {
        Seal { key, counter }
    }

    /// The nonce's counter.
    #[must_use]
    pub fn counter(&self) -> u64 {
        self.counter
    }

    /// Encrypts the unit in `datagram` (header, then plaintext) in place and appends the tag.
    pub fn apply(&self, datagram: &mut Vec<u8>) {
        let header_bytes = SEALED_HEADER_BYTES.min(datagram.len());
        let (header, text) = datagram.split_at_mut(header_bytes);
        let tag = self
            .key
            .cipher()
            .seal_in_place_separate_tag(nonce(self.counter), Aad::from(&*header), text)
            .expect("a datagram is shorter than the cipher's limit of 256 GiB");
        datagram.extend_from_slice(tag.as_ref());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_opens_with_the_same_cipher_header_and_counter() {
        for (cipher, other) in
            [(Cipher::ChaCha20Poly1305, Cipher::Aes256Gcm), (Cipher::Aes256Gcm, Cipher::ChaCha20Poly1305)]
        {
            opens_alone(cipher, other);
        }
    }

    fn opens_alone(cipher: Cipher, other: Cipher) {
        let key = Arc::new(TrafficKey::of(cipher, &[7; 32]));
        let mut datagram = b"headersthe plaintext".to_vec();
        Seal::new(key.clone(), 9).apply(&mut datagram);
        assert_eq!(datagram.len(), 20 + TAG_BYTES);
        let (header, body) = datagram.split_at(SEALED_HEADER_BYTES);
        assert_eq!(key.open(9, header, &mut body.to_vec()), Some(13));
        assert_eq!(TrafficKey::of(other, &[7; 32]).open(9, header, &mut body.to_vec()), None);
        assert_eq!(key.open(8, header, &mut body.to_vec()), None);
        assert_eq!(key.open(9, b"Headers", &mut body.to_vec()), None);
        let mut short = [0; TAG_BYTES - 1];
        assert_eq!(key.open(9, header, &mut short), None);
    }
}
