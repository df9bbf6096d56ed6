//! An experiment: figures that say what they need to be run, and claims that are held against their rows.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use indicatif::ProgressBar;
use lab::Scenario;

use crate::cell::Cell;
use crate::contents::Contents;
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting, paired_times};
use crate::plan::{Extent, Plan};
use crate::reading::Reading;
use crate::report::{Claim, Heading, Section};
use crate::row::{Driver, Row};
use crate::run::{Outcomes, Runner};
use crate::simulate;
use crate::testbed::Testbed;

/// One experiment.
#[derive(Clone, Copy)]
pub struct Experiment {
    /// Its name on the command line and in files.
    pub id: &'static str,
    /// What runs it for a report on everything; the first of them runs the whole of it.
    pub drivers: &'static [Driver],
    /// The title of its report.
    pub title: &'static str,
    /// What it runs again, or what it is for.
    pub source: &'static str,
    /// All its figures and tables, in order.
    pub figures: &'static [Figure],
    /// What must come out, held against the rows.
    pub claims: fn(&[Row]) -> Vec<Claim>,
}

/// How well the median of a pair is to be known before its cells are run no more.
const WITHIN: f64 = 0.02;

/// The readings of cells, by the cells' names.
type Readings = BTreeMap<String, Vec<Reading>>;

/// Two cells that are run until their quotient is known.
struct Pair {
    cell: Cell,
    baseline: Cell,
    most: u32,
}

impl Experiment {
    /// The figures with these ids; all for none.
    ///
    /// # Errors
    ///
    /// When there is no such figure; the message names those that there are.
    pub fn chosen(&self, ids: &[String]) -> Result<Vec<Figure>> {
        if ids.is_empty() {
            return Ok(self.figures.to_vec());
        }
        let figure = |id: &String| match self.figures.iter().find(|figure| figure.id == id) {
            Some(figure) => Ok(*figure),
            None => {
                let known: Vec<&str> = self.figures.iter().map(|figure| figure.id).collect();
                bail!("there is no figure {id:?} in this experiment; there are {}", known.join(", "))
            }
        };
        ids.iter().map(figure).collect()
    }

    /// How much a driver runs of it, unless it is to be quick: the seconds of this machine's kernel are seconds.
    #[must_use]
    pub fn extent(&self, driver: Driver) -> Extent {
        if driver == Driver::Lab && self.drivers.first() != Some(&Driver::Lab) {
            Extent::Corner
        } else {
            Extent::Whole
        }
    }

    /// The report on rows that [`run`] gave, and what holds by them.
    #[must_use]
    pub fn report(&self, figures: &[Figure], rows: &[Row], claims: &[Claim], heading: &Heading) -> String {
        let section = |figure: &Figure| Section {
            id: figure.id.to_owned(),
            title: figure.title.to_owned(),
            remark: figure.remark.to_owned(),
            x: figure.x.to_owned(),
            rows: rows.iter().filter(|row| row.figure == figure.id).cloned().collect(),
        };
        let sections: Vec<Section> = figures.iter().map(section).filter(|it| !it.rows.is_empty()).collect();
        crate::report::html(heading, claims, &sections)
    }
}

/// There is no run in whose name such words stand.
#[derive(Debug, thiserror::Error)]
#[error("nothing that would be run has \"{0}\" in its name; `--quick` has fewer of them")]
pub struct NothingMeant(String);

/// Runs what the figures need and returns their rows, in the order of the figures. With words in `only`, runs just those
/// in whose names one of them stands, and returns the rows that they give.
///
/// # Errors
///
/// When something could not be run to its end, which is not the same as ending badly; when no run's name is meant.
pub fn run(
    figures: &[Figure],
    plan: Plan,
    only: &[String],
    contents: &Contents,
    runner: &Runner,
    progress: &ProgressBar,
) -> Result<Vec<Row>> {
    let testbed = Testbed::new(contents)?;
    let setting = Setting { plan, testbed: &testbed, contents, driver: runner.driver };
    let is_partial = !only.is_empty();
    let (mut cells, mut pairs, mut scenarios) = (BTreeMap::new(), Vec::new(), Vec::new());
    let mut want = |cell: Cell, seeds: u32| {
        let (_, most) = cells.entry(cell.name()).or_insert((cell, 0));
        *most = seeds.max(*most);
    };
    let mut possible = Vec::new();
    for figure in figures {
        let mut needs = (figure.needs)(&setting);
        // The simulation knows cells only.
        if runner.driver == Driver::Sim && needs.iter().any(|need| matches!(need, Need::Scenario(_))) {
            continue;
        }
        needs.retain(|need| need.is_among(only));
        if is_partial && needs.is_empty() {
            continue;
        }
        possible.push(figure);
        for need in needs {
            match need {
                Need::Cell(cell, seeds) => want(cell, seeds),
                Need::Pair { cell, baseline, least, most } => {
                    want(cell, least);
                    want(baseline, least);
                    pairs.push(Pair { cell, baseline, most });
                }
                // as a cell, one that several figures need is run once
                Need::Scenario(scenario)
                    if scenarios.iter().any(|it: &Scenario| it.name == scenario.name) => {}
                Need::Scenario(scenario) => scenarios.push(*scenario),
            }
        }
    }
    if is_partial && possible.is_empty() {
        return Err(NothingMeant(only.join("\" or \"")).into());
    }
    let outcomes = if scenarios.is_empty() { Outcomes::new() } else { runner.run(scenarios, progress)? };
    let mut readings = Readings::new();
    while !cells.is_empty() {
        match runner.driver {
            Driver::Sim => simulate_cells(&cells, &testbed, progress, &mut readings)?,
            _ => run_cells(&cells, &testbed, runner, progress, &mut readings)?,
        }
        cells = unsettled(&pairs, &readings);
    }
    let results = Results { setting, readings: &readings, outcomes: &outcomes, is_partial };
    let mut rows = Vec::new();
    for figure in possible {
        rows.extend((figure.rows)(&results)?);
    }
    rows.retain(|row| row.value.is_some() || !is_partial);
    Ok(rows)
}

