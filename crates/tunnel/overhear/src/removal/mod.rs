//! Choice of the chunks to remove from a packet (REfactor, section 3.2.2).

mod model;
mod profile;

pub use model::Candidate;
pub use profile::{Origin, Profile, Risk};

use crate::names::AirTime;
use crate::settings::SettingsError;

/// The chunks to remove.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Removal {
    /// None.
    None,
    /// All that the gateway holds, whether the station has them or not.
    Greedy,
    /// Chunks whose removal saves more expected air time than the threshold.
    Model {
        /// The share of the air that other nodes use (paper: rho).
        others_load: f64,
        /// The least saving.
        threshold: Threshold,
    },
}

impl Default for Removal {
    fn default() -> Self {
        Removal::Model { others_load: 0.0, threshold: Threshold::Adaptive }
    }
}

/// The least expected saving of a removal.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Threshold {
    /// A saving in seconds.
    Seconds(f64),
    /// By the station's link and its packets' redundancy, as sections 5.3.1 to 5.3.3 advise.
    #[default]
    Adaptive,
}

impl Removal {
    /// Whether a chunk of this origin is removed for a station at this rate.
    #[inline]
    #[must_use]
    pub fn removes(
        &self,
        candidate: &Candidate,
        origin: Origin,
        profile: &Profile,
        air_time: &AirTime,
        rate_bits_per_second: u64,
    ) -> bool {
        match *self {
            Removal::None => false,
            Removal::Greedy => true,
            Removal::Model { others_load, threshold: Threshold::Seconds(threshold) } => {
                candidate.expected_benefit_seconds(others_load, air_time) > threshold
            }
            Removal::Model { others_load, threshold: Threshold::Adaptive } => {
                let hits = profile.hits(origin);
                let believed = Candidate { probability: candidate.probability * hits, ..*candidate };
                match profile.risk(rate_bits_per_second) {
                    Risk::Any => candidate.probability > 0.0 && hits >= Profile::MOSTLY,
                    Risk::Saving(share) => {
                        let threshold = share * candidate.chunk_bytes * air_time.per_byte_seconds;
                        believed.expected_benefit_seconds(others_load, air_time) > threshold
                    }
                }
            }
        }
    }

    pub(crate) fn validate(&self) -> Result<(), SettingsError> {
        let Removal::Model { others_load, threshold } = *self else { return Ok(()) };
        SettingsError::unless_share("others_load", others_load)?;
        match threshold {
            Threshold::Seconds(seconds) if !seconds.is_finite() => Err(SettingsError::Threshold(seconds)),
            _ => Ok(()),
        }
    }
}
