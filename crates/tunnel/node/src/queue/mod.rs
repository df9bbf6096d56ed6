//! The queue stage: packets wait here for their peer's turn, each inner flow in a queue of its own.
//!
//! This is FQ-CoDel (RFC 8290). Flows are hashed into [`BUCKETS`] queues and take turns by deficit round
//! robin: each turn is worth [`QUANTUM_BYTES`], so that flows share the link by bytes, whatever the size of
//! their packets. A flow that comes when it has nothing waiting is *new* and has one turn before the *old*
//! ones, those that keep a backlog: a name's lookup, a key press, a first segment do not wait behind a
//! download. Within each flow [CoDel](codel) keeps the wait short: it [marks](crate::path::ecn) packets whose
//! senders understand, and drops others'.
//!
//! When all flows together fill the queue's bytes, the longest of them loses its oldest packets (section
//! 4.1). Its sender learns of that soonest, and short flows are spared. Only as many go as needed, where the
//! RFC allows up to 64 at once. Its reason is the search for the longest flow. That search costs little among
//! the few flows at a radio, while many packets lost in a row cost TCP much.
//!
//! All this comes before everything else, so that what is dropped here never had a link sequence. CoDel
//! decides when a packet is about to leave: [`Queue::next_bytes`] makes the choice, and keeps the chosen
//! packet at hand until [`Queue::pop`], however often it is asked. CoDel never takes a flow's last packet: a
//! queue that is not empty has a packet to give.

mod codel;
mod slots;
#[cfg(test)]
mod tests;

use crate::buffers::Buffers;
use crate::lifetime::{SHORTEST, lifetime};
use crate::path::ecn;
pub use codel::Bounds;
use codel::Codel;
use highway::{HighwayHasher, Key};
use slots::{Chain, Slots, Waiting};
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::time::Duration;
use wire::inner::Flow;
use wire::natives::Name;

/// Queues that flows are hashed into (RFC 8290, 5.2.5): a hundred flows at once seldom share one.
const BUCKETS: usize = 1024;
/// ... and in a queue with room for fewer bytes than this, where fewer flows wait.
const FEW_BUCKETS: usize = 128;
const SMALL_BYTES: usize = 256 << 10;
/// Between two looks for packets that are too old.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Bytes of a turn (RFC 8290, 5.2.4): one packet of the usual largest size.
const QUANTUM_BYTES: i64 = 1514;

/// A signal is a packet of a transfer: no acknowledgment, and nothing of a call.
const SIGNAL_BYTES: usize = 500;

/// A queue of packets for one peer.
#[derive(Debug)]
pub struct Queue {
    /// Secret input of the flows' hash, so that no attacker can make flows collide.
    salt: [u64; 4],
    /// One for each value of the hash; none before the first packet comes, for many peers never have one.
    buckets: Vec<Bucket>,
    slots: Slots,
    /// Buckets whose first turn is to come.
    new: VecDeque<usize>,
    /// Buckets that had it.
    old: VecDeque<usize>,
    /// Packets that leave before all others.
    ahead: VecDeque<Vec<u8>>,
    /// The packet that leaves next, if that is decided.
    at_hand: Option<Waiting>,
    bytes: usize,
    limit_bytes: usize,
    buffers: Buffers,
    /// How many of the next packets are to tell their senders to slow down.
    signals: u64,
    /// Packets dropped because the queue was full.
    pub dropped: u64,
    /// Packets dropped because their flow's wait stayed long.
    pub dropped_by_codel: u64,
    /// Packets dropped to tell their senders what a full queue of the path lost.
    pub dropped_for_path: u64,
    /// Packets dropped because they were too old to be of use.
    pub dropped_old: u64,
    /// What CoDel holds waits against.
    bounds: Bounds,
    /// When it is looked for such packets next.
    look_at: Duration,
    /// Packets that left with a mark because their flow's wait stayed long, or a full queue lost others.
    pub marked: u64,
}

