//! The division of the node's memory among its peers.

use super::Node;
use crate::config::Memory;
use crate::memory::{Account, Budget, Kind, MOST_BOUND, queue_bytes};
use crate::peer::Peer;
use crate::status::MemoryStatus;
use std::time::Duration;

/// The bytes of all streams may take this share, and those of one peer at least so many bytes.
const STREAMS_SHARE: usize = 2;
const LEAST_STREAMS: usize = 256 << 10;

impl Node {
    /// Settles with the budget, if it is time: peers' stores get more, or less.
    pub(super) fn settle_memory(&mut self, now: Duration) {
        if self.ctx.memory.timeout().is_none_or(|at| at > now) {
            return;
        }
        let Some(budget) = self.ctx.memory.budget().cloned() else { return };
        let most = match self.ctx.config.reduce.store_bytes {
            0 => MOST_BOUND,
            bytes => bytes,
        };
        let accounts: Vec<Account> =
            self.peers.iter_mut().flat_map(|peer| peer.accounts(now, most)).collect();
        let linked = self.peers.iter().filter(|peer| peer.has_link()).count();
        self.bound_others(&budget, linked);
        let Some(allowances) = budget.settle(self.ctx.memory.node(), self.other_memory_bytes(), &accounts)
        else {
            return self.ctx.memory.ask_again(now);
        };
        for (peer, allowances) in self.peers.iter_mut().zip(allowances.as_chunks::<{ Kind::ALL.len() }>().0) {
            peer.allow(now, allowances);
        }
        let is_busy = accounts.iter().any(|it| it.is_busy);
        self.ctx.memory.looked(now, linked > 0, is_busy);
    }

    /// Bounds what peers keep beside stores: queues, and bytes of streams.
    fn bound_others(&mut self, budget: &Budget, linked: usize) {
        let bytes = budget.bytes();
        let nodes = self.ctx.config.memory.map_or(1, |memory| memory.nodes.max(1));
        let peers = linked.max(1) * nodes;
        let queue_bytes = queue_bytes(bytes / peers).min(self.ctx.config.queue_bytes);
        let streaming = self.peers.iter().filter(|peer| peer.has_open_streams()).count().max(1) * nodes;
        let configured = self.ctx.config.streams.map_or(0, |streams| streams.memory_bytes);
        let stream_bytes = (bytes / STREAMS_SHARE / streaming).max(LEAST_STREAMS).min(configured);
        self.peers.iter_mut().for_each(|peer| peer.bound_others(queue_bytes, stream_bytes));
        self.ctx.deliveries.trim();
    }

    /// Bytes of memory beside stores.
    fn other_memory_bytes(&self) -> usize {
        let peers: usize = self.peers.iter().map(Peer::other_memory_bytes).sum();
        let group = self.ctx.sharing.as_ref().map_or(0, |sharing| sharing.memory_bytes());
        let ready: usize = self.ready.iter().map(|(_, datagram)| datagram.capacity()).sum();
        let letters: usize = self.letters.iter().map(|(_, letter)| letter.capacity()).sum();
        peers + group + ready + letters + self.ctx.deliveries.memory_bytes()
    }

    /// Sets the budget of all nodes that share it, in bytes. Stores follow within seconds.
    pub fn set_memory_bytes(&mut self, now: Duration, bytes: usize) {
        let Some(budget) = self.ctx.memory.budget() else { return };
        budget.set_bytes(bytes);
        if let Some(memory) = &mut self.ctx.config.memory {
            *memory = Memory { bytes, ..*memory };
        }
        self.ctx.memory.look_soon(now);
    }

    /// The state of the budget.
    pub(super) fn memory_status(&self) -> Option<MemoryStatus> {
        let budget = self.ctx.memory.budget()?;
        let stores = self.peers.iter().map(|peer| peer.store_memory_bytes().iter().sum::<usize>()).sum();
        let (held_bytes, _) = budget.held();
        Some(MemoryStatus {
            budget_bytes: budget.bytes(),
            held_bytes,
            store_bytes: stores,
            other_bytes: self.other_memory_bytes(),
        })
    }
}
