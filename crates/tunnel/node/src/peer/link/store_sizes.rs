//! The sizes of a link's stores, which both ends change within a session.
//!
//! Each end keeps at least as much of the peer's packets as the peer may refer to. So a store grows before its
//! size is told, and shrinks when the peer uses no more than what will be left. A frame that is lost is told
//! again. An end that never answers loses its savings, and nothing else.

use std::time::Duration;
use wire::stores::Stores;

/// Time before a frame without effect is repeated. It doubles with each repetition.
const REPEAT_AFTER: Duration = Duration::from_millis(500);
/// Repetitions, after which a store shrinks without the peer.
const MOST_REPEATS: u32 = 6;

/// A change of the link's stores, in KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Of the store for packets of the peer, without the receiver's surplus.
    pub kept_kib: u32,
    /// Of the store of packets to the peer.
    pub used_kib: u32,
}

/// The sizes, and what the two ends know of each other.
#[derive(Debug)]
pub struct StoreSizes {
    /// Whether both ends speak of sizes. If not, they never change.
    is_live: bool,
    /// The sizes of the stores at present.
    now: Sizes,
    /// The sizes that this node's memory has room for.
    wanted: Sizes,
    /// The newest size that the peer told.
    peer_kept_kib: u32,
    /// Number of the peer's newest frame.
    newest: u16,
    /// Number of the last frame sent.
    sent: u16,
    /// Number of the first frame that told the wanted size, unless the peer has heard it.
    told: Option<u16>,
    has_to_say: bool,
    repeat_at: Option<Duration>,
    repeats: u32,
}

impl StoreSizes {
    /// Both stores have the size of the hellos.
    pub fn new(store_kib: u32, is_live: bool) -> Self {
        let sizes = Sizes { kept_kib: store_kib, used_kib: store_kib };
        StoreSizes {
            is_live: is_live && store_kib > 0,
            now: sizes,
            wanted: sizes,
            peer_kept_kib: store_kib,
            newest: 0,
            sent: 0,
            told: None,
            has_to_say: false,
            repeat_at: None,
            repeats: 0,
        }
    }

    /// The present sizes.
    pub fn now(&self) -> Sizes {
        self.now
    }

    /// The sizes that the memory has room for.
    pub fn wanted(&self) -> Sizes {
        self.wanted
    }

    /// Whether the sizes may change.
    pub fn is_live(&self) -> bool {
        self.is_live
    }

    /// This node's memory has room for these sizes from now on. Returns the sizes of the stores then.
    pub fn want(&mut self, now: Duration, wanted: Sizes) -> Sizes {
        if self.is_live {
            if self.wanted.kept_kib != wanted.kept_kib {
                self.told = Some(self.sent.wrapping_add(1));
                self.has_to_say = true;
                (self.repeat_at, self.repeats) = (Some(now + REPEAT_AFTER), 0);
            }
            self.wanted = wanted;
            self.now.kept_kib = self.now.kept_kib.max(wanted.kept_kib);
            self.now.used_kib = wanted.used_kib.min(self.peer_kept_kib);
        }
        self.now
    }

    /// Takes a frame of the peer. Returns the sizes of the stores then.
    pub fn take(&mut self, frame: &Stores) -> Sizes {
        if self.is_live && is_ahead(frame.number, self.newest) {
            self.newest = frame.number;
            self.peer_kept_kib = frame.kept_kib;
            self.has_to_say |= frame.asks;
            self.now.used_kib = self.wanted.used_kib.min(self.peer_kept_kib);
            if self.told.is_some_and(|told| frame.heard == told || is_ahead(frame.heard, told)) {
                (self.told, self.repeat_at) = (None, None);
                self.now.kept_kib = self.wanted.kept_kib;
            }
        }
        self.now
    }

    /// Repeats a frame, or gives up waiting. Returns the sizes of the stores then.
    pub fn handle_timeout(&mut self, now: Duration) -> Sizes {
        if self.repeat_at.is_some_and(|at| at <= now) {
            self.repeats += 1;
            if self.repeats > MOST_REPEATS {
                (self.told, self.repeat_at) = (None, None);
                self.now.kept_kib = self.wanted.kept_kib;
            } else {
                self.has_to_say = true;
                self.repeat_at = Some(now + REPEAT_AFTER * (1 << self.repeats));
            }
        }
        self.now
    }

