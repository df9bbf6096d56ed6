//! The configuration of a shared medium: radios, positions and ranges.

use serde::{Deserialize, Serialize};

use super::propagation::{Propagation, Wall};
use crate::config::{ConfigError, RadioConfig, probability};
use crate::timing::{Standard, Timing};
use crate::{Bitrate, LossConfig};

/// The most stations of one medium.
pub const MOST_STATIONS: usize = 1024;

/// Stations that share one channel. The default is 802.11b at 11 Mbit/s, with the usual ranges of mesh
/// simulations and no stations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MediumConfig {
    /// The radio of every station.
    pub radio: RadioConfig,
    /// The rate of broadcasts.
    pub broadcast_rate: Bitrate,
    /// The reception range at mean power.
    pub range_metres: f64,
    /// The range of carrier sense.
    pub carrier_sense_metres: f64,
    /// The crossover distance of two-ray ground reflection. Power falls by the square of the distance before
    /// it, and by the fourth power beyond. With antennas at 1.5 m it is 86 m at 914 MHz.
    pub crossover_metres: f64,
    /// Whether each frame has Rayleigh fading.
    pub rayleigh: bool,
    /// The least ratio of a frame's power to all interference for reception.
    pub capture_decibels: f64,
    /// Each pair of stations has a loss rate between this and `most_loss`, independent of distance.
    pub least_loss: f64,
    /// The highest such rate.
    pub most_loss: f64,
    /// Whether a receiver switches from a sensed frame to a stronger, later one. The network simulators of
    /// the papers' time stay with the first frame, so the later one is lost.
    pub turns_to_stronger: bool,
    /// Stations that also hear others' frames, like a radio in monitor mode.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub listeners: Vec<usize>,
    /// The most frames that wait at a station.
    pub queue_frames: usize,
    /// Whether addressees of waiting frames take turns, with a queue for each, as in today's Linux. Otherwise
    /// frames leave in order of arrival, as in the network simulators of the papers' time.
    pub takes_turns: bool,
    /// Where the stations are, in metres.
    pub stations: Vec<[f64; 2]>,
    /// The walls between them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub walls: Vec<Wall>,
    /// Further losses in one direction. Only one entry for each direction counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub directed_losses: Vec<DirectedLoss>,
}

/// Further losses of frames from one station to another or overheard by it, at any power and interference.
/// Broadcasts and acknowledgements are exempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DirectedLoss {
    /// The sender's number.
    pub from: usize,
    /// The receiver's number.
    pub to: usize,
    /// The lost tries. The bits are those of the packet.
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
    /// Checks the configuration.
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
