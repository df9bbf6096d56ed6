//! Why a capture cannot be read at all, and how one that can be read may end before its end.

use std::io;

/// Nothing can be read of a capture.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file cannot be opened or its first bytes cannot be read.
    #[error("cannot be read: {source}")]
    Open {
        /// What the system or the unpacking library said.
        source: io::Error,
    },
    /// A directory was named.
    #[error("is a directory, not a capture")]
    Directory,
    /// There is nothing in it.
    #[error("is empty")]
    Empty,
    /// Its first bytes are those of no capture format.
    #[error("is neither a pcap nor a pcapng capture (nor one packed by xz, gzip or zstd)")]
    Foreign,
    /// The parameters of the analysis make no sense.
    #[error("{0}")]
    Parameters(String),
}

/// How the reading of a capture ended early. What was read before is not affected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// The file ends within a record.
    #[error("the file ends in the middle of a record, after {frames} whole ones")]
    Truncated {
        /// Whole records before.
        frames: u64,
    },
    /// A record makes no sense, and where the next one begins is not known.
    #[error("record {frames} makes no sense ({why}); nothing behind it can be read")]
    Malformed {
        /// The record's number, from 0.
        frames: u64,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Reading or unpacking failed.
    #[error("reading failed after {frames} records: {why}")]
    Failed {
        /// Whole records before.
        frames: u64,
        /// What the system or the unpacking library said.
        why: String,
    },
}
