//! Sender: hop ARQ's sending side. It keeps unconfirmed packets, and retransmits those that receipts show as
//! lost.
//!
//! Any protocol inside gains: the end hosts never see most losses. Four rules keep that fair.
//!
//! - *A parked packet is not lost.* A packet that arrived before its references waits at the receiver, and
//!   the receipt says so.
//! - *Congestion is not hidden.* A packet that a full queue lost ([losses](crate::arq::losses)) is not
//!   retransmitted, or for the receiver's store alone if later packets refer to it. The end hosts see the
//!   loss and slow down. Their own retransmission then costs a reference.
//! - *The tail is not forgotten.* After a silence the newest packet is retransmitted, like TCP's tail loss
//!   probe (RFC 8985, section 7). The receipt for it shows the other losses.
//! - *A packet that is given up takes no other along.* Later unconfirmed packets may depend on it. New
//!   packets do not refer to those, and they are retransmitted unreduced.
//!
//! Bounded in packets, bytes and tries. Packets that are given up are left to the end hosts.

#[cfg(test)]
mod tests;

use crate::arq::losses::Losses;
use crate::arq::receipts::{HISTORY, RECEIPT_DELAY};
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;
use wire::frame::FrameType;

/// The most packets kept: as many as the accounts of both ends reach back.
const MAX_PACKETS: usize = HISTORY;
/// The most bytes kept.
pub const MAX_BYTES: usize = 16 << 20;
/// How often one packet is sent again.
const MAX_TRIES: u8 = 10;
/// For how long a packet is kept, at least: longer than the receiver waits for it.
const KEEP: Duration = Duration::from_secs(2);
/// ... and in round trips,
const KEEP_ROUND_TRIPS: u32 = 12;
/// ... and at most.
const MAX_KEEP: Duration = Duration::from_secs(10);
/// Buffers that wait for further packets, at most: so many, or as many as hold packets.
const MAX_SPARE: usize = 64;
/// How often in a row the probe's patience doubles.
const MAX_BACKOFF: u32 = 6;

/// A packet that is not confirmed.
#[derive(Debug, Default)]
struct Kept {
    sequence: u64,
    left_at: Duration,
    /// The session whose MAC proves the body, by our id.
    session: u32,
    /// Its type when it left; `None` after its confirmation or its giving up.
    frame_type: Option<FrameType>,
    /// The frame's body. Empty if the packet is sent again as it was.
    body: Vec<u8>,
    /// Bytes of the body or of the packet.
    bytes: usize,
    /// The time for which it is of use.
    lifetime: Duration,
    /// The packet's traffic class.
    class: u8,
    tries: u8,
    /// Waits at the receiver for what it refers to.
    parked: bool,
    /// Reported missing and not sent again since.
    lost: bool,
    /// A referenced packet may have been given up: it goes unreduced.
    doubted: bool,
    /// Waits in `waiting`.
    queued: bool,
    /// Lost to congestion at least once: for the store only.
    congested: bool,
    /// A later packet refers to it.
    referred: bool,
    /// Its references that were unconfirmed when it left, by rising sequence.
    refers_to: Vec<u64>,
}

/// How a packet is to be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retransmission<'a> {
    /// Its link sequence.
    pub sequence: u64,
    /// Its type when it left.
    pub frame_type: FrameType,
    /// The session whose MAC proves the body, by our id.
    pub session: u32,
    /// The frame's body; `None` if the packet is sent as it was.
    pub body: Option<&'a [u8]>,
    /// The packet's traffic class.
    pub class: u8,
    /// Whether the end hosts are not to have it.
    pub store_only: bool,
    /// Whether it had better depend on nothing.
    pub as_it_was: bool,
}

