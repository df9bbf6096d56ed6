//! What a gateway and its stations are told.

use crate::boundaries::Boundaries;
use crate::flush::FlushAfter;
use crate::knowledge::KnowledgeKind;
use crate::names::AirTime;
use crate::removal::Removal;
use std::time::Duration;
use wire::shim::slots::{MAX_SLOT_BITS, MIN_SLOT_BITS};

/// What happens where two chunks belong into one slot (REfactor, section 3.3).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Collisions {
    /// The newer one takes it. A station that holds the older one notices by the packet's MAC.
    #[default]
    Replace,
    /// Neither is kept, until the caches are flushed (the paper's way).
    Mark(FlushAfter),
}

/// How long and how many packets wait for chunks, on both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MissBounds {
    /// Packets that a station holds at once.
    pub held_packets: usize,
    /// How long a station holds a packet.
    pub held_for: Duration,
    /// How often a station asks for a packet's chunks, and is answered: whoever asks for everything gets it
    /// so many times, and nothing besides.
    pub tries: u8,
    /// How long a station waits for a reply before it asks again.
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

/// What a gateway and its stations are told. Boundaries, network key and collisions must be the same for all
/// of them.
#[derive(Clone, PartialEq)]
pub struct Settings {
    /// How packets are cut.
    pub boundaries: Boundaries,
    /// The cache has two to this many slots: from 14 to 24. Stations may have fewer than their gateway.
    pub slot_bits: u8,
    /// By which slots are chosen; known to the network alone.
    pub network_key: [u8; 32],
    /// What happens where two chunks belong into one slot.
    pub collisions: Collisions,
    /// Bounds on what waits.
    pub misses: MissBounds,
    /// How a gateway knows what its stations have.
    pub knowledge: KnowledgeKind,
    /// Which chunks a gateway removes.
    pub removal: Removal,
    /// Whether it removes what stands beside them too, where it agrees with what stood there before, parts of
    /// chunks included (beyond the paper).
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

    /// Says what is wrong with the settings, if anything is.
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

/// A station cannot be told to hold more packets than this.
pub const MAX_HELD_PACKETS: usize = 4096;

/// What is wrong with a setting.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SettingsError {
    /// Too few or too many slots.
    #[error("slot_bits is {0}; set it to a number from 14 to 24")]
    SlotBits(u8),
    /// More packets would be held than is sensible.
    #[error("held_packets is {0}; set it to at most {MAX_HELD_PACKETS}")]
    HeldPackets(usize),
    /// A share that is none.
    #[error("{key} is {value}; set it to a number from 0 to 1")]
    NotAShare {
        /// Which.
        key: &'static str,
        /// What was given.
        value: f64,
    },
    /// A threshold that is no number.
    #[error("threshold_seconds is {0}; set it to a number of seconds, positive or negative")]
    Threshold(f64),
}

impl SettingsError {
    /// Refuses what is not from 0 to 1.
    pub(crate) fn unless_share(key: &'static str, value: f64) -> Result<(), SettingsError> {
        if (0.0..=1.0).contains(&value) { Ok(()) } else { Err(SettingsError::NotAShare { key, value }) }
    }
}

/// What a gateway is told of a station that associates.
#[derive(Clone, PartialEq)]
pub struct Association {
    /// The station's cache has two to this many slots; what it has beyond the gateway's is not used.
    pub slot_bits: u8,
    /// At which rate the gateway sends to it.
    pub rate_bits_per_second: u64,
    /// Whether that rate is its radio's, so that what it overhears follows from it by Table 1 until the
    /// station has said what it overheard. Where it is a guess, nothing is taken to be overheard until then.
    pub rate_is_known: bool,
    /// What transmissions to it take of the air.
    pub air_time: AirTime,
    /// Of the MAC over restored packets, known to this station and the gateway alone. `None` leaves the MAC
    /// out, as the paper does: only for counting bytes, for wrong bytes are then delivered where caches
    /// disagree.
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
