//! Whether sharing pays: the air time that it takes, and the air time that it saves.
//!
//! Sharing adds bytes to every packet, and its reports, requests and answers take air time. Where stations do
//! not hear each other, or fetch different content, it saves nothing. The gateway then pauses it, and packets
//! travel under pairwise keys as without a group. It tries again later, because content and radios change.

use std::time::Duration;

/// The shortest trial.
const SHORTEST_TRIAL: Duration = Duration::from_secs(60);
/// The first pause. Each further one is twice as long, up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_secs(600);
const LONGEST_PAUSE: Duration = Duration::from_secs(7200);

/// The state of a group's sharing.
#[derive(Debug)]
pub(crate) struct Balance {
    /// Packets of a trial, so that the group's cache has been filled once.
    least_packets: u64,
    since: Duration,
    packets: u64,
    spent_nanoseconds: u64,
    saved_nanoseconds: u64,
    paused_until: Option<Duration>,
    next_pause: Duration,
}

/// The end of a trial or of a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The trial cost more than it saved.
    Paused(Duration),
    /// The next trial begins.
    Resumed,
}

impl Balance {
    /// The first trial, of a cache with 2^`slot_bits` slots.
    pub fn new(slot_bits: u8, now: Duration) -> Self {
        Balance {
            // About sixteen chunks a packet.
            least_packets: 1 << slot_bits.saturating_sub(4),
            since: now,
            packets: 0,
            spent_nanoseconds: 0,
            saved_nanoseconds: 0,
            paused_until: None,
            next_pause: FIRST_PAUSE,
        }
    }

    /// Whether packets are shared now.
    pub fn shares(&self) -> bool {
        self.paused_until.is_none()
    }

    /// A packet was shared.
    pub fn note_packet(&mut self, saved_nanoseconds: u64, spent_nanoseconds: u64) {
        self.packets += 1;
        self.saved_nanoseconds += saved_nanoseconds;
        self.spent_nanoseconds += spent_nanoseconds;
    }

    /// Something took air time that sharing caused.
    pub fn spend(&mut self, nanoseconds: u64) {
        self.spent_nanoseconds += nanoseconds;
    }

    /// The air time of the trial, or of the last one before a pause: taken, and saved.
    pub fn air_time(&self) -> (Duration, Duration) {
        (Duration::from_nanos(self.spent_nanoseconds), Duration::from_nanos(self.saved_nanoseconds))
    }

    /// The end of the pause.
    pub fn paused_until(&self) -> Option<Duration> {
        self.paused_until
    }

    /// When [`step`](Balance::step) has something to do.
    pub fn timeout(&self) -> Option<Duration> {
        let is_complete = self.packets >= self.least_packets;
        self.paused_until.or_else(|| is_complete.then_some(self.since + SHORTEST_TRIAL))
    }

    /// Ends the trial or the pause, if that is due.
    pub fn step(&mut self, now: Duration) -> Option<Turn> {
        if self.timeout().is_none_or(|at| now < at) {
            return None;
        }
        if self.paused_until.take().is_some() {
            self.begin(now);
            return Some(Turn::Resumed);
        }
        if self.saved_nanoseconds >= self.spent_nanoseconds {
            self.next_pause = FIRST_PAUSE;
            self.begin(now);
            return None;
        }
        let pause = self.next_pause;
        self.next_pause = (2 * pause).min(LONGEST_PAUSE);
        self.paused_until = Some(now + pause);
        Some(Turn::Paused(pause))
    }

    fn begin(&mut self, now: Duration) {
        (self.since, self.packets, self.spent_nanoseconds, self.saved_nanoseconds) = (now, 0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn trial(balance: &mut Balance, saved: u64, spent: u64) {
        (0..1 << 10).for_each(|_| balance.note_packet(saved, spent));
    }

    #[test]
    fn what_costs_more_than_it_saves_pauses_for_ever_longer_times_and_comes_back() {
        let mut balance = Balance::new(14, Duration::ZERO);
        assert_eq!((balance.timeout(), balance.step(10 * MINUTE)), (None, None), "nothing was sent");
        let mut now = Duration::ZERO;
        for minutes in [10, 20, 40, 80, 120, 120] {
            trial(&mut balance, 1, 2);
            assert_eq!(balance.step(now + MINUTE / 2), None, "too early");
            now += MINUTE;
            assert_eq!(balance.step(now), Some(Turn::Paused(minutes * MINUTE)));
            assert!(!balance.shares());
            now += minutes * MINUTE;
            assert_eq!((balance.timeout(), balance.step(now)), (Some(now), Some(Turn::Resumed)));
            assert!(balance.shares());
        }
        trial(&mut balance, 3, 2);
        now += MINUTE;
        assert_eq!(balance.step(now), None);
        trial(&mut balance, 0, 2);
        now += MINUTE;
        assert_eq!(balance.step(now), Some(Turn::Paused(10 * MINUTE)), "the pause is short again");
    }

    #[test]
    fn a_trial_is_long_enough_to_fill_the_cache() {
        let mut balance = Balance::new(18, Duration::ZERO);
        trial(&mut balance, 0, 1);
        assert_eq!(balance.timeout(), None);
        balance.spend(5);
        assert_eq!(balance.air_time(), (Duration::from_nanos(1029), Duration::ZERO));
    }
}
