//! Settings of a gateway and its stations.

use crate::boundaries::Boundaries;
use crate::flush::FlushAfter;
use crate::knowledge::KnowledgeKind;
use crate::names::AirTime;
use crate::removal::Removal;
use std::time::Duration;
use wire::shim::slots::{MAX_SLOT_BITS, MIN_SLOT_BITS};

/// Handling of two chunks in one slot (REfactor, section 3.3).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Collisions {
    /// The newer one takes the slot. A station with the older one detects that by the packet's MAC.
    #[default]
    Replace,
    /// The slot stays empty until the caches are flushed (the paper's way).
    Mark(FlushAfter),
}

/// Bounds on waiting for chunks, at both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MissBounds {
    /// The most packets that a station holds.
    pub held_packets: usize,
    /// The longest time that a station holds a packet.
    pub held_for: Duration,
    /// The most requests for a packet's chunks, and the most answers. A station that requests everything gets
    /// it only this often.
    pub tries: u8,
    /// Time without a reply after which a station repeats a request.
    pub retry_after: Duration,
}

impl Default for MissBounds {
    fn default() -> Self {
        MissBounds {
            held_packets: 64,
            held_for: Duration::from_millis(500),
            tries: 4,
            retry_after: Duration::from_millis(60),
        }
    }
}

/// Settings of a gateway and its stations. Boundaries, network key and collisions must agree on all of them.
#[derive(Clone, PartialEq)]
pub struct Settings {
    /// Method of cutting packets.
    pub boundaries: Boundaries,
    /// The cache has two to this many slots, from 14 to 24. A station may have fewer than its gateway.
    pub slot_bits: u8,
    /// Key of the slots; only the network's nodes know it.
    pub network_key: [u8; 32],
    /// Handling of two chunks in one slot.
    pub collisions: Collisions,
    /// Bounds on waiting for chunks.
    pub misses: MissBounds,
    /// Source of the gateway's knowledge about stations.
    pub knowledge: KnowledgeKind,
    /// The chunks that a gateway removes.
    pub removal: Removal,
    /// Whether it also removes neighbours of removed chunks that agree with the earlier transmission, parts
    /// of chunks included (beyond the paper).
    pub parts: bool,
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Settings { boundaries, slot_bits, network_key: _, collisions, misses, knowledge, removal, parts } =
            self;
        f.debug_struct("Settings")
            .field("boundaries", boundaries)
            .field("slot_bits", slot_bits)
            .field("collisions", collisions)
            .field("misses", misses)
            .field("knowledge", knowledge)
            .field("removal", removal)
            .field("parts", parts)
            .finish_non_exhaustive()
    }
}

impl Settings {
    /// The defaults of a network with this key: 2^20 slots, Gear, chunks of at least 64 bytes, slots
    /// replaced, exact receipts, model-driven removal with an adaptive threshold.
    #[must_use]
    pub fn new(network_key: [u8; 32]) -> Self {
        Settings {
            boundaries: Boundaries::default(),
            slot_bits: 20,
            network_key,
            collisions: Collisions::default(),
            misses: MissBounds::default(),
            knowledge: KnowledgeKind::default(),
            removal: Removal::default(),
            parts: true,
        }
    }

    /// Checks the settings.
    pub fn validate(&self) -> Result<(), SettingsError> {
        if !(MIN_SLOT_BITS..=MAX_SLOT_BITS).contains(&self.slot_bits) {
            return Err(SettingsError::SlotBits(self.slot_bits));
        }
        if self.misses.held_packets > MAX_HELD_PACKETS {
            return Err(SettingsError::HeldPackets(self.misses.held_packets));
        }
        self.removal.validate()?;
        self.knowledge.validate()
    }
}

/// The largest [`MissBounds::held_packets`].
pub const MAX_HELD_PACKETS: usize = 4096;

/// An invalid setting.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SettingsError {
    /// Too few or too many slots.
    #[error("slot_bits is {0}; set it to a number from 14 to 24")]
    SlotBits(u8),
    /// Too many held packets.
    #[error("held_packets is {0}; set it to at most {MAX_HELD_PACKETS}")]
    HeldPackets(usize),
    /// A share outside 0 to 1.
    #[error("{key} is {value}; set it to a number from 0 to 1")]
    NotAShare {
        /// Name of the setting.
        key: &'static str,
        /// Its value.
        value: f64,
    },
    /// A threshold that is not a number.
    #[error("threshold_seconds is {0}; set it to a number of seconds, positive or negative")]
    Threshold(f64),
}

impl SettingsError {
    /// Refuses a value outside 0 to 1.
    pub(crate) fn unless_share(key: &'static str, value: f64) -> Result<(), SettingsError> {
        if (0.0..=1.0).contains(&value) { Ok(()) } else { Err(SettingsError::NotAShare { key, value }) }
    }
}

/// Parameters of a station that associates.
#[derive(Clone, PartialEq)]
pub struct Association {
    /// The station's cache has two to this many slots; slots beyond the gateway's stay unused.
    pub slot_bits: u8,
    /// Rate of transmissions to the station, in bits a second.
    pub rate_bits_per_second: u64,
    /// Whether the rate is that of its radio. If so, Table 1 estimates its overhearing until its first
    /// report. Otherwise nothing counts as overheard until then.
    pub rate_is_known: bool,
    /// Air time of transmissions to the station.
    pub air_time: AirTime,
    /// Key of the MAC over restored packets; only this station and the gateway know it. `None` omits the MAC,
    /// as the paper does. Use it only to count bytes: disagreeing caches then deliver wrong bytes.
    pub mac_key: Option<[u8; 32]>,
}

impl std::fmt::Debug for Association {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Association { slot_bits, rate_bits_per_second, rate_is_known, air_time, mac_key: _ } = self;
        f.debug_struct("Association")
            .field("slot_bits", slot_bits)
            .field("rate_bits_per_second", rate_bits_per_second)
            .field("rate_is_known", rate_is_known)
            .field("air_time", air_time)
            .finish_non_exhaustive()
    }
}
