//! A TCP segment's place in its flow, by which policies tell what came before it.

use super::precedes;
use re::store::Stored;
use wire::inner::{Flow, Inner};

/// Whose segment it is, and where it starts.
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

    /// Whether a stored packet is of the same flow, and if so, whether it starts strictly before this
    /// segment. The packet's own headers say what it was; a comparator can afford to read them again.
    pub(super) fn follows(&self, stored: &Stored<'_>) -> Option<bool> {
        let other = Inner::parse(stored.packet).ok().filter(|other| other.flow == self.flow)?;
        Some(other.tcp_sequence.is_some_and(|other| precedes(other, self.sequence)))
    }
}
