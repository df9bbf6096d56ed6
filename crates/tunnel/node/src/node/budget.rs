//! The node's budget of memory: who has how much of it, from time to time.

use super::Node;
use crate::memory::{self, DIVIDE_EVERY, DIVIDE_IDLE_EVERY, Demand, LEAST_BYTES};
use crate::peer::Peer;
use crate::status::MemoryStatus;
use std::time::Duration;

/// The latest division.
#[derive(Default)]
pub(super) struct Budget {
    /// No division is due before.
    divide_at: Duration,
    /// When the node wakes for the next division; `None` without traffic or memory to be given back.
    wake_at: Option<Duration>,
    demands: Vec<Demand>,
    grants: Vec<usize>,
}

impl Node {
    /// Bytes of caches of overheard content: this node's own, and those of groups that it is a member of.
    fn cache_bytes(&self) -> usize {
        let own = self.ctx.sharing.as_ref().map_or(0, |sharing| sharing.codec.cache_bytes());
        own + self.peers.iter().map(|peer| peer.cache_bytes()).sum::<usize>()
    }

    /// Size of the stores that a handshake with a peer proposes, in KiB.
    pub(super) fn first_store_kib(&self, peer: usize) -> u32 {
        let others = self.peers.iter().filter(|other| other.index() != peer);
        let (mut fixed_bytes, mut fixed_peers) = (0, 0);
        for bytes in others.filter_map(Peer::fixed_bytes) {
            fixed_bytes += bytes.iter().sum::<usize>();
            fixed_peers += 1;
        }
        self.ctx.config.store_kib(fixed_bytes, fixed_peers)
    }

    /// When the budget is divided again.
    pub(super) fn divides_at(&self) -> Option<Duration> {
        self.budget.wake_at
    }

    /// Divides the budget, if that is due.
    pub(super) fn divide_memory(&mut self, now: Duration) {
        let Some(budget_bytes) = self.ctx.config.memory_bytes else { return };
        if now < self.budget.divide_at {
            return;
        }
        let most_bytes = self.ctx.config.reduce.store_bytes;
        let budget_bytes = budget_bytes.saturating_sub(self.cache_bytes());
        let Budget { demands, grants, .. } = &mut self.budget;
        demands.clear();
        for peer in &mut self.peers {
            demands.extend(peer.demands(now, most_bytes));
        }
        memory::divide(budget_bytes, demands, grants);
        let of_peers = grants.as_chunks::<2>().0;
        for (peer, granted) in self.peers.iter_mut().zip(of_peers) {
            peer.grant(now, *granted, most_bytes);
        }
        let has_room = |demand: &Demand| demand.most_bytes > 0;
        let is_active = demands.iter().any(|demand| has_room(demand) && demand.idle < DIVIDE_IDLE_EVERY);
        let is_held = demands.iter().any(|demand| demand.held_bytes > LEAST_BYTES);
        self.budget.divide_at = now + DIVIDE_EVERY;
        let pause = if is_active { DIVIDE_EVERY } else { DIVIDE_IDLE_EVERY };
        self.budget.wake_at = (is_active || is_held).then_some(now + pause);
    }

    /// Loses what is stored for a peer in one or both directions, as a node under memory pressure does. Costs
    /// savings and nothing else.
    pub fn forget(&mut self, peer: usize, sent: bool, received: bool) {
        if let Some(peer) = self.peers.get_mut(peer) {
            peer.forget(sent, received);
        }
    }

    /// The budget and its use; `None` without a budget.
    pub(super) fn memory_status(&self) -> Option<MemoryStatus> {
        let budget_bytes = self.ctx.config.memory_bytes?;
        let cache_bytes = self.cache_bytes();
        let of_stores: usize = self.peers.iter().map(|peer| peer.store_memory_bytes()).sum();
        Some(MemoryStatus { budget_bytes, used_bytes: of_stores + cache_bytes, cache_bytes })
    }
}
