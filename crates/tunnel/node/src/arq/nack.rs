//! Requests for packets (byte-caching paper, section VIII): packets that could not be restored are held for a
//! moment while what they need is asked for again.
//!
//! Used if the peer announces that it answers requests. Bounded in number, time and tries. Packets that are
//! given up are left to the end hosts.

use crate::elimination::reduce::Shape;
use crate::elimination::restore::NotRestored;
use re::AbsentSequences;
use std::collections::BTreeMap;
use std::time::Duration;
use wire::frame::FrameType;

/// Packets held at once: those of a fast path's round trip may all wait for one.
const MAX_HELD: usize = 4096;
/// Sequences asked for at once.
const MAX_WANTED: usize = 256;
/// How long a packet is held, at least,
const HOLD: Duration = Duration::from_secs(1);
/// ... and in round trips: its references may be lost several times over.
const HOLD_ROUND_TRIPS: u32 = 10;
/// ... and at most.
const MAX_HOLD: Duration = Duration::from_secs(8);
/// How often one sequence is asked for.
const MAX_TRIES: u8 = 3;

/// The recipient of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recipient {
    /// It is delivered, having come in a datagram with this ECN codepoint.
    EndHosts {
        /// Codepoint of the outer header.
        ecn: u8,
    },
    /// As [`Recipient::EndHosts`], but it is not stored.
    EndHostsAlone {
        /// Codepoint of the outer header.
        ecn: u8,
    },
    /// It is stored and not delivered: the end hosts are to notice its loss.
    Store,
}

impl Recipient {
    /// The recipient of a frame of this type, from a datagram with the codepoint `ecn`.
    #[must_use]
    pub fn of(frame_type: Option<FrameType>, ecn: u8) -> Self {
        match frame_type {
            Some(FrameType::StorePacket | FrameType::StoreReduced | FrameType::StoreShort) => {
                Recipient::Store
            }
            Some(frame_type) if !frame_type.is_stored() => Recipient::EndHostsAlone { ecn },
            _ => Recipient::EndHosts { ecn },
        }
    }

    /// Whether the packet is stored.
    #[must_use]
    pub fn stores(self) -> bool {
        !matches!(self, Recipient::EndHostsAlone { .. })
    }

    /// The codepoint of the datagram of a packet that is delivered.
    #[must_use]
    pub fn ecn(self) -> Option<u8> {
        match self {
            Recipient::EndHosts { ecn } | Recipient::EndHostsAlone { ecn } => Some(ecn),
            Recipient::Store => None,
        }
    }
}

/// A reduced packet as it came.
#[derive(Debug, Clone, Copy)]
pub struct Arrival<'a> {
    /// Its link sequence.
    pub sequence: u64,
    /// Its shape.
    pub shape: Shape,
    /// The reduced packet's body.
    pub body: &'a [u8],
    /// The session it came under.
    pub session: u32,
    /// Its recipient.
    pub to: Recipient,
}

/// A packet that waits for what it refers to.
#[derive(Debug)]
pub struct Held {
    /// Its shape.
    pub shape: Shape,
    /// The reduced packet's body.
    pub body: Vec<u8>,
    /// The session it came under.
    pub session: u32,
    /// Its recipient.
    pub to: Recipient,
    /// The sequences that it lacks; empty if they have no names.
    absent: AbsentSequences,
    since: Duration,
    until: Duration,
}

impl Held {
    /// How long it has waited.
    #[must_use]
    pub fn age(&self, now: Duration) -> Duration {
        now.saturating_sub(self.since)
    }
}

#[derive(Debug)]
struct Wanted {
    ask_at: Duration,
    tries: u8,
}

/// Held packets and requested packets.
#[derive(Debug, Default)]
pub struct Nack {
    /// Whether the peer answers requests; if not, it sends again by itself what receipts show to be missing.
    asks: bool,
    hold: Duration,
    held: BTreeMap<u64, Held>,
    /// Nothing that is held is given up before.
    give_up_at: Duration,
    wanted: BTreeMap<u64, Wanted>,
}

