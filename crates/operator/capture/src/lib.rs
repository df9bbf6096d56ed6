//! Captures: reading them, and what each method of redundancy elimination would save on them.
//!
//! A [`Source`] is a file or a stream, packed or not; a [`CaptureReader`] makes frames of it, from pcap and
//! pcapng alike; the [`LinkLayer`] finds the IP packets in the frames of many kinds of links; the
//! [`Dissector`] tells clients from servers, leaves out what TCP sent twice, and counts what is encrypted.
//! What remains goes to every [`Method`] at once, each in a thread of its own, and [`Options::analyze`] makes
//! a [`Report`] of what they say. Nothing is held of a capture but one batch of packets and what the methods
//! remember, all within bounds.
//!
//! # What is measured
//!
//! The payload of TCP and UDP. Bytes that TCP sends again are no redundancy of the traffic but of the path;
//! they are recognised by their sequence numbers and reported apart. So are 802.11's retries.
//!
//! The way to the clients and the way to the servers are measured each by itself, since a link has a store at
//! each end of each. `intra` and `inter` are shares of what goes to the clients: what the same client, or
//! only another one, received before.
//!
//! Two methods only measure what is there: `chunk` (content-defined chunks, as REfactor needs them) and
//! `max-match` (regions of any length, as Spring and Wetherall find them), with memory for all of the
//! capture. The others are what can be run: the encoder of [`re`] under its policy `acked`, with its bounded
//! store and its own overhead, and stateless zstd. Who wants to compare other policies puts them into
//! [`Options::policies`]; they are compared without losses.
//!
//! # How exact it is
//!
//! The figures of other programs for the project's evaluation captures, by the same definitions and
//! parameters, are held against these in `tests/all/figures.rs`. Chunks agree within 6%, mostly within 1%;
//! max-match within 9%, mostly within 1%. Where they differ, these are the reasons.
//!
//! Max-match depends a little on which of several copies is remembered (the newest, here) and on which
//! windows are sampled: most of all for pages made from one template, where each window has many copies (the
//! 9%). Runs of zeros count, as a Rabin fingerprint of zeros is zero and so always sampled.
//!
//! Chunks depend on the gear hash's random table: over 24 tables the intra-client share of a capture with few
//! distinct pages varies by a tenth of itself, and shares under one percent by half. They depend more on
//! which bits of the hash decide. With the lowest, which look at few bytes, intra-client shares of template
//! pages come out higher by up to a half; with the highest, which look at 64, chunks seldom fall into step
//! again after a difference, and they are lower by up to 40%. Here a cut depends on the last 37 bytes at
//! most, about the shortest chunk.
//!
//! In 802.11 captures the retries of the link are left out, which programs that count them take for
//! redundancy: in one capture with a fifth of retries 2.8% of max-match become 3.5%.

#![forbid(unsafe_code)]

mod advice;
mod analysis;
mod annotated;
mod contents;
mod dissect;
mod encryption;
mod error;
mod flow;
mod link;
mod method;
mod packet;
mod reader;
mod report;
mod savings;
mod sequence;
mod source;
mod writer;

pub use analysis::Options;
pub use annotated::{AnnotatedWriter, Interface};
pub use contents::contents;
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
pub use wire::link::LinkType;
pub use writer::CaptureWriter;

/// The level of zstd that the figures are for unless another is asked for: zstd's own default.
pub const DEFAULT_ZSTD_LEVEL: i32 = 3;
