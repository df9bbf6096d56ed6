//! The ledger: recent offered packets, against which deliveries are checked.

use crate::digest;
use foldhash::fast::FixedState;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// Time that a packet is remembered.
const MEMORY: Duration = Duration::from_secs(300);

/// Comparison of a delivered packet with the offered ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It was offered by this source, so long ago, and has not been delivered before.
    First { source: usize, delay: Duration },
    /// It was offered, and delivered before.
    Again { source: usize },
    /// No such packet was offered to this host within memory.
    Unrecognised,
}

#[derive(Debug)]
struct Entry {
    source: usize,
    to: usize,
    offered_at: Duration,
    /// Number of remembered offers of exactly these bytes.
    offered: u32,
    /// Number of their deliveries.
    delivered: u32,
}

/// The offered packets.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    entries: HashMap<u64, Entry, FixedState>,
    by_age: VecDeque<(Duration, u64)>,
}

impl Ledger {
    /// Notes that `source` offers `packet` for the host `to`.
    pub fn offer(&mut self, now: Duration, source: usize, to: usize, packet: &[u8]) {
        self.forget(now);
        let key = digest(packet);
        let new = Entry { source, to, offered_at: now, offered: 0, delivered: 0 };
        let entry = self.entries.entry(key).or_insert(new);
        if entry.offered == entry.delivered {
            entry.offered_at = now;
        }
        entry.offered += 1;
        self.by_age.push_back((now, key));
    }

    /// Checks a packet that was delivered at `host`.
    pub fn deliver(&mut self, now: Duration, host: usize, packet: &[u8]) -> Verdict {
        match self.entries.get_mut(&digest(packet)).filter(|entry| entry.to == host) {
            None => Verdict::Unrecognised,
            Some(entry) if entry.delivered == entry.offered => Verdict::Again { source: entry.source },
            Some(entry) => {
                entry.delivered += 1;
                Verdict::First { source: entry.source, delay: now.saturating_sub(entry.offered_at) }
            }
        }
    }

    /// How many packets are remembered.
    pub fn len(&self) -> usize {
        self.by_age.len()
    }

    fn forget(&mut self, now: Duration) {
        while let Some(&(offered_at, key)) = self.by_age.front()
            && offered_at + MEMORY < now
        {
            self.by_age.pop_front();
            if let std::collections::hash_map::Entry::Occupied(mut place) = self.entries.entry(key) {
                let entry = place.get_mut();
                entry.offered -= 1;
                entry.delivered = entry.delivered.saturating_sub(1);
                if entry.offered == 0 {
                    place.remove();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_packet_is_first_once_for_each_time_it_was_offered_and_only_at_its_host() {
        let mut ledger = Ledger::default();
        ledger.offer(SECOND, 7, 1, b"packet");
        assert_eq!(ledger.deliver(SECOND, 0, b"packet"), Verdict::Unrecognised);
        assert_eq!(ledger.deliver(SECOND, 1, b"Packet"), Verdict::Unrecognised);
        assert_eq!(ledger.deliver(3 * SECOND, 1, b"packet"), Verdict::First { source: 7, delay: 2 * SECOND });
        assert_eq!(ledger.deliver(3 * SECOND, 1, b"packet"), Verdict::Again { source: 7 });
        ledger.offer(4 * SECOND, 7, 1, b"packet");
        assert_eq!(ledger.deliver(5 * SECOND, 1, b"packet"), Verdict::First { source: 7, delay: SECOND });
    }

    #[test]
    fn what_is_old_is_forgotten() {
        let mut ledger = Ledger::default();
        for second in 0..1000u32 {
            ledger.offer(second * SECOND, 0, 1, &second.to_be_bytes());
        }
        assert!(ledger.len() <= 302 && ledger.entries.len() <= 302);
        assert_eq!(ledger.deliver(1000 * SECOND, 1, &5u32.to_be_bytes()), Verdict::Unrecognised);
    }
}
