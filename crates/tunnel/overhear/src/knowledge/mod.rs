//! What a gateway knows of its stations' caches.
//!
//! A station has a *column* here, one of 64. Columns of stations that left are cleaned together when no clean
//! one is left, so that associations cost little however many come.

mod by_rate;
mod overhearing;
mod receipts;

pub use overhearing::OverheardFractions;

use crate::cache::SlotCache;
use crate::settings::SettingsError;
use by_rate::{ByRate, VECTOR_BYTES, Vector};
pub(crate) use receipts::NOTE_BYTES;

/// A station that has said nothing of so many packets overhears nothing, whatever the rates are.
const COLD_START_PACKETS: u64 = 1024;

/// The most stations at a time.
pub const MAX_STATIONS: usize = 64;

/// How a gateway knows what its stations have.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum KnowledgeKind {
    /// Stations say what they overheard.
    #[default]
    Receipts,
    /// By the rates at which the gateway speaks to each (REfactor, section 3.2.1).
    ByRate(OverheardFractions),
    /// Every station hears everything: the paper's ceiling "perfect overhearing with collisions".
    Everything,
}

impl Listener {
    /// How likely it has what it has not said anything of yet, before packet `next` is sent.
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

/// What of a station bears on what it overhears.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listener {
    pub column: u8,
    pub rate_bits_per_second: u64,
    /// Below this number the station has said of every packet whether it heard it.
    pub reported_until: u64,
    /// Of what others were sent, how much it overheard lately; none as long as it has said nothing.
    pub overheard_share: Option<f64>,
    /// What is thought of that until then, by rates.
    pub cold_start: f64,
    /// What is said of that from outside.
    pub estimate: Option<f64>,
}

/// What is known.
#[derive(Debug)]
pub(crate) enum Knowledge {
    /// It stands in the first [`NOTE_BYTES`] of a slot's notes.
    Receipts,
    ByRate {
        vectors: ByRate,
        fractions: OverheardFractions,
        /// For each addressee's column, how likely each station overhears what is sent to it.
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

    /// Whether stations are taken to have heard what they said nothing of.
    #[inline]
    pub(crate) fn guesses(&self) -> bool {
        !matches!(self, Knowledge::Receipts)
    }

    /// Stations came, went or changed their rates.
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

    /// The slot has another chunk now, of which nothing is noted.
    #[inline]
    pub(crate) fn forget_slot(&mut self, slot: u32) {
        if let Knowledge::ByRate { vectors, .. } = self {
            vectors.forget_slot(slot);
        }
    }

    /// The slot's chunk is sent to the station of column `to`, with its bytes, in packet `number`.
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

    /// A station has the slot's chunk for certain, or has it not.
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

    /// Whether any station has the slot's chunk, as far as they said.
    pub(crate) fn is_had_by_any<const BYTES: usize>(&self, cache: &SlotCache<BYTES>, slot: u32) -> bool {
        matches!(self, Knowledge::Receipts) && receipts::is_had_by_any(cache.notes(slot))
    }

    /// Whether a station has the slot's chunk, as far as it said.
    pub(crate) fn has<const BYTES: usize>(&self, cache: &SlotCache<BYTES>, slot: u32, column: u8) -> bool {
        matches!(self, Knowledge::Receipts) && receipts::has(cache.notes(slot), column).0
    }

    /// Whether the slot's chunk was sent in packet `since` or later, of all before `next`.
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

    /// How likely a station has the slot's chunk (paper: V). `next` is the number of the packet that is sent
    /// next.
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

    /// Forgets what the stations of these columns have.
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
