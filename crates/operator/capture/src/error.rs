//! Errors that prevent reading a capture, and reasons of an early end.

use std::io;

/// Reason why a capture cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file cannot be opened or its first bytes cannot be read.
    #[error("cannot be read: {source}")]
    Open {
        /// The error of the system or of the decompressor.
        source: io::Error,
    },
    /// The path is a directory.
    #[error("is a directory, not a capture")]
    Directory,
    /// The file is empty.
    #[error("is empty")]
    Empty,
    /// The first bytes are not those of a capture format.
    #[error("is neither a pcap nor a pcapng capture (nor one packed by xz, gzip or zstd)")]
    Foreign,
    /// The parameters of the analysis are invalid.
    #[error("{0}")]
    Parameters(String),
}

/// Reason of an early end. Earlier frames are not affected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// The file ends within a record.
    #[error("the file ends in the middle of a record, after {frames} whole ones")]
    Truncated {
        /// Complete records before the end.
        frames: u64,
    },
    /// A record is malformed, and the start of the next one is unknown.
    #[error("record {frames} makes no sense ({why}); nothing behind it can be read")]
    Malformed {
        /// The record's number, from 0.
        frames: u64,
        /// The fault.
        why: &'static str,
    },
    /// Reading or decompression failed.
    #[error("reading failed after {frames} records: {why}")]
    Failed {
        /// Complete records before the end.
        frames: u64,
        /// The error of the system or of the decompressor.
        why: String,
    },
}
