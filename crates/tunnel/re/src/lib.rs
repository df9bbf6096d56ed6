//! Redundancy elimination: bytes that the receiver holds are not sent again.
//!
//! The [`Encoder`] slides a window over the transport payload of every packet. It keeps the fingerprints
//! whose low bits are zero ([`anchors`], [`rabin`]). A bounded [`index`] gives the stored packet with the
//! same fingerprint, and the [`store`] gives its bytes. The match is extended in both directions
//! ([`extent`]). A reference in a shim replaces the repeated bytes ([`wire::shim`]). The [`Decoder`] holds
//! the same packets under the same link sequences and inserts the bytes again.
//!
//! Other crates add forms ([`form`]), as the laboratory does for the papers' forms.
//!
//! A packet refers to packets of its own flow to the byte, and to those of other flows in whole pieces.
//! Packet lengths therefore reveal no secret byte by byte ([`Sharing`], [`pieces`]).
//!
//! A [`policy`] decides which stored packets a packet may refer to. The byte-caching paper (Le, Srivatsa,
//! Iyengar, ICDCS 2012) shows that without a policy one lost packet stalls a TCP connection forever. It
//! proposes three policies. The policies here go beyond them: `acked` refers only to confirmed packets, so a
//! loss never makes another packet undecodable. Other crates inject policies of their own
//! ([`policy::InjectedPolicy`]), as the laboratory does for the papers' policies.
//!
//! Both stores keep packets by link sequence and drop the lowest first. The decoder therefore has every
//! packet that the encoder still has, if it received it; [`store`] explains why.
//!
//! This crate does not prove that restored bytes are correct: the decoder's packet of a name can differ from
//! the encoder's. The caller proves them by a MAC over the packet, and calls [`Decoder::store`] only for
//! proved packets.
//!
//! This crate asks nothing of the system and allocates nothing per packet once it is warm. The store's size
//! bounds everything it keeps.

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

/// Bytes of memory of a full store, by its bound in bytes: at most this percentage.
pub const MEMORY_PER_STORED_PERCENT: usize = 130;

/// The range of `packet` that is searched: the transport payload. `None` if the payload is shorter than one
/// window; neither end stores such a packet.
///
/// The range depends on the packet's bytes alone, so both ends agree.
#[must_use]
pub fn eligible_payload(packet: &[u8], inner: &Inner, window_bytes: usize) -> Option<Range<usize>> {
    let end = inner.total_bytes.min(packet.len());
    let payload = inner.payload_offset.min(end)..end;
    (payload.len() >= window_bytes && packet.len() <= wire::shim::MAX_RESTORED_BYTES).then_some(payload)
}
