//! The tunnel's encoder: one encoder for each direction, with a bounded store, the compact form, and a
//! reference policy.
//!
//! There is no loss here, so policies that differ only in their handling of losses are not distinguished. The
//! savings are those of good conditions, minus the references that a policy forgoes. `acked` counts a packet
//! as confirmed after a given number of later ones.

use super::Method;
use super::literals::Literals;
use crate::flow::Toward;
use crate::packet::{Client, Packet};
use crate::savings::{SentInstead, Tally};
use re::{Encoded, Encoder, Form, Parameters, Policy};
use std::collections::VecDeque;
use wire::frame::Reduced;
use wire::shim::compact::Compact;

/// The encoder of one direction.
struct OneWay {
    encoder: Encoder,
    sequence: u64,
    /// Clients of the packets up to the newest, as far back as the encoder may refer.
    clients: VecDeque<Client>,
}

/// Redundancy found by `re`'s encoder.
pub struct ByteCaching {
    name: String,
    parameters: Parameters,
    packets_in_flight: u64,
    downwards: OneWay,
    upwards: OneWay,
    encoded: Vec<u8>,
    literals: Literals,
    tally: Tally,
}

impl ByteCaching {
    /// The method with these parameters, in the compact form. A packet counts as confirmed after
    /// `packets_in_flight` later packets of its direction.
    #[must_use]
    pub fn new(name: &str, parameters: &Parameters, packets_in_flight: u64, zstd_level: i32) -> Self {
        let parameters = Parameters { form: Form::Compact, ..*parameters };
        let one_way = || OneWay { encoder: Encoder::new(&parameters), sequence: 0, clients: VecDeque::new() };
        ByteCaching {
            name: name.to_owned(),
            parameters,
            packets_in_flight,
            downwards: one_way(),
            upwards: one_way(),
            encoded: Vec::new(),
            literals: Literals::new(zstd_level),
            tally: Tally::default(),
        }
    }

    /// Encodes a packet into `self.encoded`.
    fn encode(&mut self, packet: &Packet<'_>) -> Encoded {
        let reach_packets = self.reach_packets();
        let way = if packet.toward == Toward::Client { &mut self.downwards } else { &mut self.upwards };
        let sequence = way.sequence;
        way.sequence += 1;
        if let Some(confirmed) = sequence.checked_sub(self.packets_in_flight + 1) {
            way.encoder.confirm(confirmed);
        }
        if way.clients.len() > reach_packets {
            way.clients.pop_front();
        }
        way.clients.push_back(packet.client);
        self.encoded.clear();
        way.encoder.encode(sequence, packet.bytes, packet.inner, &mut self.encoded)
    }

    /// The distance of references up to which clients are compared: as many packets as a store can hold. Packets
    /// that are not stored make the distance of a few references longer.
    fn reach_packets(&self) -> usize {
        (self.parameters.store_bytes / re::store::OVERHEAD_BYTES).max(64)
    }
}

impl Method for ByteCaching {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn description(&self) -> String {
        let Parameters { window_bytes, sample_bits, store_bytes, policy, .. } = self.parameters;
        let which = match policy {
            Policy::Acked => format!("confirmed packets, {} in flight", self.packets_in_flight),
            Policy::Injected(injected) => injected.description(),
            other => other.to_string(),
        };
        let (one_in, store_mib) = (1u64 << sample_bits, store_bytes >> 20);
        format!("{which}; windows of {window_bytes} B, 1 in {one_in} sampled, store {store_mib} MiB")
    }

    fn observe(&mut self, packet: &Packet<'_>) {
        let encoded = self.encode(packet);
        self.literals.clear();
        let (mut removed_bytes, mut overhead_bytes) = (0, 0);
        match (encoded, Compact::parse(&self.encoded)) {
            (Encoded::Reduced { removed_bytes: removed, shim_bytes, .. }, Ok(reduced)) => {
                let way = if packet.toward == Toward::Client { &self.downwards } else { &self.upwards };
                let clients = &way.clients;
                for region in reduced.regions() {
                    // The packet itself is the last in the queue.
                    let place = clients.len().checked_sub(1 + region.distance as usize);
                    let same_client = place.is_some_and(|place| clients[place] == packet.client);
                    self.tally.count_origin(packet, same_client, region.length as usize);
                }
                // Headers are literals as well and come first: regions lie within the payload.
                self.literals.push(reduced.literals.get(packet.inner.payload_offset..).unwrap_or_default());
                removed_bytes = removed;
                overhead_bytes = Reduced::FRONT_BYTES + shim_bytes;
            }
            _ => self.literals.push(packet.payload()),
        }
        let sent = SentInstead {
            removed_bytes,
            overhead_bytes,
            literal_bytes: self.literals.len(),
            compressed_literal_bytes: self.literals.compressed_bytes(),
        };
        self.tally.count(packet, &sent);
    }

    /// The encoder also gets retransmissions, as on a link, because policies depend on them.
    fn observe_retransmission(&mut self, packet: &Packet<'_>) {
        self.encode(packet);
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}
