//! A TCP segment's place in its flow, by which policies determine its predecessors.

use super::precedes;
use re::store::Stored;
use wire::inner::{Flow, Inner};

/// The flow and start of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Segment {
    flow: Flow,
    sequence: u32,
}

impl Segment {
    /// The segment in a packet; none where there is no TCP.
    pub(super) fn of(inner: &Inner) -> Option<Self> {
        inner.tcp_sequence.map(|sequence| Segment { flow: inner.flow, sequence })
    }

    /// Where it starts.
    pub(super) fn sequence(&self) -> u32 {
        self.sequence
    }

    /// `None` for a stored packet of another flow; otherwise whether it starts strictly before this segment.
    /// The stored packet's headers are parsed again, which a comparator can afford.
    pub(super) fn follows(&self, stored: &Stored<'_>) -> Option<bool> {
        let other = Inner::parse(stored.packet).ok().filter(|other| other.flow == self.flow)?;
        Some(other.tcp_sequence.is_some_and(|other| precedes(other, self.sequence)))
    }
}
