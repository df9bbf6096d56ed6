//! The sending side: sequences, their fates by receipts, and retransmissions.

use super::receipts::{Fate, HISTORY};
use super::sender::{Copy, Retransmission, Sender};
use super::{Arq, Progress};
use std::collections::VecDeque;
use std::time::Duration;
use wire::receipt::Receipt;
use wire::request::Request;

/// So many receipts in a row that make no sense are no accident.
const STRANGE_RECEIPTS: u32 = 3;
/// Replies that wait to be sent at once.
const MAX_REPLIES: usize = 256;

impl Arq {
    /// Notes that the next sequence leaves at `now`; which it is.
    pub fn next_sequence(&mut self, now: Duration) -> u64 {
        self.outstanding.send(now)
    }

    /// The sequence that left last.
    #[must_use]
    pub fn newest_sequence(&self) -> Option<u64> {
        self.outstanding.last()
    }

    /// Takes a round trip that a ping measured.
    pub fn sample_round_trip(&mut self, now: Duration, sample: Duration) {
        self.outstanding.sample_round_trip(now, sample);
    }

    /// Whether what is lost now is sent again from here: as soon as it is known how long that takes.
    #[must_use]
    pub fn repairs_losses(&self) -> bool {
        self.sender.is_some() && self.srtt().is_some()
    }

    /// Keeps a packet that leaves now, if losses are repaired. `use_of`: its traffic class, and the time for
    /// which it is of use.
    pub fn keep(
        &mut self,
        now: Duration,
        sequence: u64,
        copy: Copy<'_>,
        use_of: (u8, Duration),
        references: &[u64],
    ) {
        let repairs = self.repairs_losses();
        let Some(sender) = self.sender.as_mut().filter(|_| repairs) else { return };
        sender.keep(now, sequence, copy, use_of);
        references.iter().for_each(|&sequence| sender.refers_to(sequence));
    }

    /// A datagram has left: from now on silence counts anew.
    pub fn finish_datagram(&mut self, now: Duration) {
        if let (Some(sender), Some(srtt)) = (&mut self.sender, self.outstanding.srtt()) {
            sender.rearm(now, srtt);
        }
    }

    /// Whether the receipt is for what was sent.
    pub fn knows(&mut self, receipt: &Receipt<'_>) -> bool {
        let knows = self.outstanding.newest_of(receipt).is_some();
        self.strange_receipts += u32::from(!knows);
        knows
    }

    /// Whether the two ends share no state any more: receipts in a row are for what was never sent, or lack
    /// what was held.
    #[must_use]
    pub fn is_at_odds(&self) -> bool {
        self.strange_receipts >= STRANGE_RECEIPTS
    }

    /// Says whether repairs restore most of what is lost, so that it is sent again a little later; whether
    /// further ones may follow.
    pub fn set_corrected(&mut self, is_corrected: bool, again: bool) {
        self.outstanding.set_corrected(is_corrected, again);
    }

