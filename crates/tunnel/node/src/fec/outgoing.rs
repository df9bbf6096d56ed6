//! The sending side: sources that left, and when a repair is due.

use super::redundancy::{covers_end, share};
use recovery::sliding::Encoder;
use std::time::Duration;
use wire::frame::{self, FrameType};
use wire::repair::Repair;

/// A burst has ended when nothing followed for so many times as packets are usually apart ...
const END_AFTER: u32 = 3;
/// ... at least this long, and at most.
const LEAST_END: Duration = Duration::from_millis(2);
const MOST_END: Duration = Duration::from_millis(6);
/// Older sources are left to ARQ, but for the newest few.
const MAX_AGE: Duration = Duration::from_millis(120);
const LEAST_SOURCES: usize = 8;
/// The most sources in a repair.
const MAX_SOURCES: usize = 128;

/// Sources that left, and repairs that are due.
#[derive(Default)]
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
    /// The usual time between sources.
    gap: Duration,
}

impl Outgoing {
    /// Says what share of units the air loses.
    pub fn set_loss(&mut self, loss: f64) {
        self.loss = loss;
        if !self.is_on() && self.unrepaired > 0 {
            self.clear();
        }
    }

    /// Whether repairs leave.
    #[must_use]
    pub fn is_on(&self) -> bool {
        share(self.loss) > 0.0
    }

    /// A unit left with these frames under this number.
    pub fn note_source(&mut self, now: Duration, number: u64, session: u32, frames: &[u8]) {
        if !self.is_on() {
            return;
        }
        let Some(source) = super::source(frames) else { return };
        if session != self.session {
            self.clear();
            self.session = session;
        }
        if let Some(before) = self.encoder.last_left_at() {
            self.gap = (self.gap * 7 + now.saturating_sub(before).min(MOST_END)) / 8;
        }
        self.encoder.push(now, number, source);
        self.unrepaired += 1;
        self.owed += share(self.loss);
    }

    /// The receiver needs nothing before this sequence.
    pub fn forget_before(&mut self, sequence: u64) {
        self.encoder.forget_before(sequence);
    }

    /// The receiver holds the packet with this sequence. If its source is unknown there, it was sent again,
    /// and repairs would restore it in vain.
    pub fn forget(&mut self, sequence: u64) {
        self.encoder.forget(sequence);
    }

    /// When the burst ends, unless something follows.
    fn end_at(&self) -> Option<Duration> {
        let last = self.encoder.last_left_at().filter(|_| self.unrepaired > 0 && covers_end(self.loss))?;
        Some(last + (self.gap * END_AFTER).clamp(LEAST_END, MOST_END))
    }

    /// When a repair is due.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        if self.owed >= 1.0 && !self.encoder.is_empty() { Some(Duration::ZERO) } else { self.end_at() }
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
        Some((self.encoder.newest()?, self.session))
    }

    /// Writes the repair that is due as a last frame of at most `room` bytes; `key`: the counter of its unit.
    /// Whether there was room.
    pub fn write(&mut self, now: Duration, key: u64, room: usize, out: &mut Vec<u8>) -> bool {
        self.owed = (self.owed - 1.0).max(0.0);
        if self.owed < 1.0 {
            self.unrepaired = 0;
        }
        let young = self.encoder.left_since(now.saturating_sub(MAX_AGE));
        let mut most = young.max(LEAST_SOURCES).min(MAX_SOURCES).min(self.encoder.len());
        let bytes = |most| 1 + Repair::front_bytes(self.encoder.numbers(most)) + self.encoder.longest(most);
        while most > 0 && bytes(most) > room {
            most -= 1;
        }
        if most == 0 {
            return false;
        }
        frame::emit_last(FrameType::Repair, out);
        Repair::emit_front(self.encoder.numbers(most), out);
        self.encoder.write_sum(key, most, out);
        true
    }

    /// Forgets all sources.
    pub fn clear(&mut self) {
        self.encoder.clear();
        (self.owed, self.unrepaired) = (0.0, 0);
    }
}
