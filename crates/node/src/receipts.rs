//! Receipts, both ends: what was sent and is still to be accounted for ([`Outstanding`]), and what arrived and is
//! still to be reported ([`Received`]).

use crate::delay::Delay;
use crate::recover::RECEIPT_DELAY;
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;
use wire::frame::{self, FrameType};
use wire::number::{SEQUENCE_BITS, widen};
use wire::receipt::{MAX_FRONT_BYTES, MAX_RUN_BYTES, Receipt, Runs, State};

/// How many of the newest sequences both ends keep account of: what is on its way on a path of a gigabit a second and a
/// tenth of a second, with small packets, and once more until a repair has crossed it.
pub const HISTORY: usize = 1 << 15;
/// ... and the sender of how many, however long ago they left.
const LEAST_HISTORY: usize = 4096;
/// ... and until when of others.
const FORGET_AFTER: Duration = Duration::from_secs(16);
/// A sequence reported as not held is taken for lost only when the receiver has got this many newer ones: it may have
/// been overtaken.
const REORDERING_MARGIN: u64 = 3;
/// ... or when the newest one left so much later than it: half a smoothed round trip, as RACK has a quarter of the
/// least one (RFC 8985, section 6.2). Three newer ones can take as many timeouts of TCP's to come, and until then a
/// retransmission may refer to the very packet that was lost.
const REORDERING_SHARE: u32 = 2;
/// A receipt repeats what this many receipts before it said, in case they were lost.
const REPEATS: usize = 3;
/// Of a receipt's runs so many bytes tell of the newest; what is further back takes turns in the others.
const NEWEST_RUN_BYTES: usize = MAX_RUN_BYTES * 3 / 4;
/// Bytes that may go unreported while traffic flows that could carry a receipt. Acknowledgments hardly count: nobody
/// waits to refer to them.
const PIGGYBACK_AFTER_BYTES: usize = 1024;
/// ... or the time.
const PIGGYBACK_AFTER: Duration = Duration::from_millis(20);
/// Packets after which a receipt goes out on its own.
const ALONE_AFTER_PACKETS: u32 = 64;
/// ... or the time.
const ALONE_AFTER: Duration = Duration::from_millis(250);
/// A packet that could not be restored is told sooner: the end hosts wait for it.
const MISS_TOLD_AFTER: Duration = Duration::from_millis(20);
/// A gap is told at once to a sender that fills it, give or take what a little reordering takes to end.
pub const GAP_TOLD_AFTER: Duration = Duration::from_millis(2);

/// The most bytes of a receipt's frame before its runs: type and length, then the numbers.
const FRONT_BYTES: usize = 1 + 2 + MAX_FRONT_BYTES;

/// What a receipt says of one sequence that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The receiver holds it.
    Held,
    /// It arrived and waits for what it refers to.
    Parked,
    /// The receiver does not: newer ones arrived, or it arrived itself and could not be restored.
    Lost,
}

#[derive(Debug, Clone, Copy)]
struct Sent {
    at: Duration,
    fate: Option<Fate>,
    /// It was sent again at `at`: what came after it at first tells nothing of that.
    again: bool,
}

/// The sender's account: when each recent sequence left, and what became of it.
#[derive(Debug, Default)]
pub struct Outstanding {
    sent: VecDeque<Sent>,
    next: u64,
    newest_reported: Option<u64>,
    received_before: u32,
    window_sent: u64,
    window_received: u64,
    /// What the round trips tell.
    pub delay: Delay,
}