    /// What receipts told; `None` before the first one.
    #[must_use]
    pub fn progress(&self) -> Option<Progress<'_>> {
        let newest = self.outstanding.newest_reported()?;
        let (sent, came) = self.outstanding.totals();
        let (waited, air_loss) = (self.outstanding.waited(), self.air_loss());
        Some(Progress { newest, sent, came, waited, air_loss, delay: self.outstanding.delay() })
    }

    /// The sequence before which a receipt tells nothing any more; `None` if it is for what was never sent.
    #[must_use]
    pub fn settled_by(&self, receipt: &Receipt<'_>) -> Option<u64> {
        let newest = self.outstanding.newest_of(receipt)?;
        Some((newest + 1).saturating_sub(receipt.settled.into()))
    }

    /// Takes a receipt, and tells each fate that is new. What repairs did not restore is told as
    /// [`Fate::Unrestored`] once; `tell` returns whether further repairs leave for it.
    pub fn take_receipt(
        &mut self,
        now: Duration,
        receipt: &Receipt<'_>,
        mut tell: impl FnMut(u64, Fate) -> bool,
    ) {
        let Some(settled) = self.settled_by(receipt) else { return };
        let Arq { outstanding, sender, nack, fates, late, strange_receipts, .. } = self;
        let makes_sense = outstanding.receipt(now, receipt, |sequence, fate| fates.push((sequence, fate)));
        *strange_receipts = if makes_sense { 0 } else { *strange_receipts + 1 };
        let queue_is_long = outstanding.queue_is_long();
        if let Some(sender) = sender {
            sender.set_air_loss(outstanding.corrected_loss());
        }
        for (sequence, fate) in fates.drain(..) {
            let may_be_restored =
                fate == Fate::Lost && !queue_is_long && outstanding.may_be_restored(sequence);
            if may_be_restored && tell(sequence, Fate::Unrestored) {
                outstanding.await_repairs(now, sequence);
                wait(late, sequence, outstanding.corrected_until(now));
                continue;
            }
            tell(sequence, fate);
            let Some(sender) = sender else { continue };
            match fate {
                Fate::Held => sender.confirmed(sequence, queue_is_long),
                Fate::Parked => sender.parked(sequence),
                Fate::Lost => sender.missing(sequence, queue_is_long),
                Fate::Late => wait(late, sequence, outstanding.corrected_until(now)),
                Fate::Unrestored | Fate::Doubted => {}
            }
        }
        let Some(srtt) = outstanding.srtt() else { return };
        if let Some(nack) = nack {
            nack.set_round_trip(srtt);
        }
        if let Some(sender) = sender {
            sender.settle_before(settled);
            sender.schedule();
            sender.take_doubted(|sequence| _ = tell(sequence, Fate::Doubted));
            sender.rearm(now, srtt);
        }
    }

    /// Queues what the peer asks for, within the bound.
    pub fn take_request(&mut self, request: &Request<'_>) {
        for truncated in request.sequences() {
            let sequence = self.outstanding.widen(truncated);
            if self.replies.len() < MAX_REPLIES && !self.replies.contains(&sequence) {
                self.replies.push_back(sequence);
            }
        }
    }

    /// The sequence to reply next. It stays so until [`Arq::finish_reply`].
    #[must_use]
    pub fn next_reply(&self) -> Option<u64> {
        self.replies.front().copied()
    }

    /// The packet of [`Arq::next_reply`] has been sent, or cannot be.
    pub fn finish_reply(&mut self) {
        self.replies.pop_front();
    }

    /// The receiver has the packet and can do nothing with it, though nothing was lost: it is sent again now.
    pub fn send_again(&mut self, sequence: u64) {
        if let Some(sender) = &mut self.sender {
            sender.wanted(sequence);
        }
    }

    /// The packet to be sent again next. It stays so until [`Arq::mark_retransmitted`] or
    /// [`Arq::skip_retransmission`].
    pub fn next_retransmission(&mut self, now: Duration) -> Option<Retransmission<'_>> {
        self.sender.as_mut()?.next_retransmission(now)
    }

    /// Lost packets that were too old to be sent again, since the last call.
    pub fn take_dropped_old(&mut self) -> u64 {
        self.sender.as_mut().map_or(0, Sender::take_dropped_old)
    }

    /// The packet of [`Arq::next_retransmission`] leaves at `now`.
    pub fn mark_retransmitted(&mut self, now: Duration, sequence: u64) {
        self.outstanding.send_again(now, sequence);
        self.skip_retransmission();
    }

    /// The packet of [`Arq::next_retransmission`] cannot be sent: as good as lost.
    pub fn skip_retransmission(&mut self) {
        if let Some(sender) = &mut self.sender {
            sender.mark_retransmitted();
        }
    }

    /// Takes what repairs did not restore in time for lost.
    fn give_up_late(&mut self, now: Duration) {
        let Arq { outstanding, sender, late, .. } = self;
        while let Some(&(sequence, until)) = late.front()
            && until <= now
        {
            late.pop_front();
            if outstanding.give_up_late(sequence)
                && let Some(sender) = sender
            {
                sender.missing(sequence, outstanding.queue_is_long());
            }
        }
        sender.iter_mut().for_each(Sender::schedule);
    }

    /// Sends the newest packet again after a silence, and tells of packets that depend on one given up.
    pub fn probe(&mut self, now: Duration, doubted: impl FnMut(u64)) {
        if self.late.front().is_some_and(|(_, until)| *until <= now) {
            self.give_up_late(now);
        }
        if let (Some(sender), Some(srtt)) = (&mut self.sender, self.outstanding.srtt()) {
            sender.probe(now, srtt);
            sender.take_doubted(doubted);
        }
    }

    /// When [`Arq::probe`] has something to do.
    #[must_use]
    pub fn probe_at(&self) -> Option<Duration> {
        let late = self.late.front().map(|(_, until)| *until);
        late.into_iter().chain(self.sender.as_ref()?.timeout()).min()
    }

    /// The receiver has lost its store: nothing that was sent is kept any more.
    pub fn clear_sent(&mut self) {
        if let Some(sender) = &mut self.sender {
            sender.clear();
        }
    }

    /// Whether something is to be sent again, asked for or lost.
    #[must_use]
    pub fn has_repair(&self) -> bool {
        !self.replies.is_empty() || self.sender.as_ref().is_some_and(Sender::has_retransmission)
    }
}

/// Waits for repairs of a sequence until then.
fn wait(late: &mut VecDeque<(u64, Duration)>, sequence: u64, until: Option<Duration>) {
    if late.len() == HISTORY {
        late.pop_front();
    }
    late.extend(until.map(|until| (sequence, until)));
}
