//! The header of a unit. A datagram is a row of units; all but the last say how long they are.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------+-+-----+-----------------------------------------------+
//! |version|L| kind|              key id (receiver's)              |
//! +-------+-+-----+-----------------------------------------------+
//! |       counter, low 24 bits (kinds 0, 4)       |
//! +-------------------------------+---------------+
//! |  length of what follows, if L |  ciphertext and tag, a handshake message, a token ...
//! +-------------------------------+
//! ```
//!
//! The header is authenticated with the ciphertext (AEAD's associated data). `L` is set when another unit
//! follows. So units under a group's key and units for one station share one datagram. A sealed unit has the
//! version of its session. All other units are of version 1 in every version, and so is everything up to the
//! ciphertext. By them nodes of any two versions meet, and agree on one that both speak or on [`PLAIN`].
//!
//! The receiver of the unit chooses the key id. For a handshake's first message and a group's key it is the
//! sender's id, and for a reset the unknown one.
//!
//! A datagram has at most [`MAX_UNITS`], so that a stranger without a key causes a bounded number of
//! look-ups.

use crate::number::{from_u24, to_u24};
use crate::{Malformed, take, take_array};

/// The newest version of the formats in this crate.
pub const VERSION: u8 = 2;
/// The version of a session between nodes that have no other in common: a plain tunnel, which every version
/// speaks. Frames are those that [`crate::frame::FrameType::is_plain`] names, for ever.
pub const PLAIN: u8 = 0;
/// The version of all units but sealed ones.
const FRAMING_VERSION: u8 = 1;
/// The most units of a datagram; those behind are not looked at.
pub const MAX_UNITS: usize = 16;
/// Bytes of a sealed unit's header without a length.
pub const SEALED_HEADER_BYTES: usize = 7;
/// Bytes of the authentication tag behind a ciphertext.
pub const TAG_BYTES: usize = 16;

const LENGTH_FOLLOWS: u8 = 0x08;

/// The kind of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Frames under a traffic key, with the low bits of the counter.
    Sealed {
        /// The version of the session: [`PLAIN`] or a version up to [`VERSION`].
        version: u8,
        /// The low 24 bits of the sender's counter under this key.
        counter: u32,
    },
    /// The first message of a handshake.
    Initiation,
    /// The second message of a handshake.
    Response,
    /// The key id that somebody used is not known: [`crate::reset`].
    Reset,
    /// Frames under the key of a group, which all of its members can open: [`crate::group`]. The key id is
    /// its sender's choice.
    Group {
        /// The low 24 bits of the sender's counter under this key.
        counter: u32,
    },
    /// The first message again, with a mark under a cookie: [`crate::challenge`].
    InitiationWithCookie,
    /// Demands before an initiation is answered: [`crate::challenge`].
    Challenge,
}

/// One unit of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit<'a> {
    /// The kind.
    pub kind: Kind,
    /// Id of the key (sealed, response) or of the handshake (initiation), 24 bits.
    pub key_id: u32,
    /// The header's bytes, as authenticated.
    pub header: &'a [u8],
    /// The ciphertext with its tag, or the handshake message.
    pub body: &'a [u8],
}

/// Why a datagram's front is no unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// A node of another version speaks.
    #[error("version {0} of the format is not spoken here")]
    OtherVersion(u8),
    /// Not a unit at all.
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