impl Outstanding {
    /// Notes that the next sequence leaves at `now`; which it is.
    pub fn send(&mut self, now: Duration) -> u64 {
        while self.sent.len() >= LEAST_HISTORY
            && self
                .sent
                .front()
                .is_some_and(|sent| self.sent.len() == HISTORY || sent.at + FORGET_AFTER < now)
        {
            self.sent.pop_front();
        }
        self.sent.push_back(Sent { at: now, fate: None, again: false });
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

    /// Notes that `sequence` leaves once more at `now`.
    pub fn send_again(&mut self, now: Duration, sequence: u64) {
        let first = self.next - self.sent.len() as u64;
        if let Some(sent) = sequence.checked_sub(first).and_then(|index| self.sent.get_mut(index as usize)) {
            *sent = Sent { at: now, fate: None, again: true };
        }
    }

    /// The smoothed round trip.
    #[must_use]
    pub fn srtt(&self) -> Option<Duration> {
        self.delay.srtt()
    }

    /// The share of sequences lost, over about the last thousand.
    #[must_use]
    pub fn loss(&self) -> Option<f64> {
        (self.window_sent > 0)
            .then(|| (1.0 - self.window_received as f64 / self.window_sent as f64).clamp(0.0, 1.0))
    }

    /// Takes a receipt; tells `fate` of every sequence whose fate is new. A receipt for what was never sent is
    /// refused (`false`).
    pub fn receipt(&mut self, now: Duration, receipt: &Receipt<'_>, mut fate: impl FnMut(u64, Fate)) -> bool {
        let newest = self.widen(receipt.newest);
        if newest >= self.next {
            return false;
        }
        let first = self.next - self.sent.len() as u64;
        let newest_left = newest.checked_sub(first).map(|index| self.sent[index as usize].at);
        if self.newest_reported.is_none_or(|before| newest > before) {
            self.measure(now, newest, first, receipt);
        }
        let margin = self.delay.srtt().map(|srtt| srtt / REORDERING_SHARE);
        for (back, state) in receipt.runs().flat_map(|(run, state)| run.map(move |back| (back, state))) {
            let Some(sequence) = newest.checked_sub(back).filter(|&sequence| sequence >= first) else {
                break;
            };
            let Sent { at, fate: known, again } = &mut self.sent[(sequence - first) as usize];
            let overtaken_long_ago =
                || newest_left.zip(margin).is_some_and(|(newest_left, margin)| newest_left > *at + margin);
            let told = match state {
                State::Held => Fate::Held,
                State::Parked => Fate::Parked,
                // the newest one did arrive: it could not be restored, and nothing need be waited for
                State::Missing if !*again && (back == 0 || back >= REORDERING_MARGIN) => Fate::Lost,
                State::Missing if overtaken_long_ago() => Fate::Lost,
                State::Missing | State::Untold => continue,
            };
            // what was held stays so for this account; what was taken for lost may still arrive
            if *known != Some(told) && *known != Some(Fate::Held) {
                *known = Some(told);
                fate(sequence, told);
            }
        }
        true
    }

    fn measure(&mut self, now: Duration, newest: u64, first: u64, receipt: &Receipt<'_>) {
        let sent = newest.checked_sub(first).and_then(|index| self.sent.get(index as usize));
        // of what was sent twice nobody knows which arrived (Karn)
        if let Some(sent) = sent.filter(|sent| !sent.again) {
            let delay = Duration::from_micros(u64::from(receipt.delay_64us) * 64);
            let sample = now.saturating_sub(sent.at).saturating_sub(delay);
            self.delay.sample(now, sample);
        }
        let sent = newest - self.newest_reported.map_or(0, |before| before);
        let received = receipt.received.wrapping_sub(self.received_before);
        self.window_sent += sent;
        self.window_received += u64::from(received).min(sent + 64);
        if self.window_sent > 2000 {
            self.window_sent /= 2;
            self.window_received /= 2;
        }
        self.newest_reported = Some(newest);
        self.received_before = receipt.received;
    }
}

/// The receiver's account: which recent sequences it holds, and what it has reported.
#[derive(Debug)]
pub struct Received {
    held: Box<[u64; HISTORY / 64]>,
    /// What waits for what it refers to; few, and in order.
    parked: BTreeSet<u64>,
    /// One past the newest sequence received.
    next: u64,
    newest_at: Duration,
    received: u32,
    unreported: u32,
    unreported_bytes: usize,
    unreported_since: Option<Duration>,
    missed_at: Option<Duration>,
    /// The sender fills gaps: it is told of them at once, and of everything soon.
    sender_recovers: bool,
    /// When the last receipt was written.
    reported_at: Duration,
    /// The lowest sequence that came to be held after newer ones were reported, and in how many receipts more it is told.
    late: Option<(u64, usize)>,
    /// Everything before is held, or so long ago that nothing is told of it any more.
    settled: u64,
    /// Of what is before the newest runs, the last receipt told down to here; what is before that is next in turn.
    turn: u64,
    /// `next` when each of the last receipts was written, oldest first.
    reported: VecDeque<u64>,
}

impl Received {
    /// Nothing has arrived yet from a sender that fills gaps, or does not.
    #[must_use]
    pub fn new(sender_recovers: bool) -> Self {
        Received {
            held: Box::new([0; HISTORY / 64]),
            parked: BTreeSet::new(),
            next: 0,
            newest_at: Duration::ZERO,
            received: 0,
            unreported: 0,
            unreported_bytes: 0,
            unreported_since: None,
            missed_at: None,
            sender_recovers,
            reported_at: Duration::ZERO,
            late: None,
            settled: 0,
            turn: 0,
            reported: VecDeque::with_capacity(REPEATS),
        }
    }
}

impl Received {
    /// The full sequence of a truncated one.
    #[must_use]
    pub fn widen(&self, truncated: u32) -> u64 {
        widen(u64::from(truncated), SEQUENCE_BITS, self.next)
    }

