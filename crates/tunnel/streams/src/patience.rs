//! Waiting streams: for memory for their hosts' bytes, and for answers of the far end.

use crate::stream::Phase;
use crate::streams::{Emit, Streams};
use std::time::Duration;
use wire::stream::{Cause, Name};

/// Hosts' bytes are taken again when this share of the memory for them is free ...
const FREE_SHARE: usize = 8;
/// ... or so many bytes.
const FREE_BYTES: usize = 16 << 10;

impl Streams {
    /// A stream waits for its turn if memory alone keeps its host's bytes out.
    pub(crate) fn note_starving(&mut self, name: Name) {
        let Some(stream) = self.streams.get_mut(&name) else { return };
        let waits = stream.connection.as_ref().is_some_and(|connection| connection.readable() > 0);
        if waits && stream.outgoing.wanted_bytes() > 0 && !stream.starves {
            stream.starves = true;
            self.starving.push_back(name);
        }
    }

    /// Lets the next stream take bytes of its host, if there is memory for them.
    pub(crate) fn feed_next(&mut self, now: Duration) {
        let half = self.settings.memory_bytes / 2;
        let is_free = half.saturating_sub(self.kept) >= FREE_BYTES.min(half / FREE_SHARE);
        while is_free && let Some(name) = self.starving.pop_front() {
            if let Some(stream) = self.streams.get_mut(&name) {
                stream.starves = false;
                self.step_soon(now, name);
                break;
            }
        }
    }

    /// The far end knows of a stream, and did not answer in time: it has no room to remember the stream.
    pub(crate) fn give_up_unanswered(&mut self, now: Duration, name: Name, emit: Emit<'_>) {
        let Some(stream) = self.streams.get_mut(&name) else { return };
        let (flow, is_held) = (stream.flow, matches!(stream.phase, Phase::Asked(_)));
        if let Some(connection) = &mut stream.connection {
            connection.abort();
            connection.poll(now, &mut |packet| emit(packet));
        }
        self.counters.aborted += u64::from(!is_held);
        self.give_up(now, name, Some(Cause::Reset));
        if is_held {
            self.pass(flow);
        }
    }
}
