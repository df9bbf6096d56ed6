//! An experiment: figures with their needs, and claims that are checked against their rows.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use indicatif::ProgressBar;

use crate::cell::Cell;
use crate::claim::{Asked, Claim};
use crate::contents::Contents;
use crate::figure::{Figure, Results, Setting};
use crate::papers::told;
use crate::plan::{Extent, Plan};
use crate::reading::Reading;
use crate::report::{Heading, Section};
use crate::row::{Driver, Row};
use crate::run::{Outcomes, Runner};
use crate::simulate;
use crate::testbed::Testbed;
use crate::wanted::{Named, Wanted};

/// One experiment.
#[derive(Clone, Copy)]
pub struct Experiment {
    /// Its name on the command line and in files.
    pub id: &'static str,
    /// What runs it for a report on everything; the first of them runs the whole of it.
    pub drivers: &'static [Driver],
    /// The title of its report.
    pub title: &'static str,
    /// The paper that it reproduces, or its purpose.
    pub source: &'static str,
    /// All its figures and tables, in order.
    pub figures: &'static [Figure],
    /// What must come out, held against the rows.
    pub claims: fn(&[Row]) -> Vec<Claim>,
}

/// The readings of cells, by the cells' names.
pub(crate) type Readings = BTreeMap<String, Vec<Reading>>;

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

    /// The part of it that a driver runs, unless it must be quick: this machine's kernel runs in real time.
    #[must_use]
    pub fn extent(&self, driver: Driver) -> Extent {
        if driver.uses_own_kernel() && self.drivers.first() != Some(&Driver::Lab) {
            Extent::Corner
        } else {
            Extent::Whole
        }
    }

    /// Scope of a run, by its plan and driver, and by the given ids and words.
    #[must_use]
    pub fn asked(&self, plan: Plan, driver: Driver, figures: &[String], only: &[String]) -> Asked {
        let is_everything = plan.extent == Extent::Whole && self.drivers.first() == Some(&driver);
        if is_everything && figures.is_empty() && only.is_empty() { Asked::Everything } else { Asked::Part }
    }

    /// The claims, checked against the rows of a run with this scope.
    #[must_use]
    pub fn judge(&self, rows: &[Row], asked: Asked) -> Vec<Claim> {
        (self.claims)(rows).into_iter().map(|claim| claim.asked(asked)).collect()
    }

    /// The report on rows that [`run`] gave, and what holds by them.
    #[must_use]
    pub fn report(&self, figures: &[Figure], rows: &[Row], claims: &[Claim], heading: &Heading) -> String {
        let section = |figure: &Figure| Section {
            id: figure.id.to_owned(),
            title: figure.title.to_owned(),
            remark: told(figure.remark),
            x: figure.x.to_owned(),
            rows: rows.iter().filter(|row| row.figure == figure.id).cloned().collect(),
        };
        let sections: Vec<Section> = figures.iter().map(section).filter(|it| !it.rows.is_empty()).collect();
        crate::report::html(heading, claims, &sections)
    }
}

/// What [`run`] would run.
///
/// # Errors
///
/// When no run's name is meant.
pub fn list(
    figures: &[Figure],
    plan: Plan,
    only: &[String],
    contents: &Contents,
    driver: Driver,
) -> Result<Vec<Named>> {
    let testbed = Testbed::new(contents)?;
    let setting = Setting { plan, testbed: &testbed, contents, driver };
    Ok(Wanted::by(figures, &setting, only)?.names())
}

/// The scenarios of what [`run`] would run, with as many seeds as it begins with. The files that they name
/// are in folders that are gone when this returns.
///
/// # Errors
///
/// When no run's name is meant.
pub fn scenarios(
    figures: &[Figure],
    plan: Plan,
    only: &[String],
    contents: &Contents,
    driver: Driver,
) -> Result<Vec<lab::Scenario>> {
    let testbed = Testbed::new(contents)?;
    let setting = Setting { plan, testbed: &testbed, contents, driver };
    let wanted = Wanted::by(figures, &setting, only)?;
    let cells = wanted.cells.values();
    let cells = cells.map(|(cell, seeds)| testbed.scenario(cell, 1..=u64::from(*seeds)));
    Ok(wanted.scenarios.iter().cloned().chain(cells).collect())
}

