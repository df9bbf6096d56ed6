//! What has to be run for some figures: each run once, whichever figures want it.

use std::collections::BTreeMap;

use anyhow::Result;
use lab::Scenario;
use serde::Serialize;

use crate::cell::Cell;
use crate::estimate::Estimate;
use crate::experiment::Readings;
use crate::figure::{Figure, Need, Setting, paired_times};
use crate::row::Driver;

/// Precision of a pair's median at which its cells are run no more.
const WITHIN: f64 = 0.02;

/// What has to be run, and for which figures.
pub(crate) struct Wanted<'a> {
    /// The figures for which a driver can run a selected part.
    pub figures: Vec<&'a Figure>,
    /// Cells by their names, with the number of seeds.
    pub cells: BTreeMap<String, (Cell, u32)>,
    /// Scenarios of figures' own.
    pub scenarios: Vec<Scenario>,
    pairs: Vec<Pair>,
}

/// Two cells that are run until their quotient is known.
struct Pair {
    cell: Cell,
    baseline: Cell,
    most: u32,
}

/// A run by its name, for progress bars.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// Initial number of seeds.
    pub seeds: u32,
    /// The largest number, if it depends on the results.
    pub seeds_at_most: u32,
}

/// No run has these words in its name.
#[derive(Debug, thiserror::Error)]
#[error(
    "nothing that would be run has \"{0}\" in its name; `--list` says what would be run, and `--quick` has less of it"
)]
pub struct NothingMeant(String);

impl<'a> Wanted<'a> {
    /// The needs of figures; with words in `only`, just those with one of them in their names.
    ///
    /// # Errors
    ///
    /// When no run's name is meant.
    pub fn by(figures: &'a [Figure], setting: &Setting<'_>, only: &[String]) -> Result<Self> {
        let mut wanted =
            Wanted { figures: Vec::new(), cells: BTreeMap::new(), scenarios: Vec::new(), pairs: Vec::new() };
        for figure in figures {
            let mut needs = (figure.needs)(setting);
            // The simulation knows cells only.
            if setting.driver == Driver::Sim && needs.iter().any(|need| matches!(need, Need::Scenario(_))) {
                continue;
            }
            needs.retain(|need| need.is_among(only));
            if !only.is_empty() && needs.is_empty() {
                continue;
            }
            wanted.figures.push(figure);
            needs.into_iter().for_each(|need| wanted.add(need));
        }
        if !only.is_empty() && wanted.figures.is_empty() {
            return Err(NothingMeant(only.join("\" or \"")).into());
        }
        Ok(wanted)
    }

    fn add(&mut self, need: Need) {
        match need {
            Need::Cell(cell, seeds) => self.add_cell(cell, seeds),
            Need::Pair { cell, baseline, least, most } => {
                self.add_cell(cell, least);
                self.add_cell(baseline, least);
                self.pairs.push(Pair { cell, baseline, most });
            }
            Need::Scenario(scenario) if self.scenarios.iter().any(|it| it.name == scenario.name) => {}
            Need::Scenario(scenario) => self.scenarios.push(*scenario),
        }
    }

    fn add_cell(&mut self, cell: Cell, seeds: u32) {
        let (_, most) = self.cells.entry(cell.name()).or_insert((cell, 0));
        *most = seeds.max(*most);
    }

    /// Every run's name, in the order in which they begin.
    #[must_use]
    pub fn names(&self) -> Vec<Named> {
        let scenarios = self.scenarios.iter().map(|scenario| {
            let seeds = u32::try_from(scenario.seeds.len()).unwrap_or(u32::MAX);
            Named { name: scenario.name.clone(), seeds, seeds_at_most: seeds }
        });
        let cells = self.cells.iter().map(|(name, (_, seeds))| {
            let of_pairs = self.pairs.iter().filter(|pair| pair.names().contains(name)).map(|pair| pair.most);
            Named { name: name.clone(), seeds: *seeds, seeds_at_most: of_pairs.fold(*seeds, u32::max) }
        });
        scenarios.chain(cells).collect()
    }

    /// The cells of pairs that are not known well enough yet, with twice the seeds they had.
    pub(crate) fn unsettled(&self, readings: &Readings) -> BTreeMap<String, (Cell, u32)> {
        let mut cells = BTreeMap::new();
        for Pair { cell, baseline, most } in &self.pairs {
            let (Some(ours), Some(theirs)) = (readings.get(&cell.name()), readings.get(&baseline.name()))
            else {
                continue;
            };
            let seeds = u32::try_from(ours.len().min(theirs.len())).unwrap_or(u32::MAX);
            let times = paired_times(ours, theirs);
            let is_known =
                Estimate::paired_median(&times).is_none_or(|estimate| estimate.uncertainty() <= WITHIN);
            if !is_known && seeds < *most {
                for cell in [cell, baseline] {
                    cells.insert(cell.name(), (*cell, most.min(&(seeds * 2)).to_owned()));
                }
            }
        }
        // one of them may have had as many for another pair
        cells.retain(|name, (_, seeds)| readings.get(name).is_none_or(|had| had.len() < *seeds as usize));
        cells
    }
}

impl Pair {
    fn names(&self) -> [String; 2] {
        [self.cell.name(), self.baseline.name()]
    }
}
