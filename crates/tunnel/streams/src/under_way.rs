//! Parts of streams that left in datagrams, until it is known whether these came.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;
use wire::stream::{Cause, Name};

/// More parts are not under way.
pub const MOST_PARTS: usize = 1 << 16;

/// One part in a datagram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// A connection is to begin.
    Open,
    /// Bytes.
    Data(Range<u64>),
    /// The end of the bytes.
    End,
    /// Room up to an offset.
    Credit(u64),
    /// The stream is given up.
    Abort(Cause),
    /// Records that are stored here; of all streams.
    Stored(Range<u64>),
}

#[derive(Debug)]
struct Sent {
    sequence: u64,
    name: Name,
    /// `None` once the fate is known.
    part: Option<Part>,
}

/// Parts under way, by the sequence of their datagram.
#[derive(Debug, Default)]
pub struct UnderWay {
    sent: VecDeque<Sent>,
    /// Datagrams that repairs may still restore, and when they are lost.
    doubtful: VecDeque<(Duration, u64)>,
}

impl UnderWay {
    /// A part left in the datagram of this sequence, which is the newest.
    pub fn push(&mut self, sequence: u64, name: Name, part: Part) {
        self.sent.push_back(Sent { sequence, name, part: Some(part) });
    }

    /// Whether as many are under way as may be.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.sent.len() >= MOST_PARTS
    }

    /// The sequence of the oldest datagram.
    #[must_use]
    pub fn oldest(&self) -> Option<u64> {
        self.sent.front().map(|sent| sent.sequence)
    }

    /// Takes out the parts of a datagram whose fate is known.
    pub fn settle(&mut self, sequence: u64, mut take: impl FnMut(Name, Part)) {
        let from = self.sent.partition_point(|sent| sent.sequence < sequence);
        for sent in self.sent.range_mut(from..).take_while(|sent| sent.sequence == sequence) {
            if let Some(part) = sent.part.take() {
                take(sent.name, part);
            }
        }
        while self.sent.front().is_some_and(|sent| sent.part.is_none()) {
            self.sent.pop_front();
        }
    }

    /// A datagram did not come yet, and is lost if it does not until then.
    pub fn doubt(&mut self, until: Duration, sequence: u64) {
        if self.doubtful.len() < MOST_PARTS {
            self.doubtful.push_back((until, sequence));
        }
    }

    /// The next datagram of those that is lost now.
    pub fn next_given_up(&mut self, now: Duration) -> Option<u64> {
        let &(_, sequence) = self.doubtful.front().filter(|(until, _)| *until <= now)?;
        self.doubtful.pop_front();
        Some(sequence)
    }

    /// When one is lost.
    #[must_use]
    pub fn gives_up_at(&self) -> Option<Duration> {
        self.doubtful.front().map(|(until, _)| *until)
    }
}
