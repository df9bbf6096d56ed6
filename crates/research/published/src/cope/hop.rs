//! Hop-by-hop acknowledgment and retransmission (COPE, sections 4.2 and 6.4), because the radio acknowledges
//! a coded frame for at most one of its next hops.

use std::collections::BTreeMap;
use std::time::Duration;

use super::frame;
use super::queue::Waiting;
use mesh::cope::window::Window;

/// Bits of a sequence.
pub const SEQUENCE_BITS: u32 = 16;
/// The most neighbours with known sequences.
const MOST_NEIGHBOURS: usize = 64;
/// The most unacknowledged natives; further ones are not retransmitted.
const MOST_IN_FLIGHT: usize = 1024;

/// Sent and received sequences, by neighbour.
#[derive(Debug, Default)]
pub struct Hops {
    next: BTreeMap<u16, u16>,
    in_flight: BTreeMap<(u16, u16), (Duration, Waiting)>,
    received: BTreeMap<u16, Received>,
}

#[derive(Debug)]
struct Received {
    boot: u16,
    window: Window,
    /// Since when an acknowledgment is due.
    unsaid_since: Option<Duration>,
}

/// Makes room for a neighbour: the lowest name is dropped.
fn bound<T>(map: &mut BTreeMap<u16, T>, neighbour: u16) {
    if map.len() >= MOST_NEIGHBOURS && !map.contains_key(&neighbour) {
        map.pop_first();
    }
}

impl Hops {
    /// The next sequence for a next hop. A retransmission takes a new one, because the old one may be outside
    /// the window.
    pub fn take_sequence(&mut self, next_hop: u16) -> u16 {
        bound(&mut self.next, next_hop);
        let next = self.next.entry(next_hop).or_default();
        *next = next.wrapping_add(1);
        *next
    }

    /// Notes a transmission, and the time of its retransmission.
    pub fn record_sent(&mut self, waiting: Waiting, again_at: Duration) {
        if let Some(sequence) = waiting.sequence.filter(|_| self.in_flight.len() < MOST_IN_FLIGHT) {
            self.in_flight.insert((waiting.next_hop, sequence), (again_at, waiting));
        }
    }

    /// Notes a neighbour's acknowledgment; passes the acknowledged natives to `each`.
    pub fn record_acknowledgment(&mut self, by: u16, said: Window, mut each: impl FnMut(&Waiting)) {
        let arrived: Vec<u16> = self
            .in_flight
            .range((by, 0)..=(by, u16::MAX))
            .filter(|((_, sequence), _)| said.holds((*sequence).into(), SEQUENCE_BITS) == Some(true))
            .map(|((_, sequence), _)| *sequence)
            .collect();
        for sequence in arrived {
            if let Some((_, waiting)) = self.in_flight.remove(&(by, sequence)) {
                each(&waiting);
            }
        }
    }

    /// Takes a native that is due for retransmission.
    pub fn take_due(&mut self, now: Duration) -> Option<Waiting> {
        let due = self.in_flight.iter().find(|(_, (at, _))| *at <= now).map(|(key, _)| *key)?;
        self.in_flight.remove(&due).map(|(_, waiting)| waiting)
    }

    /// Notes an arrival from a neighbour, which must be acknowledged.
    pub fn record_arrival(&mut self, from: u16, boot: u16, sequence: u16, now: Duration) {
        let number = u32::from(sequence);
        bound(&mut self.received, from);
        match self.received.get_mut(&from).filter(|received| received.boot == boot) {
            Some(received) => {
                received.unsaid_since.get_or_insert(now);
                received.window.note(number, SEQUENCE_BITS);
            }
            None => {
                let (window, unsaid_since) = (Window::new(number), Some(now));
                self.received.insert(from, Received { boot, window, unsaid_since });
            }
        }
    }

    /// Whether a neighbour has restarted since its last frame.
    pub fn is_another_boot(&self, from: u16, boot: u16) -> bool {
        self.received.get(&from).is_some_and(|received| received.boot != boot)
    }

    /// Up to `most` unsent acknowledgments.
    pub fn take_unsaid(&mut self, most: usize) -> Vec<frame::Window<u16>> {
        let unsaid = self.received.iter_mut().filter(|(_, received)| received.unsaid_since.is_some());
        unsaid
            .take(most)
            .map(|(of, received)| {
                received.unsaid_since = None;
                frame::Window { of: *of, last: received.window.last as u16, before: received.window.before }
            })
            .collect()
    }

    /// Since when the oldest one is due.
    pub fn unsaid_since(&self) -> Option<Duration> {
        self.received.values().filter_map(|received| received.unsaid_since).min()
    }

    /// Time of the next retransmission.
    pub fn next_timeout(&self) -> Option<Duration> {
        self.in_flight.values().map(|(at, _)| *at).min()
    }
}