    /// Notes that `sequence` arrived.
    pub fn arrive(&mut self, now: Duration, sequence: u64) {
        self.received = self.received.wrapping_add(1);
        if sequence >= self.next {
            self.reach(now, sequence);
            self.set(sequence, false);
            self.next = sequence + 1;
            self.newest_at = now;
            self.move_to_gap();
        }
    }

    /// Notes that everything before `sequence` was sent before now.
    pub fn reach(&mut self, now: Duration, sequence: u64) {
        if sequence <= self.next {
            return;
        }
        if self.sender_recovers {
            self.miss(now);
            self.unreported_since.get_or_insert(now);
        }
        if sequence - self.next >= HISTORY as u64 {
            self.held.fill(0);
        } else {
            for passed in self.next..sequence {
                self.set(passed, false);
            }
        }
        self.next = sequence;
        self.move_to_gap();
    }

    /// Notes that the packet `sequence` waits for what it refers to.
    pub fn park(&mut self, sequence: u64) {
        self.parked.insert(sequence);
    }

    /// Notes that the packet `sequence` waits no longer.
    pub fn unpark(&mut self, sequence: u64) {
        self.parked.remove(&sequence);
    }

    /// Notes that the packet `sequence` has been restored and is in the store.
    pub fn hold(&mut self, sequence: u64) {
        self.unpark(sequence);
        if sequence < self.next && self.next - sequence <= HISTORY as u64 {
            self.set(sequence, true);
            if self.reported.front().is_some_and(|&told| sequence < told) {
                let lowest = self.late.map_or(sequence, |(late, _)| late.min(sequence));
                self.late = Some((lowest, REPEATS));
            }
            self.move_to_gap();
        }
    }

    /// Whether the packet `sequence` is noted as held.
    #[must_use]
    pub fn holds(&self, sequence: u64) -> bool {
        sequence < self.next
            && self.next - sequence <= HISTORY as u64
            && self.held[(sequence / 64) as usize % (HISTORY / 64)] >> (sequence % 64) & 1 == 1
    }

    fn set(&mut self, sequence: u64, held: bool) {
        let word = &mut self.held[(sequence / 64) as usize % (HISTORY / 64)];
        let bit = 1 << (sequence % 64);
        if held { *word |= bit } else { *word &= !bit }
    }

