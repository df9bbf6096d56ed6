//! A station: what it has to send, and how long it still has to keep silent.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::queue::Queue;
use crate::Tally;

/// Everything that happened to the frames of one station.
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
    /// Tries beyond a frame's first, which `transmitted` also has.
    pub retried: Tally,
    /// Sent to everybody.
    pub broadcast: Tally,
    /// Arrived at the station that they were for.
    pub delivered: Tally,
    /// Did not, after all tries.
    pub lost: Tally,
    /// Received from others.
    pub received: Tally,
    /// Tries of frames for one station that others interfered with.
    pub interfered: u64,
    /// For how long the station kept the channel busy, acknowledgements to it included.
    pub air_time: Duration,
    /// The most frames that ever waited at once.
    pub longest_queue_frames: usize,
}

/// One station of the distributed coordination function (IEEE Std 802.11-2012, 9.3).
#[derive(Debug, Default)]
pub(super) struct Station {
    /// The first one is being tried.
    pub(super) queue: Queue,
    /// Tries of the first one that have failed.
    pub(super) retry: u8,
    /// The first one has arrived, and only its acknowledgement has not.
    pub(super) has_arrived: bool,
    /// Those who listen to what others are sent and heard the first frame.
    pub(super) overheard_by: Vec<usize>,
    /// It is sending, or waits for an acknowledgement.
    pub(super) is_sending: bool,
    /// Slots of backoff left from `busy_until` and DIFS on.
    pub(super) slots: u32,
    /// Until when the channel is busy, as far as it knows.
    pub(super) busy_until: Duration,
    /// When it will send unless it hears somebody before.
    pub(super) attempt: Option<Duration>,
    pub(super) counters: StationCounters,
}

impl Station {
    /// When the backoff that is left ends, if nothing is heard.
    fn backoff_end(&self, difs: Duration, slot: Duration) -> Duration {
        self.busy_until + difs + slot * self.slots
    }

    /// Decides when to send the first frame, which there is: at `now` if the channel has been free for long
    /// enough, after a backoff otherwise. `draw` gives the slots of one.
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

    /// Takes note that the channel is busy from `now` until `until`. The backoff stands still meanwhile. Who
    /// was to send within the slot that has begun does so: it has not heard yet.
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
