//! What routers say to each other about contents, one datagram each.
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
//! Numbers are big-endian. `origin` is the router that speaks first (who searches, who sets up), `target` the
//! router that is spoken of; IPv4 addresses are mapped (RFC 4291 section 2.5.5.2). `boot` is random at each
//! start, `sequence` counts: together with `origin` they name the message, so that each is forwarded once and
//! a repeated one is known. `check` is BLAKE2s of everything before it under the network's key. Whoever
//! forwards a message lowers its TTL and makes the check anew.

use blake2::Blake2sMac;
use blake2::digest::consts::U16;
use blake2::digest::{KeyInit, Mac};
use std::net::{IpAddr, Ipv6Addr};

const VERSION: u8 = 1;
const HEADER_BYTES: usize = 46;
const CHECK_BYTES: usize = 16;
/// No message is longer: it has to fit a datagram that no link fragments.
pub const LONGEST_BYTES: usize = 1200;
/// No longer URI is searched for.
pub const LONGEST_KEY_BYTES: usize = LONGEST_BYTES - HEADER_BYTES - CHECK_BYTES;

/// What a message says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Who has this? (*content locate*)
    Locate,
    /// I have. (*content found*; `target` has it, `boot` and `sequence` are the search's)
    Found,
    /// You will be asked for this; `target` has it. (*setup*)
    SetupHolder,
    /// You will be asked for this; `target` fetches it if it must. (*setup* of PH-GHCP)
    SetupHome,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message<'a> {
    /// What it says.
    pub kind: Kind,
    /// How many more hops it may go.
    pub ttl: u8,
    /// The first speaker's boot.
    pub boot: u32,
    /// Its number.
    pub sequence: u32,
    /// The first speaker.
    pub origin: IpAddr,
    /// Whom it is about.
    pub target: IpAddr,
    /// The URI.
    pub key: &'a str,
}

/// Why a datagram is no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAMessage {
    /// Cut short, too long, or of a kind that is not known.
    #[error("malformed")]
    Malformed,
    /// Of another version.
    #[error("version {0}")]
    Version(u8),
    /// Not made with the network's key.
    #[error("not of this network")]
    Check,
}

/// What is made under a key.
pub(crate) type Check = Blake2sMac<U16>;

/// What stands before keys that were derived elsewhere.
const HELD: &[u8] = b"overheard cache keys\0";
const KEY_BYTES: usize = 32;

/// A key that follows from the network's.
#[derive(Clone)]
pub struct NetworkKey([u8; KEY_BYTES]);

impl NetworkKey {
    /// From whatever bytes the routers share, for what they say about contents.
    #[must_use]
    pub fn new(shared: &[u8]) -> Self {
        Self::held(shared, 0).unwrap_or_else(|| Self::derived(b"overheard cache selection", shared))
    }

    /// From the same bytes, for requests and their answers.
    #[must_use]
    pub fn for_requests(shared: &[u8]) -> Self {
        Self::held(shared, KEY_BYTES).unwrap_or_else(|| Self::derived(b"overheard cache requests", shared))
    }

    /// All that a cache needs of what the routers share: both keys, from which that does not follow.
    #[must_use]
    pub fn held_by_caches(shared: &[u8]) -> Vec<u8> {
        [Self::new(shared).0, Self::for_requests(shared).0].concat()
    }

    /// What stands for the shared bytes where only [`held_by_caches`](Self::held_by_caches) is known; none if
    /// it is not that long.
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
    /// Reads a datagram, which must have been made with `key`.
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

    /// Reads what stands before the check; `None`: it is malformed.
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

    /// Writes it, made with `key`; `None`: its URI is too long.
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
