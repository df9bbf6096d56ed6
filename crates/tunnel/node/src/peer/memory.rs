//! The peer's part of the node's memory.

use super::Peer;
use super::link::{Link, Sizes};
use crate::memory::{Demand, IDLE, is_worth_a_change};
use re::memory::{FIXED_BYTES, of_receiver, of_sender, receivers_store, senders_store};
use std::time::Duration;

/// When packets went each way last, sent ones first.
#[derive(Default)]
pub(super) struct Traffic {
    packets: [u64; 2],
    last: [Option<Duration>; 2],
}

/// The most bytes of memory of both stores.
fn bounds(sizes: Sizes) -> [usize; 2] {
    [of_sender(sizes.used_kib as usize * 1024), of_receiver(sizes.kept_kib as usize * 1024)]
}

impl Peer {
    /// Bytes of the cache of the peer's group.
    pub(crate) fn cache_bytes(&self) -> usize {
        let listener = self.link.as_ref().and_then(|link| link.roles.listener());
        listener.map_or(0, |listener| listener.cache_bytes())
    }

    /// Bytes of memory of both stores.
    pub(crate) fn store_memory_bytes(&self) -> usize {
        self.link.as_ref().map_or(0, |link| link.memory_bytes().iter().sum())
    }

    /// The most bytes of memory of both stores, if their sizes cannot change.
    pub(crate) fn fixed_bytes(&self) -> Option<[usize; 2]> {
        self.link.as_ref().filter(|link| !link.resizes()).map(|link| bounds(link.store_sizes()))
    }

    /// What the stores of packets to and from the peer want. `most_bytes`: the largest store.
    pub(crate) fn demands(&mut self, now: Duration, most_bytes: usize) -> [Demand; 2] {
        let packets = [self.counters.inner_sent_packets, self.counters.inner_received_packets];
        for direction in [0, 1] {
            if self.traffic.packets[direction] != packets[direction] {
                (self.traffic.packets[direction], self.traffic.last[direction]) =
                    (packets[direction], Some(now));
            }
        }
        let link = self.link.as_ref();
        let held = link.map_or([0; 2], Link::memory_bytes);
        let most = [of_sender(most_bytes), of_receiver(most_bytes)];
        let bounds = link.map_or([0; 2], |link| bounds(link.store_sizes()));
        let fixed = if self.is_vacant() { Some([0; 2]) } else { self.fixed_bytes() };
        [0, 1].map(|direction| Demand {
            held_bytes: held[direction],
            is_full: held[direction] + FIXED_BYTES >= bounds[direction] / 4 * 3,
            most_bytes: if link.is_some() { most[direction] } else { 0 },
            idle: self.traffic.last[direction].map_or(IDLE, |last| now.saturating_sub(last)),
            fixed_bytes: fixed.map(|fixed| fixed[direction]),
        })
    }

    /// The stores may take so many bytes of memory, that of sent packets first.
    pub(crate) fn grant(&mut self, now: Duration, [sent, received]: [usize; 2], most_bytes: usize) {
        let Some(link) = &mut self.link else { return };
        let kib = |store_bytes: usize| (store_bytes.min(most_bytes) / 1024) as u32;
        let (before, mut wanted) = (link.wanted_stores(), link.wanted_stores());
        let (used_kib, kept_kib) = (kib(senders_store(sent)), kib(receivers_store(received)));
        if is_worth_a_change(before.used_kib, used_kib) {
            wanted.used_kib = used_kib;
        }
        if is_worth_a_change(before.kept_kib, kept_kib) {
            wanted.kept_kib = kept_kib;
        }
        if wanted != before {
            link.want_stores(now, wanted);
        }
    }
}
