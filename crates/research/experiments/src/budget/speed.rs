//! How much longer runs take on this machine than where their costs were measured.

use std::collections::BTreeMap;

use super::{Cost, Piece, in_order};
use crate::row::Driver;

/// The least cost of a piece that measures a machine: a shorter one varies more.
const LEAST_CORE_SECONDS: f64 = 10.0;

/// The processor time of runs on this machine by that of their measured costs, for each driver.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Speed(BTreeMap<Driver, f64>);

impl Speed {
    /// The pieces that measure a machine: of the simulator and of the virtual-time kernel the cheapest one
    /// that is long enough.
    #[must_use]
    pub fn gauge(pieces: &[Piece]) -> Vec<Piece> {
        let cheapest = |driver| {
            let long = |piece: &&Piece| {
                piece.driver == driver && piece.is_measured && piece.core_seconds >= LEAST_CORE_SECONDS
            };
            let by_cost = |one: &&Piece, other: &&Piece| one.core_seconds.total_cmp(&other.core_seconds);
            pieces.iter().filter(long).min_by(by_cost).cloned()
        };
        in_order([Driver::Sim, Driver::Virtual].into_iter().filter_map(cheapest).collect())
    }

    /// The speed by what pieces took here. An interrupted piece says nothing.
    #[must_use]
    pub fn by<'a>(took: impl IntoIterator<Item = (&'a Piece, Cost)>) -> Self {
        let complete = took.into_iter().filter(|(piece, cost)| piece.is_all(cost) && cost.core_seconds > 0.0);
        Self(complete.map(|(piece, cost)| (piece.driver, cost.core_seconds / piece.core_seconds)).collect())
    }

    /// How many times as long a run takes here. A driver that was not measured has the last one's.
    #[must_use]
    pub fn times(&self, driver: Driver) -> f64 {
        self.0.get(&driver).or_else(|| self.0.values().last()).copied().unwrap_or(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Costs, choose, core_seconds};
    use super::*;
    use crate::contents::Contents;
    use crate::experiment::Experiment;

    fn chosen(speed: &Speed) -> Vec<Piece> {
        let can_run = |_: &Experiment, driver| driver != Driver::Lab;
        choose(1.0, &Contents::substitutes(), &Costs::built_in().unwrap(), speed, can_run).unwrap()
    }

    #[test]
    fn a_machine_that_takes_twice_as_long_gets_less_in_an_hour() {
        let here = chosen(&Speed::default());
        let gauge = Speed::gauge(&here);
        assert_eq!(
            gauge.iter().map(|piece| piece.driver).collect::<Vec<_>>(),
            [Driver::Sim, Driver::Virtual]
        );
        assert!(
            gauge.iter().all(|piece| (10.0..60.0).contains(&piece.core_seconds)),
            "short, and long enough"
        );
        let twice = |piece: &Piece| Cost { runs: piece.runs, core_seconds: 2.0 * piece.core_seconds };
        let slow = Speed::by(gauge.iter().map(|piece| (piece, twice(piece))));
        assert!((slow.times(Driver::Lab) - 2.0).abs() < 1e-9);
        let there = chosen(&slow);
        let is_dearer = |piece: &Piece| {
            let same = there.iter().find(|it| it.name == piece.name && it.runs == piece.runs);
            same.is_none_or(|it| {
                !piece.is_measured || (it.core_seconds - 2.0 * piece.core_seconds).abs() < 1e-6
            })
        };
        assert!(here.iter().all(is_dearer));
        let runs = |pieces: &[Piece]| pieces.iter().map(|piece| piece.runs).sum::<u32>();
        assert!(runs(&there) < runs(&here) && core_seconds(&there) <= 3600.0);
    }

    #[test]
    fn an_interrupted_piece_says_nothing_of_the_machine() {
        let gauge = Speed::gauge(&chosen(&Speed::default()));
        let half = |piece: &Piece| Cost { runs: piece.runs.saturating_sub(1), core_seconds: 0.0 };
        assert_eq!(Speed::by(gauge.iter().map(|piece| (piece, half(piece)))), Speed::default());
        assert!((Speed::default().times(Driver::Sim) - 1.0).abs() < 1e-9);
    }
}
