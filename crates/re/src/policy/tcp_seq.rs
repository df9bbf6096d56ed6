//! Packets of the same flow whose TCP sequence is strictly lower (byte-caching paper, section V-B and Figure 7).
//!
//! A segment is never encoded by means of a later one or of itself. The paper compares sequences without
//! saying whose; those of different connections have nothing to do with each other, so other flows are not
//! referred to. Packets that are not TCP have no sequence and refer to nothing.

use super::{ReferencePolicy, precedes};
use crate::store::Stored;
use wire::inner::{Flow, Inner};

/// Refers to earlier segments of the same flow.
#[derive(Debug, Clone, Copy, Default)]
pub struct TcpSeq {
    newest: Option<(Flow, u32)>,
}

impl ReferencePolicy for TcpSeq {
    fn admit(&mut self, _: u64, inner: &Inner) -> bool {
        self.newest = inner.tcp_sequence.map(|sequence| (inner.flow, sequence));
        self.newest.is_some()
    }

    fn may_refer(&self, stored: &Stored<'_>) -> bool {
        // The stored packet's own headers say what it was; a comparator can afford to read them again.
        let (Some((flow, sequence)), Ok(other)) = (self.newest, Inner::parse(stored.packet)) else {
            return false;
        };
        other.flow == flow && other.tcp_sequence.is_some_and(|other| precedes(other, sequence))
    }
}