impl Nack {
    /// Bytes of memory now.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.held.values().map(|held| held.body.capacity() + 2 * size_of::<Held>()).sum()
    }

    /// Holds packets, and asks for what they need if the peer answers.
    #[must_use]
    pub fn new(asks: bool) -> Self {
        Nack { asks, hold: HOLD, ..Self::default() }
    }

    /// Sets the holding time of later packets by this round trip.
    pub fn set_round_trip(&mut self, srtt: Duration) {
        self.hold = (srtt * HOLD_ROUND_TRIPS).clamp(HOLD, MAX_HOLD);
    }

    /// Whether holding a packet may help that could not be restored for this reason: if not, it had better
    /// count as lost.
    #[must_use]
    pub fn helps(&self, why: &NotRestored) -> bool {
        self.asks || matches!(why, NotRestored::Absent(_))
    }

    /// Holds a packet that needs the sequences `absent`; if none can be named, the packet itself is asked
    /// for. Returns the sequence of the one that had to go for it, if any.
    pub fn hold(&mut self, now: Duration, arrival: &Arrival<'_>, absent: AbsentSequences) -> Option<u64> {
        let &Arrival { sequence, shape, body, session, to } = arrival;
        let evicted = if self.held.len() >= MAX_HELD && !self.held.contains_key(&sequence) {
            self.held.pop_first().map(|(sequence, _)| sequence)
        } else {
            None
        };
        let until = now + self.hold;
        self.give_up_at = if self.held.is_empty() { until } else { self.give_up_at.min(until) };
        self.held
            .insert(sequence, Held { shape, body: body.to_vec(), session, to, absent, since: now, until });
        self.want(now, sequence, absent.as_slice());
        evicted
    }

    fn want(&mut self, now: Duration, sequence: u64, absent: &[u64]) {
        let itself = [sequence];
        for &absent in if absent.is_empty() { &itself } else { absent } {
            if self.asks && self.wanted.len() < MAX_WANTED {
                self.wanted.entry(absent).or_insert(Wanted { ask_at: now, tries: 0 });
            }
        }
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

    /// Whether nothing is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Takes out the next held packet, lowest sequence first from `from` on, that may need one of those that
    /// `came`.
    pub fn take_dependent(&mut self, from: u64, came: &[u64]) -> Option<(u64, Held)> {
        let needs = |held: &Held| {
            let absent = held.absent.as_slice();
            absent.is_empty() || absent.iter().any(|absent| came.contains(absent))
        };
        let sequence = *self.held.range(from..).find(|(_, held)| needs(held))?.0;
        self.held.remove_entry(&sequence)
    }

    /// Puts a packet back that still cannot be restored, and needs the sequences `absent` now.
    pub fn put_back(&mut self, now: Duration, sequence: u64, held: Held, absent: AbsentSequences) {
        let first = if self.held.is_empty() { Duration::MAX } else { self.give_up_at };
        self.give_up_at = first.min(held.until);
        self.held.insert(sequence, Held { absent, ..held });
        self.want(now, sequence, absent.as_slice());
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
        let give_up = (!self.held.is_empty()).then_some(self.give_up_at);
        ask.into_iter().chain(give_up).min()
    }

    /// Gives up what was held too long, and tells which.
    pub fn give_up(&mut self, now: Duration, mut given_up: impl FnMut(u64)) {
        if self.give_up_at > now {
            return;
        }
        self.give_up_at = Duration::MAX;
        self.held.retain(|&sequence, held| {
            let stays = held.until > now;
            if stays {
                self.give_up_at = self.give_up_at.min(held.until);
            }
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
        let mut nack = Nack::new(true);
        let second = Duration::from_secs(1);
        let held = MAX_HELD as u64;
        for sequence in 0..held + 488 {
            let (shape, to) = (Shape::Short, Recipient::EndHosts { ecn: 0 });
            let arrival = Arrival { sequence, shape, body: b"body", session: 0, to };
            let mut absent = AbsentSequences::default();
            absent.add(sequence + 50_000);
            nack.hold(Duration::ZERO, &arrival, absent);
        }
        assert_eq!(nack.held.len(), MAX_HELD);
        assert_eq!(nack.wanted.len(), MAX_WANTED);
        assert!(nack.take_dependent(0, &[49_999, 50_000]).is_none(), "what it needs has not come");
        let (sequence, held) = nack.take_dependent(0, &[49_999, 50_700, 50_800]).unwrap();
        assert_eq!(sequence, 700);
        nack.put_back(Duration::ZERO, sequence, held, AbsentSequences::default());
        assert_eq!(nack.ask(Duration::ZERO, second, 64).len(), 64);
        let mut given_up = 0;
        nack.give_up(second, |_| given_up += 1);
        assert_eq!(given_up, MAX_HELD);
        assert_eq!(nack.timeout(), None);
    }
}
