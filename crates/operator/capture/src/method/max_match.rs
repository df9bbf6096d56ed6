//! Max-match: the longest repeated regions around sampled windows, in any earlier packet.
//!
//! N. Spring, D. Wetherall, "A protocol-independent technique for eliminating redundant network traffic",
//! SIGCOMM 2000. Fingerprints of a sliding window are sampled. A match of a known fingerprint is extended in
//! both directions as far as the payloads agree, and the search continues behind it.

use super::Method;
use super::literals::Literals;
use super::payload_store::PayloadStore;
use crate::flow::Toward;
use crate::packet::Packet;
use crate::savings::{SentInstead, Tally};
use re::anchors::{Anchor, AnchorFinder};
use re::extent::{common_prefix, common_suffix};
use std::collections::HashMap;

/// Bytes of a reference: a fingerprint of 64 bits, and two offsets and a length of 16 bits (Le, Srivatsa,
/// Iyengar, ICDCS 2012, section III-B).
const REFERENCE_BYTES: usize = 14;

/// Parameters of [`MaxMatch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxMatchParameters {
    /// The sliding window in bytes.
    pub window_bytes: usize,
    /// One window in 2^this is a fingerprint.
    pub sample_bits: u32,
    /// Bytes of a region's reference.
    pub reference_bytes: usize,
    /// The largest distance of a reference in packets; `None` for no limit.
    pub cache_packets: Option<usize>,
    /// Bytes of payload remembered in each direction. The index takes half as much again.
    pub cache_bytes: usize,
    /// The level of zstd for the rest.
    pub zstd_level: i32,
}

impl Default for MaxMatchParameters {
    fn default() -> Self {
        MaxMatchParameters {
            window_bytes: 32,
            sample_bits: 5,
            reference_bytes: REFERENCE_BYTES,
            cache_packets: None,
            cache_bytes: 512 << 20,
            zstd_level: crate::DEFAULT_ZSTD_LEVEL,
        }
    }
}

/// Latest place of a window: the packet's number and, in the low 16 bits, the window's offset.
#[derive(Debug, Clone, Copy)]
struct Place(u64);

impl Place {
    fn new(number: u64, offset: u16) -> Self {
        Place(number << 16 | u64::from(offset))
    }

    fn number(self) -> u64 {
        self.0 >> 16
    }

    fn offset(self) -> usize {
        usize::from(self.0 as u16)
    }
}

/// The packets of one direction.
struct OneWay {
    index: HashMap<u64, Place, foldhash::fast::RandomState>,
    /// The most windows in the index: twice the expected number in the store.
    max_windows: usize,
    store: PayloadStore,
    index_was_full: bool,
}

/// Redundancy found by max-match.
pub struct MaxMatch {
    parameters: MaxMatchParameters,
    finder: AnchorFinder,
    downwards: OneWay,
    upwards: OneWay,
    anchors: Vec<Anchor>,
    literals: Literals,
    tally: Tally,
}

impl MaxMatch {
    /// The method with these parameters; invalid ones are clamped.
    #[must_use]
    pub fn new(parameters: MaxMatchParameters) -> Self {
        let window_bytes = parameters.window_bytes.max(1);
        let one_way = || OneWay {
            index: HashMap::default(),
            max_windows: 2 * (parameters.cache_bytes >> parameters.sample_bits.min(32)),
            store: PayloadStore::new(parameters.cache_packets.unwrap_or(usize::MAX), parameters.cache_bytes),
            index_was_full: false,
        };
        MaxMatch {
            parameters: MaxMatchParameters { window_bytes, ..parameters },
            finder: AnchorFinder::rabin(window_bytes, parameters.sample_bits),
            downwards: one_way(),
            upwards: one_way(),
            anchors: Vec::new(),
            literals: Literals::new(parameters.zstd_level),
            tally: Tally::default(),
        }
    }
}

impl OneWay {
    fn was_full(&self) -> bool {
        self.index_was_full || self.store.was_full()
    }

    /// Stores a packet, and enters its windows by these anchors.
    fn remember(&mut self, packet: &Packet<'_>, anchors: &[Anchor]) {
        let number = self.store.next();
        if self.store.push(packet) {
            let oldest = self.store.oldest();
            self.index.retain(|_, place| place.number() >= oldest);
        }
        for anchor in anchors {
            let place = Place::new(number, anchor.offset);
            if self.index.len() < self.max_windows {
                self.index.insert(anchor.fingerprint, place);
            } else if let Some(known) = self.index.get_mut(&anchor.fingerprint) {
                *known = place;
            } else {
                self.index_was_full = true;
            }
        }
    }
}

impl Method for MaxMatch {
    fn name(&self) -> String {
        "max-match".to_owned()
    }

    fn description(&self) -> String {
        let MaxMatchParameters { window_bytes, sample_bits, reference_bytes, cache_packets, .. } =
            self.parameters;
        let reach = cache_packets
            .map_or("any earlier packet".to_owned(), |count| format!("the last {count} packets"));
        let one_in = 1u64 << sample_bits.min(32);
        format!(
            "{reach}; windows of {window_bytes} B, 1 in {one_in} sampled, {reference_bytes} B a reference"
        )
    }

    fn observe(&mut self, packet: &Packet<'_>) {
        let payload = packet.payload();
        self.finder.find(payload, 0..payload.len(), &mut self.anchors);
        self.literals.clear();
        let way = if packet.toward == Toward::Client { &mut self.downwards } else { &mut self.upwards };
        let (mut free_from, mut removed_bytes, mut references) = (0, 0, 0);
        for anchor in &self.anchors {
            let at = usize::from(anchor.offset);
            if at < free_from {
                continue;
            }
            let place = way.index.get(&anchor.fingerprint);
            let Some((place, stored)) = place.and_then(|place| Some((place, way.store.get(place.number())?)))
            else {
                continue;
            };
            let (before, behind) = stored.payload.split_at(place.offset());
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
            self.tally.count_origin(packet, stored.client == packet.client, length);
        }
        self.literals.push(&payload[free_from..]);
        let sent = SentInstead {
            removed_bytes,
            overhead_bytes: references * self.parameters.reference_bytes,
            literal_bytes: self.literals.len(),
            compressed_literal_bytes: self.literals.compressed_bytes(),
        };
        self.tally.count(packet, &sent);
        way.remember(packet, &self.anchors);
    }

    fn tally(&self) -> Tally {
        let memory_was_full = self.downwards.was_full() || self.upwards.was_full();
        Tally { memory_was_full, ..self.tally }
    }
}
