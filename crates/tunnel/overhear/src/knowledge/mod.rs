//! Knowledge of a gateway about its stations' caches.
//!
//! A station has a *column*, one of 64. Columns of former stations are cleaned together when no clean one is
//! left. An association therefore costs little.

mod by_rate;
mod overhearing;
mod receipts;

pub use overhearing::OverheardFractions;

use crate::cache::SlotCache;
use crate::settings::SettingsError;
use by_rate::{ByRate, VECTOR_BYTES, Vector};
pub(crate) use receipts::NOTE_BYTES;

/// A station without a report for this number of packets overhears nothing, whatever the rates are.
const COLD_START_PACKETS: u64 = 1024;

/// The largest number of stations at a time.
pub const MAX_STATIONS: usize = 64;

/// Source of the gateway's knowledge about stations.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum KnowledgeKind {
    /// Reports by stations.
    #[default]
    Receipts,
    /// The rates at which the gateway sends to stations (REfactor, section 3.2.1).
    ByRate(OverheardFractions),
    /// All stations hear everything: the paper's upper bound "perfect overhearing with collisions".
    Everything,
}

impl Listener {
    /// Probability that the station has a packet it has not reported on, before packet `next` is sent.
    fn overhears(&self, next: u64) -> f64 {
        match self.overheard_share {
            Some(share) => share,
            None if next.saturating_sub(self.reported_until) <= COLD_START_PACKETS => self.cold_start,
            None => 0.0,
        }
    }
}

impl KnowledgeKind {
    pub(crate) fn validate(&self) -> Result<(), SettingsError> {
        match self {
            KnowledgeKind::ByRate(fractions) => fractions.validate(),
            KnowledgeKind::Receipts | KnowledgeKind::Everything => Ok(()),
        }
    }
}

/// State of a station that affects its overhearing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listener {
    pub column: u8,
    pub rate_bits_per_second: u64,
    /// The station's reports cover all packets below this number.
    pub reported_until: u64,
    /// Recent share of others' packets that it overheard; `None` before its first report.
    pub overheard_share: Option<f64>,
    /// Estimate of that share before the first report, by rates.
    pub cold_start: f64,
    /// Estimate of that share from the caller.
    pub estimate: Option<f64>,
}

/// The knowledge.
#[derive(Debug)]
pub(crate) enum Knowledge {
    /// It is in the first [`NOTE_BYTES`] of a slot's notes.
    Receipts,
    ByRate {
        vectors: ByRate,
        fractions: OverheardFractions,
        /// For each addressee's column, the probabilities that each station overhears it.
        heard: Box<[Vector; MAX_STATIONS]>,
    },
    Everything,
}

impl Knowledge {
    pub(crate) fn new(kind: KnowledgeKind, slot_bits: u8) -> Self {
        match kind {
            KnowledgeKind::Receipts => Knowledge::Receipts,
            KnowledgeKind::ByRate(fractions) => Knowledge::ByRate {
                vectors: ByRate::new(slot_bits),
                fractions,
                heard: Box::new([[0; VECTOR_BYTES]; MAX_STATIONS]),
            },
            KnowledgeKind::Everything => Knowledge::Everything,
        }
    }

    /// Whether stations count as listeners of packets without a report.
    #[inline]
    pub(crate) fn guesses(&self) -> bool {
        !matches!(self, Knowledge::Receipts)
    }

    /// Updates the probabilities after a change of stations or rates.
    pub(crate) fn stations_are(&mut self, stations: impl Iterator<Item = Listener> + Clone) {
        let Knowledge::ByRate { fractions, heard, .. } = self else { return };
        **heard = [[0; VECTOR_BYTES]; MAX_STATIONS];
        for to in stations.clone() {
            for by in stations.clone().filter(|by| by.column != to.column) {
                let by_table = || fractions.probability(by.rate_bits_per_second, to.rate_bits_per_second);
                let probability = by.estimate.unwrap_or_else(by_table);
                by_rate::set_level(
                    &mut heard[usize::from(to.column)],
                    by.column,
                    by_rate::level(probability),
                );
            }
        }
    }

