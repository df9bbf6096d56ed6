//! A station's end: which of its gateways it is associated with.
//!
//! A station keeps its gateway as long as it answers. It does not search for a better one, since every move
//! costs the value of the cache. It moves when a message has no answer for [`MOVE_AFTER`] and another gateway
//! answers.

use crate::peer::Peer;
use std::time::Duration;

/// How long the gateway in use may be silent, beyond a few round trips, where another one is not.
const MOVE_AFTER: Duration = Duration::from_secs(2);
/// How often the gateway in use is told that it is, and so asked whether it is there.
const SAY_EVERY: Duration = Duration::from_secs(2);

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

    /// Index of the earlier peer after a change.
    pub fn follow(&mut self, now: Duration, peers: &mut [Peer]) -> Option<usize> {
        self.followed_at = now;
        let is_up = peers[self.current].reachability.is_up();
        self.down_since = if is_up { None } else { Some(self.down_since.unwrap_or(now)) };
        if is_up && self.say_at <= now {
            self.say_at = now + SAY_EVERY;
            peers[self.current].ping_at = Some(now);
        }
        if self.doubted_at(peers).is_none_or(|at| now < at) {
            return None;
        }
        let answers = |peer: &Peer| {
            peer.reachability.is_up() && peer.unanswered_since.is_none_or(|since| now < since + MOVE_AFTER)
        };
        let next = self.gateways.iter().copied().find(|gateway| answers(&peers[*gateway]))?;
        let before = std::mem::replace(&mut self.current, next);
        (self.say_at, self.down_since) = (now, None);
        if before == next {
            return None;
        }
        self.association = self.association % u8::MAX + 1;
        Some(before)
    }

    /// When the gateway in use has been silent for long enough, if it stays silent.
    fn doubted_at(&self, peers: &[Peer]) -> Option<Duration> {
        let peer = &peers[self.current];
        let srtt = peer.link.as_ref().and_then(|link| link.outstanding.srtt()).unwrap_or_default();
        let since = if peer.reachability.is_up() { peer.unanswered_since } else { self.down_since };
        since.map(|since| since + MOVE_AFTER + srtt * 3)
    }

    /// When [`follow`](Choice::follow) has something to do.
    pub fn timeout(&self, peers: &[Peer]) -> Option<Duration> {
        let is_up = peers[self.current].reachability.is_up();
        let say_at = is_up.then_some(self.say_at);
        // once it is doubted, what other gateways say decides
        let doubted_at = self.doubted_at(peers).filter(|at| *at > self.followed_at);
        [say_at, doubted_at].into_iter().flatten().min()
    }
}
