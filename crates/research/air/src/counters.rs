//! What a link has done so far.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Frames and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// How many frames.
    pub frames: u64,
    /// Their lengths, summed.
    pub bytes: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, bytes: usize) {
        self.frames += 1;
        self.bytes += bytes as u64;
    }

    pub(crate) fn remove(&mut self, bytes: usize) {
        self.frames -= 1;
        self.bytes -= bytes as u64;
    }
}

/// Everything that happened to the frames of one direction. Bytes are those of the frames as offered, without
/// `overhead_bytes`.
///
/// In frames and in bytes, at any time:
/// `offered + duplicated = queue_dropped + lost + delivered + held`, `held` being [`crate::Link::held`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkCounters {
    /// Handed to the link.
    pub offered: Tally,
    /// Refused by the full queue; never on the air.
    pub queue_dropped: Tally,
    /// Put on the air, lost or not; each try of a retried frame counts.
    pub transmitted: Tally,
    /// Tries beyond a frame's first, which `transmitted` also has.
    pub retried: Tally,
    /// Lost on the air, after all tries.
    pub lost: Tally,
    /// Delivered, or still to be, with one bit flipped.
    pub corrupted: Tally,
    /// Second copies made.
    pub duplicated: Tally,
    /// Delivered after a frame that was transmitted later (RFC 4737, section 3).
    pub reordered: Tally,
    /// Taken out at the far end, copies included.
    pub delivered: Tally,
    /// For how long the transmitter was busy: at a fixed rate the time the bytes take; on 802.11 the whole
    /// exchange, from the idle channel to the acknowledgement; on a recorded capacity also the wait for the
    /// opportunities used.
    pub air_time: Duration,
    /// The most bytes that ever waited at once.
    pub longest_queue_bytes: usize,
}
