//! Whole packets: payloads that repeat an earlier one from the first byte to the last.

use super::{Method, Savings, SentInstead};
use super::literals::Literals;
use crate::flow::Toward;
use crate::packet::{Client, Packet};
use foldhash::fast::FixedState;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;

/// What is sent in place of a payload: a fingerprint.
const REFERENCE_BYTES: usize = 8;
/// The most payloads remembered.
const MAX_PAYLOADS: usize = 1 << 22;

/// Redundancy by whole payloads. Shorter ones than a reference are left alone.
pub struct WholePacket {
    hasher: FixedState,
    /// The first client of each payload, by direction.
    seen: HashMap<(u64, bool), Client, foldhash::fast::RandomState>,
    /// Payload and client, for clients that were not the first.
    seen_by: HashSet<(u64, Client), foldhash::fast::RandomState>,
    literals: Literals,
    savings: Savings,
}

impl WholePacket {
    /// Remembers nothing yet.
    #[must_use]
    pub fn new(zstd_level: i32) -> Self {
        WholePacket {
            hasher: FixedState::default(),
            seen: HashMap::default(),
            seen_by: HashSet::default(),
            literals: Literals::new(zstd_level),
            savings: Savings::default(),
        }
    }

    /// `None`: not seen before; else whether the same client had it.
    fn look_up(&mut self, packet: &Packet<'_>) -> Option<bool> {
        let full = self.seen.len() + self.seen_by.len() >= MAX_PAYLOADS;
        self.savings.memory_was_full |= full;
        let payload = self.hasher.hash_one(packet.payload());
        let key = (payload, packet.toward == Toward::Client);
        match self.seen.get(&key) {
            None => {
                if !full {
                    self.seen.insert(key, packet.client);
                }
                None
            }
            Some(&first) if first == packet.client => Some(true),
            Some(_) if full => Some(self.seen_by.contains(&(payload, packet.client))),
            Some(_) => Some(!self.seen_by.insert((payload, packet.client))),
        }
    }
}

impl Method for WholePacket {
    fn name(&self) -> String {
        "whole-packet".to_owned()
    }

    fn description(&self) -> String {
        format!("payloads that repeat as a whole, {REFERENCE_BYTES} B a reference")
    }

    fn observe(&mut self, packet: &Packet<'_>) {
        let payload = packet.payload();
        if payload.len() > REFERENCE_BYTES
            && let Some(same_client) = self.look_up(packet)
        {
            self.savings.count_origin(packet, same_client, payload.len());
            let removed_bytes = payload.len();
            self.savings.count(&SentInstead { removed_bytes, overhead_bytes: REFERENCE_BYTES, ..Default::default() });
            return;
        }
        self.literals.clear();
        self.literals.push(payload);
        self.savings.count(&SentInstead {
            literal_bytes: payload.len(),
            compressed_literal_bytes: self.literals.compressed_bytes(),
            ..Default::default()
        });
    }

    fn savings(&self) -> Savings {
        self.savings
    }
}
