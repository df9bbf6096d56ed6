//! The agreement of two nodes on the bounds of their stores ([`wire::store_bounds`]).
//!
//! The receiver of a direction keeps at least what its sender uses. A receiver grows before it says so. To
//! shrink, it says so first, and follows when the sender uses no more, and what was under way has come.

use crate::memory::MOST_BOUND;
use std::time::Duration;
use wire::store_bounds::{Bounds, StoreBounds};

/// A frame that was not seen leaves again after this time, or two round trips.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// What a sender may still have under way when it uses less: a round trip, and this time.
const UNDER_WAY: Duration = Duration::from_secs(1);
/// A receiver shrinks after this time whatever the sender says.
const MOST_WAIT: Duration = Duration::from_secs(10);
/// ... and where records wait to be read under the former bound, of which the sender told.
const MOST_WAIT_FOR_RECORDS: Duration = Duration::from_secs(60);

/// The agreement of a link.
#[derive(Debug)]
pub struct Agreement {
    /// The number of the own frame that left last.
    number: u32,
    /// The highest number that came.
    peer_number: u32,
    /// The highest own number that the peer has seen.
    seen_by_peer: u32,
    /// There is something new to say.
    changed: bool,
    /// The peer waits for an answer.
    answers: bool,
    told_at: Duration,
    round_trip: Duration,
    packets: Pair,
    /// `None`: no streams cross the hop.
    records: Option<Pair>,
    /// What records use, as it was said last.
    told_use: usize,
}

/// The stores of both directions, in bytes of the sender's bound.
#[derive(Debug, Clone, Copy)]
pub struct Pair {
    /// What this node would use for what it sends.
    wishes: usize,
    /// What it uses: no more than the peer keeps.
    uses: usize,
    /// What the peer keeps of that.
    peer_keeps: usize,
    /// What this node says it keeps.
    keeps: usize,
    /// What it keeps.
    kept: usize,
    /// What the peer would use.
    peer_wishes: usize,
    shrink: Option<Shrink>,
}

/// A receiver that is about to keep less.
#[derive(Debug, Clone, Copy)]
struct Shrink {
    /// The number of the frame that says so.
    number: u32,
    since: Duration,
    /// The peer has seen it.
    is_seen: bool,
    /// When the peer said that it uses no more.
    followed_at: Option<Duration>,
}

impl Pair {
    fn new(start: usize) -> Self {
        Pair {
            wishes: start,
            uses: start,
            peer_keeps: start,
            keeps: start,
            kept: start,
            peer_wishes: start,
            shrink: None,
        }
    }

    /// The bound of the store of what is sent.
    #[must_use]
    pub fn uses(&self) -> usize {
        self.uses
    }

