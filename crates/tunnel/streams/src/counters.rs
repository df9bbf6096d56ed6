//! Numbers of a peer's streams.

use crate::stream::Phase;
use crate::streams::Streams;

/// Numbers of a peer's streams, from the beginning.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counters {
    /// Streams opened here.
    pub opened: u64,
    /// Streams that the far end opened.
    pub accepted: u64,
    /// Connections that the destination refused, or did not answer: of streams opened at either end.
    pub refused: u64,
    /// Streams that a reset ended, or that the far end lost.
    pub aborted: u64,
    /// Streams of these whose records could not be restored here.
    pub unrestored: u64,
    /// Connections that went in packets: no stream was free, or the far end does not allow the addresses.
    pub passed: u64,
    /// Connections that went in packets, as their destination's answers do not come back over the hop.
    pub no_way_back: u64,
    /// Bytes of hosts that left.
    pub taken_bytes: u64,
    /// Bytes that left for the first time: without repetition, and with what this adds.
    pub sent_bytes: u64,
    /// Bytes that left again.
    pub resent_bytes: u64,
    /// Bytes that were handed to hosts.
    pub received_bytes: u64,
}

impl Streams {
    /// Numbers from the beginning.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Streams that are not over.
    #[must_use]
    pub fn open_streams(&self) -> usize {
        self.streams.values().filter(|stream| !matches!(stream.phase, Phase::Over)).count()
    }

    /// The most streams at once, and the most bytes of [`Streams::memory_bytes`].
    #[must_use]
    pub fn bounds(&self) -> (usize, u64) {
        (self.settings.most_streams, self.settings.memory_bytes as u64)
    }
}
