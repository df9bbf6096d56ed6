//! The sender's account: sent sequences without a final state.

use super::{HISTORY, RECEIPT_DELAY};
use crate::arq::delay::Delay;
use crate::arq::losses::Overflow;
use std::collections::VecDeque;
use std::time::Duration;
use wire::number::{SEQUENCE_BITS, widen};
use wire::receipt::{Receipt, State};

/// The sender keeps account of so many, however long ago they left.
const LEAST_HISTORY: usize = 4096;
/// ... and until when of others.
const FORGET_AFTER: Duration = Duration::from_secs(16);
/// A sequence reported as not held is taken for lost only when the receiver has got this many newer ones: it
/// may have been overtaken.
const REORDERING_MARGIN: u64 = 3;
/// ... or when the newest one left so much later than it: half a smoothed round trip, as RACK has a quarter
/// of the least one (RFC 8985, section 6.2). Three newer ones can take as many timeouts of TCP's to come, and
/// until then a retransmission may refer to the very packet that was lost.
const REORDERING_SHARE: u32 = 2;

/// Where repairs restore most losses, a sequence is lost a round trip after it left, and this time, less the
/// more the air loses if further repairs may follow. By then most repairs have come, and word of them. Where
/// much is lost they restore less, and TCP inside does not wait.
const CORRECTED_AFTER: Duration = Duration::from_millis(20);
/// The loss at which it is nothing.
const NO_WAIT_LOSS: f64 = 0.2;
/// Where some did not arrive, the newest may be one that was restored later: a receipt of fewer sequences
/// tells no round trip beyond the longest then. If it is not held, only the next one's number came, and it
/// tells none.
const MANY: u64 = 8;
/// Sequences over which the air's loss is taken, at most.
const AIR_SPAN: u64 = 1000;
/// So many sequences are assumed beside the first lost one, and one lost among them.
const ASSUMED: u64 = 8;

/// A receipt's statement on one sent sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The receiver holds it.
    Held,
    /// It waits at the receiver for others, and need not be sent again.
    Parked,
    /// The receiver does not have it yet, and repairs may still restore it. Until then nothing refers to it.
    Late,
    /// The receiver does not, and repairs did not restore it yet.
    Unrestored,
    /// The receiver does not: newer ones arrived, or it arrived itself and could not be restored.
    Lost,
    /// It refers to a packet that was given up. No receipt says so.
    Doubted,
}

#[derive(Debug, Clone, Copy)]
struct Sent {
    /// In nanoseconds: half the bytes of a [`Duration`].
    left_at: u64,
    fate: Option<Fate>,
    /// It was retransmitted then. Packets after the first transmission tell nothing about the second.
    again: bool,
}

impl Sent {
    fn new(at: Duration, fate: Option<Fate>, again: bool) -> Self {
        Sent { left_at: u64::try_from(at.as_nanos()).unwrap_or(u64::MAX), fate, again }
    }

    fn at(&self) -> Duration {
        Duration::from_nanos(self.left_at)
    }
}

/// Sequences of late, and how many of them came.
#[derive(Debug, Default)]
struct Recent {
    sent: u64,
    received: u64,
}

impl Recent {
    fn note(&mut self, sent: u64, received: u64) {
        self.sent += sent;
        self.received += received;
        if self.sent > AIR_SPAN {
            self.sent /= 2;
            self.received /= 2;
        }
    }

    /// The share that was lost.
    fn share_lost(&self) -> f64 {
        match self.sent.saturating_sub(self.received) {
            0 => 0.0,
            lost => (lost + 1) as f64 / (self.sent + ASSUMED) as f64,
        }
    }
}

/// The sender's account: when each recent sequence left, and what became of it.
#[derive(Debug, Default)]
pub struct Outstanding {
    sent: VecDeque<Sent>,
    next: u64,
    pub(super) newest_reported: Option<u64>,
    received_before: u32,
    /// How long the newest receipt waited at the receiver.
    waited: Duration,
    /// Sequences of which receipts tell, and how many of them came.
    told_sent: u64,
    told_came: u64,
    window_sent: u64,
    window_received: u64,
    /// The same beside a short queue: only the air loses those.
    air: Recent,
    /// The same between two receipts with a short queue. A full queue may have emptied before one.
    calm: Recent,
    /// Whether the queue was short at the receipt before.
    was_short: bool,
    /// Repairs restore most of what is lost, a little later.
    is_corrected: bool,
    /// Further repairs may leave for what they did not restore.
    is_corrected_again: bool,
    /// The delay from the round trips.
    delay: Delay,
    overflow: Overflow,
    /// Sequences that met a long queue, and how many of them were lost, since this was last asked.
    beside_queue: (u64, u64),
    /// The losses of full queues, for senders that heed them themselves.
    congestion: Overflow,
}

impl Outstanding {
    /// Notes that the next sequence leaves at `now`; which it is.
    pub fn send(&mut self, now: Duration) -> u64 {
        while self.sent.len() >= LEAST_HISTORY
            && self
                .sent
                .front()
                .is_some_and(|sent| self.sent.len() == HISTORY || sent.at() + FORGET_AFTER < now)
        {
            self.sent.pop_front();
        }
        self.sent.push_back(Sent::new(now, None, false));
        self.next += 1;
        self.next - 1
    }

