//! Messages between routers about contents, one a datagram.
//!
//! ```text
//!   0       1       2       3       4               8
//!  ┌───────┬───────┬───────┬───────┬───────────────┬───────────────┬────────────┬────────────┐
//!  │version│ kind  │  ttl  │   0   │ boot          │ sequence      │ origin 16  │ target 16  │
//!  ├───────┴───────┼───────┴───────┴──┬────────────┴──────┬────────┴────────────┴────────────┘
//!  │ key length    │ key              │ check 16          │
//!  └───────────────┴──────────────────┴───────────────────┘
//! ```
//!
//! Numbers are big-endian. `origin` is the first sender (of a search or a setup), and `target` is the router
//! in question. IPv4 addresses are mapped (RFC 4291 section 2.5.5.2). `boot` is random at each start, and
//! `sequence` counts. Together with `origin` they identify the message, so that each is forwarded once and
//! duplicates are recognized. `check` is BLAKE2s of everything before it under the network's key. A forwarder
//! lowers the TTL and recomputes the check.

use blake2::Blake2sMac;
use blake2::digest::consts::U16;
use blake2::digest::{KeyInit, Mac};
use std::net::{IpAddr, Ipv6Addr};

const VERSION: u8 = 1;
const HEADER_BYTES: usize = 46;
const CHECK_BYTES: usize = 16;
/// The longest message, so that no link fragments its datagram.
pub const LONGEST_BYTES: usize = 1200;
/// The longest URI of a search.
pub const LONGEST_KEY_BYTES: usize = LONGEST_BYTES - HEADER_BYTES - CHECK_BYTES;

/// Type of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A search for content (*content locate*).
    Locate,
    /// An answer to a search (*content found*): `target` has the content; `boot` and `sequence` are the
    /// search's.
    Found,
    /// An announcement of requests (*setup*): `target` has the content.
    SetupHolder,
    /// An announcement of requests (*setup* of PH-GHCP): `target` fetches the content if needed.
    SetupHome,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message<'a> {
    /// Its type.
    pub kind: Kind,
    /// Remaining hops.
    pub ttl: u8,
    /// The first sender's boot.
    pub boot: u32,
    /// Its number.
    pub sequence: u32,
    /// The first sender.
    pub origin: IpAddr,
    /// The router in question.
    pub target: IpAddr,
    /// The URI.
    pub key: &'a str,
}

/// Reason why a datagram is not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAMessage {
    /// Truncated, too long, or of an unknown type.
    #[error("malformed")]
    Malformed,
    /// Of another version.
    #[error("version {0}")]
    Version(u8),
    /// Not made with the network's key.
    #[error("not of this network")]
    Check,
}

/// The MAC of a message.
pub(crate) type Check = Blake2sMac<U16>;

/// Prefix of keys that were derived elsewhere.
const HELD: &[u8] = b"overheard cache keys\0";
const KEY_BYTES: usize = 32;

/// A key derived from the network's.
#[derive(Clone)]
pub struct NetworkKey([u8; KEY_BYTES]);

impl NetworkKey {
    /// The key of messages about contents, from the routers' shared bytes.
    #[must_use]
    pub fn new(shared: &[u8]) -> Self {
        Self::held(shared, 0).unwrap_or_else(|| Self::derived(b"overheard cache selection", shared))
    }

    /// The key of requests and answers, from the same bytes.
    #[must_use]
    pub fn for_requests(shared: &[u8]) -> Self {
        Self::held(shared, KEY_BYTES).unwrap_or_else(|| Self::derived(b"overheard cache requests", shared))
    }

    /// Both keys of a cache, from which the shared bytes cannot be derived.
    #[must_use]
    pub fn held_by_caches(shared: &[u8]) -> Vec<u8> {
        [Self::new(shared).0, Self::for_requests(shared).0].concat()
    }

    /// A replacement for the shared bytes where only [`held_by_caches`](Self::held_by_caches) is known;
    /// `None` for another length.
    #[must_use]
    pub fn shared_as(held: &[u8]) -> Option<Vec<u8>> {
        (held.len() == 2 * KEY_BYTES).then(|| [HELD, held].concat())
    }

    fn held(shared: &[u8], at: usize) -> Option<Self> {
        let held = shared.strip_prefix(HELD).filter(|held| held.len() == 2 * KEY_BYTES)?;
        held.get(at..at + KEY_BYTES)?.try_into().ok().map(NetworkKey)
    }

