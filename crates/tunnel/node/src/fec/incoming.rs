//! The receiving side: units that arrived, and units that are restored.

use recovery::sliding::{Decoder, Restored};
use std::time::Duration;
use wire::repair::Repair;

/// Units are kept for so long after a loss or a repair: copies cost time.
const KEPT_AFTER: Duration = Duration::from_secs(10);
/// ... and so many of a young link.
const FIRST_UNITS: u32 = 256;
/// More repairs than leave while nothing is known of the air.
const FIRST_REPAIRS: u32 = 8;
/// Repairs are expected for so many units after one came.
const RESTORES_FOR: u32 = 500;
/// Repairs that a peer may send at once beyond those for its units.
const REPAIRS_AT_ONCE: u32 = 256;

/// Units that arrived.
pub struct Incoming {
    decoder: Decoder,
    /// The session under which all of them came, by our id.
    session: u32,
    /// Until when units are kept.
    kept_until: Duration,
    units: u32,
    repairs: u32,
    /// One past the newest counter.
    next: u64,
    /// Repairs that may still come: each unit allows one more.
    allowed: u32,
    /// Units that came since a repair did.
    since_repair: u32,
}

impl Incoming {
    /// Nothing came. `expects`: repairs are likely to come.
    pub fn new(expects: bool) -> Self {
        Incoming {
            decoder: Decoder::default(),
            session: 0,
            kept_until: Duration::ZERO,
            units: 0,
            repairs: 0,
            next: 0,
            allowed: REPAIRS_AT_ONCE,
            since_repair: if expects { RESTORES_FOR - FIRST_UNITS } else { RESTORES_FOR },
        }
    }

    /// Bytes of memory now.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.decoder.bytes()
    }

    /// A unit with these frames came under this number; its counter and session. Whether it is new: it was
    /// not restored before.
    pub fn take_source(
        &mut self,
        now: Duration,
        number: u64,
        (counter, session): (u64, u32),
        frames: &[u8],
    ) -> bool {
        self.units = self.units.saturating_add(1);
        self.since_repair = self.since_repair.saturating_add(1);
        self.allowed = (self.allowed + 1).min(REPAIRS_AT_ONCE);
        if counter > self.next {
            self.kept_until = now + KEPT_AFTER; // one was lost
        }
        self.next = if session == self.session { self.next.max(counter + 1) } else { counter + 1 };
        if now >= self.kept_until && self.units > FIRST_UNITS {
            if self.decoder.bytes() > 0 {
                self.decoder.clear();
            }
            return true;
        }
        self.follow(session);
        let is_new = match super::source(frames) {
            Some(source) => self.decoder.take_source(number, source),
            None => {
                self.decoder.take_empty(number);
                true
            }
        };
        self.take_others(number, frames);
        is_new
    }

    /// A unit of a group came: its numbers are no sources.
    pub fn take_of_group(&mut self, now: Duration, number: u64, frames: &[u8]) {
        if now < self.kept_until {
            self.decoder.take_empty(number);
            self.take_others(number, frames);
        }
    }

    /// The further link sequences of a unit are no sources.
    fn take_others(&mut self, number: u64, frames: &[u8]) {
        (1..super::sequences(frames)).for_each(|further| self.decoder.take_empty(number + further));
    }

    fn follow(&mut self, session: u32) {
        if session != self.session {
            self.decoder.clear();
            self.session = session;
        }
    }

    /// A repair came whose newest source has this number. Whether it says something new.
    pub fn take_repair(
        &mut self,
        now: Duration,
        (key, session): (u64, u32),
        newest: u64,
        repair: &Repair<'_>,
    ) -> bool {
        let Some(allowed) = self.allowed.checked_sub(1) else { return false };
        self.allowed = allowed;
        self.kept_until = now + KEPT_AFTER;
        self.since_repair = 0;
        self.repairs = self.repairs.saturating_add(1);
        self.follow(session);
        self.decoder.take_repair(key, repair.numbers(newest), repair.sum)
    }

    /// The next unit that is restored.
    pub fn poll_restored(&mut self) -> Option<Restored> {
        let restored = self.decoder.poll_restored()?;
        self.take_others(restored.number, &restored.bytes);
        Some(restored)
    }

    /// Lost units that are restored once other lost ones are here, in any order.
    pub fn covered(&self) -> impl Iterator<Item = u64> {
        self.decoder.covered()
    }

    /// Whether the sender may not know yet what the air loses: the link is young, and has had hardly more
    /// repairs than leave before that is known.
    #[must_use]
    pub fn is_young(&self) -> bool {
        self.units < FIRST_UNITS && self.repairs < FIRST_REPAIRS
    }

    /// Whether repairs are to be expected for what is missing: some came lately, or the link is young.
    #[must_use]
    pub fn restores(&self) -> bool {
        self.since_repair < RESTORES_FOR
    }
}
