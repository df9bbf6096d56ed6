//! Powers between stations.
//!
//! Power is relative to the least power for reception, so it is 1 at the range. The model is two-ray ground
//! reflection. With antennas near the ground, the direct and the reflected ray cancel beyond the crossover
//! distance, and power falls by the fourth power of the distance in place of the square (T. S. Rappaport,
//! *Wireless Communications*, section 4.6). Under Rayleigh fading a frame's power is exponentially
//! distributed about that mean, and a try succeeds with probability exp(−1 / mean).

use serde::{Deserialize, Serialize};

use super::config::MediumConfig;
use crate::variates::{Purpose, Variates};

/// A wall that attenuates transmissions through it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wall {
    /// One end, in metres.
    pub from: [f64; 2],
    /// The other end.
    pub to: [f64; 2],
    /// Its attenuation.
    pub decibels: f64,
}

/// Powers and losses between all pairs of stations.
#[derive(Debug, Clone, PartialEq)]
pub struct Propagation {
    stations: usize,
    /// By sender, then receiver; infinite for a station to itself.
    power: Vec<f64>,
    rayleigh: bool,
    /// The least sensed power.
    sensed: f64,
    least_loss: f64,
    most_loss: f64,
}

impl Propagation {
    pub(super) fn new(config: &MediumConfig) -> Self {
        let gain = |metres: f64| {
            // Antennas keep a minimum distance.
            let metres = metres.max(1.0);
            let crossover = config.crossover_metres;
            if metres <= crossover { metres.powi(-2) } else { crossover.powi(2) * metres.powi(-4) }
        };
        let at_range = gain(config.range_metres);
        let between = |a: [f64; 2], b: [f64; 2]| {
            let decibels: f64 =
                config.walls.iter().filter(|wall| crosses(a, b, wall)).map(|wall| wall.decibels).sum();
            gain((a[0] - b[0]).hypot(a[1] - b[1])) / at_range * 10f64.powf(-decibels / 10.0)
        };
        let mut power = Vec::with_capacity(config.stations.len().pow(2));
        for (one, a) in config.stations.iter().enumerate() {
            for (other, b) in config.stations.iter().enumerate() {
                power.push(if one == other { f64::INFINITY } else { between(*a, *b) });
            }
        }
        Self {
            stations: config.stations.len(),
            power,
            rayleigh: config.rayleigh,
            sensed: gain(config.carrier_sense_metres) / at_range,
            least_loss: config.least_loss,
            most_loss: config.most_loss.max(config.least_loss),
        }
    }

    /// Number of stations.
    #[must_use]
    pub fn stations(&self) -> usize {
        self.stations
    }

    /// The mean power of `from` at `to`; 1 is the least for reception.
    #[must_use]
    pub fn power(&self, from: usize, to: usize) -> f64 {
        self.power[from * self.stations + to]
    }

    /// Whether `from` holds `to` back.
    #[must_use]
    pub fn is_sensed(&self, from: usize, to: usize) -> bool {
        from != to && self.power(from, to) >= self.sensed
    }

    /// Probability that `to` receives a try of `from` without interference, if `loss` of the tries with
    /// sufficient power are lost.
    #[must_use]
    pub fn delivery(&self, from: usize, to: usize, loss: f64) -> f64 {
        let mean = self.power(from, to);
        let strong = match self.rayleigh {
            _ if from == to => return 0.0,
            true => (-1.0 / mean).exp(),
            false => f64::from(u8::from(mean >= 1.0)),
        };
        strong * (1.0 - loss)
    }

    /// The loss rate of a pair of stations at any power, under `seed`; equal in both directions.
    #[must_use]
    pub fn loss(&self, seed: u64, one: usize, other: usize) -> f64 {
        if self.most_loss == 0.0 {
            return 0.0;
        }
        let pair = one.min(other) * self.stations + one.max(other);
        self.least_loss
            + (self.most_loss - self.least_loss) * Variates::new(seed, Purpose::Pair).at(pair as u64)
    }
}

/// Whether the line from `a` to `b` crosses a wall.
fn crosses(a: [f64; 2], b: [f64; 2], wall: &Wall) -> bool {
    let side = |p: [f64; 2], q: [f64; 2], r: [f64; 2]| {
        (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]) > 0.0
    };
    side(a, b, wall.from) != side(a, b, wall.to) && side(wall.from, wall.to, a) != side(wall.from, wall.to, b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pair(metres: f64, walls: Vec<Wall>, rayleigh: bool) -> Propagation {
        MediumConfig { stations: vec![[0.0, 0.0], [metres, 0.0]], walls, rayleigh, ..MediumConfig::default() }
            .propagation()
    }

    #[test]
    fn power_is_one_at_the_range_and_falls_by_the_fourth_power_beyond_the_crossover() {
        assert!((pair(250.0, vec![], false).power(0, 1) - 1.0).abs() < 1e-12);
        assert!((pair(500.0, vec![], false).power(0, 1) - 1.0 / 16.0).abs() < 1e-12);
        let (near, nearer) = (pair(86.0, vec![], false).power(0, 1), pair(43.0, vec![], false).power(0, 1));
        assert!((nearer / near - 4.0).abs() < 1e-9, "by the square within it");
    }

    #[test]
    fn what_is_sensed_reaches_farther_than_what_is_received() {
        for (metres, received, sensed) in
            [(249.0, 1.0, true), (251.0, 0.0, true), (549.0, 0.0, true), (551.0, 0.0, false)]
        {
            let pair = pair(metres, vec![], false);
            assert_eq!((pair.delivery(0, 1, 0.0), pair.is_sensed(0, 1)), (received, sensed), "{metres}");
        }
    }

    #[test]
    fn a_wall_counts_for_those_on_both_sides_of_it() {
        let wall = Wall { from: [50.0, -10.0], to: [50.0, 10.0], decibels: 10.0 };
        let beside = Wall { from: [50.0, 1.0], to: [50.0, 10.0], decibels: 10.0 };
        let open = pair(100.0, vec![], false).power(0, 1);
        assert!((open / pair(100.0, vec![wall], false).power(0, 1) - 10.0).abs() < 1e-9);
        assert_eq!(open, pair(100.0, vec![beside], false).power(0, 1));
        assert_eq!(open / 100.0, pair(100.0, vec![wall, wall], false).power(0, 1));
    }

    proptest! {
        #[test]
        fn both_ways_are_alike_and_nearer_is_never_weaker(near in 1.0..2000.0, farther in 0.0..2000.0,
                                                         rayleigh: bool, seed: u64) {
            let (one, other) = (pair(near, vec![], rayleigh), pair(near + farther, vec![], rayleigh));
            prop_assert_eq!(one.power(0, 1), one.power(1, 0));
            prop_assert!(one.power(0, 1) >= other.power(0, 1));
            prop_assert!(one.delivery(0, 1, 0.1) >= other.delivery(0, 1, 0.1));
            prop_assert_eq!(one.loss(seed, 0, 1), one.loss(seed, 1, 0));
        }
    }
}
