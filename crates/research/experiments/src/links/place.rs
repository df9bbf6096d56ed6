//! The places of the grid, and the link at each.

use std::fmt;
use std::time::Duration;

use air::{Bitrate, LinkConfig, LossConfig};
use lab::Topology;

use crate::pair::Pair;
use crate::plan::Plan;

/// The rate of the link in each direction.
pub(super) const RATE_MEGABITS: u32 = 20;
/// Packets that wait for it at most.
const QUEUE_FRAMES: usize = 120;
/// Room for them.
const QUEUE_BYTES: usize = QUEUE_FRAMES * 2000;
/// The Ethernet header, which takes time on the link.
pub(super) const ETHERNET_BYTES: usize = 14;

/// A loss rate and a distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Percent of packets lost, in each direction.
    pub loss_percent: u32,
    /// Twice the delay of one direction.
    pub round_trip_milliseconds: u32,
}

impl Place {
    /// The places of a plan with one of these losses.
    pub fn of(plan: &Plan, losses: &[u32]) -> Vec<Self> {
        let place = |loss_percent, round_trip_milliseconds| Self { loss_percent, round_trip_milliseconds };
        let whole: Vec<Self> = [0, 1, 5, 10, 20]
            .into_iter()
            .flat_map(|loss| [20, 100, 600].map(|round_trip| place(loss, round_trip)))
            .collect();
        let quick = vec![place(0, 100), place(10, 100)];
        let mut places = plan.choose(whole, quick, vec![place(10, 20)]);
        places.retain(|place| losses.contains(&place.loss_percent));
        places
    }

    /// Both ends and the link between them.
    pub fn topology(self) -> Topology {
        let link = self.link();
        Pair::topology(&link, &link)
    }

    /// The link, the same in both directions.
    pub fn link(self) -> LinkConfig {
        let loss = match self.loss_percent {
            0 => LossConfig::None,
            percent => LossConfig::Bernoulli { probability: f64::from(percent) / 100.0 },
        };
        LinkConfig {
            rate: Some(Bitrate::from_megabits_per_second(RATE_MEGABITS.into())),
            delay: Duration::from_micros(u64::from(self.round_trip_milliseconds) * 500),
            queue_bytes: QUEUE_BYTES,
            queue_frames: Some(QUEUE_FRAMES),
            loss,
            overhead_bytes: ETHERNET_BYTES,
            ..LinkConfig::default()
        }
    }

    /// The name of a series at this distance.
    pub fn series(self, what: &str, curve: impl fmt::Display) -> String {
        format!("{}: {curve}", self.panel(what))
    }

    /// The part of a series' name before its colon.
    pub fn panel(self, what: &str) -> String {
        format!("{what}, {} ms", self.round_trip_milliseconds)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "loss {}% both ways, {} ms", self.loss_percent, self.round_trip_milliseconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Extent, Traced};

    #[test]
    fn each_plan_has_places_of_the_whole_whose_links_the_air_accepts() {
        let places =
            |extent| Place::of(&Plan { extent, seeds: None, trace: Traced::default() }, &[0, 1, 5, 10, 20]);
        let whole = places(Extent::Whole);
        assert_eq!(whole.len(), 15);
        whole.iter().for_each(|place| place.link().validate().unwrap());
        for part in [places(Extent::Quick), places(Extent::Corner)] {
            assert!(!part.is_empty() && part.iter().all(|place| whole.contains(place)));
        }
    }

    #[test]
    fn packets_fill_the_queue_before_bytes_do() {
        let link = Place { loss_percent: 0, round_trip_milliseconds: 20 }.link();
        assert!(link.queue_frames.is_some_and(|frames| frames * 1500 < link.queue_bytes));
    }
}
