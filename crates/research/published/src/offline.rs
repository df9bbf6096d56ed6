//! The bytes that the paper's encoder would remove from a content, computed without a link.
//!
//! The content is cut into payloads; each may refer to all payloads before it, or to the last few. Nothing is
//! bounded, displaced or lost, so figures of different contents are comparable. The byte-caching paper's
//! Table I, and the substitutes for its files 1 and 2, are measured this way.
//!
//! ```
//! use published::offline::Measure;
//!
//! let payload: Vec<u8> = (0..1460u32).map(|at| (at * at >> 5) as u8).collect();
//! let twice = [&payload[..], &payload].concat();
//! let found = Measure::default().of(&twice);
//! assert_eq!((found.packets, found.encoded_packets), (2, 1));
//!
//! // Table I: "redundancy in any window of k packets", here k = 10.
//! let table_one = Measure { reach_packets: Some(10), ..Measure::default() };
//! assert!(table_one.of(&twice).redundant() > 0.49);
//! ```

use crate::shim::paper::FIELD_BYTES;
use foldhash::fast::FixedState;
use re::anchors::AnchorFinder;
use re::extent::{common_prefix, common_suffix};
use std::collections::HashMap;

/// Payload bytes of a full TCP segment over Ethernet, the paper's unit.
pub const PAYLOAD_BYTES: usize = 1460;

/// Parameters of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measure {
    /// Bytes of payload in each packet but the last.
    pub payload_bytes: usize,
    /// The sliding window (paper: w).
    pub window_bytes: usize,
    /// Number of low bits that are zero in a kept fingerprint (paper: k).
    pub sample_bits: u32,
    /// The largest distance of a reference in packets; `None` for no limit.
    pub reach_packets: Option<usize>,
}

impl Default for Measure {
    fn default() -> Self {
        Measure { payload_bytes: PAYLOAD_BYTES, window_bytes: 16, sample_bits: 4, reach_packets: None }
    }
}

/// The result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Redundancy {
    /// Packets.
    pub packets: usize,
    /// Bytes of their payloads.
    pub payload_bytes: usize,
    /// Packets with at least one region removed.
    pub encoded_packets: usize,
    /// Regions removed, each longer than an encoding field.
    pub regions: usize,
    /// Bytes in those regions.
    pub removed_bytes: usize,
    /// Sum over encoded packets of the distinct packets that each one refers to.
    pub references: usize,
}

impl Redundancy {
    /// Bytes left, fields of 14 bytes included, by bytes of payload.
    #[must_use]
    pub fn left(&self) -> f64 {
        let left_bytes = self.payload_bytes - self.removed_bytes + FIELD_BYTES * self.regions;
        left_bytes as f64 / self.payload_bytes.max(1) as f64
    }

    /// Bytes in repeated regions by bytes of payload.
    #[must_use]
    pub fn redundant(&self) -> f64 {
        self.removed_bytes as f64 / self.payload_bytes.max(1) as f64
    }

    /// The mean number of distinct packets that an encoded packet refers to.
    #[must_use]
    pub fn mean_references(&self) -> f64 {
        self.references as f64 / self.encoded_packets.max(1) as f64
    }
}

impl Measure {
    /// Measures one content.
    #[must_use]
    pub fn of(&self, content: &[u8]) -> Redundancy {
        let mut finder = AnchorFinder::rabin(self.window_bytes, self.sample_bits);
        let mut newest: HashMap<u64, (usize, u16), _> = HashMap::with_hasher(FixedState::default());
        let payloads: Vec<&[u8]> = content.chunks(self.payload_bytes.clamp(1, 65_535)).collect();
        let (mut anchors, mut referred) = (Vec::new(), Vec::new());
        let mut found =
            Redundancy { packets: payloads.len(), payload_bytes: content.len(), ..Default::default() };
        for (number, payload) in payloads.iter().enumerate() {
            finder.find(payload, 0..payload.len(), &mut anchors);
            referred.clear();
            let mut free_from = 0;
            for anchor in &anchors {
                let at = usize::from(anchor.offset);
                let Some(&(other, place)) = newest.get(&anchor.fingerprint) else { continue };
                let within_reach = self.reach_packets.is_none_or(|reach| number - other <= reach);
                if at < free_from || !within_reach {
                    continue;
                }
                let (before, behind) = payloads[other].split_at(usize::from(place));
                let forwards = common_prefix(&payload[at..], behind);
                let backwards = common_suffix(&payload[free_from..at], before);
                let length = backwards + forwards;
                if forwards < self.window_bytes || length <= FIELD_BYTES {
                    continue;
                }
                free_from = at + forwards;
                found.regions += 1;
                found.removed_bytes += length;
                if !referred.contains(&other) {
                    referred.push(other);
                }
            }
            found.encoded_packets += usize::from(!referred.is_empty());
            found.references += referred.len();
            newest.extend(anchors.iter().map(|anchor| (anchor.fingerprint, (number, anchor.offset))));
        }
        found
    }
}
