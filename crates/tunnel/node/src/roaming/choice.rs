//! A station's end: which of its gateways it is associated with.
//!
//! A station keeps its gateway as long as it answers. It does not search for a better one, since every move
//! costs the value of the cache. It moves when a message has no answer for [`MOVE_AFTER`] and another gateway
//! answers.

use std::time::Duration;

/// How long the gateway in use may be silent, beyond a few round trips, where another one is not.
const MOVE_AFTER: Duration = Duration::from_secs(2);
/// How often the gateway in use is told that it is, and so asked whether it is there.
const SAY_EVERY: Duration = Duration::from_secs(2);

/// What a station knows of one of its gateways.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    /// Whether it answers.
    pub is_up: bool,
    /// Since when a message to it has no answer.
    pub unanswered_since: Option<Duration>,
    /// The smoothed round trip; zero before it is measured.
    pub srtt: Duration,
}

/// The decision after a look at the gateways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Everything stays.
    Stay,
    /// The gateway in use is told that it is.
    Say,
    /// Another gateway is in use than this one before.
    Move(usize),
}

/// The gateways, and which one it is.
pub(crate) struct Choice {
    gateways: Vec<usize>,
    current: usize,
    /// How often it was another one, from 1 to 255 and again from 1.
    association: u8,
    say_at: Duration,
    /// Since when there is no session with the one in use.
    down_since: Option<Duration>,
    followed_at: Duration,
}

impl Choice {
    /// The first of these peers, until it turns out not to answer. `None`: there is nothing to choose.
    pub fn new(gateways: &[usize], now: Duration) -> Option<Self> {
        let current = *gateways.first().filter(|_| gateways.len() > 1)?;
        let (gateways, down_since) = (gateways.to_vec(), Some(now));
        Some(Choice { gateways, current, association: 1, say_at: now, down_since, followed_at: now })
    }

    /// Whether this peer is one of them.
    pub fn knows(&self, peer: usize) -> bool {
        self.gateways.contains(&peer)
    }

    /// The association number for this peer, or 0 without one; `None` if it is no gateway of these.
    pub fn association(&self, peer: usize) -> Option<u8> {
        self.knows(peer).then_some(if peer == self.current { self.association } else { 0 })
    }

    /// Index of the peer in use in place of this one.
    pub fn way(&self, peer: usize) -> usize {
        if self.knows(peer) { self.current } else { peer }
    }

    /// Looks at the gateways, and decides.
    pub fn follow(&mut self, now: Duration, seen: impl Fn(usize) -> Seen) -> Decision {
        self.followed_at = now;
        let is_up = seen(self.current).is_up;
        self.down_since = if is_up { None } else { Some(self.down_since.unwrap_or(now)) };
        let mut decision = Decision::Stay;
        if is_up && self.say_at <= now {
            self.say_at = now + SAY_EVERY;
            decision = Decision::Say;
        }
        if self.doubted_at(&seen).is_none_or(|at| now < at) {
            return decision;
        }
        let answers = |gateway: &usize| {
            let Seen { is_up, unanswered_since, .. } = seen(*gateway);
            is_up && unanswered_since.is_none_or(|since| now < since + MOVE_AFTER)
        };
        let Some(next) = self.gateways.iter().copied().find(answers) else { return decision };
        let before = std::mem::replace(&mut self.current, next);
        (self.say_at, self.down_since) = (now, None);
        if before == next {
            return decision;
        }
        self.association = self.association % u8::MAX + 1;
        Decision::Move(before)
    }

    /// Index of the peer in use.
    pub fn current(&self) -> usize {
        self.current
    }

    /// When the gateway in use has been silent for long enough, if it stays silent.
    fn doubted_at(&self, seen: impl Fn(usize) -> Seen) -> Option<Duration> {
        let Seen { is_up, unanswered_since, srtt } = seen(self.current);
        let since = if is_up { unanswered_since } else { self.down_since };
        since.map(|since| since + MOVE_AFTER + srtt * 3)
    }

    /// When [`follow`](Choice::follow) has something to do.
    pub fn timeout(&self, seen: impl Fn(usize) -> Seen) -> Option<Duration> {
        let say_at = seen(self.current).is_up.then_some(self.say_at);
        // once it is doubted, the word of other gateways decides
        let doubted_at = self.doubted_at(seen).filter(|at| *at > self.followed_at);
        [say_at, doubted_at].into_iter().flatten().min()
    }
}
