//! The receiver's account: received sequences without a report.

use super::HISTORY;
use super::RECEIPT_DELAY;
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;
use wire::frame::{self, FrameType};
use wire::number::{SEQUENCE_BITS, widen};
use wire::receipt::{MAX_FRONT_BYTES, MAX_RUN_BYTES, Receipt, Runs, State};

/// A receipt repeats what this many receipts before it said, in case they were lost.
const REPEATS: usize = 3;
/// Bytes for the newest of a receipt's runs. Older runs take turns in the rest.
const NEWEST_RUN_BYTES: usize = MAX_RUN_BYTES * 3 / 4;
/// Bytes that may go unreported while traffic flows that could carry a receipt. Acknowledgments hardly count:
/// nobody waits to refer to them.
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

/// The receiver's account: which recent sequences it holds, and what it has reported.
#[derive(Debug)]
pub struct Received {
    held: Box<[u64; HISTORY / 64]>,
    /// Sequences that wait for a referenced packet; few, in order.
    parked: BTreeSet<u64>,
    /// Sequences that are restored once others are here, and since when; few, in order.
    covered: Vec<(u64, Duration)>,
    /// Those that are covered for longer than that are told as missing.
    covered_since: Duration,
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
    /// The lowest sequence that came to be held after newer ones were reported, and in how many receipts more
    /// it is told.
    late: Option<(u64, usize)>,
    /// Everything before is held, or so long ago that nothing is told of it any more.
    settled: u64,
    /// Of the sequences before the newest runs, the last receipt listed those down to here. Earlier ones are
    /// next in turn.
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
            covered: Vec::new(),
            covered_since: Duration::ZERO,
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

    /// The full sequence of a truncated one.
    #[must_use]
    pub fn widen(&self, truncated: u32) -> u64 {
        widen(u64::from(truncated), SEQUENCE_BITS, self.next)
    }

    /// Notes that `sequence` arrived.
    pub fn arrive(&mut self, now: Duration, sequence: u64) {
        self.received = self.received.wrapping_add(1);
        self.restore(now, sequence);
    }

    /// Notes that `sequence` is here, though it did not arrive.
    pub fn restore(&mut self, now: Duration, sequence: u64) {
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

    /// Says which sequences are restored once others are here. They need not be sent again for so long: the
    /// others may never come.
    pub fn cover(&mut self, now: Duration, sequences: impl Iterator<Item = u64>, patience: Duration) {
        let known = self.covered.len();
        for sequence in sequences {
            let before = self.covered[..known].binary_search_by_key(&sequence, |covered| covered.0);
            let since = before.map_or(now, |at| self.covered[at].1);
            self.covered.push((sequence, since));
        }
        self.covered.drain(..known);
        self.covered.sort_unstable();
        self.covered_since = now.saturating_sub(patience);
    }

    fn is_covered(&self, sequence: u64) -> bool {
        let at = self.covered.binary_search_by_key(&sequence, |covered| covered.0);
        at.is_ok_and(|at| self.covered[at].1 >= self.covered_since)
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

    /// Moves on to the first gap that receipts still list, for a sender that fills it.
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

    /// The runs of the next receipt: the newest, and a further part of the rest each time.
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

    /// Adds what is known of the sequences below `end`, newest first, down to `from` or as far as there is
    /// room: the last one told.
    fn tell(&self, runs: &mut Runs, end: u64, from: u64, bound: usize) -> u64 {
        let mut at = end;
        while at > from {
            let held = self.held_before(at, at - from);
            let (state, sequences) = match held {
                0 if self.parked.contains(&(at - 1)) || self.is_covered(at - 1) => (State::Parked, 1),
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

    /// The runs of the next receipt, if its frame takes at most `room` bytes.
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
