//! Numbers of a peer's streams.

/// Numbers of a peer's streams, from the beginning.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counters {
    /// Streams opened here.
    pub opened: u64,
    /// Streams that the far end opened.
    pub accepted: u64,
    /// Connections that were refused at the far end.
    pub refused: u64,
    /// Streams given up before their end.
    pub aborted: u64,
    /// Connections that went in packets, since no stream was free.
    pub passed: u64,
    /// Bytes that left for the first time.
    pub sent_bytes: u64,
    /// Bytes that left again.
    pub resent_bytes: u64,
    /// Bytes that were handed to hosts.
    pub received_bytes: u64,
}