    /// Moves on to the first gap that receipts still tell of, for a sender that fills it.
    fn move_to_gap(&mut self) {
        self.settled = self.settled.max(self.next.saturating_sub(HISTORY as u64));
        while self.settled < self.next && self.holds(self.settled) {
            self.settled += 1;
        }
        while self.parked.first().is_some_and(|&sequence| sequence < self.settled) {
            self.parked.pop_first(); // nothing is told of it any more
        }
    }

    /// Forgets what is held, with the store.
    pub fn forget(&mut self) {
        self.settled = self.next;
        self.parked.clear();
        self.held.fill(0);
    }

    /// Notes that what arrived, in a frame of so many bytes, wants a receipt.
    pub fn want_receipt(&mut self, now: Duration, frame_bytes: usize) {
        self.unreported += 1;
        self.unreported_bytes += frame_bytes;
        self.unreported_since.get_or_insert(now);
    }

    /// Notes that what arrived could not be restored.
    pub fn miss(&mut self, now: Duration) {
        self.missed_at.get_or_insert(now);
    }

    /// Whether a datagram that leaves now should carry a receipt.
    #[must_use]
    pub fn worth_carrying(&self, now: Duration) -> bool {
        self.unreported_bytes >= PIGGYBACK_AFTER_BYTES
            || self.unreported_since.is_some_and(|since| {
                now >= since + PIGGYBACK_AFTER
                    || self.sender_recovers
                        && (self.missed_at.is_some() || now >= self.reported_at + PIGGYBACK_AFTER)
            })
    }

    /// Whether there is anything that no receipt has told yet.
    #[must_use]
    pub fn has_unreported(&self) -> bool {
        self.unreported_since.is_some()
    }

    /// When a receipt goes out on its own.
    #[must_use]
    pub fn alone_at(&self) -> Option<Duration> {
        let since = self.unreported_since?;
        let (alone_after, miss_told_after) = match self.sender_recovers {
            true => (RECEIPT_DELAY, GAP_TOLD_AFTER),
            false => (ALONE_AFTER, MISS_TOLD_AFTER),
        };
        let at = if self.unreported >= ALONE_AFTER_PACKETS { since } else { since + alone_after };
        Some(self.missed_at.map_or(at, |missed| at.min(missed + miss_told_after)))
    }

    /// Down to which sequence the next receipt tells.
    fn told_from(&self) -> u64 {
        let since = self.reported.front().copied().unwrap_or(0);
        let since = self.late.map_or(since, |(late, _)| since.min(late));
        let since = if self.sender_recovers { since.min(self.settled) } else { since };
        since.max(self.next.saturating_sub(HISTORY as u64))
    }

    /// What the next receipt tells: the newest, and of what has no room beside that another part each time.
    fn runs(&mut self) -> Runs {
        let (mut runs, from) = (Runs::default(), self.told_from());
        let told = self.tell(&mut runs, self.next, from, NEWEST_RUN_BYTES);
        if told > from {
            let turn = if (from + 1..told).contains(&self.turn) { self.turn } else { told };
            runs.push(State::Untold, (told - turn) as u32, MAX_RUN_BYTES);
            self.turn = self.tell(&mut runs, turn, from, MAX_RUN_BYTES);
        }
        runs
    }

    /// Adds what is known of the sequences below `end`, newest first, down to `from` or as far as there is room: the last
    /// one told.
    fn tell(&self, runs: &mut Runs, end: u64, from: u64, bound: usize) -> u64 {
        let mut at = end;
        while at > from {
            let held = self.held_before(at, at - from);
            let (state, sequences) = match held {
                0 if self.parked.contains(&(at - 1)) => (State::Parked, 1),
                0 => (State::Missing, 1),
                held => (State::Held, held),
            };
            if !runs.push(state, sequences as u32, bound) {
                break;
            }
            at -= sequences;
        }
        at
    }