/// Splits the first unit off `datagram`.
pub fn parse<'a>(datagram: &mut &'a [u8]) -> Result<Unit<'a>, UnitError> {
    let whole = *datagram;
    let [first, id @ ..] = take_array::<4>(datagram, "unit header")?;
    let version = first >> 4;
    let spoken = if first & 0x07 == 0 { PLAIN..=VERSION } else { FRAMING_VERSION..=FRAMING_VERSION };
    if !spoken.contains(&version) {
        return Err(UnitError::OtherVersion(version));
    }
    let kind = match first & 0x07 {
        0 => Kind::Sealed { version, counter: from_u24(take_array(datagram, "counter")?) },
        1 => Kind::Initiation,
        2 => Kind::Response,
        3 => Kind::Reset,
        4 => Kind::Group { counter: from_u24(take_array(datagram, "counter")?) },
        5 => Kind::InitiationWithCookie,
        6 => Kind::Challenge,
        _ => return Err(Malformed("unit kind").into()),
    };
    let body_bytes = if first & LENGTH_FOLLOWS != 0 {
        usize::from(u16::from_be_bytes(take_array(datagram, "unit length")?))
    } else {
        datagram.len()
    };
    let header = &whole[..whole.len() - datagram.len()];
    let body = take(datagram, body_bytes, "unit body")?;
    Ok(Unit { kind, key_id: from_u24(id), header, body })
}

/// Appends a unit's header. `followed_by` is the body's length when another unit follows.
pub fn emit_header(kind: Kind, key_id: u32, followed_by: Option<u16>, out: &mut Vec<u8>) {
    let (version, code) = match kind {
        Kind::Sealed { version, .. } => (version, 0),
        Kind::Initiation => (FRAMING_VERSION, 1),
        Kind::Response => (FRAMING_VERSION, 2),
        Kind::Reset => (FRAMING_VERSION, 3),
        Kind::Group { .. } => (FRAMING_VERSION, 4),
        Kind::InitiationWithCookie => (FRAMING_VERSION, 5),
        Kind::Challenge => (FRAMING_VERSION, 6),
    };
    let length_flag = if followed_by.is_some() { LENGTH_FOLLOWS } else { 0 };
    out.push(version << 4 | length_flag | code);
    out.extend_from_slice(&to_u24(u64::from(key_id)));
    if let Kind::Sealed { counter, .. } | Kind::Group { counter } = kind {
        out.extend_from_slice(&to_u24(counter.into()));
    }
    if let Some(length) = followed_by {
        out.extend_from_slice(&length.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_kind() -> impl Strategy<Value = Kind> {
        prop_oneof![
            (PLAIN..=VERSION, 0u32..1 << 24).prop_map(|(version, counter)| Kind::Sealed { version, counter }),
            Just(Kind::Initiation),
            Just(Kind::Response),
            Just(Kind::Reset),
            (0u32..1 << 24).prop_map(|counter| Kind::Group { counter }),
            Just(Kind::InitiationWithCookie),
            Just(Kind::Challenge),
        ]
    }

    proptest! {
        #[test]
        fn two_units_in_one_datagram_round_trip(
            kinds in [any_kind(), any_kind()],
            ids in [0u32..1 << 24, 0u32..1 << 24],
            first in proptest::collection::vec(any::<u8>(), 0..50),
            second in proptest::collection::vec(any::<u8>(), 0..50),
        ) {
            let mut datagram = Vec::new();
            emit_header(kinds[0], ids[0], Some(first.len() as u16), &mut datagram);
            datagram.extend_from_slice(&first);
            emit_header(kinds[1], ids[1], None, &mut datagram);
            datagram.extend_from_slice(&second);
            let mut rest = &datagram[..];
            for (index, body) in [&first, &second].into_iter().enumerate() {
                let unit = parse(&mut rest).unwrap();
                prop_assert_eq!((unit.kind, unit.key_id, unit.body), (kinds[index], ids[index], &body[..]));
            }
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn any_bytes_parse_or_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let before = rest.len();
                if parse(&mut rest).is_err() { break; }
                prop_assert!(rest.len() < before);
            }
        }
    }

    #[test]
    fn another_version_is_named() {
        assert_eq!(parse(&mut &[0x30, 0, 0, 0, 0, 0, 0, 0][..]), Err(UnitError::OtherVersion(3)));
        assert_eq!(parse(&mut &[0x01, 0, 0, 0][..]), Err(UnitError::OtherVersion(0)), "a plain handshake");
    }
}
