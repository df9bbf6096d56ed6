//! Captures: reading them, and what each method of redundancy elimination would save on them.

#![forbid(unsafe_code)]

mod advice;
mod analysis;
mod dissect;
mod encryption;
mod error;
mod flow;
mod link;
mod method;
mod packet;
mod reader;
mod report;
mod sequence;
mod source;

pub use analysis::Options;
pub use dissect::{CLIENT_BYTES, Dissector, TrafficCounts};
pub use encryption::Encryption;
pub use error::{CaptureError, Damage};
pub use flow::Toward;
pub use link::{FrameCounts, LinkLayer, LinkType};
pub use method::{
    ByteCaching, Chunk, ChunkParameters, MaxMatch, MaxMatchParameters, Method, Savings, WholePacket, ZstdAlone,
};
pub use packet::{Batch, Client, Packet};
pub use reader::{CaptureReader, Frame};
pub use report::{MethodReport, Report, Shares};
pub use source::{Progress, Source};

/// The level of zstd that the figures are for unless another is asked for: zstd's own default.
pub const DEFAULT_ZSTD_LEVEL: i32 = 3;
