//! Counters of a link.

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

/// Counts of the frames of one direction. Bytes are those of the offered frames, without `overhead_bytes`.
///
/// In frames and in bytes, at any time:
/// `offered + duplicated = queue_dropped + lost + delivered + held`, `held` being [`crate::Link::held`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkCounters {
    /// Handed to the link.
    pub offered: Tally,
    /// Dropped by the policer, the full queue or its discipline; never on the air.
    pub queue_dropped: Tally,
    /// Put on the air, lost or not; each try counts.
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
    /// Time that the transmitter was busy. At a fixed rate it is the transmission time of the bytes. On
    /// 802.11 it is the whole exchange, from the idle channel to the acknowledgement. On a recorded capacity
    /// it includes the wait for the used opportunities.
    pub air_time: Duration,
    /// The largest number of waiting bytes.
    pub longest_queue_bytes: usize,
}