    fn derived(purpose: &[u8], shared: &[u8]) -> Self {
        use blake2::{Blake2s256, Digest};
        NetworkKey(Blake2s256::new().chain_update(purpose).chain_update(shared).finalize().into())
    }

    pub(crate) fn mac(&self, bytes: &[u8]) -> Option<Check> {
        let mut mac = <Check as KeyInit>::new_from_slice(&self.0).ok()?;
        mac.update(bytes);
        Some(mac)
    }
}

impl<'a> Message<'a> {
    /// Parses a datagram and checks that it was made with `key`.
    pub fn parse(datagram: &'a [u8], key: &NetworkKey) -> Result<Self, NotAMessage> {
        use NotAMessage::{Check, Malformed, Version};
        match datagram.first() {
            Some(&VERSION) => {}
            Some(other) => return Err(Version(*other)),
            None => return Err(Malformed),
        }
        if datagram.len() > LONGEST_BYTES {
            return Err(Malformed);
        }
        let (said, check) = datagram.split_last_chunk::<CHECK_BYTES>().ok_or(Malformed)?;
        key.mac(said).ok_or(Check)?.verify_slice(check).map_err(|_| Check)?;
        Self::read(said).ok_or(Malformed)
    }

    /// Parses the part before the check; `None` if it is malformed.
    #[must_use]
    pub fn read(said: &'a [u8]) -> Option<Self> {
        let (header, uri) = said.split_first_chunk::<HEADER_BYTES>()?;
        let kind = match header[1] {
            0 => Kind::Locate,
            1 => Kind::Found,
            2 => Kind::SetupHolder,
            3 => Kind::SetupHome,
            _ => return None,
        };
        let number =
            |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let address = |at: usize| {
            let octets: [u8; 16] = header[at..at + 16].try_into().unwrap_or_default();
            Ipv6Addr::from(octets).to_canonical()
        };
        let length = usize::from(u16::from_be_bytes([header[44], header[45]]));
        if length != uri.len() || header[3] != 0 || length > LONGEST_KEY_BYTES {
            return None;
        }
        Some(Message {
            kind,
            ttl: header[2],
            boot: number(4),
            sequence: number(8),
            origin: address(12),
            target: address(28),
            key: std::str::from_utf8(uri).ok()?,
        })
    }

    /// Writes the message under `key`; `None` if its URI is too long.
    #[must_use]
    pub fn emit(&self, key: &NetworkKey) -> Option<Vec<u8>> {
        let length = u16::try_from(self.key.len()).ok().filter(|_| self.key.len() <= LONGEST_KEY_BYTES)?;
        let kind = match self.kind {
            Kind::Locate => 0,
            Kind::Found => 1,
            Kind::SetupHolder => 2,
            Kind::SetupHome => 3,
        };
        let mut out = vec![VERSION, kind, self.ttl, 0];
        out.extend_from_slice(&self.boot.to_be_bytes());
        out.extend_from_slice(&self.sequence.to_be_bytes());
        for address in [self.origin, self.target] {
            let mapped = match address {
                IpAddr::V4(address) => address.to_ipv6_mapped(),
                IpAddr::V6(address) => address,
            };
            out.extend_from_slice(&mapped.octets());
        }
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(self.key.as_bytes());
        let check = key.mac(&out)?.finalize().into_bytes();
        out.extend_from_slice(&check);
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_message_is_read_as_it_was_written_and_any_change_is_seen(
            kind in prop::sample::select(vec![Kind::Locate, Kind::Found, Kind::SetupHolder, Kind::SetupHome]),
            ttl: u8, boot: u32, sequence: u32, origin: u32, target: u128, uri in "[a-z/:.]{0,200}", at: usize, bit in 0_u8..8,
        ) {
            let key = NetworkKey::new(b"shared");
            let target = IpAddr::from(Ipv6Addr::from(target)).to_canonical();
            let origin = IpAddr::from(std::net::Ipv4Addr::from(origin));
            let message = Message { kind, ttl, boot, sequence, origin, target, key: &uri };
            let mut datagram = message.emit(&key).unwrap();
            prop_assert_eq!(Message::parse(&datagram, &key), Ok(message));
            prop_assert_eq!(Message::parse(&datagram, &NetworkKey::new(b"other")), Err(NotAMessage::Check));
            let at = at % datagram.len();
            datagram[at] ^= 1_u8 << bit;
            prop_assert!(Message::parse(&datagram, &key).is_err());
        }
    }
}
