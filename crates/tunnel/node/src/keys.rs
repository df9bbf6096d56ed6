//! The keys a person handles: a node's private and public key (Curve25519) and the network's shared key.

#[cfg(fuzzing)]
mod remembered;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rand::Rng;
use snow::types::Dh;
use std::fmt;
use std::str::FromStr;
use zeroize::Zeroize;

/// The text is no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a key: 44 characters of base64 (32 bytes) are expected")]
pub struct NotAKey;

/// The key agreement of handshakes.
#[cfg(not(fuzzing))]
pub(crate) fn curve25519() -> Box<dyn Dh> {
    use snow::resolvers::{CryptoResolver, DefaultResolver};
    DefaultResolver.resolve_dh(&snow::params::DHChoice::Curve25519).expect("snow is built with Curve25519")
}

/// The key agreement of handshakes, with a memory.
#[cfg(fuzzing)]
pub(crate) fn curve25519() -> Box<dyn Dh> {
    Box::new(remembered::Curve25519::default())
}

fn decode(text: &str) -> Result<[u8; 32], NotAKey> {
    let mut bytes = [0; 32];
    // decode_slice wants room for what a longer text might hold
    let mut room = [0; 33];
    let written = STANDARD.decode_slice(text.trim(), &mut room).map_err(|_| NotAKey)?;
    if written != 32 {
        return Err(NotAKey);
    }
    bytes.copy_from_slice(&room[..32]);
    room.zeroize();
    Ok(bytes)
}

macro_rules! secret {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq)]
        pub struct $name([u8; 32]);

        impl $name {
            /// A fresh one.
            pub fn generate(rng: &mut impl Rng) -> Self {
                let mut bytes = [0; 32];
                rng.fill_bytes(&mut bytes);
                $name(bytes)
            }

            /// The 32 bytes themselves.
            #[must_use]
            pub fn as_bytes(&self) -> &[u8; 32] {
                &self.0
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                self.0.zeroize();
            }
        }

        impl FromStr for $name {
            type Err = NotAKey;

            fn from_str(text: &str) -> Result<Self, NotAKey> {
                decode(text).map($name)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&STANDARD.encode(self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(secret)"))
            }
        }
    };
}

secret! {
    /// A node's private key.
    PrivateKey
}
secret! {
    /// The key that all nodes of a network share: Noise's pre-shared key, and what marks handshakes.
    NetworkKey
}

secret! {
    /// The key that two nodes share beside the network's.
    PresharedKey
}

impl PrivateKey {
    /// The public key that belongs to it.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        let mut dh = curve25519();
        dh.set(&self.0);
        let mut bytes = [0; 32];
        bytes.copy_from_slice(dh.pubkey());
        PublicKey(bytes)
    }
}

/// A node's public key: its name among nodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// The key with these bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        PublicKey(bytes)
    }

    /// The 32 bytes themselves.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl FromStr for PublicKey {
    type Err = NotAKey;

    fn from_str(text: &str) -> Result<Self, NotAKey> {
        decode(text).map(PublicKey)
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode(self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_public_key_is_the_one_of_rfc_7748() {
        // RFC 7748, section 6.1: Alice's key pair.
        let private = [
            0x77, 0x07, 0x6d, 0x0a, 0x73, 0x18, 0xa5, 0x7d, 0x3c, 0x16, 0xc1, 0x72, 0x51, 0xb2, 0x66, 0x45,
            0xdf, 0x4c, 0x2f, 0x87, 0xeb, 0xc0, 0x99, 0x2a, 0xb1, 0x77, 0xfb, 0xa5, 0x1d, 0xb9, 0x2c, 0x2a,
        ];
        let public = PrivateKey(private).public();
        assert_eq!(public.as_bytes()[..4], [0x85, 0x20, 0xf0, 0x09]);
    }

    #[test]
    fn keys_are_read_as_they_are_written_and_secrets_are_not_shown() {
        let key: PrivateKey = "dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo=".parse().unwrap();
        assert_eq!(key.to_string(), "dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo=");
        assert_eq!(format!("{key:?}"), "PrivateKey(secret)");
        for wrong in [
            "",
            "short",
            "dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCoA",
            "!wdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo=",
        ] {
            assert_eq!(wrong.parse::<PublicKey>(), Err(NotAKey));
        }
    }
}
