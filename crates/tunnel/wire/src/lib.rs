//! Every format that Overheard puts on the air, one file each.
//!
//! A **datagram** (UDP) holds one or more *units*. A unit is a handshake message or a *sealed* unit
//! ([`mod@unit`]): eight bytes of header, a ciphertext, a tag. Inside the seal stand the *link sequence* of
//! the unit's first packet and a row of [`frame`]s: packets as they are, packets *reduced* to literals and
//! references, receipts, requests, replies, pings.
//!
//! Two nodes meet by a Noise handshake ([`handshake`]) in which each says [`hello::Hello`]: which versions it
//! speaks, its boot, and how much it will store. From then on every packet of a direction has a link
//! sequence; the receiver answers with a [`receipt::Receipt`] now and then, in traffic that flows anyway
//! where there is some.
//!
//! Below all this are other people's formats, which a node meets when it overhears: frames of the [`link`],
//! and [`udp`] datagrams in IP packets.
//!
//! Nothing here allocates for parsing, keeps state (but for [`link::Unpacker`], which knows retries) or
//! panics on any input: `parse` borrows from the bytes it is given and says [`Malformed`] with the name of
//! what was wrong.

#![forbid(unsafe_code)]

pub mod body;
pub mod challenge;
pub mod chunk_reply;
pub mod chunk_request;
pub mod coded;
pub mod frame;
pub mod group;
pub mod handshake;
pub mod headers;
pub mod hello;
pub mod inner;
pub mod link;
pub mod named_chunks;
pub mod natives;
pub mod neighbours;
pub mod notice;
pub mod number;
pub mod receipt;
pub mod record;
pub mod removed;
pub mod repair;
pub mod request;
pub mod reset;
pub mod shim;
pub mod short;
pub mod store_bounds;
pub mod stream;
pub mod udp;
pub mod unit;
pub mod varint;

/// Input without its claimed form. The text names the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed {0}")]
pub struct Malformed(pub &'static str);

/// Splits `count` bytes off the front of `input`.
pub fn take<'a>(input: &mut &'a [u8], count: usize, what: &'static str) -> Result<&'a [u8], Malformed> {
    let (head, tail) = input.split_at_checked(count).ok_or(Malformed(what))?;
    *input = tail;
    Ok(head)
}

/// Splits a fixed-size array off the front of `input`.
pub fn take_array<const N: usize>(input: &mut &[u8], what: &'static str) -> Result<[u8; N], Malformed> {
    let (head, tail) = input.split_first_chunk::<N>().ok_or(Malformed(what))?;
    *input = tail;
    Ok(*head)
}
