//! Streams: bytes of TCP connections that end on both sides of the hop.
//!
//! Each body but the last begins with the stream's *name*, a varint: twice its number, and 1 more if the
//! sender of the frame opened it.
//!
//! ```text
//! open     name | addresses: 4 or 6 (8) | source, port (16) | destination, port (16)
//! data     name | offset, low 32 bits (32) | bytes ...
//! end      name | offset, low 32 bits (32)
//! credit   name | limit, low 32 bits (32)
//! abort    name | cause (8)
//! stored   first number, low 32 bits (32) | count, a varint
//! ```
//!
//! Offsets are those of a direction's [records](crate::record), which *data* frames carry. The first *credit*
//! answers an *open*: the connection stands at the far end. Its limit, and that of later ones, is the
//! [charge](crate::record::charge) up to which the receiver has room. *Stored* is of no stream: it names
//! records that the receiver keeps.

use crate::number::widen;
use crate::{Malformed, take_array, varint};
use std::net::{IpAddr, SocketAddr};

/// The most bytes in front of a *data* frame's bytes.
pub const MOST_DATA_FRONT_BYTES: usize = varint::MAX_BYTES + OFFSET_BYTES;
const OFFSET_BYTES: usize = 4;
const OFFSET_BITS: u32 = 32;
/// The most that a number of a stream can be.
pub const MOST_NUMBER: u32 = u32::MAX >> 1;

/// The name of a stream on one hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// Counted by the end that opened it.
    pub number: u32,
    /// Whether the sender of the frame opened it.
    pub is_own: bool,
}

impl Name {
    /// The same stream, as the other end names it.
    #[must_use]
    pub fn of_other_end(self) -> Self {
        Name { is_own: !self.is_own, ..self }
    }

    /// Takes a name off the front of a body.
    pub fn parse(body: &mut &[u8]) -> Result<Self, Malformed> {
        let name = varint::parse(body)?;
        Ok(Name { number: name >> 1, is_own: name & 1 == 1 })
    }

    /// Appends it.
    pub fn emit(self, out: &mut Vec<u8>) {
        varint::emit(self.number << 1 | u32::from(self.is_own), out);
    }
}

/// The full offset of a truncated one, near the one that is expected.
#[must_use]
pub fn widen_offset(truncated: u32, expected: u64) -> u64 {
    widen(u64::from(truncated), OFFSET_BITS, expected)
}

/// Begins a connection at the far end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Open {
    /// The stream.
    pub name: Name,
    /// The end of the host that began the connection.
    pub source: SocketAddr,
    /// The end that it wants to reach.
    pub destination: SocketAddr,
}

/// Bytes of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Data<'a> {
    /// The stream.
    pub name: Name,
    /// The low bits of the first byte's offset.
    pub offset: u32,
    /// The bytes.
    pub bytes: &'a [u8],
}

/// The number of all bytes of a stream's direction: none follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// The stream.
    pub name: Name,
    /// The low bits of that number.
    pub offset: u32,
}

/// Room at the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Credit {
    /// The stream.
    pub name: Name,
    /// The low bits of the charge up to which there is room.
    pub limit: u32,
}

/// Records that the receiver keeps, in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// The low bits of the first one's number.
    pub first: u32,
    /// How many they are.
    pub count: u32,
}

/// The reason for which a stream ends before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Cause {
    /// A reset, at either end.
    Reset = 0,
    /// The destination refuses the connection.
    Refused = 1,
    /// The destination did not answer.
    Silent = 2,
    /// The far end takes no further stream: the connection goes in packets.
    Full = 3,
    /// The addresses are not allowed.
    Forbidden = 4,
    /// A record could not be restored: its sender refers to no earlier one any more.
    Unrestored = 5,
}

impl Cause {
    fn from_number(number: u8) -> Self {
        match number {
            1 => Cause::Refused,
            2 => Cause::Silent,
            3 => Cause::Full,
            4 => Cause::Forbidden,
            5 => Cause::Unrestored,
            _ => Cause::Reset,
        }
    }
}

/// Ends a stream before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abort {
    /// The stream.
    pub name: Name,
    /// The reason; unknown ones are a reset.
    pub cause: Cause,
}

fn parse_end(body: &mut &[u8], version: u8) -> Result<SocketAddr, Malformed> {
    const NAME: &str = "stream: addresses";
    let address: IpAddr = match version {
        4 => take_array::<4>(body, NAME)?.into(),
        6 => take_array::<16>(body, NAME)?.into(),
        _ => return Err(Malformed(NAME)),
    };
    let port = u16::from_be_bytes(take_array(body, NAME)?);
    Ok(SocketAddr::new(address, port))
}

fn emit_end(end: SocketAddr, out: &mut Vec<u8>) {
    match end.ip() {
        IpAddr::V4(address) => out.extend_from_slice(&address.octets()),
        IpAddr::V6(address) => out.extend_from_slice(&address.octets()),
    }
    out.extend_from_slice(&end.port().to_be_bytes());
}

/// Takes a name and the low bits of an offset off the front of a body.
fn parse_offset(body: &mut &[u8]) -> Result<(Name, u32), Malformed> {
    Ok((Name::parse(body)?, u32::from_be_bytes(take_array(body, "stream: offset")?)))
}

fn emit_offset(name: Name, offset: u64, out: &mut Vec<u8>) {
    name.emit(out);
    out.extend_from_slice(&(offset as u32).to_be_bytes());
}

fn finish(body: &[u8]) -> Result<(), Malformed> {
    if body.is_empty() { Ok(()) } else { Err(Malformed("stream: length")) }
}

