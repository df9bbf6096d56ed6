//! Judgement of the host's segments before smoltcp sees them.
//!
//! smoltcp takes bytes up to its buffer's end, and panics if that is beyond the window that it advertised. It
//! ends a connection for any RST in the window, and answers neither a new SYN nor most repeated bytes.

use super::segment::{Segment, ahead, flag};
use super::sent::Sent;

/// The treatment of one segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// smoltcp takes it.
    Take,
    /// smoltcp takes it, and an acknowledgment follows in any case.
    TakeAndAnswer,
    /// smoltcp takes it with only so many bytes of payload and without FIN, and an acknowledgment follows.
    Trim(usize),
    /// Only an acknowledgment follows.
    Answer,
    /// Nothing follows.
    Drop,
}

/// Judges a segment; `expected` is the sequence number that the host sends next, if its SYN came.
pub(super) fn judge(segment: &Segment, expected: Option<u32>, sent: &Sent) -> Verdict {
    let Some(expected) = expected else {
        // The host begins a connection of its own at the same time: it begins again after its timeout.
        let is_foreign_syn = segment.has(flag::SYN) && segment.acknowledgment.is_none();
        return if is_foreign_syn { Verdict::Drop } else { Verdict::Take };
    };
    let past_edge = |number| sent.edge.is_some_and(|edge| ahead(number, edge) > 0);
    let offset = ahead(segment.sequence, expected);
    // RFC 5961, section 3: only the exact sequence number resets, others in the window are challenged.
    if segment.has(flag::RST) {
        return match offset {
            0 => Verdict::Take,
            1.. if !past_edge(segment.sequence) => Verdict::Answer,
            _ => Verdict::Drop,
        };
    }
    // RFC 5961, section 4: a host that forgot the connection answers the challenge with a RST.
    if segment.has(flag::SYN) {
        return Verdict::Answer;
    }
    let bytes_end = segment.sequence.wrapping_add(segment.payload.len() as u32);
    // smoltcp 0.12 counts the ranges of a selective acknowledgment without wrapping: nothing may wait beyond
    // sequence number 0 while bytes before it are missing.
    if offset > 0 && bytes_end < expected {
        return Verdict::Drop;
    }
    if past_edge(bytes_end) {
        let over = sent.edge.map_or(0, |edge| ahead(bytes_end, edge)) as usize;
        return Verdict::Trim(segment.payload.len().saturating_sub(over));
    }
    let is_old = segment.end() != segment.sequence && ahead(segment.end(), expected) <= 0;
    if is_old { Verdict::TakeAndAnswer } else { Verdict::Take }
}
