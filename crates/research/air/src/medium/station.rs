//! A station: its queue, and the time for which it must stay silent.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::queue::Queue;
use crate::Tally;

/// Counts of a station's frames.
///
/// In frames and in bytes, at any time: `offered = queue_dropped + broadcast + delivered + lost + held`,
/// `held` being what waits or is on the air.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StationCounters {
    /// Handed to the station.
    pub offered: Tally,
    /// Refused by the full queue; never on the air.
    pub queue_dropped: Tally,
    /// Put on the air; each try of a frame counts.
    pub transmitted: Tally,
    /// Number of tries beyond a frame's first, which `transmitted` also has.
    pub retried: Tally,
    /// Sent to everybody.
    pub broadcast: Tally,
    /// Delivered to the addressee.
    pub delivered: Tally,
    /// Lost, after all tries.
    pub lost: Tally,
    /// Received from others.
    pub received: Tally,
    /// Unicast tries with interference.
    pub interfered: u64,
    /// Time that the station kept the channel busy, with acknowledgements to it.
    pub air_time: Duration,
    /// The largest number of waiting frames.
    pub longest_queue_frames: usize,
}

/// One station of the distributed coordination function (IEEE Std 802.11-2012, 9.3).
#[derive(Debug, Default)]
pub(super) struct Station {
    /// The first frame is in transmission.
    pub(super) queue: Queue,
    /// Failed tries of the first frame.
    pub(super) retry: u8,
    /// The first frame has arrived, and its acknowledgement has not.
    pub(super) has_arrived: bool,
    /// Listeners that heard the first frame.
    pub(super) overheard_by: Vec<usize>,
    /// The station sends, or waits for an acknowledgement.
    pub(super) is_sending: bool,
    /// Remaining backoff slots after `busy_until` and DIFS.
    pub(super) slots: u32,
    /// End of the channel's busy time, as far as the station knows.
    pub(super) busy_until: Duration,
    /// Time of its next transmission, unless it senses another before.
    pub(super) attempt: Option<Duration>,
    pub(super) counters: StationCounters,
}

impl Station {
    /// End of the remaining backoff on an idle channel.
    fn backoff_end(&self, difs: Duration, slot: Duration) -> Duration {
        self.busy_until + difs + slot * self.slots
    }

    /// Sets the transmission time of the first frame: `now` if the channel was idle long enough, otherwise
    /// after a backoff. `draw` returns a number of slots.
    pub(super) fn contend(
        &mut self,
        now: Duration,
        difs: Duration,
        slot: Duration,
        draw: impl FnOnce() -> u32,
    ) {
        if now < self.busy_until + difs && self.slots == 0 {
            self.slots = draw();
        }
        self.attempt = Some(self.backoff_end(difs, slot).max(now));
    }

    /// Notes that the channel is busy from `now` until `until`, which stops the backoff. A station whose slot
    /// has begun still sends, because it has not sensed the other yet.
    pub(super) fn sense(
        &mut self,
        now: Duration,
        until: Duration,
        difs: Duration,
        slot: Duration,
        draw: impl FnOnce() -> u32,
    ) {
        let committed = self.attempt.is_some_and(|attempt| attempt < now + slot);
        if !committed {
            let counted_from = self.busy_until + difs;
            let passed = now.saturating_sub(counted_from).as_nanos() / slot.as_nanos().max(1);
            self.slots = self.slots.saturating_sub(u32::try_from(passed).unwrap_or(u32::MAX));
        }
        self.busy_until = self.busy_until.max(until);
        if self.attempt.is_some() && !committed {
            if self.slots == 0 {
                self.slots = draw();
            }
            self.attempt = Some(self.backoff_end(difs, slot));
        }
    }
}