    /// When [`StoreSizes::handle_timeout`] has something to do.
    pub fn timeout(&self) -> Option<Duration> {
        self.repeat_at
    }

    /// Whether a frame waits to be sent.
    pub fn has_to_say(&self) -> bool {
        self.has_to_say
    }

    /// Takes the frame that waits.
    pub fn take_frame(&mut self) -> Option<Stores> {
        if !std::mem::take(&mut self.has_to_say) {
            return None;
        }
        self.sent = self.sent.wrapping_add(1);
        Some(Stores {
            asks: self.told.is_some(),
            number: self.sent,
            heard: self.newest,
            kept_kib: self.wanted.kept_kib,
        })
    }
}

/// Whether a number is newer than another (RFC 1982).
fn is_ahead(number: u16, of: u16) -> bool {
    let ahead = number.wrapping_sub(of);
    ahead != 0 && ahead < 1 << 15
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn sizes(kept_kib: u32, used_kib: u32) -> Sizes {
        Sizes { kept_kib, used_kib }
    }

    proptest! {
        #[test]
        fn a_receiver_keeps_what_the_sender_uses_and_both_settle_in_spite_of_loss(
            steps in prop::collection::vec((0u32..64, 0u32..64, any::<bool>(), 0usize..8), 1..60),
        ) {
            let mut ends = [StoreSizes::new(16, true), StoreSizes::new(16, true)];
            let mut under_way: Vec<(usize, Stores)> = Vec::new();
            let mut now = Duration::ZERO;
            for (kept, used, is_lost, place) in steps {
                now += SECOND / 4;
                ends[place % 2].want(now, sizes(kept, used));
                for (end, it) in ends.iter_mut().enumerate() {
                    it.handle_timeout(now);
                    under_way.extend(it.take_frame().filter(|_| !is_lost).map(|frame| (1 - end, frame)));
                }
                if !under_way.is_empty() {
                    let (to, frame) = under_way.swap_remove(place % under_way.len());
                    ends[to].take(&frame);
                }
                for end in [0, 1] {
                    prop_assert!(ends[end].now.kept_kib >= ends[1 - end].now.used_kib);
                }
            }
            for _ in 0..100 {
                now += SECOND;
                for end in [0, 1] {
                    ends[end].handle_timeout(now);
                    if let Some(frame) = ends[end].take_frame() {
                        ends[1 - end].take(&frame);
                    }
                }
            }
            for end in [0, 1] {
                prop_assert!(ends[end].timeout().is_none() && !ends[end].has_to_say());
                prop_assert_eq!(ends[end].now.kept_kib, ends[end].wanted.kept_kib);
                let most = ends[end].wanted.used_kib.min(ends[1 - end].wanted.kept_kib);
                prop_assert_eq!(ends[end].now.used_kib, most);
            }
        }
    }

    #[test]
    fn a_store_shrinks_when_the_peer_has_heard_so_or_after_a_bounded_wait() {
        let mut receiver = StoreSizes::new(16, true);
        let mut sender = StoreSizes::new(16, true);
        assert_eq!(receiver.want(SECOND, sizes(4, 16)), sizes(16, 16));
        let frame = receiver.take_frame().unwrap();
        assert!(frame.asks && frame.kept_kib == 4);
        assert_eq!(sender.take(&frame), sizes(16, 4));
        assert_eq!(receiver.take(&sender.take_frame().unwrap()), sizes(4, 16));
        assert!(receiver.timeout().is_none() && !receiver.has_to_say() && !sender.has_to_say());
        receiver.want(SECOND, sizes(1, 16));
        let mut now = SECOND;
        while receiver.now().kept_kib > 1 {
            now = receiver.timeout().unwrap();
            receiver.handle_timeout(now);
        }
        assert!(now > 30 * SECOND && now < 90 * SECOND, "{now:?}");
    }

    #[test]
    fn a_peer_that_does_not_speak_of_sizes_keeps_those_of_the_hellos() {
        let mut fixed = StoreSizes::new(16, false);
        assert_eq!(fixed.want(SECOND, sizes(1, 1)), sizes(16, 16));
        let frame = Stores { asks: true, number: 1, heard: 0, kept_kib: 0 };
        assert_eq!(fixed.take(&frame), sizes(16, 16));
        assert!(!fixed.has_to_say());
    }
}