    /// How many in a row before `end` are held, at most `limit`, all within the account.
    fn held_before(&self, end: u64, limit: u64) -> u64 {
        let mut row = 0;
        while row < limit {
            let (word, bit) = ((end - 1 - row) / 64, (end - 1 - row) % 64);
            let ones = (self.held[word as usize % (HISTORY / 64)] << (63 - bit)).leading_ones();
            row += u64::from(ones);
            if u64::from(ones) <= bit {
                break;
            }
        }
        row.min(limit)
    }

    /// What the next receipt tells, if its frame takes at most `room` bytes.
    pub fn runs_within(&mut self, room: usize) -> Option<Runs> {
        if room < FRONT_BYTES {
            return None;
        }
        let turn = self.turn;
        let runs = self.runs();
        let fits = FRONT_BYTES + runs.most_bytes() <= room;
        if !fits {
            self.turn = turn;
        }
        fits.then_some(runs)
    }

    /// Appends a receipt's frame that tells these.
    pub fn write(&mut self, now: Duration, generation: u8, mut runs: Runs, out: &mut Vec<u8>) {
        let newest = self.next.saturating_sub(1);
        let delay = now.saturating_sub(self.newest_at).as_micros() / 64;
        let receipt = Receipt {
            newest: newest as u32 & 0xff_ffff,
            generation,
            received: self.received,
            delay_64us: u32::try_from(delay).unwrap_or(u32::MAX),
            settled: (newest + 1 - self.settled) as u32,
            runs: runs.finish(),
        };
        let start = out.len();
        frame::emit_last(FrameType::Receipt, out);
        receipt.emit(out);
        frame::give_length(start, out);
        if self.reported.len() == REPEATS {
            self.reported.pop_front();
        }
        self.reported.push_back(self.next);
        self.reported_at = now;
        self.late = self.late.and_then(|(late, times)| Some((late, times.checked_sub(1)?)));
        self.unreported = 0;
        self.unreported_bytes = 0;
        self.unreported_since = None;
        self.missed_at = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: Duration = Duration::from_millis(1);

    /// The body of the next receipt.
    fn written(received: &mut Received, now: Duration) -> Vec<u8> {
        let mut frame = Vec::new();
        let runs = received.runs_within(usize::MAX).unwrap();
        received.write(now, 0, runs, &mut frame);
        let frame = wire::frame::Frames::new(&frame).next().unwrap().unwrap();
        frame.body.to_vec()
    }

    fn a_receipt(newest: u32, runs: &[u8]) -> Receipt<'_> {
        Receipt { newest, generation: 0, received: 1, delay_64us: 0, settled: 0, runs }
    }

    fn runs(states: &[State]) -> Vec<u8> {
        let mut runs = Runs::default();
        states.iter().for_each(|&state| assert!(runs.push(state, 1, usize::MAX)));
        runs.finish().to_vec()
    }

    #[test]
    fn a_receipt_measures_the_round_trip_without_its_own_delay() {
        let (mut outstanding, mut received) = (Outstanding::default(), Received::new(false));
        let sequence = outstanding.send(10 * MS);
        received.arrive(20 * MS, sequence);
        received.hold(sequence);
        let body = written(&mut received, 20 * MS + Duration::from_micros(6400));
        outstanding.receipt(36 * MS + Duration::from_micros(400), &Receipt::parse(&body).unwrap(), |_, _| {});
        assert_eq!(outstanding.srtt(), Some(20 * MS));
    }

    #[test]
    fn a_receipt_for_what_was_never_sent_is_refused() {
        let mut outstanding = Outstanding::default();
        outstanding.send(MS);
        assert!(
            !outstanding.receipt(MS, &a_receipt(1, &runs(&[State::Held; 2])), |_, _| panic!(
                "nothing may be confirmed"
            ))
        );
    }