/// The cells of pairs that are not known well enough yet, with twice the seeds they had.
fn unsettled(pairs: &[Pair], readings: &Readings) -> BTreeMap<String, (Cell, u32)> {
    let mut cells = BTreeMap::new();
    for Pair { cell, baseline, most } in pairs {
        let (Some(ours), Some(theirs)) = (readings.get(&cell.name()), readings.get(&baseline.name())) else {
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

/// Runs cells with the seeds that are missing.
fn run_cells(
    cells: &BTreeMap<String, (Cell, u32)>,
    testbed: &Testbed,
    runner: &Runner,
    progress: &ProgressBar,
    readings: &mut Readings,
) -> Result<()> {
    let had = |name: &String| readings.get(name).map_or(0, Vec::len);
    let scenarios = cells
        .iter()
        .map(|(name, (cell, seeds))| testbed.scenario(cell, had(name) as u64 + 1..=u64::from(*seeds)));
    let mut outcomes = runner.run(scenarios.collect(), progress)?;
    for name in cells.keys() {
        let of_cell = outcomes.remove(name).unwrap_or_default();
        let of_cell = of_cell.iter().map(Reading::of).collect::<Result<Vec<_>>>()?;
        readings.entry(name.clone()).or_default().extend(of_cell);
    }
    Ok(())
}

fn simulate_cells(
    cells: &BTreeMap<String, (Cell, u32)>,
    testbed: &Testbed,
    progress: &ProgressBar,
    readings: &mut Readings,
) -> Result<()> {
    let cells: Vec<(Cell, u32)> = cells.values().copied().collect();
    for (cell, of_cell) in simulate::run_all(&cells, testbed, progress)? {
        readings.insert(cell.name(), of_cell);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Traced;
    use crate::{byte_caching, mesh_cache, no_harm, reboost, refactor, together, xbc};

    const EXPERIMENTS: [Experiment; 7] = [
        byte_caching::EXPERIMENT,
        no_harm::EXPERIMENT,
        refactor::WITH_TCP,
        reboost::EXPERIMENT,
        xbc::EXPERIMENT,
        mesh_cache::EXPERIMENT,
        together::EXPERIMENT,
    ];

    #[test]
    fn every_figure_makes_do_with_what_was_wanted_of_it_and_only_then() {
        let contents = Contents::substitutes();
        let testbed = Testbed::new(&contents).unwrap();
        let plan = Plan { extent: Extent::Quick, seeds: None, trace: Traced::default() };
        let setting = Setting { plan, testbed: &testbed, contents: &contents, driver: Driver::Virtual };
        let (readings, outcomes) = (Readings::new(), Outcomes::new());
        for figure in EXPERIMENTS.iter().flat_map(|experiment| experiment.figures) {
            let needs = (figure.needs)(&setting);
            if needs.is_empty() {
                continue;
            }
            assert!(!needs.iter().any(|need| need.is_among(&["no run".to_owned()])));
            let rows = |is_partial| {
                (figure.rows)(&Results { setting, readings: &readings, outcomes: &outcomes, is_partial })
            };
            assert!(rows(false).is_err(), "{} says nothing of what is missing", figure.id);
            let rows = rows(true).unwrap_or_else(|error| panic!("{}: {error:#}", figure.id));
            let valued: Vec<&Row> = rows.iter().filter(|row| row.value.is_some()).collect();
            assert!(valued.is_empty(), "{}: {valued:?}", figure.id);
        }
    }
}