    /// The bound of the store of what is received.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.kept
    }

    /// What the peer keeps of what is sent.
    #[must_use]
    pub fn peer_keeps(&self) -> usize {
        self.peer_keeps
    }

    /// What the peer would use.
    #[must_use]
    pub fn peer_wishes(&self) -> usize {
        self.peer_wishes
    }

    /// Gives so much memory to the two stores. Whether there is something to say.
    fn allot(&mut self, now: Duration, number: u32, allotment: Allotment) -> bool {
        let Allotment { sent, wishes, received } = allotment;
        let before = self.uses;
        self.uses = sent.min(self.peer_keeps);
        let mut changed = before != self.uses || differs(self.wishes, wishes);
        if changed {
            self.wishes = wishes;
        }
        let is_larger = received > self.keeps;
        if is_larger {
            self.kept = self.kept.max(received);
            self.keeps = received;
            if self.keeps >= self.kept {
                self.shrink = None;
            }
            changed = true;
        } else if received < self.keeps && self.shrink.is_none() {
            self.keeps = received;
            self.shrink = Some(Shrink { number, since: now, is_seen: false, followed_at: None });
            changed = true;
        }
        changed
    }

    fn take(&mut self, now: Duration, seen: u32, said: Bounds) {
        let bytes = |kib: u32| (kib as usize).saturating_mul(1024).min(MOST_BOUND);
        self.peer_keeps = bytes(said.keeps);
        // more is used only when the own memory is looked at again: others may have what was given back
        self.uses = self.uses.min(self.peer_keeps);
        self.peer_wishes = bytes(said.wishes);
        let uses = bytes(said.uses);
        if let Some(shrink) = self.shrink.as_mut().filter(|shrink| seen >= shrink.number) {
            shrink.is_seen = true;
            if uses <= self.keeps {
                shrink.followed_at.get_or_insert(now);
            }
        }
    }

    /// When a store shrinks.
    fn shrinks_at(&self, is_of_records: bool, round_trip: Duration) -> Option<Duration> {
        let shrink = self.shrink?;
        let patient = is_of_records && shrink.is_seen;
        let latest = shrink.since + if patient { MOST_WAIT_FOR_RECORDS } else { MOST_WAIT };
        let followed = shrink.followed_at.map(|at| at + round_trip + UNDER_WAY);
        Some(followed.map_or(latest, |at| at.min(latest)))
    }

    fn handle_timeout(&mut self, now: Duration, is_of_records: bool, round_trip: Duration) {
        if self.shrinks_at(is_of_records, round_trip).is_some_and(|at| at <= now) {
            (self.kept, self.shrink) = (self.keeps, None);
        }
    }

    fn said(&self, uses: usize) -> Bounds {
        let kib = |bytes: usize| u32::try_from(bytes / 1024).unwrap_or(u32::MAX);
        Bounds {
            wishes: kib(self.wishes),
            uses: u32::try_from(uses.div_ceil(1024)).unwrap_or(u32::MAX),
            keeps: kib(self.keeps),
        }
    }
}

/// Whether two wishes are far enough from each other to be said.
fn differs(one: usize, other: usize) -> bool {
    one.abs_diff(other) > one.max(other) / 8
}

/// What the stores of one kind may have, in bytes of bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allotment {
    /// For what is sent.
    pub sent: usize,
    /// For what is sent, if the peer kept as much.
    pub wishes: usize,
    /// For what is received.
    pub received: usize,
}

impl Agreement {
    /// Both nodes begin with this bound in all stores.
    #[must_use]
    pub fn new(start: usize, has_records: bool) -> Self {
        Agreement {
            number: 0,
            peer_number: 0,
            seen_by_peer: 0,
            changed: true,
            answers: false,
            told_at: Duration::ZERO,
            round_trip: Duration::ZERO,
            packets: Pair::new(start),
            records: has_records.then(|| Pair::new(start)),
            told_use: start,
        }
    }

    /// The stores of packets.
    #[must_use]
    pub fn packets(&self) -> &Pair {
        &self.packets
    }

    /// The stores of records.
    #[must_use]
    pub fn records(&self) -> Option<&Pair> {
        self.records.as_ref()
    }

    /// Gives memory to the stores. Apply the bounds afterwards.
    pub fn allot(&mut self, now: Duration, packets: Allotment, records: Option<Allotment>) {
        let number = self.number.saturating_add(1);
        self.changed |= self.packets.allot(now, number, packets);
        if let Some((pair, records)) = self.records.as_mut().zip(records) {
            self.changed |= pair.allot(now, number, records);
        }
    }

    /// Takes the peer's frame. Apply the bounds afterwards. `false`: it makes no sense.
    pub fn take(&mut self, now: Duration, frame: &StoreBounds) -> bool {
        if frame.seen > self.number {
            return false;
        }
        if frame.number < self.peer_number {
            return true;
        }
        self.answers |= frame.number > self.peer_number;
        self.peer_number = frame.number;
        self.seen_by_peer = self.seen_by_peer.max(frame.seen);
        let uses = self.packets.uses();
        self.packets.take(now, frame.seen, frame.packets);
        self.changed |= uses != self.packets.uses();
        if let Some((pair, said)) = self.records.as_mut().zip(frame.records) {
            let uses = pair.uses();
            pair.take(now, frame.seen, said);
            self.changed |= uses != pair.uses();
        }
        true
    }

