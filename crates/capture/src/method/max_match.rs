//! Max-match: the longest repeated regions around sampled windows, in any earlier packet.
//!
//! N. Spring, D. Wetherall, "A protocol-independent technique for eliminating redundant network traffic",
//! SIGCOMM 2000. Fingerprints of a sliding window are sampled; where one was seen before, the match is
//! extended both ways as far as the two payloads agree, and the search goes on behind it.

use super::literals::Literals;
use super::payload_store::PayloadStore;
use super::{Method, Savings, SentInstead};
use crate::packet::Packet;
use re::anchors::{Anchor, AnchorFinder};
use re::extent::{common_prefix, common_suffix};
use std::collections::HashMap;

/// Parameters of [`MaxMatch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxMatchParameters {
    /// The sliding window in bytes.
    pub window_bytes: usize,
    /// One window in 2^this is a fingerprint.
    pub sample_bits: u32,
    /// What is sent in place of a region.
    pub reference_bytes: usize,
    /// How many packets back a reference may reach; `None`: any number.
    pub cache_packets: Option<usize>,
    /// The most memory that payloads may take.
    pub cache_bytes: usize,
    /// The level of zstd for what is left.
    pub zstd_level: i32,
}

impl Default for MaxMatchParameters {
    fn default() -> Self {
        MaxMatchParameters {
            window_bytes: 32,
            sample_bits: 5,
            reference_bytes: wire::shim::paper::FIELD_BYTES,
            cache_packets: None,
            cache_bytes: 1 << 30,
            zstd_level: crate::DEFAULT_ZSTD_LEVEL,
        }
    }
}

/// Where a window was last seen.
#[derive(Debug, Clone, Copy)]
struct Place {
    number: u64,
    offset: u16,
}

/// Redundancy by max-match.
pub struct MaxMatch {
    parameters: MaxMatchParameters,
    finder: AnchorFinder,
    index: HashMap<u64, Place, foldhash::fast::RandomState>,
    store: PayloadStore,
    anchors: Vec<Anchor>,
    literals: Literals,
    savings: Savings,
}

impl MaxMatch {
    /// With these parameters; nonsensical ones are taken as far as they make sense.
    #[must_use]
    pub fn new(parameters: MaxMatchParameters) -> Self {
        let window_bytes = parameters.window_bytes.max(1);
        MaxMatch {
            parameters: MaxMatchParameters { window_bytes, ..parameters },
            finder: AnchorFinder::rabin(window_bytes, parameters.sample_bits),
            index: HashMap::default(),
            store: PayloadStore::new(parameters.cache_packets.unwrap_or(usize::MAX), parameters.cache_bytes),
            anchors: Vec::new(),
            literals: Literals::new(parameters.zstd_level),
            savings: Savings::default(),
        }
    }
}

impl Method for MaxMatch {
    fn name(&self) -> String {
        "max-match".to_owned()
    }

    fn description(&self) -> String {
        let MaxMatchParameters { window_bytes, sample_bits, reference_bytes, cache_packets, .. } = self.parameters;
        let reach = cache_packets.map_or("any earlier packet".to_owned(), |count| format!("the last {count} packets"));
        let one_in = 1u64 << sample_bits.min(32);
        format!("windows of {window_bytes} B, 1 in {one_in} sampled, {reach}, {reference_bytes} B a reference")
    }

    fn observe(&mut self, packet: &Packet<'_>) {
        let payload = packet.payload();
        self.finder.find(payload, 0..payload.len(), &mut self.anchors);
        self.literals.clear();
        let (mut free_from, mut removed_bytes, mut references) = (0, 0, 0);
        for anchor in &self.anchors {
            let at = usize::from(anchor.offset);
            if at < free_from {
                continue;
            }
            let Some(place) = self.index.get(&anchor.fingerprint) else { continue };
            let Some(stored) = self.store.get(place.number) else { continue };
            let Some((before, behind)) = stored.payload.split_at_checked(usize::from(place.offset)) else { continue };
            let forwards = common_prefix(&payload[at..], behind);
            let backwards = common_suffix(&payload[free_from..at], before);
            let length = backwards + forwards;
            if forwards < self.parameters.window_bytes || length <= self.parameters.reference_bytes {
                continue;
            }
            self.literals.push(&payload[free_from..at - backwards]);
            free_from = at + forwards;
            removed_bytes += length;
            references += 1;
            let same_client = stored.client == packet.client;
            self.savings.count_origin(packet, same_client, length);
        }
        self.literals.push(&payload[free_from..]);
        self.savings.count(&SentInstead {
            removed_bytes,
            overhead_bytes: references * self.parameters.reference_bytes,
            literal_bytes: self.literals.len(),
            compressed_literal_bytes: self.literals.compressed_bytes(),
        });
        let number = self.store.next();
        if self.store.push(packet) {
            let oldest = self.store.oldest();
            self.index.retain(|_, place| place.number >= oldest);
        }
        for anchor in &self.anchors {
            self.index.insert(anchor.fingerprint, Place { number, offset: anchor.offset });
        }
    }

    fn savings(&self) -> Savings {
        Savings { memory_was_full: self.store.was_full(), ..self.savings }
    }
}
