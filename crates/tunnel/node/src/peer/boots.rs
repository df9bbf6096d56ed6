//! The boots under which this node and a peer share a link.
//!
//! A link is void when either end has lost its state of it. An end that started anew says so by another boot.
//! An end can lose the state otherwise, too: two machines have the peer's key in turn (a standby, a cloned
//! disk), or an image of the peer is restored. This node then says another boot of its own to that peer, as
//! if it had started anew, and both ends begin a new link.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

/// Boots of the peer that are remembered: more machines do not share a key in turn.
const MAX_PAST: usize = 16;

/// Addresses that are remembered, and for how long.
const MAX_PLACES: usize = 4;
const LATELY: Duration = Duration::from_secs(600);

/// Own boots towards one peer, and the peer's past boots.
pub(crate) struct Boots {
    base: u64,
    /// Own boot that handshakes say now, as a distance from the base.
    said: u64,
    /// The highest own boot that a handshake may have said.
    highest: u64,
    /// The highest own boot of a link.
    used: Option<u64>,
    /// Boots of the peer with which there were links.
    past: VecDeque<u64>,
}

/// The consequence of a session for the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begin {
    /// A new link begins, at both ends.
    Anew,
    /// A new link begins here. The peer may go on with an earlier one, so another handshake follows at once.
    AnewAndTellAgain,
}

impl Boots {
    /// None but this boot of the node.
    pub fn new(base: u64) -> Self {
        Boots { base, said: 0, highest: 0, used: None, past: VecDeque::new() }
    }

    /// The own boot that handshakes say now.
    pub fn said(&self) -> u64 {
        self.base.wrapping_add(self.said)
    }

    /// The own boot for the answer to an initiation with this boot of the peer, which has no link here now.
    ///
    /// The peer has no state under an own boot without a link, or under any if it never had a link here.
    /// Then the answer says the same as a handshake that this node begins at that time. So both sessions are
    /// of one link, whichever is used first.
    pub fn for_answer(&mut self, peer: u64) -> u64 {
        let may_have_state = self.knows(peer) || self.past.len() == MAX_PAST;
        let has_link = self.used.is_some_and(|used| self.said <= used);
        if may_have_state && has_link { self.fresh() } else { self.said() }
    }

    /// An own boot that no handshake has said to the peer.
    fn fresh(&mut self) -> u64 {
        self.highest += 1;
        self.base.wrapping_add(self.highest)
    }

    /// This node has lost what it shared with the peer: handshakes say another boot from now on.
    pub fn lose(&mut self) -> u64 {
        let fresh = self.fresh();
        self.said = self.highest;
        fresh
    }

    /// Whether there was a link with this boot of the peer.
    pub fn knows(&self, peer: u64) -> bool {
        self.past.contains(&peer)
    }

    /// A session in which the two said these boots has no link yet.
    pub fn begin(&mut self, own: u64, peer: u64) -> Begin {
        let own = own.wrapping_sub(self.base);
        // the peer may have state under an own boot of an earlier link, if there was one with that boot of it
        let is_void = self.used.is_some_and(|used| own <= used) && self.knows(peer);
        self.used = self.used.max(Some(own));
        self.said = self.said.max(own);
        if !self.knows(peer) {
            if self.past.len() == MAX_PAST {
                self.past.pop_front();
            }
            self.past.push_back(peer);
        }
        if is_void {
            self.lose();
            return Begin::AnewAndTellAgain;
        }
        Begin::Anew
    }
}

/// Addresses at which links with a peer began lately.
#[derive(Default)]
pub(crate) struct Places(VecDeque<(Duration, SocketAddr)>);

impl Places {
    /// A link begins at `now`. Whether the last one began elsewhere, and an earlier one here.
    pub fn begin(&mut self, now: Duration, at: Option<SocketAddr>) -> bool {
        let Some(at) = at else { return false };
        self.0.retain(|(then, _)| now < *then + LATELY);
        let is_back = self.0.back().is_some_and(|(_, last)| *last != at);
        let is_back = is_back && self.0.iter().any(|(_, place)| *place == at);
        if self.0.len() == MAX_PLACES {
            self.0.pop_front();
        }
        self.0.push_back((now, at));
        is_back
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_begins_where_one_began_before_the_last_is_a_return() {
        let mut places = Places::default();
        let [home, away] = ["192.0.2.1:1", "192.0.2.2:1"].map(|it| Some(it.parse().unwrap()));
        let minute = Duration::from_secs(60);
        assert!(!places.begin(minute, None));
        assert!(!places.begin(minute, home));
        assert!(!places.begin(minute, home), "it starts anew");
        assert!(!places.begin(2 * minute, away), "it moved");
        assert!(places.begin(3 * minute, home));
        assert!(!places.begin(30 * minute, away), "long ago");
        assert!(!places.begin(45 * minute, home));
    }

    #[test]
    fn a_peer_that_starts_anew_begins_a_link_at_once() {
        let mut boots = Boots::new(u64::MAX);
        assert_eq!(boots.begin(u64::MAX, 7), Begin::Anew);
        assert_eq!(boots.for_answer(8), u64::MAX);
        assert_eq!(boots.begin(u64::MAX, 8), Begin::Anew, "it can have nothing of this node");
        assert_eq!(boots.for_answer(7), 0, "behind the highest number");
        assert_eq!(boots.said(), u64::MAX);
    }

    #[test]
    fn an_answer_says_what_a_handshake_says_that_crosses_it() {
        let mut boots = Boots::new(100);
        assert_eq!(boots.begin(100, 7), Begin::Anew);
        assert_eq!(boots.lose(), 101);
        for peer in [7, 8] {
            assert_eq!(boots.for_answer(peer), boots.said(), "no link is with 101");
        }
        assert_eq!(boots.begin(101, 8), Begin::Anew);
        assert_eq!(boots.for_answer(7), 102, "7 may have a link with 101");
        for peer in 9..9 + MAX_PAST as u64 {
            boots.begin(101, peer);
        }
        assert_ne!(boots.for_answer(7), boots.said(), "7 is forgotten");
    }

    #[test]
    fn a_boot_that_comes_back_is_told_of_another_own_boot() {
        let mut boots = Boots::new(100);
        assert_eq!(boots.begin(100, 7), Begin::Anew);
        let fresh = boots.fresh();
        assert_eq!(boots.begin(fresh, 8), Begin::Anew);
        assert_eq!(boots.said(), 101);
        assert_eq!(boots.begin(boots.said(), 7), Begin::AnewAndTellAgain, "it may have a link with 101");
        assert_eq!(boots.said(), 102);
        assert_eq!(boots.begin(102, 7), Begin::Anew);
        let fresh = boots.fresh();
        assert_eq!(boots.begin(fresh, 8), Begin::Anew, "it cannot know this one");
    }
}
