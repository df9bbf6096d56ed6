//! What a shared medium is like: its radios, where they stand, and how far they reach.

use serde::{Deserialize, Serialize};

use super::propagation::{Propagation, Wall};
use crate::config::{ConfigError, RadioConfig, probability};
use crate::timing::{Standard, Timing};
use crate::{Bitrate, LossConfig};

/// The most stations of one medium.
pub const MOST_STATIONS: usize = 1024;

/// Stations that share one channel. As it is by default: 802.11b at 11 Mbit/s with the ranges that
/// simulations of mesh networks use, and nobody there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MediumConfig {
    /// All radios are alike.
    pub radio: RadioConfig,
    /// The rate of what is sent to everybody.
    pub broadcast_rate: Bitrate,
    /// How far away a frame is received, on average power.
    pub range_metres: f64,
    /// How far away a transmission is sensed, and holds others back.
    pub carrier_sense_metres: f64,
    /// Where the ray that the ground reflects begins to count: power falls by the square of the distance
    /// before it, by the fourth power beyond. With antennas at 1.5 m it is 86 m at 914 MHz.
    pub crossover_metres: f64,
    /// Whether each frame's power varies as Rayleigh's fading has it.
    pub rayleigh: bool,
    /// How many times stronger than everything that interferes a frame must be to be received.
    pub capture_decibels: f64,
    /// Each pair of stations loses a part of its tries, drawn between this and `most_loss`: its own, whatever
    /// the distance.
    pub least_loss: f64,
    /// The most of it.
    pub most_loss: f64,
    /// Whether a receiver that senses one frame turns to a stronger one that begins later. The network
    /// simulators of the time have it stay with the first, so that whoever begins last is not received where
    /// something else was sensed.
    pub turns_to_stronger: bool,
    /// The stations that also hear what is sent to others, as a radio in monitor mode does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub listeners: Vec<usize>,
    /// How many frames may wait at a station.
    pub queue_frames: usize,
    /// Whether those whom waiting frames are for take turns, as Linux's radios have it today, each with a
    /// queue of its own; frames otherwise leave in the order in which they came, as in the network simulators
    /// of the papers' time.
    pub takes_turns: bool,
    /// Where the stations are, in metres.
    pub stations: Vec<[f64; 2]>,
    /// What stands between them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub walls: Vec<Wall>,
    /// What is lost besides, one way only. At most one entry a way counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub directed_losses: Vec<DirectedLoss>,
}

/// What is lost of that which one station sends to another, or the other overhears, strong enough and
/// undisturbed or not. Frames for everybody and acknowledgements of frames are spared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DirectedLoss {
    /// Who sends, by number.
    pub from: usize,
    /// Who receives.
    pub to: usize,
    /// Which tries are lost. The bits are those of the packet.
    pub loss: LossConfig,
}

impl Default for MediumConfig {
    fn default() -> Self {
        Self {
            radio: RadioConfig {
                standard: Standard::B,
                rate: Bitrate::from_megabits_per_second(11),
                retry_limit: 7,
            },
            broadcast_rate: Bitrate::from_megabits_per_second(2),
            range_metres: 250.0,
            carrier_sense_metres: 550.0,
            crossover_metres: 86.0,
            rayleigh: false,
            capture_decibels: 10.0,
            least_loss: 0.0,
            most_loss: 0.0,
            turns_to_stronger: true,
            listeners: Vec::new(),
            queue_frames: 50,
            takes_turns: false,
            stations: Vec::new(),
            walls: Vec::new(),
            directed_losses: Vec::new(),
        }
    }
}

impl MediumConfig {
    /// Says what is wrong, if anything is.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.radio.validate()?;
        Timing::new(self.radio.standard, self.broadcast_rate)?;
        probability("least_loss", self.least_loss)?;
        probability("most_loss", self.most_loss)?;
        let positive = |key: &'static str, value: f64| {
            let holds = value.is_finite() && value > 0.0;
            if holds { Ok(()) } else { Err(ConfigError::NotPositive { key, value }) }
        };
        positive("range_metres", self.range_metres)?;
        positive("carrier_sense_metres", self.carrier_sense_metres)?;
        positive("crossover_metres", self.crossover_metres)?;
        let decibels = self.walls.iter().map(|wall| wall.decibels).chain([self.capture_decibels]);
        let places = self.stations.iter().flatten();
        let places = places.chain(self.walls.iter().flat_map(|wall| wall.from.iter().chain(&wall.to)));
        if decibels.chain(places.copied()).any(|number| !number.is_finite()) {
            return Err(ConfigError::NotFinite);
        }
        for DirectedLoss { from, to, loss } in &self.directed_losses {
            loss.validate()?;
            if let Some(&absent) = [from, to].into_iter().find(|&&station| station >= self.stations.len()) {
                return Err(ConfigError::NoStation(absent));
            }
        }
        let is_missing = |listener: &&usize| **listener >= self.stations.len();
        if let Some(listener) = self.listeners.iter().find(is_missing) {
            return Err(ConfigError::Listener(*listener));
        }
        match self.stations.len() {
            count if count > MOST_STATIONS => Err(ConfigError::Stations(count)),
            _ => Ok(()),
        }
    }

    /// The powers between its stations.
    #[must_use]
    pub fn propagation(&self) -> Propagation {
        Propagation::new(self)
    }
}
