//! Whole packets: payloads that repeat an earlier one entirely.

use super::Method;
use super::literals::Literals;
use super::receivers::{Receivers, Seen};
use crate::packet::Packet;
use crate::savings::{SentInstead, Tally};

/// Bytes of a payload's reference: a fingerprint.
const REFERENCE_BYTES: usize = 8;
/// The most payloads remembered, counted again for each further client.
const MAX_PAYLOADS: usize = 1 << 22;

/// Redundancy of whole payloads. Those no longer than a reference are ignored.
pub struct WholePacket {
    receivers: Receivers,
    literals: Literals,
    tally: Tally,
}

impl WholePacket {
    /// A method without memory yet.
    #[must_use]
    pub fn new(zstd_level: i32) -> Self {
        let receivers = Receivers::new(MAX_PAYLOADS);
        WholePacket { receivers, literals: Literals::new(zstd_level), tally: Tally::default() }
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
        let seen = if payload.len() > REFERENCE_BYTES {
            self.receivers.look_up(payload, packet)
        } else {
            Seen::Never
        };
        self.literals.clear();
        let mut sent = SentInstead::default();
        if seen == Seen::Never {
            self.literals.push(payload);
            sent.literal_bytes = payload.len();
            sent.compressed_literal_bytes = self.literals.compressed_bytes();
        } else {
            self.tally.count_origin(packet, seen == Seen::BySameClient, payload.len());
            sent.removed_bytes = payload.len();
            sent.overhead_bytes = REFERENCE_BYTES;
        }
        self.tally.count(packet, &sent);
    }

    fn tally(&self) -> Tally {
        Tally { memory_was_full: self.receivers.was_full(), ..self.tally }
    }
}
