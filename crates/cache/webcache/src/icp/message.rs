//! ICP version 2 (RFC 2186): queries between Squid and similar caches.
//!
//! ```text
//!  opcode u8 │ version u8 │ length u16 │ request number u32 │ options u32 │ option data u32 │ sender 4
//!  requester 4 (in a query only) │ URL, NUL
//! ```
//!
//! Numbers are big-endian. Parsing is strict: the length is the datagram's, the URL ends with the only NUL,
//! and a cache could store it. Lenient parsers of ICP have been attacked.

use crate::semantics::key::Key;

const VERSION: u8 = 2;
const HEADER_BYTES: usize = 20;
const REQUESTER_BYTES: usize = 4;
/// The longest message (RFC 2186 section 2).
pub const LONGEST_BYTES: usize = 16 << 10;

/// The type of a message; others of RFC 2186 are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opcode {
    /// A query.
    Query,
    /// The content is present.
    Hit,
    /// The content is absent; a parent fetches it.
    Miss,
    /// The query was malformed.
    Err,
    /// The content is absent and will not be fetched.
    MissNoFetch,
    /// The query is denied.
    Denied,
}

const OPCODES: [(u8, Opcode); 6] = [
    (1, Opcode::Query),
    (2, Opcode::Hit),
    (3, Opcode::Miss),
    (4, Opcode::Err),
    (21, Opcode::MissNoFetch),
    (22, Opcode::Denied),
];

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its type.
    pub opcode: Opcode,
    /// Number of the query, repeated in the answer.
    pub number: u32,
    /// The URL, unchanged.
    pub url: String,
}

impl Message {
    /// Parses a datagram; `None` if it is not a message.
    #[must_use]
    pub fn parse(datagram: &[u8]) -> Option<Self> {
        let (header, payload) = datagram.split_first_chunk::<HEADER_BYTES>()?;
        let opcode = OPCODES.iter().find(|(number, _)| *number == header[0])?.1;
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        if header[1] != VERSION || length != datagram.len() || length > LONGEST_BYTES {
            return None;
        }
        let url = if opcode == Opcode::Query { payload.get(REQUESTER_BYTES..)? } else { payload };
        let (end, url) = url.split_last()?;
        if *end != 0 || url.contains(&0) {
            return None;
        }
        let url =
            std::str::from_utf8(url).ok().filter(|url| url.bytes().all(|byte| byte.is_ascii_graphic()))?;
        Key::parse(url).ok()?;
        let number = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
        Some(Message { opcode, number, url: url.to_owned() })
    }

    /// Writes the message; `None` if its URL is too long.
    #[must_use]
    pub fn emit(&self) -> Option<Vec<u8>> {
        let requester = if self.opcode == Opcode::Query { REQUESTER_BYTES } else { 0 };
        let length = HEADER_BYTES + requester + self.url.len() + 1;
        let stated = u16::try_from(length).ok().filter(|_| length <= LONGEST_BYTES)?;
        let opcode = OPCODES.iter().find(|(_, opcode)| *opcode == self.opcode)?.0;
        let mut out = vec![opcode, VERSION];
        out.extend_from_slice(&stated.to_be_bytes());
        out.extend_from_slice(&self.number.to_be_bytes());
        out.resize(HEADER_BYTES + requester, 0);
        out.extend_from_slice(self.url.as_bytes());
        out.push(0);
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        for (_, opcode) in OPCODES {
            let message = Message { opcode, number: 7, url: "http://a/x".to_owned() };
            assert_eq!(Message::parse(&message.emit().unwrap()), Some(message));
        }
    }

    #[test]
    fn whatever_is_not_exactly_a_message_is_none() {
        let good = Message { opcode: Opcode::Query, number: 7, url: "http://a/x".to_owned() }.emit().unwrap();
        for at in [0, 1, 2, 3] {
            let mut bad = good.clone();
            bad[at] = bad[at].wrapping_add(77);
            assert_eq!(Message::parse(&bad), None, "octet {at}");
        }
        for length in 0..good.len() {
            assert_eq!(Message::parse(&good[..length]), None, "cut to {length}");
        }
        let with_url =
            |url: &str| Message { opcode: Opcode::Hit, number: 1, url: url.to_owned() }.emit().unwrap();
        for url in ["", "x", "https://a/", "http://a/\0b", "http://a/ b", "http://u@a/"] {
            assert_eq!(Message::parse(&with_url(url)), None, "{url:?}");
        }
    }
}