impl Open {
    /// The most bytes of a body.
    pub const MOST_BYTES: usize = varint::MAX_BYTES + 1 + 2 * 18;

    /// Reads a body.
    pub fn parse(mut body: &[u8]) -> Result<Self, Malformed> {
        let name = Name::parse(&mut body)?;
        let [version] = take_array(&mut body, "stream: addresses")?;
        let (source, destination) = (parse_end(&mut body, version)?, parse_end(&mut body, version)?);
        finish(body)?;
        Ok(Open { name, source, destination })
    }

    /// Appends the body. Both ends have addresses of one version.
    pub fn emit(&self, out: &mut Vec<u8>) {
        self.name.emit(out);
        out.push(if self.source.is_ipv4() { 4 } else { 6 });
        emit_end(self.source, out);
        emit_end(self.destination, out);
    }
}

impl<'a> Data<'a> {
    /// Reads a body.
    pub fn parse(mut body: &'a [u8]) -> Result<Self, Malformed> {
        let (name, offset) = parse_offset(&mut body)?;
        Ok(Data { name, offset, bytes: body })
    }

    /// Appends the front of a body; the bytes follow.
    pub fn emit_front(name: Name, offset: u64, out: &mut Vec<u8>) {
        emit_offset(name, offset, out);
    }
}

impl End {
    /// Reads a body.
    pub fn parse(mut body: &[u8]) -> Result<Self, Malformed> {
        let (name, offset) = parse_offset(&mut body)?;
        finish(body)?;
        Ok(End { name, offset })
    }

    /// Appends a body.
    pub fn emit(name: Name, offset: u64, out: &mut Vec<u8>) {
        emit_offset(name, offset, out);
    }
}

impl Credit {
    /// Reads a body.
    pub fn parse(mut body: &[u8]) -> Result<Self, Malformed> {
        let (name, limit) = parse_offset(&mut body)?;
        finish(body)?;
        Ok(Credit { name, limit })
    }

    /// Appends a body.
    pub fn emit(name: Name, limit: u64, out: &mut Vec<u8>) {
        emit_offset(name, limit, out);
    }
}

impl Stored {
    /// The most bytes of a body.
    pub const MOST_BYTES: usize = 4 + varint::MAX_BYTES;

    /// Reads a body.
    pub fn parse(mut body: &[u8]) -> Result<Self, Malformed> {
        let first = u32::from_be_bytes(take_array(&mut body, "stream: record")?);
        let count = varint::parse(&mut body)?;
        finish(body)?;
        Ok(Stored { first, count })
    }

    /// Appends a body.
    pub fn emit(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.first.to_be_bytes());
        varint::emit(self.count, out);
    }
}

impl Abort {
    /// Reads a body.
    pub fn parse(mut body: &[u8]) -> Result<Self, Malformed> {
        let name = Name::parse(&mut body)?;
        let [cause] = take_array(&mut body, "stream: cause")?;
        finish(body)?;
        Ok(Abort { name, cause: Cause::from_number(cause) })
    }

    /// Appends the body.
    pub fn emit(&self, out: &mut Vec<u8>) {
        self.name.emit(out);
        out.push(self.cause as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bodies_round_trip(
            number in 0..=MOST_NUMBER, is_own: bool, offset: u64, source: u128, destination: u128,
            ports: (u16, u16), cause in 0u8..6, bytes in proptest::collection::vec(any::<u8>(), 0..40),
        ) {
            let name = Name { number, is_own };
            let mut out = Vec::new();
            for (source, destination) in [
                (IpAddr::V6(source.into()), IpAddr::V6(destination.into())),
                (IpAddr::V4((source as u32).into()), IpAddr::V4((destination as u32).into())),
            ] {
                let open = Open {
                    name,
                    source: SocketAddr::new(source, ports.0),
                    destination: SocketAddr::new(destination, ports.1),
                };
                out.clear();
                open.emit(&mut out);
                prop_assert!(out.len() <= Open::MOST_BYTES);
                prop_assert_eq!(Open::parse(&out), Ok(open));
            }
            out.clear();
            Data::emit_front(name, offset, &mut out);
            prop_assert!(out.len() <= MOST_DATA_FRONT_BYTES);
            out.extend_from_slice(&bytes);
            prop_assert_eq!(Data::parse(&out), Ok(Data { name, offset: offset as u32, bytes: &bytes }));
            out.clear();
            End::emit(name, offset, &mut out);
            prop_assert_eq!(End::parse(&out), Ok(End { name, offset: offset as u32 }));
            prop_assert_eq!(Credit::parse(&out), Ok(Credit { name, limit: offset as u32 }));
            let abort = Abort { name, cause: Cause::from_number(cause) };
            out.clear();
            abort.emit(&mut out);
            prop_assert_eq!(Abort::parse(&out), Ok(abort));
            let stored = Stored { first: offset as u32, count: number };
            out.clear();
            stored.emit(&mut out);
            prop_assert!(out.len() <= Stored::MOST_BYTES);
            prop_assert_eq!(Stored::parse(&out), Ok(stored));
        }

        #[test]
        fn any_bytes_parse_or_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = (Open::parse(&bytes), Data::parse(&bytes), End::parse(&bytes));
            let _ = (Credit::parse(&bytes), Abort::parse(&bytes), Stored::parse(&bytes));
        }
    }

    #[test]
    fn an_offset_is_widened_near_the_expected_one() {
        assert_eq!(widen_offset(5, 0), 5);
        assert_eq!(widen_offset(5, 0x1_ffff_fff0), 0x2_0000_0005);
    }
}
