//! The fates of datagrams with parts of streams.

use crate::streams::{Emit, Streams};
use crate::under_way::Part;
use std::time::Duration;
use wire::stream::Name;

impl Streams {
    /// The sequence of the oldest datagram whose fate is not known.
    #[must_use]
    pub fn oldest_under_way(&self) -> Option<u64> {
        self.under_way.oldest()
    }

    /// A datagram that repairs did not restore in time. It is to be [settled](Streams::settle) as lost.
    pub fn next_given_up(&mut self, now: Duration) -> Option<u64> {
        self.under_way.next_given_up(now)
    }

    /// Takes the fate of a datagram with parts of streams.
    pub fn settle(&mut self, now: Duration, sequence: u64, came: bool, emit: Emit<'_>) {
        let Streams { under_way, streams, kept, reader, tells_stored_at, .. } = self;
        let mut touched: Vec<Name> = Vec::new();
        under_way.settle(sequence, |name, part| {
            if let Part::Stored(records) = part {
                if !came {
                    reader.tell_again(records);
                    tells_stored_at.get_or_insert(now);
                }
                return;
            }
            if let Some(stream) = streams.get_mut(&name) {
                let before = stream.outgoing.kept_bytes();
                stream.settle(now, part, came);
                *kept = *kept + stream.outgoing.kept_bytes() - before;
                if !touched.contains(&name) {
                    touched.push(name);
                }
            }
        });
        touched.into_iter().for_each(|name| self.step(now, name, emit));
    }

    /// A datagram is missing, and repairs may restore it until then.
    pub fn doubt(&mut self, until: Duration, sequence: u64) {
        self.under_way.doubt(until, sequence);
    }
}