/// The flows of one value of the hash: one, nearly always.
#[derive(Debug, Default)]
struct Bucket {
    chain: Chain,
    codel: Codel,
    /// Bytes that it may still send in this turn; a packet may overdraw them, the next turns pay it back.
    credit_bytes: i64,
    /// Whether it is in one of the two lists.
    listed: bool,
}

impl Queue {
    /// An empty queue for at most `limit_bytes`, with a random `salt`.
    #[must_use]
    pub fn new(limit_bytes: usize, salt: [u64; 4]) -> Self {
        Queue {
            salt,
            buckets: Vec::new(),
            slots: Slots::default(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            ahead: VecDeque::new(),
            at_hand: None,
            bytes: 0,
            limit_bytes,
            buffers: Buffers::new(limit_bytes),
            signals: 0,
            dropped: 0,
            dropped_by_codel: 0,
            dropped_for_path: 0,
            dropped_old: 0,
            bounds: Bounds::USUAL,
            look_at: Duration::ZERO,
            marked: 0,
        }
    }

    /// Sets what CoDel holds waits against.
    pub fn set_bounds(&mut self, bounds: Bounds) {
        self.bounds = bounds;
    }

    /// Tells the senders of so many of the next packets to slow down: a full queue of the path lost some, and
    /// repairs restored them.
    pub fn signal(&mut self, packets: u64) {
        self.signals = self.signals.max(packets);
    }

    /// The path's queue is short again: who sends next did not fill it.
    pub fn end_signals(&mut self) {
        self.signals = 0;
    }

    /// Sets the most bytes that wait. Packets beyond leave as others come.
    pub fn set_limit(&mut self, limit_bytes: usize) {
        if limit_bytes != self.limit_bytes {
            self.limit_bytes = limit_bytes;
            self.buffers.set_limit(limit_bytes);
        }
    }

    /// Frees buffers that nobody needed since the last call. An empty queue takes as many buckets as its
    /// limit asks for.
    pub fn trim(&mut self) {
        self.buffers.trim();
        if self.is_empty() && !self.buckets.is_empty() && self.buckets.len() != self.wanted_buckets() {
            self.end_turns();
            self.buckets = Vec::new();
        }
    }

    fn wanted_buckets(&self) -> usize {
        if self.limit_bytes < SMALL_BYTES { FEW_BUCKETS } else { BUCKETS }
    }

    /// Bytes of memory now: of buffers as much as waits, or is spare.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.bytes
            + self.buffers.memory_bytes()
            + self.buckets.capacity() * size_of::<Bucket>()
            + self.slots.memory_bytes()
    }

