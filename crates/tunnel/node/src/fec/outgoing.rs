//! The sending side: sources that left, and when a repair is due.

use super::redundancy::{MOST_LOSS_AGAIN, covers_end, for_awaited, for_burst, for_lost, share, share_again};
use crate::path::ecn::NOT_ECT;
use crate::path::encapsulation::DSCP;
use recovery::sliding::Encoder;
use std::time::Duration;
use wire::frame::{self, FrameType};
use wire::repair::{MAX_SPAN, Repair};

/// A burst has ended when nothing followed for so many times as packets are usually apart ...
const END_AFTER: u32 = 3;
/// ... at least this long, and at most.
const LEAST_END: Duration = Duration::from_millis(2);
const MOST_END: Duration = Duration::from_millis(6);
/// Older sources are left to ARQ, but for the newest few.
const MAX_AGE: Duration = Duration::from_millis(120);
const LEAST_SOURCES: usize = 8;
/// A burst of so few sources, of so few bytes each, is sparse traffic, such as a call: its repairs hardly
/// count.
const SPARSE: usize = 3;
const SPARSE_BYTES: usize = 400;
/// Repairs beyond the share, for each source, and at once.
const SPARE: f64 = 0.01;
const MOST_SPARE: f64 = 32.0;
/// ... and with the first loss.
const SPARE_AT_LOSS: f64 = 32.0;
/// Repairs of what was not restored, at once.
const MOST_AGAIN: f64 = 64.0;
/// Spare repairs are counted in units of so many bytes.
const FULL_BYTES: f64 = 1400.0;
/// Repairs while nothing is known of the air, and the loss that is assumed for them.
const FIRST_SPARE: f64 = 6.0;
const ASSUMED_LOSS: f64 = 0.2;
/// Units after which the loss of the air is known.
const KNOWN_UNITS: u64 = 200;
/// The most sources in a repair.
const MAX_SOURCES: usize = MAX_SPAN as usize;

/// Sources that left, and repairs that are due.
pub struct Outgoing {
    encoder: Encoder,
    /// The session under which all of them left, by our id.
    session: u32,
    /// The share of units that the air loses.
    loss: f64,
    /// Repairs that are due; less than one between them.
    owed: f64,
    /// Sources since the last repair.
    unrepaired: usize,
    /// Sources of the burst, and repairs for them.
    burst: (usize, usize),
    /// Bytes of the burst's longest source.
    burst_bytes: usize,
    /// Repairs that may leave beyond the share.
    spare: f64,
    /// Whether enough is known of the air.
    is_known: bool,
    /// The usual time between sources.
    gap: Duration,
    /// Traffic class of the newest source.
    class: u8,
    /// Sources that were not restored, newest first, and repairs of them alone.
    again: (Vec<u64>, usize),
    /// Repairs of such sources that may leave.
    again_spare: f64,
    /// The first source that somebody waits for, and repairs of it and all newer ones that are due.
    awaited: (u64, usize),
}

impl Default for Outgoing {
    fn default() -> Self {
        Outgoing {
            encoder: Encoder::default(),
            session: 0,
            loss: ASSUMED_LOSS,
            owed: 0.0,
            unrepaired: 0,
            burst: (0, 0),
            burst_bytes: 0,
            spare: FIRST_SPARE,
            is_known: false,
            gap: Duration::ZERO,
            class: NOT_ECT,
            again: (Vec::new(), 0),
            again_spare: MOST_AGAIN,
            awaited: (0, 0),
        }
    }
}

impl Outgoing {
    /// Frees buffers that nobody needed since the last call.
    pub fn trim(&mut self) {
        self.encoder.trim();
    }