    /// Does what is due. `round_trip`: that of the hop. `records_use`: the bound that records under way may
    /// refer to. Apply the bounds afterwards.
    pub fn handle_timeout(&mut self, now: Duration, round_trip: Option<Duration>, records_use: usize) {
        self.round_trip = round_trip.unwrap_or_default();
        self.packets.handle_timeout(now, false, self.round_trip);
        if let Some(pair) = &mut self.records {
            pair.handle_timeout(now, true, self.round_trip);
            self.changed |= records_use != self.told_use;
        }
    }

    /// When a frame is to leave.
    #[must_use]
    pub fn tells_at(&self) -> Option<Duration> {
        if self.changed || self.answers {
            return Some(Duration::ZERO);
        }
        let again = AGAIN_AFTER.max(2 * self.round_trip);
        (self.seen_by_peer < self.number).then(|| self.told_at + again)
    }

    /// When a store shrinks.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        let packets = self.packets.shrinks_at(false, self.round_trip);
        let records = self.records.as_ref().and_then(|pair| pair.shrinks_at(true, self.round_trip));
        [packets, records].into_iter().flatten().min()
    }

    /// The frame that leaves now, if one is due.
    pub fn frame(&mut self, now: Duration, records_use: usize) -> Option<StoreBounds> {
        if self.tells_at().is_none_or(|at| at > now) {
            return None;
        }
        let asks = self.changed || self.seen_by_peer < self.number;
        if asks {
            self.number = self.number.saturating_add(1);
            self.told_at = now;
        }
        (self.changed, self.answers) = (false, false);
        self.told_use = records_use;
        Some(StoreBounds {
            number: self.number.max(1),
            seen: self.peer_number,
            packets: self.packets.said(self.packets.uses()),
            records: self.records.as_ref().map(|pair| pair.said(records_use)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: Duration = Duration::from_secs(1);
    const START: usize = 1 << 20;

    fn of(sent: usize, received: usize) -> Allotment {
        Allotment { sent, wishes: sent, received }
    }

    /// Carries frames between two until neither has one.
    fn exchange(now: Duration, ends: &mut [Agreement; 2]) -> usize {
        let mut frames = 0;
        while let Some((from, frame)) = (0..2).find_map(|at| Some((at, ends[at].frame(now, START)?))) {
            assert!(ends[1 - from].take(now, &frame));
            frames += 1;
            assert!(frames < 20, "they never end");
        }
        frames
    }

    fn ends() -> [Agreement; 2] {
        [Agreement::new(START, true), Agreement::new(START, true)]
    }

    #[test]
    fn a_receiver_grows_first_and_shrinks_last() {
        let mut ends = ends();
        exchange(SECOND, &mut ends);
        ends[0].allot(SECOND, of(8 * START, START), None);
        assert_eq!(ends[0].packets().uses(), START, "the other one keeps no more");
        exchange(SECOND, &mut ends);
        assert_eq!(ends[1].packets().peer_wishes(), 8 * START);
        ends[1].allot(SECOND, of(START, 4 * START), None);
        assert_eq!((ends[1].packets().kept(), ends[0].packets().uses()), (4 * START, START));
        exchange(SECOND, &mut ends);
        assert_eq!(ends[0].packets().uses(), START, "its memory is not allotted yet");
        ends[0].allot(SECOND, of(8 * START, START), None);
        exchange(SECOND, &mut ends);
        assert_eq!(ends[0].packets().uses(), 4 * START);
        ends[1].allot(2 * SECOND, of(START, START), None);
        assert_eq!(ends[1].packets().kept(), 4 * START, "the sender uses it");
        assert_eq!(ends[1].timeout(), Some(12 * SECOND));
        exchange(3 * SECOND, &mut ends);
        assert_eq!(ends[0].packets().uses(), START);
        assert_eq!(ends[1].timeout(), Some(4 * SECOND), "what was under way has come by then");
        ends[1].handle_timeout(4 * SECOND, None, START);
        assert_eq!((ends[1].packets().kept(), ends[1].timeout()), (START, None));
    }

    #[test]
    fn what_is_lost_is_repeated_and_then_they_are_quiet() {
        let mut ends = ends();
        assert!(ends[0].frame(SECOND, START).is_some(), "lost");
        assert_eq!(ends[0].tells_at(), Some(2 * SECOND));
        assert_eq!(ends[0].frame(SECOND, START), None);
        exchange(2 * SECOND, &mut ends);
        assert_eq!(ends.each_ref().map(Agreement::tells_at), [None; 2]);
        ends[0].allot(3 * SECOND, of(START / 2, START), None);
        let frame = ends[0].frame(3 * SECOND, START).unwrap();
        assert!(ends[1].take(3 * SECOND, &frame) && ends[1].take(3 * SECOND, &frame));
        assert!(ends[1].frame(3 * SECOND, START).is_some(), "the answer is lost");
        assert_eq!(ends[1].tells_at(), None);
        exchange(4 * SECOND, &mut ends);
        assert_eq!(ends.each_ref().map(Agreement::tells_at), [None; 2]);
    }

    #[test]
    fn who_does_not_follow_is_waited_for_ten_seconds() {
        let mut ends = ends();
        exchange(SECOND, &mut ends);
        ends[0].allot(SECOND, of(START, START / 4), Some(of(START, START / 4)));
        ends[0].handle_timeout(10 * SECOND, None, START);
        assert_eq!(ends[0].packets().kept(), START);
        ends[0].handle_timeout(11 * SECOND, None, START);
        assert_eq!(ends[0].packets().kept(), START / 4);
        assert_eq!(ends[0].records().unwrap().kept(), START / 4);
    }

    #[test]
    fn records_that_wait_to_be_read_keep_the_former_bound() {
        let mut ends = ends();
        exchange(SECOND, &mut ends);
        ends[0].allot(SECOND, of(START, START), Some(of(START, START / 4)));
        let frame = ends[0].frame(SECOND, START).unwrap();
        ends[1].take(SECOND, &frame);
        assert_eq!(ends[1].records().unwrap().uses(), START / 4);
        let frame = ends[1].frame(SECOND, START).unwrap();
        ends[0].take(SECOND, &frame);
        ends[0].handle_timeout(40 * SECOND, None, START);
        assert_eq!(ends[0].records().unwrap().kept(), START);
        ends[1].handle_timeout(41 * SECOND, None, START / 4);
        let frame = ends[1].frame(41 * SECOND, START / 4).unwrap();
        ends[0].take(41 * SECOND, &frame);
        ends[0].handle_timeout(42 * SECOND, None, START);
        assert_eq!(ends[0].records().unwrap().kept(), START / 4);
    }

    fn any_bounds() -> impl Strategy<Value = Bounds> {
        any::<(u32, u32, u32)>().prop_map(|(wishes, uses, keeps)| Bounds { wishes, uses, keeps })
    }

    proptest! {
        /// Whatever a peer says, nothing exceeds the own allotments, and a receiver keeps what it announced.
        #[test]
        fn no_frame_makes_a_store_larger_than_its_allotment(
            steps in proptest::collection::vec(
                (1u32..9, 0u32..9, any_bounds(), proptest::option::of(any_bounds()), 0usize..1 << 26, 0usize..1 << 26),
                1..40,
            ),
        ) {
            let mut it = Agreement::new(START, true);
            let mut most = START;
            let mut now = SECOND;
            for (number, seen, packets, records, sent, received) in steps {
                it.take(now, &StoreBounds { number, seen, packets, records });
                it.allot(now, of(sent, received), Some(of(sent, received)));
                most = most.max(received);
                for pair in [it.packets(), it.records().unwrap()] {
                    prop_assert!(pair.uses() <= sent);
                    prop_assert!(pair.kept() <= most && pair.keeps <= pair.kept());
                }
                let _ = it.frame(now, sent);
                now += SECOND / 2;
                it.handle_timeout(now, Some(SECOND), sent);
            }
        }
    }
}
