//! Repair by request (byte-caching paper, section VIII): packets that could not be restored are held for a
//! moment while what they need is asked for again.
//!
//! Used where the peer says that it answers requests. Bounded in number, time and tries; what is given up is
//! left to the end hosts.

use re::Form;
use std::collections::BTreeMap;
use std::time::Duration;

/// Packets held at once.
const MAX_HELD: usize = 128;
/// Sequences asked for at once.
const MAX_WANTED: usize = 256;
/// How long a packet is held.
const HOLD: Duration = Duration::from_secs(1);
/// How often one sequence is asked for.
const MAX_TRIES: u8 = 3;

/// A packet that waits for what it refers to.
#[derive(Debug)]
pub struct Held {
    /// The form of its shim.
    pub form: Form,
    /// The reduced packet's body.
    pub body: Vec<u8>,
    /// The session it came under.
    pub session: u32,
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
    held: BTreeMap<u64, Held>,
    wanted: BTreeMap<u64, Wanted>,
}

impl Repair {
    /// Holds a packet that needs the sequences `absent`; if none can be named, the packet itself is asked for.
    pub fn hold(
        &mut self,
        now: Duration,
        sequence: u64,
        form: Form,
        body: &[u8],
        session: u32,
        absent: &[u64],
    ) {
        if self.held.len() == MAX_HELD {
            self.held.pop_first();
        }
        self.held.insert(sequence, Held { form, body: body.to_vec(), session, until: now + HOLD });
        let itself = [sequence];
        for &absent in if absent.is_empty() { &itself } else { absent } {
            if self.wanted.len() < MAX_WANTED {
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

    /// Gives up what was held too long; how many.
    pub fn give_up(&mut self, now: Duration) -> usize {
        let before = self.held.len();
        self.held.retain(|_, held| held.until > now);
        if self.held.is_empty() {
            self.wanted.clear();
        }
        before - self.held.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_never_answered_is_given_up_and_bounds_hold() {
        let mut repair = Repair::default();
        let second = Duration::from_secs(1);
        for sequence in 0..1000 {
            repair.hold(Duration::ZERO, sequence, Form::Compact, b"body", 0, &[sequence + 5000]);
        }
        assert_eq!(repair.held.len(), MAX_HELD);
        assert_eq!(repair.wanted.len(), MAX_WANTED);
        assert_eq!(repair.ask(Duration::ZERO, second, 64).len(), 64);
        assert_eq!(repair.give_up(second), MAX_HELD);
        assert_eq!(repair.timeout(), None);
    }
}
