//! Redundancy elimination: what the receiver already holds is not sent again.
//!
//! For every packet the [`Encoder`] computes fingerprints of a window that slides over the transport payload
//! and keeps those whose low bits are zero ([`anchors`], [`rabin`]). A bounded [`index`] says which stored
//! packet had the same fingerprint, the [`store`] gives its bytes, the match is extended both ways
//! ([`extent`]), and what repeats is replaced by a reference in a shim ([`wire::shim`]). The [`Decoder`]
//! holds the same packets under the same link sequences and puts the bytes back.
//!
//! Other crates bring other forms ([`form`]), as the laboratory does with those of the papers.
//!
//! A packet refers to packets of its own flow to the byte, and to those of other flows in whole pieces, so
//! that nothing is guessed byte by byte by how long packets become ([`Sharing`], [`pieces`]).
//!
//! Which stored packets may be referred to is the matter of a [`policy`]. The byte-caching paper (Le,
//! Srivatsa, Iyengar, ICDCS 2012) shows that with none one lost packet stalls a TCP connection for good; it
//! proposes three. The policies here go beyond them: `acked` refers only to packets that the receiver has
//! confirmed, so that a loss never makes another packet undecodable. Other crates inject policies of their
//! own ([`policy::InjectedPolicy`]), as the laboratory does with those of the papers.
//!
//! Both stores keep packets by link sequence and drop the lowest first, so that whatever the encoder still
//! has, the decoder has too, if it got it; see [`store`] for why that holds.
//!
//! Nothing here proves that restored bytes are the right ones: the name of a stored packet can lead the
//! decoder to another packet than the encoder meant. The caller proves them by a MAC over the packet, and
//! tells the decoder to [`Decoder::store`] only what is proved.
//!
//! This crate asks nothing of the system, allocates nothing per packet once warm, and bounds everything it
//! keeps by the store's size.

#![forbid(unsafe_code)]

pub mod anchors;
mod continuation;
mod decoder;
mod density;
mod encoder;
pub mod extent;
mod flow;
pub mod form;
pub mod index;
pub mod literals;
pub mod mac;
mod miss;
pub mod pages;
mod parameters;
pub mod pieces;
pub mod policy;
pub mod rabin;
mod sharing;
mod sparing;
mod statistics;
pub mod store;
mod waiting;

pub use decoder::Decoder;
pub use encoder::{Encoded, Encoder};
pub use miss::{AbsentSequences, Miss};
pub use parameters::{Form, ParameterError, Parameters, Policy};
pub use sharing::Sharing;
pub use statistics::EncoderStatistics;

use std::ops::Range;
use wire::inner::Inner;

/// The stretch of `packet` that is searched for repetition, which is the transport payload, if the packet is
/// one that the stores of both ends keep: its payload is at least one window long.
///
/// This depends on the packet's content alone, so that both ends decide alike.
#[must_use]
pub fn eligible_payload(packet: &[u8], inner: &Inner, window_bytes: usize) -> Option<Range<usize>> {
    let end = inner.total_bytes.min(packet.len());
    let payload = inner.payload_offset.min(end)..end;
    (payload.len() >= window_bytes && packet.len() <= wire::shim::MAX_RESTORED_BYTES).then_some(payload)
}