    /// Forgets the slot, because it has another chunk now.
    #[inline]
    pub(crate) fn forget_slot(&mut self, slot: u32) {
        if let Knowledge::ByRate { vectors, .. } = self {
            vectors.forget_slot(slot);
        }
    }

    /// Notes that the slot's chunk is sent with its bytes in packet `number`, to the station of column `to`.
    #[inline]
    pub(crate) fn transmitted<const BYTES: usize>(
        &mut self,
        cache: &mut SlotCache<BYTES>,
        slot: u32,
        number: u64,
        to: u8,
    ) {
        match self {
            Knowledge::Receipts => receipts::record_transmission(cache.notes_mut(slot), number),
            Knowledge::ByRate { vectors, heard, .. } => {
                if let Some(heard) = heard.get(usize::from(to)) {
                    vectors.record_transmission(slot, heard);
                }
            }
            Knowledge::Everything => {}
        }
    }

    /// Notes that a station has the slot's chunk for certain, or lacks it.
    #[inline]
    pub(crate) fn set<const BYTES: usize>(
        &mut self,
        cache: &mut SlotCache<BYTES>,
        slot: u32,
        column: u8,
        has: bool,
    ) {
        match self {
            Knowledge::Receipts => receipts::set(cache.notes_mut(slot), column, has),
            Knowledge::ByRate { vectors, .. } => vectors.set(slot, column, has),
            Knowledge::Everything => {}
        }
    }

    /// Whether any station reported the slot's chunk.
    pub(crate) fn is_had_by_any<const BYTES: usize>(&self, cache: &SlotCache<BYTES>, slot: u32) -> bool {
        matches!(self, Knowledge::Receipts) && receipts::is_had_by_any(cache.notes(slot))
    }

    /// Whether the station reported the slot's chunk.
    pub(crate) fn has<const BYTES: usize>(&self, cache: &SlotCache<BYTES>, slot: u32, column: u8) -> bool {
        matches!(self, Knowledge::Receipts) && receipts::has(cache.notes(slot), column).0
    }

    /// Whether a packet from `since` to before `next` carried the slot's chunk.
    pub(crate) fn was_carried_since<const BYTES: usize>(
        &self,
        cache: &SlotCache<BYTES>,
        slot: u32,
        since: u64,
        next: u64,
    ) -> bool {
        let (_, carrier) = receipts::has(cache.notes(slot), 0);
        let back = (next as u32).wrapping_sub(carrier);
        u64::from(back) <= next - since
    }

    /// Probability that a station has the slot's chunk (paper: V). `next` is the number of the next packet.
    #[inline]
    pub(crate) fn probability<const BYTES: usize>(
        &self,
        cache: &SlotCache<BYTES>,
        slot: u32,
        listener: &Listener,
        next: u64,
    ) -> f64 {
        match self {
            Knowledge::Receipts => {
                let (has, carrier) = receipts::has(cache.notes(slot), listener.column);
                if has {
                    return 1.0;
                }
                let back = (next as u32).wrapping_sub(carrier);
                let carrier = next.saturating_sub(back.into());
                if back > 0 && carrier >= listener.reported_until { listener.overhears(next) } else { 0.0 }
            }
            Knowledge::ByRate { vectors, .. } => vectors.probability(slot, listener.column),
            Knowledge::Everything => 1.0,
        }
    }

    /// Forgets the chunks of these columns' stations.
    pub(crate) fn forget_columns<const BYTES: usize>(&mut self, cache: &mut SlotCache<BYTES>, columns: u64) {
        match self {
            Knowledge::Receipts => {
                (0..1 << cache.slot_bits())
                    .for_each(|slot| receipts::forget_columns(cache.notes_mut(slot), columns));
            }
            Knowledge::ByRate { vectors, .. } => vectors.forget_columns(columns),
            Knowledge::Everything => {}
        }
    }
}