    /// Bytes of memory now.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.encoder.memory_bytes()
    }

    /// Says what share of the air's units was lost, of so many.
    pub fn set_loss(&mut self, loss: f64, units: u64) {
        let is_lossy = share(loss) > 0.0;
        if !self.is_known && is_lossy {
            self.spare += SPARE_AT_LOSS;
        }
        self.is_known |= units >= KNOWN_UNITS || is_lossy;
        if self.is_known {
            self.loss = loss;
        }
        if !self.is_on() && !self.encoder.is_empty() {
            self.clear();
        }
    }

    /// Whether repairs leave: for the first units, of whose losses nothing is known, a few do.
    #[must_use]
    pub fn is_on(&self) -> bool {
        if self.is_known { share(self.loss) > 0.0 } else { self.spare >= 1.0 }
    }

    /// A unit left with these frames under this number, in a datagram of this traffic class.
    pub fn note_source(&mut self, now: Duration, number: u64, session: u32, class: u8, frames: &[u8]) {
        if !self.is_on() {
            return;
        }
        // numbers rise, but for those of a packet that had its sequence before
        let rises = self.encoder.newest().is_none_or(|newest| newest < number);
        let Some(source) = super::source(frames).filter(|_| rises) else { return };
        if session != self.session {
            self.clear();
            self.session = session;
        }
        if let Some(before) = self.encoder.last_left_at() {
            let gap = now.saturating_sub(before);
            self.gap = (self.gap * 7 + gap.min(MOST_END)) / 8;
            if gap > MOST_END {
                (self.burst, self.burst_bytes) = ((0, 0), 0);
            }
        }
        self.encoder.push(now, number, source);
        self.again.0.retain(|&number| self.encoder.has(number));
        self.class = class;
        self.unrepaired += 1;
        self.burst.0 += 1;
        self.burst_bytes = self.burst_bytes.max(source.len());
        if self.is_known {
            self.owed += share(self.loss);
            self.spare = (self.spare + SPARE).min(MOST_SPARE);
            self.again_spare = (self.again_spare + share_again(self.loss)).min(MOST_AGAIN);
        }
    }

    /// A unit left under this number that has no repairs.
    pub fn note_unrepaired(&mut self, number: u64) {
        self.encoder.skip(number);
    }

    /// Somebody waits for the sources from this number on, and nothing follows them: they have repairs now,
    /// of `most` bytes at most. How many bytes that is.
    pub fn repair_awaited(&mut self, from: u64, most: usize) -> usize {
        let sources = self.encoder.len_from(from).min(MAX_SOURCES);
        let bytes = self.encoder.longest(sources);
        if sources == 0 || !covers_end(self.loss) {
            return 0;
        }
        let mut repairs = for_awaited(self.loss, sources).min(most / bytes);
        if !self.is_known {
            repairs = repairs.min(self.spare as usize);
            self.spare -= repairs as f64;
        }
        if repairs > 0 {
            (self.unrepaired, self.owed) = (0, 0.0);
        }
        self.awaited = (from, repairs);
        repairs * bytes
    }

    /// The receiver needs nothing before this sequence.
    pub fn forget_before(&mut self, sequence: u64) {
        self.encoder.forget_before(sequence);
        self.again.0.retain(|&number| number >= sequence);
    }

    /// The receiver holds the packet with this sequence. If its source is unknown there, it was sent again,
    /// and repairs would restore it in vain.
    pub fn forget(&mut self, sequence: u64) {
        self.encoder.forget(sequence);
        self.again.0.retain(|&number| number != sequence);
    }

    /// Whether repairs of what was not restored may leave.
    #[must_use]
    pub fn may_repair_again(&self) -> bool {
        self.is_on() && self.loss <= MOST_LOSS_AGAIN && self.again_spare >= 1.0
    }

    /// The receiver lacks this source, though its repairs have come. Repairs of such sources alone leave
    /// now, if the source is still here. Whether it is.
    pub fn repair_again(&mut self, number: u64) -> bool {
        if !self.may_repair_again() || !self.encoder.has(number) {
            return false;
        }
        let (again, repairs) = &mut self.again;
        if again.is_empty() {
            *repairs = 0;
        }
        let at = again.partition_point(|&newer| newer > number);
        again.insert(at, number);
        again.truncate(again.partition_point(|&older| older + MAX_SPAN > again[0]));
        again.contains(&number)
    }

    fn is_again_due(&self) -> bool {
        let (again, repairs) = &self.again;
        !again.is_empty() && *repairs < for_lost(self.loss, again.len())
    }

    fn is_sparse(&self) -> bool {
        self.is_known && self.burst.0 <= SPARSE && self.burst_bytes <= SPARSE_BYTES
    }

    /// When the burst ends, unless something follows, if it is to have a repair then.
    fn end_at(&self) -> Option<Duration> {
        let is_covered =
            self.unrepaired > 0 && covers_end(self.loss) && (self.is_sparse() || self.spare >= 1.0);
        let last = self.encoder.last_left_at().filter(|_| is_covered)?;
        Some(last + (self.gap * END_AFTER).clamp(LEAST_END, MOST_END))
    }

    fn has_ended(&self, now: Duration) -> bool {
        self.end_at().is_some_and(|at| at <= now)
    }

    /// When a repair is due.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        let has_due = self.awaited.1 > 0 || self.owed >= 1.0;
        let is_due = self.is_again_due() || has_due && !self.encoder.is_empty();
        if is_due { Some(Duration::ZERO) } else { self.end_at() }
    }

    /// Whether one is.
    #[must_use]
    pub fn is_due(&self, now: Duration) -> bool {
        self.timeout().is_some_and(|at| at <= now)
    }

    /// The number of the newest source, which the next repair has in front; the session in which it is to
    /// leave. `None` without a source.
    #[must_use]
    pub fn newest(&self) -> Option<(u64, u32)> {
        let newest = if self.is_again_due() { self.again.0.first().copied() } else { self.encoder.newest() };
        Some((newest?, self.session))
    }

    /// The traffic class of a repair's datagram: the DSCP of the newest source, not ECN-capable. A mark would
    /// reach packets of datagrams that were not marked.
    #[must_use]
    pub fn class(&self) -> u8 {
        self.class & DSCP
    }

    /// Writes the repair that is due as a last frame of at most `room` bytes; `key`: the counter of its unit.
    /// Whether there was room.
    pub fn write(&mut self, now: Duration, key: u64, room: usize, out: &mut Vec<u8>) -> bool {
        if self.is_again_due() {
            return self.write_again(key, room, out);
        }
        if self.awaited.1 > 0 {
            self.awaited.1 -= 1;
            let sources = self.encoder.len_from(self.awaited.0).min(MAX_SOURCES);
            return self.write_newest(key, sources, room, out);
        }
        self.burst.1 += 1;
        if self.owed >= 1.0 {
            self.owed -= 1.0;
        } else if !self.is_sparse() {
            self.spare -= self.encoder.longest(MAX_SOURCES) as f64 / FULL_BYTES;
        }
        let missing = for_burst(self.loss, self.burst.0) - self.burst.1 as f64;
        if missing < 1.0 && self.has_ended(now) {
            (self.unrepaired, self.owed) = (0, 0.0);
        }
        let young = self.encoder.left_since(now.saturating_sub(MAX_AGE));
        let most = young.clamp(LEAST_SOURCES, MAX_SOURCES).min(self.encoder.len());
        self.write_newest(key, most, room, out)
    }

    /// Writes a repair of the newest sources, `most` at the most. Whether there was room for one.
    fn write_newest(&self, key: u64, mut most: usize, room: usize, out: &mut Vec<u8>) -> bool {
        let named = self.most_within(most, room, |most| Repair::front_bytes(self.encoder.numbers(most)));
        let whole = self.most_within(most.min(self.encoder.complete()), room, |_| 1);
        most = named.max(whole);
        let Some((newest, oldest)) = self.encoder.newest().zip(self.encoder.numbers(most).last()) else {
            return false;
        };
        frame::emit_last(FrameType::Repair, out);
        if named >= whole {
            Repair::emit_front(self.encoder.numbers(most), out);
        } else {
            Repair::emit_span(newest, oldest, out);
        }
        self.encoder.write_sum(key, most, out);
        true
    }

    /// Writes a repair of sources that were not restored. Those that find no room are left to ARQ.
    fn write_again(&mut self, key: u64, room: usize, out: &mut Vec<u8>) -> bool {
        let (again, repairs) = &mut self.again;
        *repairs += 1;
        self.again_spare -= 1.0;
        let is_last = *repairs >= for_lost(self.loss, again.len());
        let fits = 1 + Repair::front_bytes(again.iter().copied()) + self.encoder.longest_of(again) <= room;
        if fits {
            frame::emit_last(FrameType::Repair, out);
            Repair::emit_front(again.iter().copied(), out);
            self.encoder.write_sum_of(key, again, out);
        }
        if is_last || !fits {
            again.clear();
        }
        fits
    }

    /// How many of the newest sources, `most` at most, find room in a repair with such a front.
    fn most_within(&self, mut most: usize, room: usize, front_bytes: impl Fn(usize) -> usize) -> usize {
        while most > 0 && 1 + front_bytes(most) + self.encoder.longest(most) > room {
            most -= 1;
        }
        most
    }

    /// Forgets all sources.
    pub fn clear(&mut self) {
        self.encoder.clear();
        (self.owed, self.unrepaired, self.burst, self.burst_bytes) = (0.0, 0, (0, 0), 0);
        self.awaited.1 = 0;
        self.again.0.clear();
    }
}