/// Runs the needs of the figures and returns their rows, in the figures' order. With words in `only`, it runs
/// just those with one of them in their names, and returns their rows.
///
/// # Errors
///
/// When something could not be run to its end, which is not the same as ending badly; when no run's name is
/// meant.
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
    let mut wanted = Wanted::by(figures, &setting, only)?;
    let scenarios = std::mem::take(&mut wanted.scenarios);
    let outcomes = if scenarios.is_empty() { Outcomes::new() } else { runner.run(scenarios, progress)? };
    let mut cells = std::mem::take(&mut wanted.cells);
    let mut readings = Readings::new();
    while !cells.is_empty() {
        match runner.driver {
            Driver::Sim => simulate_cells(&cells, &testbed, progress, &mut readings)?,
            _ => run_cells(&cells, &testbed, runner, progress, &mut readings)?,
        }
        cells = wanted.unsettled(&readings);
    }
    let is_partial = !only.is_empty();
    let results = Results { setting, readings: &readings, outcomes: &outcomes, is_partial };
    let mut rows = Vec::new();
    for figure in wanted.figures {
        rows.extend((figure.rows)(&results)?);
    }
    rows.retain(|row| row.value.is_some() || !is_partial);
    Ok(rows)
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
    use crate::byte_caching;
    use crate::plan::Traced;

    fn plan(extent: Extent) -> Plan {
        Plan { extent, seeds: None, trace: Traced::default() }
    }

    #[test]
    fn a_whole_run_without_rows_passes_no_claim_and_a_part_fails_none() {
        for experiment in crate::ALL {
            let of = |asked| experiment.judge(&[], asked);
            assert!(
                of(Asked::Everything).iter().all(|claim| claim.holds == Some(false)),
                "{}",
                experiment.id
            );
            assert!(of(Asked::Part).iter().all(|claim| claim.holds.is_none()), "{}", experiment.id);
        }
    }

    #[test]
    fn everything_is_asked_for_by_the_first_driver_without_words() {
        let experiment = byte_caching::EXPERIMENT;
        let (none, one) = (&[][..], &["6".to_owned()][..]);
        let (whole, quick) = (plan(Extent::Whole), plan(Extent::Quick));
        assert_eq!(experiment.asked(whole, Driver::Virtual, none, none), Asked::Everything);
        for (plan, driver, figures, only) in [
            (whole, Driver::Sim, none, none),
            (quick, Driver::Virtual, none, none),
            (whole, Driver::Virtual, one, none),
            (whole, Driver::Virtual, none, one),
        ] {
            assert_eq!(experiment.asked(plan, driver, figures, only), Asked::Part);
        }
    }

    #[test]
    fn every_figure_makes_do_with_what_was_wanted_of_it_and_only_then() {
        let contents = Contents::substitutes();
        let testbed = Testbed::new(&contents).unwrap();
        let plan = Plan { extent: Extent::Quick, seeds: None, trace: Traced::default() };
        let setting = Setting { plan, testbed: &testbed, contents: &contents, driver: Driver::Virtual };
        let (readings, outcomes) = (Readings::new(), Outcomes::new());
        for figure in crate::ALL.iter().flat_map(|experiment| experiment.figures) {
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

    #[test]
    fn every_figure_knows_the_papers_values_of_all_that_it_may_run() {
        let contents = Contents::substitutes();
        let testbed = Testbed::new(&contents).unwrap();
        let (readings, outcomes) = (Readings::new(), Outcomes::new());
        for figure in crate::ALL.iter().flat_map(|experiment| experiment.figures) {
            assert!(!told(figure.remark).contains(['{', '}']), "{}", figure.id);
            for extent in [Extent::Whole, Extent::Quick, Extent::Corner] {
                let plan = Plan { extent, seeds: None, trace: Traced::default() };
                let setting =
                    Setting { plan, testbed: &testbed, contents: &contents, driver: Driver::Virtual };
                if (figure.needs)(&setting).is_empty() {
                    continue; // its rows are reckoned, which takes its time
                }
                let results = Results { setting, readings: &readings, outcomes: &outcomes, is_partial: true };
                (figure.rows)(&results).unwrap_or_else(|error| panic!("{}: {error:#}", figure.id));
            }
        }
    }
}