    /// The sequence that left last.
    #[must_use]
    pub fn last(&self) -> Option<u64> {
        self.next.checked_sub(1)
    }

    /// The full sequence of a truncated one that the peer names.
    #[must_use]
    pub fn widen(&self, truncated: u32) -> u64 {
        widen(u64::from(truncated), SEQUENCE_BITS, self.next)
    }

    /// Where the account has a sequence that was sent; `None`: it is forgotten.
    fn index_of(&self, sequence: u64) -> Option<usize> {
        let first = self.next - self.sent.len() as u64;
        sequence.checked_sub(first).map(|index| index as usize)
    }

    fn sent_mut(&mut self, sequence: u64) -> Option<&mut Sent> {
        self.index_of(sequence).and_then(|index| self.sent.get_mut(index))
    }

    /// Notes that `sequence` leaves once more at `now`.
    pub fn send_again(&mut self, now: Duration, sequence: u64) {
        if let Some(sent) = self.sent_mut(sequence) {
            *sent = Sent::new(now, None, true);
        }
    }

    /// Bytes of memory now.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.sent.capacity() * size_of::<Sent>()
    }

    /// The smoothed round trip.
    #[must_use]
    pub fn srtt(&self) -> Option<Duration> {
        self.delay.srtt()
    }

    /// Takes a round trip that was measured beside receipts.
    pub fn sample_round_trip(&mut self, now: Duration, sample: Duration) {
        self.delay.sample(now, sample);
    }

    /// The round trips.
    #[must_use]
    pub fn delay(&self) -> &Delay {
        &self.delay
    }

    /// Whether the path's queue was long at the latest measurement.
    #[must_use]
    pub fn queue_is_long(&self) -> bool {
        self.delay.queue_is_long()
    }

    /// The newest sequence of a receipt.
    #[must_use]
    pub fn newest_reported(&self) -> Option<u64> {
        self.newest_reported
    }

    /// How long the newest receipt waited after the newest sequence came.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// Sequences of which receipts tell, and how many of them came; from the beginning.
    #[must_use]
    pub fn totals(&self) -> (u64, u64) {
        (self.told_sent, self.told_came)
    }

    /// The share of sequences lost, over about the last thousand.
    #[must_use]
    pub fn loss(&self) -> Option<f64> {
        (self.window_sent > 0)
            .then(|| (1.0 - self.window_received as f64 / self.window_sent as f64).clamp(0.0, 1.0))
    }

    /// The share of sequences that the air loses; 0 until a few are known.
    #[must_use]
    pub fn air_loss(&self) -> f64 {
        self.air.share_lost()
    }

    /// The same, by receipts beside which the queue was short all the time.
    #[must_use]
    pub fn calm_loss(&self) -> f64 {
        self.calm.share_lost()
    }

    /// The number of sequences of whose fate that is the share.
    #[must_use]
    pub fn air_units(&self) -> u64 {
        self.air.sent
    }

    /// The same where repairs restore most of it, so that fates do not show it; else 0.
    #[must_use]
    pub fn corrected_loss(&self) -> f64 {
        if self.is_corrected { self.air_loss() } else { 0.0 }
    }

    /// Signals of congestion that the end hosts are to have, since the last call.
    pub fn take_signals(&mut self) -> u64 {
        self.overflow.take_signals()
    }

    /// Whether a full queue lost something since the last call; `air`: the most that the air loses.
    pub fn take_congestion(&mut self, air: f64) -> bool {
        let (sent, lost) = std::mem::take(&mut self.beside_queue);
        self.congestion.note(sent, lost, air.min(self.calm_loss()));
        self.congestion.take_signals() > 0
    }

    /// How long after a sequence left the repairs that followed it may still restore it; `None` if there are
    /// none.
    #[must_use]
    pub fn corrected_after(&self) -> Option<Duration> {
        let srtt = self.delay.srtt().filter(|_| self.is_corrected)?;
        let spared = if self.is_corrected_again { self.air_loss() / NO_WAIT_LOSS } else { 0.0 };
        let share = (1.0 - spared).max(0.0);
        Some(srtt + CORRECTED_AFTER.mul_f64(share))
    }

    /// Until when a sequence whose repairs leave at `now` may be told to be there.
    #[must_use]
    pub fn corrected_until(&self, now: Duration) -> Option<Duration> {
        self.corrected_after().map(|after| now + after + RECEIPT_DELAY)
    }

    /// Notes that repairs of `sequence` alone leave at `now`.
    pub fn await_repairs(&mut self, now: Duration, sequence: u64) {
        if let Some(sent) = self.sent_mut(sequence) {
            *sent = Sent::new(now, Some(Fate::Late), true);
        }
    }

    /// Whether repairs may restore a lost sequence that left once.
    #[must_use]
    pub fn may_be_restored(&self, sequence: u64) -> bool {
        let index = self.index_of(sequence);
        self.is_corrected && index.and_then(|index| self.sent.get(index)).is_some_and(|sent| !sent.again)
    }

    /// Takes a late sequence for lost. Whether it was late.
    pub fn give_up_late(&mut self, sequence: u64) -> bool {
        self.sent_mut(sequence).is_some_and(|sent| {
            let is_late = sent.fate == Some(Fate::Late);
            sent.fate = if is_late { Some(Fate::Lost) } else { sent.fate };
            is_late
        })
    }

    /// Says whether repairs restore most of what is lost, and whether further ones may follow.
    pub fn set_corrected(&mut self, is_corrected: bool, again: bool) {
        (self.is_corrected, self.is_corrected_again) = (is_corrected, again);
    }

    /// The full newest sequence of the receipt; `None` if it was never sent.
    #[must_use]
    pub fn newest_of(&self, receipt: &Receipt<'_>) -> Option<u64> {
        Some(self.widen(receipt.newest)).filter(|newest| *newest < self.next)
    }

    /// Takes a receipt, and calls `fate` for every sequence whose fate is new. Whether it makes sense: a
    /// receipt for sequences that were never sent is ignored, and one that is newer than all others lacks
    /// nothing that the receiver held.
    pub fn receipt(&mut self, now: Duration, receipt: &Receipt<'_>, mut fate: impl FnMut(u64, Fate)) -> bool {
        let Some(newest) = self.newest_of(receipt) else { return false };
        let is_newest = self.newest_reported.is_none_or(|before| newest > before);
        let mut makes_sense = true;
        let first = self.next - self.sent.len() as u64;
        let newest_left = newest.checked_sub(first).map(|index| self.sent[index as usize].at());
        if is_newest {
            self.measure(now, newest, receipt);
        }
        let margin = self.delay.srtt().map(|srtt| srtt / REORDERING_SHARE);
        let corrected_after = self.corrected_after();
        for (back, state) in receipt.runs().flat_map(|(run, state)| run.map(move |back| (back, state))) {
            let Some(sequence) = newest.checked_sub(back).filter(|&sequence| sequence >= first) else {
                break;
            };
            let sent = &mut self.sent[(sequence - first) as usize];
            let at = sent.at();
            let Sent { fate: known, again, .. } = sent;
            makes_sense &= !(is_newest && state == State::Missing && *known == Some(Fate::Held));
            let overtaken_long_ago =
                || newest_left.zip(margin).is_some_and(|(newest_left, margin)| newest_left > at + margin);
            let is_beyond_repairs = || corrected_after.is_none_or(|after| now >= at + after);
            let told = match state {
                State::Held => Fate::Held,
                State::Parked => Fate::Parked,
                // the newest one did arrive: it could not be restored, and nothing need be waited for
                State::Missing
                    if !*again && (back == 0 || back >= REORDERING_MARGIN) || overtaken_long_ago() =>
                {
                    if back > 0 && !is_beyond_repairs() { Fate::Late } else { Fate::Lost }
                }
                State::Missing | State::Untold => continue,
            };
            // a held sequence stays held for this account; a sequence taken for lost may still arrive
            if *known != Some(told) && *known != Some(Fate::Held) {
                *known = Some(told);
                fate(sequence, told);
            }
        }
        makes_sense
    }

    fn measure(&mut self, now: Duration, newest: u64, receipt: &Receipt<'_>) {
        self.waited = Duration::from_micros(u64::from(receipt.delay_64us) * 64);
        let sent = newest - self.newest_reported.map_or(0, |before| before);
        let received = receipt.received.wrapping_sub(self.received_before);
        let received = u64::from(received).min(sent + 64);
        let left = self.index_of(newest).and_then(|index| self.sent.get(index));
        // the round trip of a retransmitted packet is ambiguous (Karn)
        if let Some(left) = left.filter(|left| !left.again) {
            let sample = now.saturating_sub(left.at()).saturating_sub(self.waited);
            let newest_is_held = || receipt.runs().next().is_some_and(|(_, state)| state == State::Held);
            if received >= sent {
                self.delay.sample(now, sample);
            } else if newest_is_held() {
                let most = self.delay.longest().filter(|_| sent < MANY);
                self.delay.sample(now, sample.min(most.unwrap_or(sample)));
            }
        }
        self.told_sent += sent;
        self.told_came += received;
        self.window_sent += sent;
        self.window_received += received;
        let was_short = std::mem::replace(&mut self.was_short, self.delay.queue_is_short());
        if was_short && self.was_short {
            self.calm.note(sent, received);
        }
        if self.was_short {
            self.air.note(sent, received);
        } else if self.delay.queue_may_overflow() {
            let (lost, air) = (sent.saturating_sub(received), self.air_loss());
            self.beside_queue = (self.beside_queue.0 + sent, self.beside_queue.1 + lost);
            if self.is_corrected {
                self.overflow.note(sent, lost, air);
            }
        }
        if self.window_sent > 2000 {
            self.window_sent /= 2;
            self.window_received /= 2;
        }
        self.newest_reported = Some(newest);
        self.received_before = receipt.received;
    }
}
