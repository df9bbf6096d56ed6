//! Stateless zstd of each payload: the savings of a compressor without a cache.

use super::Method;
use super::literals::Literals;
use crate::packet::Packet;
use crate::savings::{SentInstead, Tally};

/// Compresses each payload on its own; a payload that does not shrink stays unchanged.
pub struct ZstdAlone {
    level: i32,
    literals: Literals,
    tally: Tally,
}

impl ZstdAlone {
    /// The method with a level of zstd.
    #[must_use]
    pub fn new(level: i32) -> Self {
        ZstdAlone { level, literals: Literals::new(level), tally: Tally::default() }
    }
}

impl Method for ZstdAlone {
    fn name(&self) -> String {
        "zstd".to_owned()
    }

    fn description(&self) -> String {
        format!("each payload compressed by itself, zstd level {}", self.level)
    }

    fn observe(&mut self, packet: &Packet<'_>) {
        self.literals.clear();
        self.literals.push(packet.payload());
        let literal_bytes = self.literals.compressed_bytes();
        let sent = SentInstead {
            removed_bytes: packet.payload().len() - literal_bytes,
            overhead_bytes: 0,
            literal_bytes,
            compressed_literal_bytes: literal_bytes,
        };
        self.tally.count(packet, &sent);
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}
