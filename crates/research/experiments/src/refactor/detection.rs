//! Detection and savings of schemes for one receiver that has every sent packet, of any addressee.

use std::time::Duration;

use anyhow::Result;
use overhear::boundaries::{Boundaries, MinChunk};
use overhear::flush::FlushAfter;
use overhear::knowledge::KnowledgeKind;
use overhear::removal::Removal;
use overhear::{AirTime, Association, Collisions, Gateway, Settings, StationId};
use published::comparators::{Counted, Cut, HashedChunks, Hashes, Ideal, MaxMatch};

use super::as_printed;
use crate::trace::TracePacket;

const NETWORK_KEY: [u8; 32] = [9; 32];
const RECEIVER: StationId = StationId(0);

/// Encoding of a payload.
type Encode = dyn FnMut(&[u8]) -> Counted;

/// How repetition is found and referred to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Finder {
    /// Slots of self-addressing chunks; the newer of two chunks takes a slot. With the MAC that makes that
    /// safe.
    Slots {
        /// The cache has two to this many slots.
        slot_bits: u8,
        /// Parts of chunks too.
        parts: bool,
    },
    /// The paper's as printed: MAXP, whole chunks, collided slots marked until the next flush, no MAC.
    AsPrinted {
        /// The cache has two to this many slots.
        slot_bits: u8,
        /// Traffic between flushes.
        flush_bytes: u64,
    },
    /// The same with Gear.
    MarkedSlots {
        /// The cache has two to this many slots.
        slot_bits: u8,
        /// Traffic between flushes.
        flush_bytes: u64,
    },
    /// The paper's chunks by SHA-1, in a store of this many bytes.
    Sha1(usize),
    /// The same, and the hash of every chunk is sent.
    ShippedSha1(usize),
    /// Whole packets by SHA-1 (Santos and Wetherall).
    WholePackets(usize),
    /// Stretches of any length, in a store of this many bytes.
    MaxMatch(usize),
    /// The paper's chunks in a cache without bounds or collisions.
    Ideal,
}

impl Finder {
    /// Takes a trace to its end.
    ///
    /// # Errors
    ///
    /// When settings make no sense.
    pub fn count(self, min_chunk: MinChunk, trace: impl Iterator<Item = TracePacket>) -> Result<Counted> {
        let boundaries = Boundaries { min_chunk, ..Boundaries::default() };
        let printed = as_printed::boundaries(min_chunk);
        let hashed = |cut, hashes, bytes| {
            let mut encoder = HashedChunks::new(cut, hashes, bytes);
            let mut out = Vec::new();
            move |packet: &[u8]| {
                out.clear();
                encoder.encode(packet, &mut out)
            }
        };
        let settings = |slot_bits| Settings { boundaries, slot_bits, ..Settings::new(NETWORK_KEY) };
        let mut encode: Box<Encode> = match self {
            Self::Slots { slot_bits, parts } => {
                Box::new(slots(Settings { parts, ..settings(slot_bits) }, true)?)
            }
            Self::AsPrinted { slot_bits, flush_bytes } | Self::MarkedSlots { slot_bits, flush_bytes } => {
                // by traffic alone, as figure 4 has it
                let after = FlushAfter { traffic_bytes: flush_bytes, marked_share: 1.0 };
                let collisions = Collisions::Mark(after);
                let is_printed = matches!(self, Self::AsPrinted { .. });
                let boundaries = if is_printed { printed } else { boundaries };
                let settings = Settings { boundaries, collisions, parts: false, ..settings(slot_bits) };
                Box::new(slots(settings, false)?)
            }
            Self::Sha1(bytes) => Box::new(hashed(Cut::Chunks(printed), Hashes::Reckoned, bytes)),
            Self::ShippedSha1(bytes) => Box::new(hashed(Cut::Chunks(printed), Hashes::Shipped, bytes)),
            Self::WholePackets(bytes) => Box::new(hashed(Cut::Packets, Hashes::Reckoned, bytes)),
            Self::MaxMatch(bytes) => {
                let mut encoder = MaxMatch::new(bytes);
                Box::new(move |packet| encoder.encode(packet))
            }
            Self::Ideal => {
                let mut encoder =
                    Ideal::new(printed, Settings::new(NETWORK_KEY).slot_bits, &NETWORK_KEY, false);
                Box::new(move |packet| encoder.encode(packet, false))
            }
        };
        let mut counted = Counted::default();
        trace.for_each(|packet| counted += encode(packet.payload()));
        Ok(counted)
    }
}

/// A gateway that removes all it can.
fn slots(settings: Settings, with_mac: bool) -> Result<impl FnMut(&[u8]) -> Counted> {
    const RATE: u64 = 54_000_000;
    let slot_bits = settings.slot_bits;
    let mut gateway = Gateway::new(Settings {
        knowledge: KnowledgeKind::Everything,
        removal: Removal::Greedy,
        ..settings
    })?;
    let association = Association {
        slot_bits,
        rate_bits_per_second: RATE,
        rate_is_known: true,
        air_time: AirTime::of_rate(RATE),
        mac_key: with_mac.then_some(NETWORK_KEY),
    };
    gateway.join(RECEIVER, association, Duration::ZERO)?;
    let mut out = Vec::new();
    Ok(move |packet: &[u8]| {
        out.clear();
        let sent = gateway.encode(RECEIVER, packet, Duration::ZERO, &mut out);
        if let Some(flush) = gateway.poll_flush(Duration::ZERO) {
            gateway.record_flush(RECEIVER, flush, Duration::ZERO);
        }
        Counted {
            packet_bytes: packet.len() as u64,
            found_bytes: sent.found_bytes as u64,
            sent_bytes: sent.bytes as u64,
        }
    })
}