    /// Bytes that wait.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether nothing waits. If something does, [`Queue::pop`] has a packet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.at_hand.is_none() && self.ahead.is_empty() && self.slots.len() == 0
    }

    /// Lets a copy of `packet` of `flow` wait; makes room by dropping from the longest flow.
    pub fn push(&mut self, now: Duration, packet: &[u8], flow: &Flow) {
        self.push_named(now, packet, flow, None);
    }

    /// Lets a copy of `packet` wait as [`Queue::push`] does; others know its native by this name.
    pub fn push_named(&mut self, now: Duration, packet: &[u8], flow: &Flow, name: Option<Name>) {
        if packet.len() > self.limit_bytes {
            self.dropped += 1;
            return;
        }
        if self.slots.len() == 0 {
            self.end_turns();
        }
        let index = self.bucket_of(flow);
        let mut buffer = self.buffers.take();
        buffer.extend_from_slice(packet);
        if self.signals > 0 && packet.len() >= SIGNAL_BYTES {
            self.signals -= 1;
            if !ecn::mark(&mut buffer) {
                self.dropped_for_path += 1;
                self.buffers.recycle(buffer);
                return;
            }
            self.marked += 1;
        }
        self.bytes += buffer.len();
        let bucket = &mut self.buckets[index];
        self.slots.push(&mut bucket.chain, Waiting { packet: buffer, arrived: now, name });
        if !bucket.listed {
            bucket.codel.rest();
            bucket.listed = true;
            bucket.credit_bytes = QUANTUM_BYTES;
            self.new.push_back(index);
        }
        while self.bytes > self.limit_bytes && self.drop_from_longest(index) {
            self.dropped += 1;
        }
    }

    /// Lets `packet` wait before all others: it waited before, and was lost on the air.
    pub fn push_ahead(&mut self, packet: Vec<u8>) {
        self.bytes += packet.len();
        self.ahead.push_back(packet);
    }

    /// How many of those wait.
    #[must_use]
    pub fn ahead(&self) -> usize {
        self.ahead.len()
    }

    /// Whether the packet whose turn is next is one that was let ahead.
    #[must_use]
    pub fn is_ahead(&self) -> bool {
        !self.ahead.is_empty()
    }

    /// Drops packets that are too old to be of use.
    pub fn drop_old(&mut self, now: Duration) {
        if now < self.look_at {
            return;
        }
        self.look_at = now + LOOK_EVERY;
        let is_old = |waiting: &Waiting| {
            let age = now.saturating_sub(waiting.arrived);
            age > SHORTEST && age > lifetime(&waiting.packet)
        };
        let mut dropped: Vec<Vec<u8>> = Vec::new();
        dropped.extend(self.at_hand.take_if(|waiting| is_old(waiting)).map(|waiting| waiting.packet));
        for &index in self.new.iter().chain(&self.old) {
            let chain = &mut self.buckets[index].chain;
            while self.slots.first(chain).is_some_and(&is_old)
                && let Some(waiting) = self.slots.pop(chain)
            {
                dropped.push(waiting.packet);
            }
        }
        for packet in dropped {
            self.dropped_old += 1;
            self.bytes -= packet.len();
            self.buffers.recycle(packet);
        }
    }

    /// The packet whose turn is next, which stays.
    pub fn peek(&mut self, now: Duration) -> Option<&[u8]> {
        if self.ahead.is_empty() && self.at_hand.is_none() {
            self.at_hand = self.choose(now);
        }
        let at_hand = self.at_hand.as_ref().map(|waiting| &waiting.packet);
        self.ahead.front().or(at_hand).map(Vec::as_slice)
    }

    /// By what the native of that packet is known to others, and the packet's length.
    pub fn peek_name(&mut self, now: Duration) -> Option<(Name, usize)> {
        self.peek(now)?;
        let waiting = self.at_hand.as_ref().filter(|_| self.ahead.is_empty())?;
        Some((waiting.name?, waiting.packet.len()))
    }

    /// The flow's lane, below `count`.
    pub fn lane_of(&mut self, flow: &Flow, count: usize) -> usize {
        self.bucket_of(flow) % count
    }

    /// The length of the packet whose turn is next.
    pub fn next_bytes(&mut self, now: Duration) -> Option<usize> {
        self.peek(now).map(<[u8]>::len)
    }

    /// The packet whose turn is next. Give the buffer back with [`Queue::recycle`].
    pub fn pop(&mut self, now: Duration) -> Option<Vec<u8>> {
        self.next_bytes(now)?;
        let packet = self.ahead.pop_front().or_else(|| self.at_hand.take().map(|waiting| waiting.packet))?;
        self.bytes -= packet.len();
        Some(packet)
    }

    /// Takes a buffer back.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        self.buffers.recycle(buffer);
    }

    /// Takes out the packets of which `matches` is true, in the order in which each flow's came; others wait
    /// as they did.
    pub fn take_out(&mut self, mut matches: impl FnMut(&[u8]) -> bool) -> Vec<Vec<u8>> {
        let (mut taken, ahead): (Vec<_>, Vec<_>) = self.ahead.drain(..).partition(|packet| matches(packet));
        self.ahead = ahead.into();
        let at_hand = self.at_hand.take_if(|waiting| matches(&waiting.packet));
        taken.extend(at_hand.map(|waiting| waiting.packet));
        for bucket in &mut self.buckets {
            let mut waiting = std::mem::take(&mut bucket.chain);
            while let Some(next) = self.slots.pop(&mut waiting) {
                if matches(&next.packet) {
                    taken.push(next.packet);
                } else {
                    self.slots.push(&mut bucket.chain, next);
                }
            }
        }
        self.bytes -= taken.iter().map(Vec::len).sum::<usize>();
        taken
    }

    /// Forgets what waits.
    pub fn clear(&mut self) {
        for bucket in &mut self.buckets {
            while let Some(waiting) = self.slots.pop(&mut bucket.chain) {
                self.buffers.recycle(waiting.packet);
            }
        }
        for packet in self.ahead.drain(..).chain(self.at_hand.take().map(|waiting| waiting.packet)) {
            self.buffers.recycle(packet);
        }
        self.bytes = 0;
    }

    /// HighwayHash with a secret key: nobody outside can choose flows that share a bucket with another's.
    fn bucket_of(&mut self, flow: &Flow) -> usize {
        if self.buckets.is_empty() {
            self.buckets.resize_with(self.wanted_buckets(), Bucket::default);
        }
        let mut hasher = HighwayHasher::new(Key(self.salt));
        flow.hash(&mut hasher);
        (hasher.finish() % self.buckets.len() as u64) as usize
    }

    /// Nothing waits: the next flow is new.
    fn end_turns(&mut self) {
        for index in self.new.drain(..).chain(self.old.drain(..)) {
            self.buckets[index].listed = false;
        }
    }

    /// Drops the oldest packet of the longest flow; of two, not of the one that a packet just came for.
    /// `false` if no flow has one.
    fn drop_from_longest(&mut self, arriving: usize) -> bool {
        let listed = self.new.iter().chain(&self.old).copied();
        let longest = listed.max_by_key(|&index| (self.buckets[index].chain.bytes, index != arriving));
        let waiting = longest.and_then(|index| self.slots.pop(&mut self.buckets[index].chain));
        let Some(Waiting { packet, .. }) = waiting else { return false };
        self.bytes -= packet.len();
        self.buffers.recycle(packet);
        true
    }

    /// The packet of the next flow in turn (RFC 8290, 4.2).
    fn choose(&mut self, now: Duration) -> Option<Waiting> {
        loop {
            let is_new = !self.new.is_empty();
            let index = *self.new.front().or(self.old.front())?;
            if self.buckets[index].credit_bytes > 0
                && let Some(waiting) = self.leave(now, index)
            {
                self.buckets[index].credit_bytes -= waiting.packet.len() as i64;
                return Some(waiting);
            }
            // its turn is over
            let turns = if is_new { &mut self.new } else { &mut self.old };
            turns.pop_front();
            let bucket = &mut self.buckets[index];
            if bucket.credit_bytes <= 0 {
                bucket.credit_bytes += QUANTUM_BYTES;
                self.old.push_back(index);
            } else if is_new && !self.old.is_empty() {
                // it has nothing left, but if it left the lists now, its next packet would be new again, and
                // first
                self.old.push_back(index);
            } else {
                bucket.listed = false;
            }
        }
    }

    /// The bucket's first packet that CoDel lets leave: not a signal, or a signal by its mark.
    fn leave(&mut self, now: Duration, index: usize) -> Option<Waiting> {
        let Bucket { chain, codel, .. } = &mut self.buckets[index];
        loop {
            let mut waiting = self.slots.pop(chain)?;
            if !codel.signals(now, now.saturating_sub(waiting.arrived), chain.bytes, self.bounds) {
                return Some(waiting);
            }
            if ecn::mark(&mut waiting.packet) {
                self.marked += 1;
                return Some(waiting);
            }
            self.dropped_by_codel += 1;
            self.bytes -= waiting.packet.len();
            self.buffers.recycle(waiting.packet);
        }
    }
}