/// The form in which a packet is kept.
#[derive(Debug)]
pub enum Copy<'a> {
    /// The packet itself, which its frame of this type has as its body. An empty buffer comes in its place.
    Whole(FrameType, &'a mut Vec<u8>),
    /// Its frame: the session whose MAC proves the body, the type, and the body.
    Frame(u32, FrameType, &'a [u8]),
    /// None: another store has the packet of so many bytes, and it is sent again as it was.
    Elsewhere(usize),
}

/// Kept packets, and the retransmissions among them.
#[derive(Debug, Default)]
pub struct Sender {
    /// By rising sequence; confirmed ones go when they come to the front.
    kept: VecDeque<Kept>,
    bytes: usize,
    waiting: VecDeque<u64>,
    /// A packet was lost since the last [`Sender::schedule`].
    has_lost: bool,
    probe_at: Option<Duration>,
    backoff: u32,
    /// Sequences that were given up in spite of references, since [`Sender::take_doubted`].
    given_up: BTreeSet<u64>,
    keep: Duration,
    losses: Losses,
    /// Lost packets that were too old to be sent again.
    dropped_old: u64,
    spare: Vec<Kept>,
    /// The fewest spare ones since [`Sender::trim`].
    least_spare: usize,
}

impl Sender {
    /// Keeps a packet of this traffic class that leaves now, and is of use for `lifetime`.
    pub fn keep(&mut self, now: Duration, sequence: u64, copy: Copy<'_>, (class, lifetime): (u8, Duration)) {
        let (session, frame_type, bytes) = match &copy {
            Copy::Whole(frame_type, packet) => (0, *frame_type, packet.len()),
            Copy::Frame(session, frame_type, body) => (*session, *frame_type, body.len()),
            Copy::Elsewhere(bytes) => (0, FrameType::Packet, *bytes),
        };
        let keep = self.keep.max(KEEP);
        while self.kept.front().is_some_and(|kept| kept.left_at + keep < now)
            || self.kept.len() >= MAX_PACKETS
            || self.bytes + bytes > MAX_BYTES && !self.kept.is_empty()
        {
            self.drop_front();
        }
        let mut kept = self.spare.pop().unwrap_or_default();
        self.least_spare = self.least_spare.min(self.spare.len());
        kept.body.clear();
        match copy {
            Copy::Whole(_, packet) => std::mem::swap(&mut kept.body, packet),
            Copy::Frame(_, _, body) => kept.body.extend_from_slice(body),
            Copy::Elsewhere(_) => {}
        }
        kept.refers_to.clear();
        self.bytes += bytes;
        self.kept.push_back(Kept {
            sequence,
            left_at: now,
            session,
            frame_type: Some(frame_type),
            bytes,
            lifetime,
            class,
            tries: 0,
            parked: false,
            lost: false,
            doubted: false,
            queued: false,
            congested: false,
            referred: false,
            ..kept
        });
    }

    /// Bytes of memory now.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let of = |kept: &Kept| kept.body.capacity() + kept.refers_to.capacity() * size_of::<u64>();
        let (kept, spare) =
            (self.kept.iter().map(of).sum::<usize>(), self.spare.iter().map(of).sum::<usize>());
        kept + spare + (self.kept.capacity() + self.spare.capacity()) * size_of::<Kept>()
    }

    /// Frees buffers that nobody needed since the last call.
    pub fn trim(&mut self) {
        self.spare.drain(..self.least_spare.min(self.spare.len()));
        self.least_spare = self.spare.len();
    }

    fn drop_front(&mut self) {
        if let Some(kept) = self.kept.pop_front() {
            if kept.frame_type.is_some() {
                self.bytes -= kept.bytes;
                if kept.referred {
                    self.given_up.insert(kept.sequence);
                }
            }
            if self.spare.len() < MAX_SPARE.max(self.kept.len()) {
                self.spare.push(kept);
            }
        }
    }

    /// Where a packet that is still kept stands.
    fn position(&self, sequence: u64) -> Option<usize> {
        let first = self.kept.front()?.sequence;
        // sequences rise by one, or by a few where some have no packet
        let mut high = usize::try_from(sequence.checked_sub(first)?).ok()?.min(self.kept.len() - 1);
        let beyond = self.kept[high].sequence.saturating_sub(sequence);
        let mut at = high.saturating_sub(usize::try_from(beyond).unwrap_or(high));
        while at < high {
            let middle = usize::midpoint(at, high);
            if self.kept[middle].sequence < sequence { at = middle + 1 } else { high = middle }
        }
        let kept = &self.kept[at];
        (kept.sequence == sequence && kept.frame_type.is_some()).then_some(at)
    }

    fn forget_at(&mut self, at: usize) {
        let kept = &mut self.kept[at];
        kept.frame_type = None;
        self.bytes -= kept.bytes;
        while self.kept.front().is_some_and(|kept| kept.frame_type.is_none()) {
            self.drop_front();
        }
    }

    fn give_up(&mut self, at: usize) {
        if self.kept[at].referred {
            self.given_up.insert(self.kept[at].sequence);
        }
        self.forget_at(at);
    }

    /// The receiver holds the packet; whether the queue was long when this was heard.
    pub fn confirmed(&mut self, sequence: u64, queue_is_long: bool) {
        if let Some(at) = self.position(sequence) {
            self.losses.came(queue_is_long);
            self.forget_at(at);
            self.backoff = 0;
        }
    }

    /// Receipts list every gap. Before the first listed sequence nothing is missing.
    pub fn settle_before(&mut self, first: u64) {
        while self.kept.front().is_some_and(|kept| kept.sequence < first) {
            let sequence = self.kept.front().map(|kept| kept.sequence);
            self.drop_front();
            sequence.map(|sequence| self.given_up.remove(&sequence));
        }
    }

    /// The packet kept last refers to this one.
    pub fn refers_to(&mut self, sequence: u64) {
        if let Some(at) = self.position(sequence) {
            self.kept[at].referred = true;
            if let Some(last) = self.kept.back_mut() {
                last.refers_to.push(sequence);
            }
        }
    }

    /// The packet arrived and waits at the receiver.
    pub fn parked(&mut self, sequence: u64) {
        if let Some(at) = self.position(sequence) {
            let kept = &mut self.kept[at];
            // its references may have been given up
            (kept.parked, kept.lost) = (true, kept.doubted);
            self.has_lost |= kept.lost;
        }
    }

    /// The receiver does not have the packet; whether the queue was long when this was heard.
    pub fn missing(&mut self, sequence: u64, queue_is_long: bool) {
        if let Some(at) = self.position(sequence) {
            let congested = self.losses.is_by_congestion(queue_is_long);
            let kept = &mut self.kept[at];
            (kept.parked, kept.lost) = (false, true);
            kept.congested |= congested;
            self.has_lost = true;
        }
    }

    /// Says which share of packets the air loses, restored ones among them.
    pub fn set_air_loss(&mut self, loss: f64) {
        self.losses.set_air(loss);
    }

    /// The receiver has the packet and can do nothing with it, though nothing was lost: it is sent again now.
    pub fn wanted(&mut self, sequence: u64) {
        if let Some(at) = self.position(sequence) {
            let kept = &mut self.kept[at];
            (kept.parked, kept.lost) = (false, true);
            self.has_lost = true;
            self.schedule();
        }
    }

    /// A receipt has been read to its end: queues what is missing.
    pub fn schedule(&mut self) {
        if !std::mem::take(&mut self.has_lost) {
            return;
        }
        let mut at = 0;
        while at < self.kept.len() {
            let kept = &self.kept[at];
            if kept.frame_type.is_none() || !kept.lost || kept.queued {
                at += 1;
            } else if kept.tries == MAX_TRIES || kept.congested && !kept.referred {
                let before = self.kept.len();
                self.give_up(at);
                at = (at + 1).saturating_sub(before - self.kept.len());
            } else {
                let kept = &mut self.kept[at];
                kept.queued = true;
                self.waiting.push_back(kept.sequence);
                at += 1;
            }
        }
    }

    /// Lost packets that were too old to be sent again, since the last call.
    pub fn take_dropped_old(&mut self) -> u64 {
        std::mem::take(&mut self.dropped_old)
    }

    /// Whether something is to be sent again.
    #[must_use]
    pub fn has_retransmission(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The packet to be sent again next. It stays so until [`Sender::mark_retransmitted`]. One that is too
    /// old to be of use is sent for the receiver's store, if others refer to it.
    pub fn next_retransmission(&mut self, now: Duration) -> Option<Retransmission<'_>> {
        let at = loop {
            let Some(at) = self.position(*self.waiting.front()?) else {
                self.waiting.pop_front();
                continue;
            };
            let kept = &mut self.kept[at];
            let is_old = now > kept.left_at + kept.lifetime;
            self.dropped_old += u64::from(is_old && !kept.congested);
            kept.congested |= is_old;
            if !is_old || kept.referred {
                break at;
            }
            self.waiting.pop_front();
            self.give_up(at);
        };
        let kept = &self.kept[at];
        Some(Retransmission {
            sequence: kept.sequence,
            frame_type: kept.frame_type?,
            session: kept.session,
            body: (!kept.body.is_empty()).then_some(&kept.body),
            class: kept.class,
            store_only: kept.congested,
            as_it_was: kept.tries > 0 || kept.doubted,
        })
    }

    /// The packet of [`Sender::next_retransmission`] has been sent.
    pub fn mark_retransmitted(&mut self) {
        if let Some(sequence) = self.waiting.pop_front()
            && let Some(at) = self.position(sequence)
        {
            let kept = &mut self.kept[at];
            (kept.queued, kept.lost) = (false, false);
            kept.tries += 1;
        }
    }

    /// Something left, or something was confirmed: from now on silence counts anew.
    pub fn rearm(&mut self, now: Duration, srtt: Duration) {
        self.keep = (srtt * KEEP_ROUND_TRIPS).min(MAX_KEEP);
        let patience = srtt * 3 / 2 + RECEIPT_DELAY;
        let any = self.kept.iter().any(|kept| kept.frame_type.is_some());
        self.probe_at = any.then(|| now + patience * (1 << self.backoff.min(MAX_BACKOFF)));
    }

    /// Queues the newest packet if nothing was heard for too long.
    pub fn probe(&mut self, now: Duration, srtt: Duration) {
        if self.probe_at.is_none_or(|at| at > now) {
            return;
        }
        self.backoff += 1;
        if let Some(at) = self.kept.iter().rposition(|kept| kept.frame_type.is_some()) {
            if self.kept[at].tries == MAX_TRIES {
                self.give_up(at);
            } else if !self.kept[at].queued {
                self.kept[at].queued = true;
                self.waiting.push_back(self.kept[at].sequence);
            }
        }
        self.rearm(now, srtt);
    }

    /// When something was given up: tells `doubted` of everything that depends on it.
    pub fn take_doubted(&mut self, mut doubted: impl FnMut(u64)) {
        if self.given_up.is_empty() {
            return;
        }
        let mut gone = std::mem::take(&mut self.given_up);
        // packets refer to earlier ones only
        for kept in self.kept.iter_mut().filter(|kept| kept.frame_type.is_some()) {
            if kept.refers_to.iter().any(|sequence| gone.contains(sequence)) {
                gone.insert(kept.sequence);
                kept.doubted = true;
                kept.lost |= kept.parked;
                self.has_lost = true;
                doubted(kept.sequence);
            }
        }
        self.schedule();
    }

    /// When [`Sender::probe`] has something to do.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        self.probe_at
    }

    /// Gives everything up: the receiver has lost its store, or ARQ no longer pays.
    pub fn clear(&mut self) {
        while !self.kept.is_empty() {
            self.drop_front();
        }
        self.waiting.clear();
        self.probe_at = None;
        self.backoff = 0;
        self.given_up.clear();
    }
}
