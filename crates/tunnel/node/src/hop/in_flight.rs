//! Bytes under way: what left after the newest sequence that a receipt names.

use std::collections::VecDeque;
use std::time::Duration;

/// Datagrams of which account is kept; the oldest of more count as arrived.
const MOST_DATAGRAMS: usize = 1 << 16;

/// Bytes under way.
#[derive(Debug, Default)]
pub struct InFlight {
    /// The newest sequence of each datagram, the bytes that had left with it, and when it left.
    datagrams: VecDeque<(u64, u64, Duration)>,
    sent: u64,
    settled: u64,
    settled_left_at: Duration,
}

impl InFlight {
    /// A datagram of so many bytes left, with sequences up to `newest`; one without a sequence counts with
    /// the one before it.
    pub fn push(&mut self, now: Duration, newest: Option<u64>, bytes: usize) {
        self.sent += bytes as u64;
        let Some(newest) = newest else { return };
        match self.datagrams.back_mut() {
            Some((last, sent, _)) if *last >= newest => *sent = self.sent,
            _ => {
                if self.datagrams.len() == MOST_DATAGRAMS
                    && let Some((_, sent, left_at)) = self.datagrams.pop_front()
                {
                    (self.settled, self.settled_left_at) = (sent, left_at);
                }
                self.datagrams.push_back((newest, self.sent, now));
            }
        }
    }

    /// A receipt names this sequence as its newest.
    pub fn settle(&mut self, newest: u64) {
        while let Some(&(sequence, sent, left_at)) = self.datagrams.front()
            && sequence <= newest
        {
            (self.settled, self.settled_left_at) = (sent, left_at);
            self.datagrams.pop_front();
        }
    }

    /// Everything is taken for lost.
    pub fn clear(&mut self) {
        self.datagrams.clear();
        self.settled = self.sent;
    }

    /// Whether no account is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }

    /// How many bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.sent - self.settled
    }

    /// When the newest datagram had left of which receipts tell.
    #[must_use]
    pub fn settled_left_at(&self) -> Duration {
        self.settled_left_at
    }

    /// Bytes that left with what receipts tell of.
    #[must_use]
    pub fn settled_bytes(&self) -> u64 {
        self.settled
    }
}
