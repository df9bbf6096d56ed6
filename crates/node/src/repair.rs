//! Repair by request (byte-caching paper, section VIII): packets that could not be restored are held for a
//! moment while what they need is asked for again.
//!
//! Used where the peer says that it answers requests. Bounded in number, time and tries; what is given up is
//! left to the end hosts.

use crate::reduce::Shape;
use std::collections::BTreeMap;
use std::time::Duration;
use wire::frame::FrameType;

/// Packets held at once.
const MAX_HELD: usize = 512;
/// Sequences asked for at once.
const MAX_WANTED: usize = 256;
/// How long a packet is held.
const HOLD: Duration = Duration::from_secs(1);
/// How often one sequence is asked for.
const MAX_TRIES: u8 = 3;

/// For whom a packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recipient {
    /// It is delivered, having come in a datagram with this ECN codepoint.
    EndHosts {
        /// Of the outer header.
        ecn: u8,
    },
    /// It is stored and not delivered: the end hosts are to notice its loss.
    Store,
}

impl Recipient {
    /// For whom a frame of this type is, which came in a datagram with the codepoint `ecn`.
    #[must_use]
    pub fn of(frame_type: Option<FrameType>, ecn: u8) -> Self {
        match frame_type {
            Some(FrameType::StorePacket | FrameType::StoreReduced | FrameType::StoreShort) => {
                Recipient::Store
            }
            _ => Recipient::EndHosts { ecn },
        }
    }
}

/// A reduced packet as it came.
#[derive(Debug, Clone, Copy)]
pub struct Arrival<'a> {
    /// Its link sequence.
    pub sequence: u64,
    /// As what it came.
    pub shape: Shape,
    /// The reduced packet's body.
    pub body: &'a [u8],
    /// The session it came under.
    pub session: u32,
    /// For whom it is.
    pub to: Recipient,
}

/// A packet that waits for what it refers to.
#[derive(Debug)]
pub struct Held {
    /// As what it came.
    pub shape: Shape,
    /// The reduced packet's body.
    pub body: Vec<u8>,
    /// The session it came under.
    pub session: u32,
    /// For whom it is.
    pub to: Recipient,
    until: Duration,
}

#[derive(Debug)]
struct Wanted {
    ask_at: Duration,
    tries: u8,
}

/// What is held and what is asked for.
#[derive(Debug, Default)]
pub struct Repair {
    /// Whether the peer answers requests; if not, it sends again by itself what receipts show to be missing.
    asks: bool,
    held: BTreeMap<u64, Held>,
    wanted: BTreeMap<u64, Wanted>,
}

impl Repair {
    /// Holds packets, and asks for what they need if the peer answers.
    #[must_use]
    pub fn new(asks: bool) -> Self {
        Repair { asks, ..Self::default() }
    }

    /// Holds a packet that needs the sequences `absent`; if none can be named, the packet itself is asked for. Returns
    /// the sequence of the one that had to go for it, if any.
    pub fn hold(&mut self, now: Duration, arrival: &Arrival<'_>, absent: &[u64]) -> Option<u64> {
        let &Arrival { sequence, shape, body, session, to } = arrival;
        let evicted = if self.held.len() >= MAX_HELD && !self.held.contains_key(&sequence) {
            self.held.pop_first().map(|(sequence, _)| sequence)
        } else {
            None
        };
        self.held.insert(sequence, Held { shape, body: body.to_vec(), session, to, until: now + HOLD });
        let itself = [sequence];
        for &absent in if absent.is_empty() { &itself } else { absent } {
            if self.asks && self.wanted.len() < MAX_WANTED {
                self.wanted.entry(absent).or_insert(Wanted { ask_at: now, tries: 0 });
            }
        }
        evicted
    }

    /// Whether `sequence` was asked for: only then is a reply taken.
    #[must_use]
    pub fn is_wanted(&self, sequence: u64) -> bool {
        self.wanted.contains_key(&sequence)
    }

    /// `sequence` has come.
    pub fn satisfied(&mut self, sequence: u64) {
        self.wanted.remove(&sequence);
    }

    /// Takes a held packet out, lowest sequence first from `from` on.
    pub fn take_held(&mut self, from: u64) -> Option<(u64, Held)> {
        let sequence = *self.held.range(from..).next()?.0;
        self.held.remove_entry(&sequence)
    }

    /// Puts a packet back that still cannot be restored.
    pub fn put_back(&mut self, sequence: u64, held: Held) {
        self.held.insert(sequence, held);
    }

    /// Takes `sequence` out if it is held.
    pub fn remove_held(&mut self, sequence: u64) -> Option<Held> {
        self.held.remove(&sequence)
    }

    /// The sequences to ask for now, at most `limit`; asked again after `retry`.
    pub fn ask(&mut self, now: Duration, retry: Duration, limit: usize) -> Vec<u64> {
        let mut asked = Vec::new();
        self.wanted.retain(|&sequence, wanted| {
            if wanted.ask_at <= now && asked.len() < limit {
                if wanted.tries == MAX_TRIES {
                    return false;
                }
                asked.push(sequence);
                wanted.tries += 1;
                wanted.ask_at = now + retry;
            }
            true
        });
        asked
    }

    /// When to ask or to give up next.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        let ask = self.wanted.values().map(|wanted| wanted.ask_at).min();
        let give_up = self.held.values().map(|held| held.until).min();
        ask.into_iter().chain(give_up).min()
    }

    /// Gives up what was held too long, and tells which.
    pub fn give_up(&mut self, now: Duration, mut given_up: impl FnMut(u64)) {
        self.held.retain(|&sequence, held| {
            let stays = held.until > now;
            if !stays {
                given_up(sequence);
            }
            stays
        });
        if self.held.is_empty() {
            self.wanted.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_never_answered_is_given_up_and_bounds_hold() {
        let mut repair = Repair::new(true);
        let second = Duration::from_secs(1);
        for sequence in 0..1000 {
            let (shape, to) = (Shape::Short, Recipient::EndHosts { ecn: 0 });
            let arrival = Arrival { sequence, shape, body: b"body", session: 0, to };
            repair.hold(Duration::ZERO, &arrival, &[sequence + 5000]);
        }
        assert_eq!(repair.held.len(), MAX_HELD);
        assert_eq!(repair.wanted.len(), MAX_WANTED);
        assert_eq!(repair.ask(Duration::ZERO, second, 64).len(), 64);
        let mut given_up = 0;
        repair.give_up(second, |_| given_up += 1);
        assert_eq!(given_up, MAX_HELD);
        assert_eq!(repair.timeout(), None);
    }
}
