//! Captures: their readers, and the savings of each redundancy elimination method.
//!
//! A [`Source`] is a file or a stream, possibly compressed. A [`CaptureReader`] reads frames of pcap and
//! pcapng. The [`LinkLayer`] finds IP packets on many link types. The [`Dissector`] distinguishes clients and
//! servers, omits retransmissions, and counts encrypted traffic. The rest goes to every [`Method`] in its own
//! thread, and [`Options::analyze`] builds a [`Report`]. The memory holds one batch of packets and the
//! methods' bounded stores.
//!
//! # What is measured
//!
//! The tunnel itself carries the whole packets: `tunnel` has two nodes in virtual time. The methods are
//! comparisons. Their base is the payload of TCP and UDP. Bytes retransmitted by TCP are redundancy of the
//! path and not of the traffic. They are recognized by their sequence numbers and reported separately, and so
//! are 802.11's retries.
//!
//! The two directions are measured separately, because a link has stores for each direction. `intra` and
//! `inter` are shares of the traffic to clients: bytes that the same client received before, or only another
//! one.
//!
//! Two methods only measure redundancy, with memory for the whole capture: `chunk` (content-defined chunks,
//! as REfactor needs them) and `max-match` (regions of any length, as Spring and Wetherall find them). The
//! others are implementations: the encoder of [`re`] under its policy `acked`, with its bounded store and
//! overhead, and stateless zstd. Other policies can be added in [`Options::policies`]; they are compared
//! without loss.
//!
//! # How exact it is
//!
//! `tests/all/figures.rs` compares these figures with those of other programs for the project's evaluation
//! captures, by the same definitions and parameters. Chunks agree within 6%, mostly within 1%; max-match
//! within 9%, mostly within 1%. The differences have these reasons.
//!
//! Max-match depends slightly on the remembered copy among several (the newest, here) and on the sampled
//! windows, most of all for pages of one template, where each window has many copies (the 9%). Runs of zeros
//! count, because a Rabin fingerprint of zeros is zero and thus always sampled.
//!
//! Chunks depend on the gear hash's random table. Over 24 tables, the intra-client share of a capture with
//! few distinct pages varies by a tenth of itself, and shares under one percent vary by half. They depend
//! more on the hash's deciding bits. The lowest ones depend on few bytes: intra-client shares of template
//! pages are then higher by up to a half. The highest depend on 64 bytes: after a difference the cuts seldom
//! agree again, and the shares are lower by up to 40%. Here a cut depends on at most the last 37 bytes, about
//! the shortest chunk.
//!
//! In 802.11 captures the link's retries are left out. Programs that count them report them as redundancy: in
//! a capture with a fifth of retries, 2.8% of max-match become 3.5%.

#![forbid(unsafe_code)]

mod advice;
mod analysis;
mod annotated;
mod contents;
mod crossing;
mod dissect;
mod encryption;
mod error;
mod flow;
mod link;
mod method;
mod notes;
mod packet;
mod pass;
mod reader;
mod report;
mod savings;
mod sequence;
mod source;
mod spool;
mod tunnel;
mod writer;

pub use analysis::{DEFAULT_TUNNEL, Options};
pub use annotated::{AnnotatedWriter, Interface};
pub use contents::contents;
pub use crossing::{Crossing, Crossings};
pub use dissect::{CLIENT_BYTES, Dissector, TrafficCounts};
pub use encryption::Encryption;
pub use error::{CaptureError, Damage};
pub use flow::Toward;
pub use link::{FrameCounts, LinkLayer};
pub use method::{
    ByteCaching, Chunk, ChunkParameters, MaxMatch, MaxMatchParameters, Method, WholePacket, ZstdAlone,
};
pub use packet::{Batch, Client, Packet};
pub use reader::{CaptureReader, Frame};
pub use report::{MethodReport, Report, Shares};
pub use savings::{Savings, Tally};
pub use source::{Progress, Source};
pub use tunnel::{Carried, TunnelOptions, TunnelReport, default_store_mib};
pub use wire::link::LinkType;
pub use writer::CaptureWriter;

/// The default level of zstd for the figures: zstd's own default.
pub const DEFAULT_ZSTD_LEVEL: i32 = 3;