    #[test]
    fn what_left_long_before_the_newest_is_lost_though_little_followed_it() {
        let mut outstanding = Outstanding::default();
        outstanding.delay.sample(Duration::ZERO, 20 * MS);
        for at in [0, 1, 200] {
            outstanding.send(at * MS);
        }
        let mut fates = Vec::new();
        let told = runs(&[State::Held, State::Missing]);
        outstanding.receipt(22 * MS, &a_receipt(1, &told), |sequence, fate| fates.push((sequence, fate)));
        assert_eq!(fates, [(1, Fate::Held)], "1 ms is no more than reordering");
        fates.clear();
        let told = runs(&[State::Held, State::Held, State::Missing]);
        outstanding.receipt(222 * MS, &a_receipt(2, &told), |sequence, fate| fates.push((sequence, fate)));
        assert_eq!(fates, [(2, Fate::Held), (0, Fate::Lost)]);
    }

    #[test]
    fn gaps_far_behind_are_told_in_turn_until_they_are_filled() {
        let mut received = Received::new(true);
        let sequences = 3000u64;
        for sequence in 0..sequences {
            received.arrive(MS, sequence);
            if sequence % 2 == 0 {
                received.hold(sequence);
            }
        }
        let mut told = BTreeSet::new();
        for _ in 0..25 {
            let body = written(&mut received, MS);
            assert!(body.len() <= MAX_FRONT_BYTES + MAX_RUN_BYTES);
            let receipt = Receipt::parse(&body).unwrap();
            assert_eq!(u64::from(receipt.settled), sequences - 1, "the first is held, the second is not");
            for (run, state) in receipt.runs().filter(|(_, state)| *state != State::Untold) {
                let sequences = run.map(|back| sequences - 1 - back);
                sequences.clone().for_each(|sequence| assert_eq!(state == State::Held, sequence % 2 == 0));
                told.extend(sequences);
            }
        }
        assert_eq!(told.len() as u64, sequences - 1);
        (0..sequences).for_each(|sequence| received.hold(sequence));
        let body = written(&mut received, MS);
        let receipt = Receipt::parse(&body).unwrap();
        assert_eq!(receipt.settled, 0);
        assert_eq!(receipt.runs().collect::<Vec<_>>(), [(0..sequences, State::Held)]);
    }

    proptest! {
        /// Whatever is lost on the way, in either direction: what is told as held is held, what is told as lost
        /// was not held when the receipt was written, and the loss measured is the loss there was.
        #[test]
        fn fates_are_true(lost in proptest::collection::vec(any::<bool>(), 1..600),
                          receipts_lost in proptest::collection::vec(any::<bool>(), 1..100)) {
            let (mut outstanding, mut received) = (Outstanding::default(), Received::new(false));
            let mut now = Duration::ZERO;
            let mut receipts = 0;
            for &lost_here in &lost {
                now += MS;
                let sequence = outstanding.send(now);
                if lost_here { continue; }
                received.arrive(now, sequence);
                received.hold(sequence);
                received.want_receipt(now, 300);
                if received.worth_carrying(now) {
                    let body = written(&mut received, now);
                    receipts += 1;
                    if receipts_lost[receipts % receipts_lost.len()] { continue; }
                    let receipt = Receipt::parse(&body).unwrap();
                    let mut fates = Vec::new();
                    prop_assert!(outstanding.receipt(now, &receipt, |sequence, fate| fates.push((sequence, fate))));
                    for (sequence, fate) in fates {
                        prop_assert_eq!(fate == Fate::Held, !lost[sequence as usize]);
                    }
                }
            }
            if let Some(loss) = outstanding.loss() {
                let upto = outstanding.newest_reported.unwrap() as usize;
                let truth = lost[..=upto].iter().filter(|&&lost| lost).count() as f64 / (upto + 1) as f64;
                prop_assert!((loss - truth).abs() < 0.03 + 2.0 / (upto + 1) as f64, "{} {}", loss, truth);
            }
        }
    }
}
